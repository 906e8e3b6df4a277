//go:build !noasm

package dot8

import (
	"github.com/klauspost/cpuid/v2"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// IsFast reports whether the machine has the instructions that make this package worth
// using, and simd's choice of level does not forbid them.
func IsFast() bool {
	return simd.Active() == simd.NEON && cpuid.CPU.Supports(cpuid.ASIMDDP)
}

func strip(c []int32, a []int8, bias []int32, b []uint8, steps, panels int) {
	switch {
	case !IsFast():
		stripGeneric(c, a, bias, b, steps, panels)
	case cpuid.CPU.Supports(cpuid.I8MM):
		stripMatrix(&c[0], &a[0], &bias[0], &b[0], steps, panels)
	default:
		stripDot(&c[0], &a[0], &bias[0], &b[0], steps, panels)
	}
}

func place(w, x, m []float32, f float32, sums *[48]float32) {
	if IsFast() {
		placeNEON(&w[0], &x[0], &m[0], f, len(w)/16, sums)
		return
	}
	placeGeneric(w, x, m, f, sums)
}

func quantize(q []int8, w []float32, s, unit float32, lost *[16]float32, sum *[16]int32) {
	if IsFast() {
		quantizeNEON(&q[0], &w[0], s, unit, len(w)/16, lost, sum)
		return
	}
	quantizeGeneric(q, w, s, unit, lost, sum)
}

func squaredDistance(x, y []float32) float32 {
	if IsFast() {
		return squaredDistanceNEON(&x[0], &y[0], len(x)/32)
	}
	return squaredDistanceGeneric(x, y)
}

// squaredDistances reports whether it has computed them. Rows have whole blocks of 32.
func squaredDistances(dst, x, y []float32, stride int, at []int32) bool {
	if !IsFast() {
		return false
	}
	for k, r := range at {
		row := y[int(r)*stride:][:len(x)]
		dst[k] = squaredDistanceNEON(&x[0], &row[0], len(x)/32)
	}
	return true
}
