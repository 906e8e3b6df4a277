package qgemm

import (
	"sync"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Level is an instruction set that kernels are written for.
type Level int

// The levels. A processor need not have those below its highest.
const (
	Generic Level = iota // plain Go
	SDOT                 // arm64's NEON with SDOT
	AVX2
	AVXVNNI // AVX2 with VPDPBUSD
	VNNI    // AVX-512 with VPDPBUSD
)

// String returns the level's name.
func (l Level) String() string { return [...]string{"go", "sdot", "avx2", "avxvnni", "vnni"}[l] }

// machine finds out which levels the machine has, by bits.
var machine = sync.OnceValue(func() (levels uint) {
	for _, l := range detect() {
		levels |= 1 << l
	}
	return levels
})

// ceiling is the highest level that Active returns. Only tests lower it.
var ceiling = VNNI

// highest are the highest levels of each of package simd's.
var highest = [...]Level{simd.Generic: Generic, simd.NEON: SDOT, simd.AVX2: AVXVNNI, simd.AVX512: VNNI}

// Active returns the level in use: the machine's highest that package simd's choice allows.
func Active() Level { return highestUpTo(min(ceiling, highest[simd.Active()]), machine()) }

// highestUpTo returns the highest of levels that is not above top.
func highestUpTo(top Level, levels uint) Level {
	for top > Generic && levels>>top&1 == 0 {
		top--
	}
	return top
}

// IsFast reports whether the level in use has an instruction that multiplies bytes and sums four
// products in 32 bits. Without one 8 bits are not faster than float32.
func IsFast() bool { return Active() == SDOT || Active() >= AVXVNNI }
