package projection

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// A row of huge numbers is one point, and the others have their places: two clusters stay
// two.
func TestHugeRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, huge := range []float32{1e9, 1e20, 3e38, -3e38} {
		for _, m := range []Method{Field, Exact} {
			const n, d = 61, 8
			x := matrix.New(n, d)
			for i := range n {
				for j := range d {
					x.Row(i)[j] = float32(10*(i%2)) + float32(rng.NormFloat64())
				}
			}
			for j := range d {
				x.Row(n - 1)[j] = huge
			}
			before := slices.Clone(x.Data)
			out, err := TSNE{Seed: 1, Method: m, Iterations: 300, Perplexity: 8}.Run(t.Context(), x)
			if err != nil {
				t.Errorf("one of %g, %v: %v", huge, m, err)
				continue
			}
			if !slices.Equal(x.Data, before) {
				t.Error("the rows were changed")
			}
			wrong := 0
			for i := range n - 1 {
				best, of := math.Inf(1), 0
				for j := range n - 1 {
					if r := math.Hypot(out.X[i]-out.X[j], out.Y[i]-out.Y[j]); j != i && r < best {
						best, of = r, j
					}
				}
				if of%2 != i%2 {
					wrong++
				}
			}
			if wrong > 3 || math.IsNaN(out.X[n-1]+out.Y[n-1]) {
				t.Errorf("one of %g, %v: %d rows lie beside one of the other cluster", huge, m, wrong)
			}
		}
	}
}

// Where all but one row are equal, there is no distance to compare with.
func TestHugeRowAlone(t *testing.T) {
	x := matrix.New(5, 3)
	x.Row(2)[1] = math.MaxFloat32
	x.Row(2)[0] = math.MaxFloat32
	m, err := TSNE{Seed: 1, Iterations: 50, Perplexity: 1}.Run(t.Context(), x)
	if err != nil || math.IsNaN(m.KL) {
		t.Error(m, err)
	}
	c, err := PCA(t.Context(), x, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range c.Scores.Data {
		if v-v != 0 {
			t.Errorf("a score of %v", v)
		}
	}
}
