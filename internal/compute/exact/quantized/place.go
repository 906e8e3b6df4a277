package quantized

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/matrix"
)

// Mean is the mean of the rows of x, each multiplied by its entry of factors if there
// are any. It has the same bits on any number of cores.
func Mean(x *matrix.Dense, factors []float64) []float64 {
	const grain = 1024
	parts := make([][]float64, (x.Rows+grain-1)/grain)
	par.For(x.Rows, grain, func(lo, hi int) {
		sum := make([]float64, x.Cols)
		for i := lo; i < hi; i++ {
			if factors == nil {
				dot16.Accumulate(sum, x.Row(i))
				continue
			}
			for j, v := range x.Row(i) {
				sum[j] += float64(v) * factors[i]
			}
		}
		parts[lo/grain] = sum
	})
	mean := make([]float64, x.Cols)
	for _, p := range parts {
		for j, v := range p {
			mean[j] += v
		}
	}
	for j := range mean {
		mean[j] /= float64(x.Rows)
	}
	return mean
}

// Farthest is the largest distance of a row of x from m.
func Farthest(x *matrix.Dense, m []float64) float64 {
	const grain = 256
	part := make([]float64, (x.Rows+grain-1)/grain)
	par.For(x.Rows, grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			part[lo/grain] = max(part[lo/grain], dot16.SquareAbout(x.Row(i), m))
		}
	})
	var square float64
	for _, v := range part {
		square = max(square, v)
	}
	return math.Sqrt(square)
}

// InverseNorm is 1/||x||, 0 for a row of zeros: what cosines are multiplied by.
func InverseNorm(x []float32) float64 {
	if n := dot16.Dot(x, x); n > 0 {
		return 1 / math.Sqrt(n)
	}
	return 0
}
