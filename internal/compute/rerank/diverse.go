package rerank

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// candidateGrain is the number of candidates that a core compares with one of them at a time.
const candidateGrain = 128

// Diverse returns the positions of k candidates in the order of maximal marginal relevance (Carbonell and Goldstein,
// SIGIR 1998). The first is the candidate with the smallest distance, and each next one has the largest
//
//	(1-lambda) sim(query, x) - lambda max over the chosen y of sim(y, x).
//
// sim(y, x) is minus the distance By of two candidates, which gives the same order as the cosine or the product.
// sim(query, x) is minus distance[x], which has an entry for each candidate and may come from a re-ranking. It is
// multiplied by a factor that gives it the range (largest less smallest) of the candidates' distances By from the
// query, so that lambda means the same for every scale; without a range on one side, the factor is 1. Ties go to the
// lower position.
//
// With lambda 0 the order is that of distance. With lambda 1 each next candidate is the farthest from those chosen. A
// copy of a chosen candidate gets the largest penalty, and is not left out. A k above the number of candidates means
// all of them. It panics if distance has another length than X, and returns an error if k is negative, if lambda is
// outside 0..1, or the error of ctx, wrapped.
func (c *Candidates) Diverse(ctx context.Context, distance []float64, k int, lambda float64) ([]int, error) {
	m := c.rows()
	switch {
	case len(distance) != m:
		panic(fmt.Sprintf("rerank: %d distances for %d candidates", len(distance), m))
	case k < 0:
		return nil, fmt.Errorf("%d diverse candidates: must be at least 0", k)
	case !(lambda >= 0 && lambda <= 1):
		return nil, fmt.Errorf("lambda is %v: must be 0 to 1", lambda)
	}
	if k = min(k, m); k == 0 {
		return nil, nil
	}
	factor := 1.0
	if own, given := valueRange(c.distancesFrom(c.Query)), valueRange(distance); own > 0 && given > 0 {
		factor = own / given
	}
	between := eval.DistanceFunc(c.X, c.X, c.By)
	apart := slices.Repeat([]float64{math.Inf(1)}, m) // distance from the nearest chosen one
	chosen, next := make([]int, 0, k), Order(distance)[0]
	for {
		chosen, apart[next] = append(chosen, next), math.Inf(-1)
		if len(chosen) == k {
			return chosen, nil
		}
		if err := par.ForContext(ctx, m, candidateGrain, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				if !math.IsInf(apart[j], -1) {
					apart[j] = min(apart[j], between(next, j))
				}
			}
		}); err != nil {
			return nil, fmt.Errorf("choosing %d diverse of %d candidates: %w", k, m, err)
		}
		best := math.Inf(-1)
		for j, far := range apart {
			if math.IsInf(far, -1) {
				continue
			}
			if score := lambda*far - (1-lambda)*factor*distance[j]; score > best {
				best, next = score, j
			}
		}
	}
}

// valueRange returns the largest value less the smallest.
func valueRange(v []float64) float64 { return slices.Max(v) - slices.Min(v) }
