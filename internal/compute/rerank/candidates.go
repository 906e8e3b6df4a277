package rerank

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// Candidates are the items that a search found. The numbers must be finite (eval.CheckFinite), and By a known distance.
// The methods only read, so they may run at the same time. They panic if Query and the rows of X differ in length.
type Candidates struct {
	Query []float32
	X     *matrix.Dense // a row for each candidate, nearest first; may have no rows
	By    eval.Distance
}

// rows returns the number of candidates.
func (c *Candidates) rows() int {
	if c.X.Rows > 0 && c.X.Cols != len(c.Query) {
		panic(fmt.Sprintf("rerank: a query of %d dimensions, candidates of %d", len(c.Query), c.X.Cols))
	}
	return c.X.Rows
}

// distancesFrom returns the distance of each candidate from a vector.
func (c *Candidates) distancesFrom(x []float32) []float64 {
	out := make([]float64, c.rows())
	if len(out) == 0 {
		return out
	}
	far := eval.DistanceFunc(matrix.FromSlice(1, len(x), x), c.X, c.By)
	for j := range out {
		out[j] = far(0, j)
	}
	return out
}

// Order returns the positions 0..len(distance)-1 by distance, the smallest first. Equal distances are ordered by
// position.
func Order(distance []float64) []int {
	order := make([]int, len(distance))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
	return order
}
