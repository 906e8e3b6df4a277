package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// TestRankParts: ranges of queries that are ranked apart have the ranks of all at once.
func TestRankParts(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(3, 3))
	random := func() Set {
		s := Set{X: matrix.New(n, 5), Labels: [][]int64{make([]int64, n), make([]int64, n)}}
		for i := range n {
			for j := range 5 {
				s.X.Row(i)[j] = float32(rng.IntN(4)) // with ties
			}
			s.Labels[0][i], s.Labels[1][i] = int64(rng.IntN(9)), int64(rng.IntN(3))
		}
		return s
	}
	q, g := random(), random()
	for _, gallery := range []*Set{nil, &g} {
		for _, opt := range []RankOptions{{}, {Depth: 7}, {FirstOnly: true}, {Distance: Cosine}, {Memory: 1 << 12},
			{Depth: 30, heads: choiceYes}} {
			told := func(cuts ...int) (all []string) {
				for i, to := range cuts[1:] {
					part := opt
					part.From, part.To = cuts[i], to
					err := RankPositives(context.Background(), q, gallery, part, func(v RankedQuery) {
						all = append(all, fmt.Sprint(v))
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				return all
			}
			want := told(0, n)
			if len(want) != 2*n {
				t.Fatalf("%d visits", len(want))
			}
			if got := told(0, 1, 128, 129, 299, n); !slices.Equal(got, want) {
				t.Errorf("%+v: parts have other ranks", opt)
			}
		}
	}
	for _, bad := range [][2]int{{-1, 5}, {5, 4}, {0, n + 1}, {5, 0}} {
		if err := RankPositives(context.Background(), q, nil, RankOptions{From: bad[0], To: bad[1]}, func(RankedQuery) {
			t.Error("visited")
		}); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}
