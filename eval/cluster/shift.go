package cluster

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/mat"
)

// shifted holds rows moved by their mean and divided by a power of two that makes
// the longest no longer than 1: x = size * row + mean. Neither changes which
// centroid is nearest; together they spare float32 products cancellation and
// overflow.
type shifted struct {
	x    *mat.Dense
	mean []float64
	size float64
}

func shift(x *mat.Dense) *shifted {
	s := &shifted{x: mat.New(x.Rows, x.Cols), mean: columnMeans(x), size: 1}
	const grain = 256
	part := make([]float64, (x.Rows+grain-1)/grain)
	par.For(x.Rows, grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			part[lo/grain] = max(part[lo/grain], dot16.SquareAbout(x.Row(i), s.mean))
		}
	})
	longest := 0.0
	for _, p := range part {
		longest = max(longest, p)
	}
	if longest > 0 {
		_, e := math.Frexp(math.Sqrt(longest))
		s.size = math.Ldexp(1, e)
	}
	inv := 1 / s.size
	par.For(x.Rows, grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dot16.Shift(s.x.Row(i), x.Row(i), s.mean, inv)
		}
	})
	return s
}

// columnMeans adds in chunks of fixed size, in order.
func columnMeans(x *mat.Dense) []float64 {
	const grain = 1024
	parts := make([][]float64, (x.Rows+grain-1)/grain)
	par.For(x.Rows, grain, func(lo, hi int) {
		sum := make([]float64, x.Cols)
		for i := lo; i < hi; i++ {
			dot16.Accumulate(sum, x.Row(i))
		}
		parts[lo/grain] = sum
	})
	mean := make([]float64, x.Cols)
	for j := range mean {
		for _, p := range parts {
			mean[j] += p[j]
		}
		mean[j] /= float64(x.Rows)
	}
	return mean
}
