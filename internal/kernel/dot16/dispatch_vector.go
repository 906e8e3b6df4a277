//go:build (amd64 || arm64) && !noasm

package dot16

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// IsFast reports whether the machine has the instructions that make this package
// worth using, and simd's choice of level does not forbid them.
func IsFast() bool {
	return simd.Active() == simd.NEON || simd.Active() == simd.AVX512 && cpuid.CPU.Supports(cpuid.AVX512VNNI)
}

func strip(c []int32, a, b []int16, pairs, panels int) {
	if IsFast() {
		stripVector(&c[0], &a[0], &b[0], pairs, panels)
		return
	}
	stripGeneric(c, a, b, pairs, panels)
}

func filter(v []float32, mask []uint32, c []int32, row Row, cols *Columns) {
	if IsFast() {
		filterVector(&v[0], &c[0], &cols.Scale[0], &cols.Half[0], &cols.Lo[0], row.Scale, row.Half, row.Lo, &mask[0],
			len(mask))
		return
	}
	filterGeneric(v, mask, c, row, cols)
}

func best(v []float32, c []int32, rowScale float32, cols *Columns, base int32, top *Top) {
	if IsFast() {
		bestVector(&v[0], &c[0], &cols.Scale[0], &cols.Half[0], rowScale, base, (*byte)(unsafe.Pointer(top)), len(c)/16)
		return
	}
	bestGeneric(v, c, rowScale, cols, base, top)
}

func squaredDistance(x, y []float32, sum *[16]float64) {
	if IsFast() {
		squaredDistanceVector(&x[0], &y[0], len(x)/16, sum)
		return
	}
	squaredDistanceGeneric(x, y, sum)
}

func dot(x, y []float32, sum *[16]float64) {
	if IsFast() {
		dotVector(&x[0], &y[0], len(x)/16, sum)
		return
	}
	dotGeneric(x, y, sum)
}

func accumulate(sum []float64, x []float32) {
	if IsFast() {
		accumulateVector(&sum[0], &x[0], len(x)/16)
		return
	}
	accumulateGeneric(sum, x)
}
