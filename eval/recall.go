package eval

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
)

// RecallAt returns Recall@k for every k in ks. The rows of x are both queries and gallery, and each
// query is left out of its own ranking by index:
//
//	Recall@k = #{queries with a row of their label among their k nearest} / queries
//
// Queries without another row of their label are left out. It is an error if all queries are left out,
// if a k is below 1, or if RankPositives returns an error. RecallAt is a short form of Evaluate, which
// also returns the number of queries.
func RecallAt(ctx context.Context, x *matrix.Dense, labels []int64, d Distance, ks ...int) ([]float64, error) {
	depth := 1
	for _, k := range ks {
		if k < 1 {
			return nil, fmt.Errorf("recall@%d: k must be at least 1", k)
		}
		depth = max(depth, k)
	}
	hits, queries := make([]int, len(ks)), 0
	err := RankPositives(ctx, Set{X: x, Labels: [][]int64{labels}}, nil,
		RankOptions{Distance: d, FirstOnly: true, Depth: depth}, func(q RankedQuery) {
			if q.Positives == 0 {
				return
			}
			queries++
			for i, k := range ks {
				if len(q.Ranks) > 0 && int(q.Ranks[0]) <= k {
					hits[i]++
				}
			}
		})
	if err != nil {
		return nil, err
	}
	if queries == 0 {
		return nil, fmt.Errorf("recall of %d rows: no two rows have the same label", x.Rows)
	}
	recall := make([]float64, len(ks))
	for i, h := range hits {
		recall[i] = float64(h) / float64(queries)
	}
	return recall, nil
}
