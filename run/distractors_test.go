package run

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// TestHitsAmong compares with the definition, a loop over all pairs in float64.
func TestHitsAmong(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, m, d := 2+rng.IntN(40), 1+rng.IntN(60), 2+rng.IntN(5) // in one dimension all cosines tie
		draw := func(n int) (*mat.Dense, []int64) {
			x, y := mat.New(n, d), make([]int64, n)
			for i := range x.Data {
				x.Data[i] = float32(rng.NormFloat64())
			}
			for i := range y {
				y[i] = int64(rng.IntN(6))
			}
			return x, y
		}
		x, labels := draw(n)
		g, others := draw(m)
		far := func(distance rank.Distance, a, b []float32) float64 {
			var dot, aa, bb, square float64
			for i := range a {
				dot += float64(a[i]) * float64(b[i])
				aa += float64(a[i]) * float64(a[i])
				bb += float64(b[i]) * float64(b[i])
				square += float64(a[i]-b[i]) * float64(a[i]-b[i])
			}
			if distance == rank.Cosine {
				return -dot / math.Sqrt(aa*bb)
			}
			return square
		}
		for _, distance := range []rank.Distance{rank.Euclidean, rank.Cosine} {
			hits, queries := 0, 0
			for i := range n {
				best, hit, any := math.Inf(1), false, false
				for j := range n {
					if j == i {
						continue
					}
					any = any || labels[j] == labels[i]
					if v := far(distance, x.Row(i), x.Row(j)); v < best {
						best, hit = v, labels[j] == labels[i]
					}
				}
				for j := range m {
					if v := far(distance, x.Row(i), g.Row(j)); others[j] != labels[i] && v < best {
						best, hit = v, false
					}
				}
				if any {
					queries++
					if hit {
						hits++
					}
				}
			}
			h, q, err := hitsAmong(t.Context(), x, labels, g, others, distance)
			if err != nil || h != hits || q != queries {
				t.Errorf("seed %d, %v: %d of %d, want %d of %d (%v)", seed, distance, h, q, hits, queries, err)
			}
		}
	}
}

// Copies on both sides: a validation sample comes before a distractor at the same place.
func TestHitsAmongTies(t *testing.T) {
	x := mat.Of(2, 1, []float32{1, 1})
	g := mat.Of(3, 1, []float32{1, 1, 1})
	h, q, err := hitsAmong(t.Context(), x, []int64{5, 5}, g, []int64{5, 7, 5}, rank.Euclidean)
	if err != nil || h != 2 || q != 2 {
		t.Errorf("%d of %d, %v", h, q, err)
	}
	h, q, err = hitsAmong(t.Context(), x, []int64{5, 6}, g, []int64{5, 7, 5}, rank.Euclidean)
	if err != nil || h != 0 || q != 0 {
		t.Errorf("classes of one: %d of %d, %v", h, q, err)
	}
}
