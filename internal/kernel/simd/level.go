package simd

import (
	"os"
	"strings"
)

// Level is an instruction set that kernels are written for.
type Level int

// The levels, each including those before it.
const (
	Generic Level = iota // plain Go
	AVX2                 // AVX2 and FMA3
	AVX512               // AVX-512 F, BW, DQ and VL
)

var names = [...]string{"go", "avx2", "avx512"}

// String returns the level's name as KINDRED_ISA has it.
func (l Level) String() string { return names[l] }

// active is the level in use. Only Force changes it.
var active = choose(detect(), os.Getenv("KINDRED_ISA"))

// choose lowers best to the named level; unknown names leave it.
func choose(best Level, name string) Level {
	for l, n := range names {
		if strings.EqualFold(name, n) {
			return min(best, Level(l))
		}
	}
	return best
}

// Active returns the level in use.
func Active() Level { return active }

// Force makes kernels use the given level, or the highest one available if that
// is lower, and returns a function that undoes it. It is for tests: no kernel
// may run meanwhile.
func Force(l Level) (restore func()) {
	old := active
	active = min(l, detect())
	return func() { active = old }
}
