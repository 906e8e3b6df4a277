//go:build !noasm

package dot8

import (
	"github.com/klauspost/cpuid/v2"

	"github.com/kindred-ml/kindred/internal/kernel/amx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// IsFast reports whether the machine has the instructions that make this package worth
// using, and simd's choice of level does not forbid them.
func IsFast() bool {
	return simd.Active() == simd.AVX512 && cpuid.CPU.Supports(cpuid.AVX512VNNI)
}

func strip(c []int32, a []int8, bias []int32, b []uint8, steps, panels int) {
	switch {
	case !IsFast():
		stripGeneric(c, a, bias, b, steps, panels)
	case amx.Int8():
		stripMatrix(c, a, bias, b, steps, panels)
	default:
		stripVNNI(&c[0], &a[0], &bias[0], &b[0], steps, panels)
	}
}

func stripMatrix(c []int32, a []int8, bias []int32, b []uint8, steps, panels int) {
	var start [2 * tile / 4]int32
	stripAMX(&c[0], &a[0], &bias[0], &b[0], steps, panels, &start[0])
}

func place(w, x, m []float32, f float32, sums *[48]float32) {
	if IsFast() {
		placeAVX512(&w[0], &x[0], &m[0], f, len(w)/16, sums)
		return
	}
	placeGeneric(w, x, m, f, sums)
}

func quantize(q []int8, w []float32, s, unit float32, lost *[16]float32, sum *[16]int32) {
	if IsFast() {
		quantizeAVX512(&q[0], &w[0], s, unit, len(w)/16, lost, sum)
		return
	}
	quantizeGeneric(q, w, s, unit, lost, sum)
}

func squaredDistance(x, y []float32) float32 {
	if IsFast() {
		return squaredDistanceAVX512(&x[0], &y[0], len(x)/32)
	}
	return squaredDistanceGeneric(x, y)
}

// squaredDistances reports whether it has computed them. Rows have whole blocks of 32.
func squaredDistances(dst, x, y []float32, stride int, at []int32) bool {
	if !IsFast() {
		return false
	}
	squaredDistancesAVX512(&dst[0], &x[0], &y[0], 4*stride, &at[0], len(at), len(x)/16)
	return true
}
