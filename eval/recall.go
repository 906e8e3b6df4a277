package eval

import (
	"context"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// RecallAt returns Recall@k for every k in ks, with the rows of x as queries and
// as gallery, each query left out of its own ranking by index:
//
//	Recall@k = #{queries with a same-label row among their k nearest} / queries
//
// Queries with no other row of their label are counted in excluded, not in
// queries. If no query is left, the recalls are NaN. It is the short form of
// Retrieve for one column of labels.
func RecallAt(ctx context.Context, x *mat.Dense, labels []int64, d rank.Distance, ks ...int) (recall []float64, queries,
	excluded int, err error) {
	depth := 1
	for _, k := range ks {
		if k < 1 {
			return nil, 0, 0, fmt.Errorf("recall@%d: k must be at least 1", k)
		}
		depth = max(depth, k)
	}
	hits := make([]int, len(ks))
	err = rank.Positives(ctx, rank.Set{X: x, Labels: [][]int64{labels}}, nil,
		rank.Options{Distance: d, First: true, Depth: depth}, func(q rank.Query) {
			if q.R == 0 {
				excluded++
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
		return nil, 0, 0, err
	}
	for _, h := range hits {
		v := math.NaN()
		if queries > 0 {
			v = float64(h) / float64(queries)
		}
		recall = append(recall, v)
	}
	return recall, queries, excluded, nil
}
