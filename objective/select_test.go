package objective

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/matrix"
)

// TestSelect compares Select with a miner on a table that holds the whole batch.
func TestSelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{0, 1, 2, 40} {
		e, labels := matrix.New(n, 6), make([]int64, n)
		for i := range labels {
			labels[i] = int64(i % 4)
			for k := range 6 {
				e.Row(i)[k] = float32(rng.NormFloat64())
			}
		}
		var rows pair.Rows
		if err := rows.Set(e, false); err != nil {
			t.Fatal(err)
		}
		table := &pair.Table{A: &rows, R: &rows}
		table.Groups.Build(labels, labels, true)
		table.Load(0, n)
		for p := range positivePolicies {
			for q := range negativePolicies {
				cfg := MiningConfig{Positives: PositivePolicy(p), Negatives: NegativePolicy(q), Seed: 9}
				if cfg.Check() != nil {
					continue // TestPoliciesThatWaitForEachOther
				}
				got, err := SelectTuples(e, labels, cfg)
				if err != nil || len(got) != n {
					t.Fatalf("%v + %v: %d selections, %v", cfg.Positives, cfg.Negatives, len(got), err)
				}
				m := newMiner(cfg)
				m.Begin(table, 0)
				var s minerScratch
				for i := range n {
					want := *m.Mine(i, &s)
					if want.All {
						want.All, want.Neg = false, table.NegativeIndices(i, nil)
					}
					g := got[i]
					if !slices.Equal(g.Pos, want.Pos) || !slices.Equal(g.Neg, want.Neg) || g.Paired != want.Paired ||
						g.All || g.NoCandidate != want.NoCandidate || g.Fallback != want.Fallback {
						t.Errorf("%v + %v, anchor %d: %+v, want %+v", cfg.Positives, cfg.Negatives, i, g, want)
					}
				}
			}
		}
	}
}

func TestSelectMistakes(t *testing.T) {
	e := matrix.FromSlice(2, 1, []float32{1, float32(math.NaN())})
	for says, cfg := range map[string]MiningConfig{
		"embedding 1 is not finite": {},
		"Positive(99)":              {Positives: 99},
		"Negative(99)":              {Negatives: 99},
	} {
		if _, err := SelectTuples(e, []int64{0, 0}, cfg); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

// TestTuples: each positive with its own negative or with all, and a loop that
// ends early ends there.
func TestTuples(t *testing.T) {
	for _, c := range []struct {
		s    Selection
		want [][2]int32
	}{
		{Selection{}, nil},
		{Selection{Pos: []int32{1, 2}, Neg: []int32{3, 4}}, [][2]int32{{1, 3}, {1, 4}, {2, 3}, {2, 4}}},
		{Selection{Pos: []int32{1, 2, 5}, Neg: []int32{3, -1, 4}, Paired: true}, [][2]int32{{1, 3}, {5, 4}}},
		{Selection{Pos: []int32{1, 2}, Neg: []int32{3}, Paired: true}, [][2]int32{{1, 3}}},
	} {
		var got [][2]int32
		for p, n := range c.s.Tuples() {
			got = append(got, [2]int32{p, n})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.s, got, c.want)
		}
		for range c.s.Tuples() {
			break
		}
	}
}
