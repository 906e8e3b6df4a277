package rerank

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// Defaults of AlphaQE.
const (
	ExpansionSize = 2   // n, the number of candidates that the query is expanded by
	Alpha         = 3.0 // the power of their cosines
)

// AlphaQE returns the distance of each candidate from the expanded query
//
//	q' = (q + sum of w_i x_i) / (1 + sum of w_i),  w_i = max(0, cos(q, x_i))^alpha,
//
// summed over the n first candidates (alpha query expansion: Radenovic, Tolias and Chum, Fine-tuning CNN Image
// Retrieval with No Human Annotation, TPAMI 2019). Under eval.Cosine, q and x_i have unit length in the sum, as in the
// paper. Under the other distances they keep their lengths, and the mean keeps q' at the scale of the candidates. For
// vectors of unit length, all three distances give the same order.
//
// The weight of a cosine of 0 or below is 0 for every alpha, so a query or candidate of zeros expands nothing. With n
// 0, or a query of zeros, the distances are those from the query. An n above the number of candidates means all of
// them. It panics if n is negative or alpha is not a number of at least 0.
func (c *Candidates) AlphaQE(n int, alpha float64) []float64 {
	if n < 0 || !(alpha >= 0) {
		panic(fmt.Sprintf("rerank: expansion by %d candidates with alpha %v: both must be at least 0", n, alpha))
	}
	n = min(n, c.rows())
	if n == 0 {
		return c.distancesFrom(c.Query)
	}
	q, first := matrix.FromSlice(1, len(c.Query), c.Query), c.X.RowRange(0, n)
	far := eval.DistanceFunc(q, first, eval.Cosine)
	if c.By == eval.Cosine {
		q, first = eval.NormalizeRows(q), eval.NormalizeRows(first)
	}
	sum, total := make([]float64, len(c.Query)), 1.0
	for k, v := range q.Row(0) {
		sum[k] = float64(v)
	}
	for i := range n {
		cos := 1 - far(0, i)
		if cos <= 0 {
			continue
		}
		w := math.Pow(cos, alpha)
		total += w
		for k, v := range first.Row(i) {
			sum[k] += w * float64(v)
		}
	}
	expanded := make([]float32, len(sum))
	for k, v := range sum {
		expanded[k] = float32(v / total)
	}
	return c.distancesFrom(expanded)
}
