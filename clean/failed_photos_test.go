package clean

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// Photos that are nearly the same whatever their class are failed photos; of other sets none is.
func TestFailed(t *testing.T) {
	for _, c := range []struct {
		name   string
		draw   func(rng *rand.Rand) (*matrix.Dense, []int64)
		failed int // one of so many photos, 0 for none
		kinds  int // of failed photos
	}{
		{"one kind", func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawClasses(rng, 20, 30, 12, 3) }, 30, 1},
		{"two kinds", func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawClasses(rng, 40, 15, 12, 2) }, 15, 2},
		{"a few", func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawClasses(rng, 20, 6, 12, 3) }, 25, 1},
		{"none", func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawClasses(rng, 20, 30, 12, 3) }, 0, 0},
		{"look-alikes", func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawPairs(rng, 20, 30, 4, 0.5) }, 0, 0},
		{"overlapping classes in the plane",
			func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawClasses(rng, 10, 200, 2, 2) }, 0, 0},
		{"one cloud", func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawClasses(rng, 10, 60, 3, 0) }, 0, 0},
		{"tails", func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawHeavyTailed(rng, 20, 60, 12, 1) }, 0, 0},
		{"classes under four names", func(rng *rand.Rand) (*matrix.Dense, []int64) {
			x, y := drawClasses(rng, 10, 20, 12, 3)
			names := slices.Clone(y)
			rows := slices.Clone(x.Data)
			for k := range int64(3) {
				rows = append(rows, x.Data...)
				for _, l := range y {
					names = append(names, l+1+k)
				}
			}
			return matrix.FromSlice(len(names), 12, rows), names
		}, 0, 0},
	} {
		for _, distance := range []eval.Distance{eval.Euclidean, eval.Cosine} {
			rng := rand.New(rand.NewPCG(4, 9))
			x, y := c.draw(rng)
			var want []int
			for i := range y {
				if c.failed > 0 && i%c.failed == 0 {
					want = append(want, i)
					for j := range x.Row(i) {
						x.Row(i)[j] = 0.05 * float32(rng.NormFloat64())
					}
					x.Row(i)[len(want)%c.kinds] += 9
				}
			}
			got, err := FindFailedPhotos(t.Context(), x, y, distance)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %v: %d found (%v ...) of %d, %v", c.name, distance, len(got), got[:min(len(got), 9)],
					len(want), err)
			}
		}
	}
}
