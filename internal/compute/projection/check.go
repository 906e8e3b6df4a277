package projection

import (
	"errors"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// checkRows returns an error for an empty matrix, and for the first row with a value that is not finite.
func checkRows(x *matrix.Dense) error {
	if x.Rows == 0 {
		return errors.New("no rows to place")
	}
	if x.Cols == 0 {
		return errors.New("the rows have no values (0 columns)")
	}
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
				return fmt.Errorf("row %d holds %v in column %d: leave such rows out, or find out where "+
					"they come from", i, v, j)
			}
		}
	}
	return nil
}

const rowGrain = 64 // rows per chunk of a parallel loop

// centreColumns returns a copy of x less the mean of every column, scaled so that its largest magnitude is 1, and the
// scale. Then products cannot overflow float32.
func centreColumns(x *matrix.Dense) (c *matrix.Dense, scale float64) {
	mean := make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			mean[j] += float64(v)
		}
	}
	for j := range mean {
		mean[j] /= float64(x.Rows)
	}
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			scale = max(scale, math.Abs(float64(v)-mean[j]))
		}
	}
	c = matrix.New(x.Rows, x.Cols)
	if scale == 0 {
		return c, 1
	}
	par.For(x.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out := c.Row(i)
			for j, v := range x.Row(i) {
				out[j] = float32((float64(v) - mean[j]) / scale)
			}
		}
	})
	return c, scale
}
