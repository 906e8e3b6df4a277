package eval

import (
	"math"

	"github.com/kindred-ml/kindred/matrix"
)

// classMoments returns the mean of the given rows and the mean squared distance from it, in two passes.
func classMoments(x *matrix.Dense, rows []int) (mean []float64, variance float64) {
	mean = make([]float64, x.Cols)
	for _, i := range rows {
		for j, v := range x.Row(i) {
			mean[j] += float64(v)
		}
	}
	for j := range mean {
		mean[j] /= float64(len(rows))
	}
	for _, i := range rows {
		for j, v := range x.Row(i) {
			d := float64(v) - mean[j]
			variance += d * d
		}
	}
	return mean, variance / float64(len(rows))
}

func safeSqrt(v float64) float64 { return math.Sqrt(max(v, 0)) }

// copyRows returns a matrix with copies of rows, moved by shift and multiplied by scale.
func copyRows(x *matrix.Dense, rows []int, shift []float64, scale float64) *matrix.Dense {
	out := matrix.New(len(rows), x.Cols)
	for r, i := range rows {
		dst := out.Row(r)
		for j, v := range x.Row(i) {
			dst[j] = float32((float64(v) - shift[j]) * scale)
		}
	}
	return out
}
