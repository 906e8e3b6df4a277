package simd

import (
	"os"
	"strings"
)

// Level is an instruction set that kernels are written for.
type Level int

// The levels. Every processor has the first; one for arm64 the second, one for amd64
// up to two of the others, AVX512 never without AVX2.
const (
	Generic Level = iota // plain Go
	NEON                 // arm64's vectors of 128 bits
	AVX2                 // AVX2 and FMA3
	AVX512               // AVX-512 F, BW, DQ and VL
)

var names = [...]string{"go", "neon", "avx2", "avx512"}

// String returns the level's name as KINDRED_ISA has it.
func (l Level) String() string { return names[l] }

// active is the level in use. Only Force changes it.
var active = choose(detect(), os.Getenv("KINDRED_ISA"))

// choose lowers best to the named level; unknown names leave it.
func choose(best Level, name string) Level {
	for l, n := range names {
		if strings.EqualFold(name, n) {
			return lower(best, Level(l))
		}
	}
	return best
}

// lower returns the highest level up to l of a processor whose highest is best.
func lower(best, l Level) Level {
	switch {
	case l >= best:
		return best
	case best == AVX512 && l == AVX2:
		return AVX2
	}
	return Generic
}

// Active returns the level in use.
func Active() Level { return active }

// Force makes kernels use the given level, or the highest one available if that
// is lower, and returns a function that undoes it. It is for tests: no kernel
// may run meanwhile.
func Force(l Level) (restore func()) {
	old := active
	active = lower(detect(), l)
	return func() { active = old }
}

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
