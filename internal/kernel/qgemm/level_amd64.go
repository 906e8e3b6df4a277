//go:build !noasm

package qgemm

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

func detect() Level {
	switch {
	case !cpuid.CPU.Supports(cpuid.AVX2):
		return Generic
	case !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512VNNI,
		cpuid.BMI2):
		return AVX2
	}
	return VNNI
}

func tileVector(t *Tile) { tileVNNI((*byte)(unsafe.Pointer(t))) }

func blockSums(t *Tile) { sumsAVX2((*byte)(unsafe.Pointer(t))) }

func quantize(dst []uint8, src []float32, scale, shift float32) {
	quantizeAVX512(&dst[0], &src[0], len(src), scale, shift)
}

func dequantize(dst []float32, src []uint8, zero int32, scale float32) {
	dequantizeAVX512(&dst[0], &src[0], len(src), zero, scale)
}

func larger(dst, src []uint8) { largerAVX512(&dst[0], &src[0], len(src)) }

func columnSums(dst []int32, src []uint8, rows int) {
	columnSumsAVX512(&dst[0], &src[0], rows, len(dst))
}

func depthwiseVector(d *Depthwise) { depthwiseVNNI((*byte)(unsafe.Pointer(d))) }
