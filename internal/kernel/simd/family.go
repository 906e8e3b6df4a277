package simd

// Family tells apart processors that have the same instructions but want blocks of
// other sizes, or memory asked for earlier. Results do not depend on it: every sum
// runs in the same order.
type Family int

// The families that were measured (docs/design/kernels.md).
const (
	// Common is Zen 5, for which sizes were chosen first, and all that is not known.
	Common Family = iota
	// Sapphire is Intel's server processors since Sapphire Rapids: 2 MiB of
	// second-level cache for each core, and a large third-level one far away.
	Sapphire
)

var processor = detectFamily()

// Processor returns the family of the processor at work.
func Processor() Family { return processor }

// ForceFamily has kernels treat the processor as one of that family and returns a
// function that undoes it. It is for tests, as Force is.
func ForceFamily(f Family) (restore func()) {
	old := processor
	processor = f
	return func() { processor = old }
}
