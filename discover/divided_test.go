package discover

import (
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// A group of four counts, one of three does not: what it falls into says nothing of gaps.
func TestDividedLeast(t *testing.T) {
	for small, want := range map[int]bool{3: false, 4: true, 5: true} {
		known := matrix.New(12, 1)
		for i := range known.Data {
			known.Data[i] = float32(i) / 10
			if i < small {
				known.Data[i] += 100
			}
		}
		merges, err := ward.Tree(t.Context(), ward.Squared(known))
		if err != nil {
			t.Fatal(err)
		}
		asked := matrix.FromSlice(3, 1, []float32{0.5, 100.2, 50})
		out := divideGroup(known, merges, 2, asked)
		if got := len(out.positions[0])+len(out.positions[1]) > 0; got != want || out.first {
			t.Errorf("%d of 12 apart: %+v, want places %v and the smaller part at the second end", small, out, want)
		}
	}
}

// The mean of the silhouettes is that of the draws; from four effective dimensions on, where they
// do not decide, none are drawn.
func TestCloudOfItsDraws(t *testing.T) {
	const draws = 4
	opt := Options{Draws: draws, MaxSubClasses: 5}
	for _, d := range []int{2, 12} {
		y, _ := drawClouds(rand.New(rand.NewPCG(4, 21)), 2, 8, d, 3/float64(d))
		most := opt.maxGroups(y.Rows)
		got, err := newCloud(t.Context(), y, opt, rand.New(rand.NewPCG(9, 9)))
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, most+1)
		rng := rand.New(rand.NewPCG(9, 9))
		for range draws {
			s, err := silhouetteCurve(t.Context(), drawNormalLike(centreRows(y), rng), most)
			if err != nil {
				t.Fatal(err)
			}
			for k := range s {
				want[k] += s[k] / draws
			}
		}
		for k, v := range want {
			if got.dim >= minSliceDimension {
				v = 0
			}
			requireNear(t, "mean of the draws", got.mean[k], v, 1e-9)
		}
		if (got.dim >= minSliceDimension) != (d == 12) {
			t.Errorf("%d dimensions count as %g", d, got.dim)
		}
	}
}
