package cluster

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/coded"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
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
	s := &shifted{x: mat.New(x.Rows, x.Cols), mean: coded.Mean(x, nil), size: 1}
	if longest := coded.Farthest(x, s.mean); longest > 0 {
		_, e := math.Frexp(longest)
		s.size = math.Ldexp(1, e)
	}
	inv := 1 / s.size
	par.For(x.Rows, 256, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dot16.Shift(s.x.Row(i), x.Row(i), s.mean, inv)
		}
	})
	return s
}
