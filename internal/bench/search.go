package bench

import (
	"context"

	"github.com/kindred-ml/kindred/eval/cluster"
	"github.com/kindred-ml/kindred/eval/rank"
)

// searchCases time exact search and k-means at the size of Stanford Online
// Products' test split.
func searchCases() []Case {
	const n, d, queries, k = 60502, 512, 6000, 9
	return []Case{
		{
			Name:  "search-60502x512-q6000",
			About: "exact search: the 9 nearest of 60,502 rows of 512 numbers for 6,000 queries, by product",
			Title: "exact search, 6,000 queries in 60,502 x 512",
			Items: queries,
			Setup: func() (func() error, float64, error) {
				x := rank.Normalized(normal(n, d, 0))
				return func() error {
					_, err := rank.Nearest(context.Background(), x.RowRange(0, queries), x, k,
						rank.Options{Distance: rank.Dot})
					return err
				}, 2 * n * d * queries, nil
			},
		},
		{
			Name:  "rank-60502x512",
			About: "Recall@1..1000 and MAP@R of 60,502 rows of 512 numbers in 11,316 classes, query = gallery",
			Items: n,
			Setup: func() (func() error, float64, error) {
				x := rank.Normalized(normal(n, d, 0))
				labels := make([]int64, n)
				for i := range labels {
					labels[i] = int64(i % 11316)
				}
				return func() error {
					return rank.Positives(context.Background(), rank.Set{X: x, Labels: [][]int64{labels}}, nil,
						rank.Options{Depth: 1000}, func(rank.Query) {})
				}, 2 * n * d * n, nil
			},
		},
		{
			Name:  "kmeans-60502x512-k1000-it5",
			About: "k-means: 60,502 rows of 512 numbers, 1,000 clusters, random start, 5 iterations",
			Title: "k-means, 60,502 x 512, K = 1000, 5 iterations",
			Items: 1,
			Setup: func() (func() error, float64, error) {
				x := normal(n, d, 0)
				return func() error {
					_, err := cluster.KMeans(context.Background(), x,
						cluster.Config{K: 1000, Init: cluster.Random, Iterations: 5, Seed: 1})
					return err
				}, 5 * 2 * n * d * 1000, nil
			},
		},
	}
}
