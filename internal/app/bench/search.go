package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/eval"

	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/internal/compute/projection"
	"github.com/kindred-ml/kindred/matrix"
)

// searchCases time search, rankings, k-means and maps.
func searchCases() []Case { return slices.Concat(productCases(), rankingCases(), mapCases()) }

// rankingCases time rankings of all rows against all, in classes of ten, in 100 large classes and in two halves. The
// latter show the cost of queries with many positives.
func rankingCases() []Case {
	const d = 128
	var cases []Case
	for _, n := range []int{50_000, 100_000} {
		for _, classes := range []int{n / 10, 100, 2} {
			cases = append(cases, Case{
				Name: fmt.Sprintf("rank-%dx%d-c%d", n, d, classes),
				About: fmt.Sprintf("Recall@1 and MAP@R of %d,000 rows of %d numbers in %d classes, "+
					"query = gallery", n/1000, d, classes),
				Items: n, Long: classes == 2,
				Setup: func() (func() error, float64, error) {
					set := eval.Set{Labels: [][]int64{make([]int64, n)}}
					set.X = newClusters(set.Labels[0], classes, d, 0.25)
					metrics := eval.Config{Metrics: []eval.Metric{{Kind: eval.Recall, K: 1}, {Kind: eval.MAPAtR}}}
					return func() error {
						_, err := eval.Evaluate(context.Background(), set, nil, metrics)
						return err
					}, 0, nil
				},
			})
		}
	}
	return cases
}

// mapCases time t-SNE.
func mapCases() []Case {
	const n, d, classes = 50_000, 128, 100
	return []Case{{
		Name:  fmt.Sprintf("tsne-%dx%d", n, d),
		About: fmt.Sprintf("t-SNE of 50,000 rows of %d numbers in %d classes, by kindred's defaults", d, classes),
		Items: n, Long: true,
		Setup: func() (func() error, float64, error) {
			x := newClusters(make([]int64, n), classes, d, 0.5)
			return func() error {
				_, err := projection.TSNE{Seed: 1}.Run(context.Background(), x)
				return err
			}, 0, nil
		},
	}}
}

// newClusters returns rows with the classes 0, 1, ... in turn: normal noise around centres whose
// coordinates have the given spread.
func newClusters(labels []int64, classes, d int, spread float32) *matrix.Dense {
	x, centres := normalMatrix(len(labels), d, 1), normalMatrix(classes, d, 2)
	for i := range labels {
		labels[i] = int64(i % classes)
		for j, c := range centres.Row(i % classes) {
			x.Row(i)[j] += spread * c
		}
	}
	return x
}

// productCases time exact search and k-means at the size of Stanford Online
// Products' test split.
func productCases() []Case {
	const n, d, queries, k = 60502, 512, 6000, 9
	return []Case{
		{
			Name:  "search-60502x512-q6000",
			About: "exact search: the 9 nearest of 60,502 rows of 512 numbers for 6,000 queries, by product",
			Items: queries,
			Setup: func() (func() error, float64, error) {
				x := eval.NormalizeRows(normalMatrix(n, d, 0))
				return func() error {
					_, err := eval.Nearest(context.Background(), x.RowRange(0, queries), x, k,
						eval.RankOptions{Distance: eval.Dot})
					return err
				}, 2 * n * d * queries, nil
			},
		},
		{
			Name:  "rank-60502x512",
			About: "Recall@1..1000 and MAP@R of 60,502 rows of 512 numbers in 11,316 classes, query = gallery",
			Items: n,
			Setup: func() (func() error, float64, error) {
				x := eval.NormalizeRows(normalMatrix(n, d, 0))
				labels := make([]int64, n)
				for i := range labels {
					labels[i] = int64(i % 11316)
				}
				return func() error {
					return eval.RankPositives(context.Background(), eval.Set{X: x, Labels: [][]int64{labels}}, nil,
						eval.RankOptions{Depth: 1000}, func(eval.RankedQuery) {})
				}, 2 * n * d * n, nil
			},
		},
		{
			Name:  "kmeans-60502x512-k1000-it5",
			About: "k-means: 60,502 rows of 512 numbers, 1,000 clusters, random start, 5 iterations",
			Items: 1,
			Setup: func() (func() error, float64, error) {
				x := normalMatrix(n, d, 0)
				return func() error {
					_, err := cluster.KMeans(context.Background(), x,
						cluster.Config{K: 1000, Init: cluster.Random, Iterations: 5, Seed: 1})
					return err
				}, 5 * 2 * n * d * 1000, nil
			},
		},
	}
}
