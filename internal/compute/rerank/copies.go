package rerank

import (
	"context"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// NearCopies groups the candidates by leaders. The first candidate is a leader. Each next one joins the first leader
// whose distance By is at most within, or else becomes a leader. The result is the position of each candidate's leader,
// its own position for a leader. After most leaders, candidates that join none of them get -1; 0 is no limit.
//
// By the Euclidean distance, two members of a group may be up to twice as far apart. A member may be nearer to a later
// leader. With within 0 only duplicates join: equal vectors (Euclidean), parallel ones (cosine; vectors of zeros are
// not parallel). Under eval.Dot a distance is minus the product, so within is usually negative. It computes one
// distance for each pair of a leader and a later candidate without a leader. It returns an error if within is NaN, or
// the error of ctx, wrapped.
func (c *Candidates) NearCopies(ctx context.Context, within float64, most int) ([]int, error) {
	if math.IsNaN(within) {
		return nil, fmt.Errorf("near copies within distance %v: must be a number", within)
	}
	m := c.rows()
	if m == 0 {
		return nil, nil
	}
	const alone = -1
	leader := make([]int, m)
	for i := range leader {
		leader[i] = alone
	}
	between := eval.DistanceFunc(c.X, c.X, c.By)
	leaders := 0
	for i := range leader {
		if leader[i] != alone || most > 0 && leaders == most {
			continue
		}
		leader[i] = i
		leaders++
		rest := leader[i+1:]
		if err := par.ForContext(ctx, len(rest), candidateGrain, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				if rest[j] == alone && between(i, i+1+j) <= within {
					rest[j] = i
				}
			}
		}); err != nil {
			return nil, fmt.Errorf("grouping %d near copies: %w", m, err)
		}
	}
	return leader, nil
}
