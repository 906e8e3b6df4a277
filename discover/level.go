package discover

import (
	"context"
	"math"

	gonum "gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/matrix"
)

// levelScatter returns x in coordinates in which classes scatter more evenly: x L^-T, where L L^T = W/w + I, W is the
// covariance within classes and w the mean of its diagonal. Causes of scatter in all classes, such as light,
// background and distance, count less in these coordinates. It is the metric of a discriminant analysis whose
// covariance is shrunk half-way to a sphere (Friedman 1989). It returns x if no class scatters.
//
// It takes time proportional to n d^2 + d^3 and memory proportional to d^2.
func levelScatter(ctx context.Context, x *matrix.Dense, classes []*measuredClass) (*matrix.Dense, error) {
	d := x.Cols
	within := matrix.New(d, d)
	for _, c := range classes {
		y := centreRows(x.RowsAt(c.sample))
		if err := matrix.GemmContext(ctx, true, false, 1, y, y, 1, within); err != nil {
			return nil, err
		}
	}
	var mean float64
	for j := range d {
		mean += float64(within.At(j, j)) / float64(d)
	}
	if mean == 0 || math.IsInf(mean, 0) {
		return x, nil
	}
	ridge := gonum.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			ridge.SetSym(i, j, (float64(within.At(i, j))+float64(within.At(j, i)))/2/mean)
		}
		ridge.SetSym(i, i, ridge.At(i, i)+1)
	}
	var root gonum.Cholesky
	if !root.Factorize(ridge) {
		return x, nil
	}
	var lower, inverse gonum.TriDense
	root.LTo(&lower)
	if err := inverse.InverseTri(&lower); err != nil {
		return x, nil
	}
	to := matrix.New(d, d)
	for i := range d {
		for j := range i + 1 {
			to.Row(i)[j] = float32(inverse.At(i, j))
		}
	}
	out := matrix.New(x.Rows, d)
	return out, matrix.GemmContext(ctx, false, true, 1, x, to, 0, out)
}
