package exact

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/matrix"
)

// Shifted holds rows moved by their mean and divided by a power of two that makes
// the longest no longer than 1: x = Size * row + Mean. Neither changes which
// centroid is nearest; together they spare float32 products cancellation and
// overflow.
type Shifted struct {
	X    *matrix.Dense
	Mean []float64
	Size float64
}

// Shift moves the rows of x.
func Shift(x *matrix.Dense) *Shifted {
	s := &Shifted{X: matrix.New(x.Rows, x.Cols), Mean: quantized.Mean(x, nil), Size: 1}
	if longest := quantized.Farthest(x, s.Mean); longest > 0 {
		_, e := math.Frexp(longest)
		s.Size = math.Ldexp(1, e)
	}
	inv := 1 / s.Size
	par.For(x.Rows, 256, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dot16.Shift(s.X.Row(i), x.Row(i), s.Mean, inv)
		}
	})
	return s
}
