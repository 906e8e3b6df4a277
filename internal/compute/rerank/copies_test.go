package rerank

import (
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

func TestNearCopies(t *testing.T) {
	forEachCase(t, func(t *testing.T, c *Candidates) {
		all := []float64{math.Inf(-1), 0, 0.1, math.Inf(1)}
		if c.X.Rows > 0 {
			all = append(all, slices.Sorted(slices.Values(c.distancesFrom(c.X.Row(c.X.Rows / 2))))[c.X.Rows/3])
		}
		for _, within := range all {
			got, err := c.NearCopies(t.Context(), within, 0)
			if err != nil {
				t.Fatal(err)
			}
			want, leaders := make([]int, c.X.Rows), []int(nil)
			for i := range want {
				near := slices.IndexFunc(leaders, func(l int) bool { return c.apart(c.X.Row(l), c.X.Row(i)) <= within })
				if near < 0 {
					want[i], leaders = i, append(leaders, i)
					continue
				}
				want[i] = leaders[near]
			}
			if !slices.Equal(got, want) {
				t.Errorf("within %g: %v, want %v", within, got, want)
			}
		}
	})
}

// A chain is cut at the distance from its leader, and the first leader gets what two could have.
func TestNearCopiesOfChain(t *testing.T) {
	c := &Candidates{Query: []float32{0}, X: matrix.FromSlice(5, 1, []float32{1, 2, 3, 2, 2.5})}
	got, err := c.NearCopies(t.Context(), 1, 0)
	if err != nil || !slices.Equal(got, []int{0, 0, 2, 0, 2}) {
		t.Errorf("%v, error %v", got, err)
	}
}

// TestNearCopiesMost: after enough leaders, candidates that join none of them have no group.
func TestNearCopiesMost(t *testing.T) {
	c := &Candidates{Query: []float32{0}, X: matrix.FromSlice(6, 1, []float32{0, 10, 0.1, 20, 10.1, 20.1})}
	for most, want := range map[int][]int{0: {0, 1, 0, 3, 1, 3}, 1: {0, -1, 0, -1, -1, -1}, 2: {0, 1, 0, -1, 1, -1},
		9: {0, 1, 0, 3, 1, 3}} {
		if got, err := c.NearCopies(t.Context(), 1, most); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d leaders: %v, %v", most, got, err)
		}
	}
}
