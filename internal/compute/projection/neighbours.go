package projection

import (
	"context"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// neighbours holds the k nearest other rows of each row with their squared Euclidean
// distances in float64: entry e of row i is at i*k+e.
type neighbours struct {
	k     int
	index []int32
	dist  []float64
}

// findNeighbours finds the exact neighbours, with the lowest index for ties. Distances are computed from
// differences, so that near duplicates lose no digits.
func findNeighbours(ctx context.Context, x *matrix.Dense, k int) (*neighbours, error) {
	n := x.Rows
	nb := &neighbours{k: k, index: make([]int32, n*k), dist: make([]float64, n*k)}
	if k == 0 {
		return nb, nil
	}
	c, scale := centreColumns(x)
	found, err := eval.Nearest(ctx, c, nil, k, eval.RankOptions{})
	if err != nil {
		return nil, err
	}
	nb.index = found.Row
	err = par.ForContext(ctx, n, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for e := i * k; e < (i+1)*k; e++ {
				d := 0.0
				for t, v := range c.Row(int(nb.index[e])) {
					diff := float64(c.Row(i)[t]) - float64(v)
					d += diff * diff
				}
				nb.dist[e] = d * scale * scale
			}
		}
	})
	return nb, err
}
