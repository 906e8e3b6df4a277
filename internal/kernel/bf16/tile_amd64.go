//go:build !noasm

package bf16

import "unsafe"

func tileMatrix(t *Tile) { tileAMX((*byte)(unsafe.Pointer(t))) }

func tileVector(t *Tile) { tileAVX512((*byte)(unsafe.Pointer(t))) }

func round(dst *uint16, src *float32, n int) { roundAVX512(dst, src, n) }

func pairs(dst *uint32, step int, a, b *float32, n int) { pairsAVX512(dst, step, a, b, n) }

func roundSteps(dst *uint16, step int, src *float32, srcStep, rows, n int) {
	roundStepsAVX512(dst, step, src, srcStep, rows, n)
}

func copySteps(dst *uint16, step int, src *uint16, srcStep, rows, n int) {
	copyStepsAVX512(dst, step, src, srcStep, rows, n)
}

func pairHalves(dst *uint32, step int, a, b *uint16, n int) { pairHalvesAVX512(dst, step, a, b, n) }

func widen(dst *float32, src *uint16, n int) { widenAVX512(dst, src, n) }
