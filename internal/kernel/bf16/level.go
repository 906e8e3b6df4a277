package bf16

import (
	"sync"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Level is an instruction set that kernels are written for.
type Level int

// The levels.
const (
	Generic Level = iota // plain Go
	AVX512               // AVX512_BF16
	AMX                  // its conversions, and the matrix unit AMX-BF16
)

// String returns the level's name.
func (l Level) String() string { return [...]string{"go", "avx512", "amx"}[l] }

// available finds out what the machine has, not before the first use; see amx.BFloat16.
var available = sync.OnceValue(detect)

// forcedLevel is the level that Force has set, plus one; 0: none.
var forcedLevel Level

// Active returns the level in use. It is plain Go where package simd's is below
// AVX-512.
func Active() Level {
	if simd.Active() < simd.AVX512 {
		return Generic
	}
	if forcedLevel > 0 {
		return forcedLevel - 1
	}
	return available()
}

// hasVector reports whether values are converted by kernels, as they are at all levels but plain
// Go.
func hasVector() bool { return Active() > Generic }

// Force makes kernels use the given level, or the highest one available if that
// is lower, and returns a function that undoes it. It is for tests: no kernel
// may run meanwhile.
func Force(l Level) (restore func()) {
	old := forcedLevel
	forcedLevel = min(l, available()) + 1
	return func() { forcedLevel = old }
}
