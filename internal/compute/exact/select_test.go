package exact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNth(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 25))
	var h headFiller
	for n := 1; n < 200; n++ {
		v := make([]float32, n, n+16)
		for i := range v {
			v[i] = float32(rng.IntN(60)-30) * float32(math.Exp(float64(rng.IntN(40)-20)))
		}
		sorted := slices.Clone(v)
		slices.Sort(sorted)
		for k := 1; k <= n; k++ {
			got := h.nthLargest(v, k, -math.MaxFloat32)
			above := 0
			for _, s := range v {
				if s > got {
					above++
				}
			}
			// No more than k but for ties of the k-th.
			if kth := sorted[n-k]; got >= kth || above < k || above > k && math.Nextafter32(got, kth) != kth {
				t.Fatalf("number %d of %d: %g, %d are above; it is %g", k, n, got, above, kth)
			}
		}
	}
}

func TestSorter(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 27))
	var s sorter
	for _, spread := range []float64{0, 1, 60} { // all equal, even, most in one bucket
		for n := range 300 {
			near, rows := make([]float32, n), make([]int32, n)
			want := make([]Item, n)
			for i := range near {
				near[i], rows[i] = -float32(math.Exp(spread*rng.Float64())), int32(i)
				want[i] = Item{Score: float64(near[i]), Row: rows[i]}
			}
			slices.SortFunc(want, compareItems)
			got := s.sort(near, rows)
			if !slices.EqualFunc(got, want, func(a, b Item) bool { return a.Score == b.Score }) {
				t.Fatalf("spread %g: %v, want %v", spread, got, want)
			}
			seen := make([]bool, n)
			for _, it := range got {
				if seen[it.Row] || float64(near[it.Row]) != it.Score {
					t.Fatalf("spread %g: row %d comes twice, or with the score of another", spread, it.Row)
				}
				seen[it.Row] = true
			}
		}
	}
}
