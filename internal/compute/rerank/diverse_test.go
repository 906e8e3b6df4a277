package rerank

import (
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// marginal is Diverse by its formula: every score is computed anew.
func marginal(c *Candidates, distance []float64, k int, lambda float64) []int {
	factor := 1.0
	if len(distance) > 0 {
		own := c.distancesFrom(c.Query)
		if a, b := slices.Max(own)-slices.Min(own), slices.Max(distance)-slices.Min(distance); a > 0 && b > 0 {
			factor = a / b
		}
	}
	var chosen []int
	for len(chosen) < min(k, len(distance)) {
		best, next := math.Inf(-1), -1
		for j := range distance {
			if slices.Contains(chosen, j) {
				continue
			}
			score := -distance[j]
			if len(chosen) > 0 {
				near := math.Inf(1)
				for _, i := range chosen {
					near = min(near, c.apart(c.X.Row(i), c.X.Row(j)))
				}
				score = lambda*near - (1-lambda)*factor*distance[j]
			}
			if score > best {
				best, next = score, j
			}
		}
		chosen = append(chosen, next)
	}
	return chosen
}

func TestDiverse(t *testing.T) {
	forEachCase(t, func(t *testing.T, c *Candidates) {
		first := c.distancesFrom(c.Query)
		reranked, err := c.KReciprocal(t.Context(), 5, 3, Lambda)
		if err != nil {
			t.Fatal(err)
		}
		for _, distance := range [][]float64{first, reranked} {
			for _, lambda := range []float64{0, 0.3, 0.7, 1} {
				for _, k := range []int{0, 1, 4, 100} {
					got, err := c.Diverse(t.Context(), distance, k, lambda)
					if err != nil {
						t.Fatal(err)
					}
					if want := marginal(c, distance, k, lambda); !slices.Equal(got, want) {
						t.Errorf("%d with lambda %g: %v, want %v", k, lambda, got, want)
					}
				}
			}
			if got, _ := c.Diverse(t.Context(), distance, 100, 0); !slices.Equal(got, Order(distance)) {
				t.Errorf("with lambda 0: %v, want %v", got, Order(distance))
			}
		}
	})
}

// The scale of the distances does not matter.
func TestDiverseScale(t *testing.T) {
	c := draw("normal", 60, eval.Euclidean)
	distance := c.distancesFrom(c.Query)
	want, err := c.Diverse(t.Context(), distance, 20, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range distance {
		distance[i] = distance[i]/1024 - 3
	}
	got, err := c.Diverse(t.Context(), distance, 20, 0.5)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v; error %v", got, want, err)
	}
}

// Of three pairs of copies, one of each pair comes first.
func TestDiverseLeavesCopiesLast(t *testing.T) {
	c := &Candidates{Query: []float32{1, 0}, X: matrix.FromSlice(6, 2,
		[]float32{1, .1, 1, .1, 1, -.2, 1, -.2, 1, .3, 1, .3})}
	got, err := c.Diverse(t.Context(), c.distancesFrom(c.Query), 3, 0.6)
	if err != nil || !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("%v, error %v", got, err)
	}
}
