//go:build !noasm

package scan

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// width returns the number of lanes of the kernels in use, 0 for plain Go. Those for
// NEON go through four registers at a time.
func width() int {
	if hasWide() {
		return 16
	}
	return 0
}

func hasWide() bool { return simd.Active() == simd.NEON }

func maxBelow(x []float32, limit float32, val *[16]float32, idx *[16]int32) {
	maxBelowNEON(&x[0], len(x), limit, &val[0], &idx[0])
}

func between(x []float32, lo, hi float32, dst []int32) int {
	return betweenNEON(&x[0], len(x), lo, hi, &dst[0])
}

func absAbove(x []float32, lo float32, dst []int32) int {
	return absAboveNEON(&x[0], len(x), lo, 0, &dst[0])
}

func expSum(dst, x []float32, a, b float32, sum *[16]float32) {
	expSumNEON(&dst[0], &x[0], len(x), a, b, &sum[0])
}

func absMax(x []float32, val *[16]float32) { absMaxNEON(&x[0], len(x), &val[0]) }

func absBelowSum(x []float32, most float32, sum *[16]float32) {
	absBelowSumNEON(&x[0], len(x), most, &sum[0])
}
