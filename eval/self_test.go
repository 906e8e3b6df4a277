package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/test/rowtest"
	"github.com/kindred-ml/kindred/matrix"
)

// The item that a query itself is is left out, wherever it is in the gallery and whatever its label is; other items
// with the same embedding stay. Queries that the gallery does not have keep all items.
func TestPositivesWithoutSelf(t *testing.T) {
	for _, kind := range []string{"duplicates", "normal"} {
		fill, ok := rowtest.Kinds[kind]
		if !ok {
			fill = rowtest.Kinds["duplicates"]
		}
		rng := rand.New(rand.NewPCG(5, 6))
		n := exact.Block + 41
		g := Set{X: matrix.New(n, 12), Labels: [][]int64{labelColumn(rng, n, 9), labelColumn(rng, n, 40)}}
		fill(rng, g.X)
		for _, share := range []float64{0, 0.7, 1} { // of the queries that are items
			q := Set{X: matrix.New(150, 12), Labels: [][]int64{labelColumn(rng, 150, 9), labelColumn(rng, 150, 40)}}
			var self []int32
			order := rng.Perm(n)
			for i := range q.X.Rows {
				j := order[i]
				copy(q.X.Row(i), g.X.Row(j))
				if i%5 > 0 { // else it has other labels than its item
					q.Labels[0][i], q.Labels[1][i] = g.Labels[0][j], g.Labels[1][j]
				}
				if rng.Float64() >= share {
					j = -1
				}
				self = append(self, int32(j))
			}
			for _, d := range []Distance{Euclidean, Dot} {
				full := rankBySorting(q, &g, d, self...)
				for _, opt := range []RankOptions{{}, {FirstOnly: true}, {Depth: 7}, {Depth: n}, {Depth: n - 1}} {
					opt.Distance, opt.SelfRows = d, self
					want := cutQueries(full, opt)
					eachEngine(t, func(engine string, begin quantized.Kind) {
						opt.tileKind = begin
						what := func(o RankOptions) string {
							return fmt.Sprintf("%s, %s, %v, depth %d, share %g", kind, engine, d, o.Depth, share)
						}
						for _, opt.heads = range headChoices(opt) {
							compare(t, fmt.Sprintf("%s, first %v, heads %v", what(opt), opt.FirstOnly, opt.heads),
								collect(t, q, &g, opt), want)
						}
						opt.heads = choiceAuto
						if opt.deep = choiceYes; !opt.FirstOnly {
							compare(t, what(opt)+", deep", collect(t, q, &g, opt), want)
						}
						opt.deep = choiceAuto
					})
				}
			}
		}
	}
	one := Set{X: matrix.New(1, 1), Labels: [][]int64{{1}}}
	two := Set{X: matrix.New(2, 1), Labels: [][]int64{{1, 1}}}
	for _, self := range [][]int32{{2}, {-2}, {0, 0}, {}} {
		if RankPositives(context.Background(), one, &two, RankOptions{SelfRows: self}, func(RankedQuery) {}) == nil {
			t.Errorf("rows %v of a gallery of 2 for one query", self)
		}
	}
}
