//go:build !noasm

package scan

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// width returns the number of lanes of the kernels in use, 0 for plain Go.
func width() int {
	switch simd.Active() {
	case simd.AVX512:
		return 16
	case simd.AVX2:
		return 8
	}
	return 0
}

// hasWide reports whether there are kernels of 16 lanes, as some are nothing else.
func hasWide() bool { return simd.Active() == simd.AVX512 }

func maxBelow(x []float32, limit float32, val *[16]float32, idx *[16]int32) {
	if hasWide() {
		maxBelowAVX512(&x[0], len(x), limit, &val[0], &idx[0])
	} else {
		maxBelowAVX2(&x[0], len(x), limit, &val[0], &idx[0])
	}
}

func between(x []float32, lo, hi float32, dst []int32) int {
	return betweenAVX512(&x[0], len(x), lo, hi, &dst[0])
}

func absAbove(x []float32, lo float32, dst []int32) int {
	return absAboveAVX512(&x[0], len(x), lo, 0, &dst[0])
}

func expSum(dst, x []float32, a, b float32, sum *[16]float32) {
	if hasWide() {
		expSumAVX512(&dst[0], &x[0], len(x), a, b, &sum[0])
	} else {
		expSumAVX2(&dst[0], &x[0], len(x), a, b, &sum[0])
	}
}

func absMax(x []float32, val *[16]float32) { absMaxAVX512(&x[0], len(x), &val[0]) }

func absBelowSum(x []float32, most float32, sum *[16]float32) {
	absBelowSumAVX512(&x[0], len(x), most, &sum[0])
}
