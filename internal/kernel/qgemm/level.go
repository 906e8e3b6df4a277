package qgemm

import (
	"sync"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Level is an instruction set that kernels are written for.
type Level int

// The levels.
const (
	Generic Level = iota // plain Go
	AVX2                 // sums of products
	VNNI                 // AVX-512 with VPDPBUSD
)

// String returns the level's name.
func (l Level) String() string { return [...]string{"go", "avx2", "vnni"}[l] }

// available finds out what the machine has.
var available = sync.OnceValue(detect)

// Active returns the level in use: the machine's, or what package simd's leaves of it.
func Active() Level {
	switch simd.Active() {
	case simd.AVX512:
		return available()
	case simd.AVX2:
		return min(AVX2, available())
	}
	return Generic
}
