package discover

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gonum "gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/matrix"
)

// Squared distances of levelled rows are (a - b)' (W/w + I)^-1 (a - b).
func TestLevelled(t *testing.T) {
	const n, d = 40, 6
	x, _ := drawClouds(rand.New(rand.NewPCG(8, 1)), 2, n/2, d, 3)
	classes := []*measuredClass{{}, {}}
	within := gonum.NewSymDense(d, nil)
	for i := range n {
		classes[i%2].sample = append(classes[i%2].sample, i)
	}
	for _, c := range classes {
		y := centreRows(x.RowsAt(c.sample))
		for i := range y.Rows {
			for a := range d {
				for b := a; b < d; b++ {
					within.SetSym(a, b, within.At(a, b)+float64(y.At(i, a))*float64(y.At(i, b)))
				}
			}
		}
	}
	within.ScaleSym(d/within.Trace(), within)
	for a := range d {
		within.SetSym(a, a, within.At(a, a)+1)
	}
	var inverse gonum.Dense
	if err := inverse.Inverse(within); err != nil {
		t.Fatal(err)
	}
	even, err := levelScatter(t.Context(), x, classes)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < n; i++ {
		var got float64
		v := gonum.NewVecDense(d, nil)
		for j := range d {
			v.SetVec(j, float64(x.At(i, j)-x.At(0, j)))
			got += math.Pow(float64(even.At(i, j)-even.At(0, j)), 2)
		}
		if want := gonum.Inner(v, &inverse, v); math.Abs(got-want) > 1e-4*want {
			t.Errorf("row %d: %g, want %g", i, got, want)
		}
	}
	equal := matrix.New(4, 3)
	if same, err := levelScatter(t.Context(), equal, []*measuredClass{{sample: []int{0, 1, 2, 3}}}); err != nil ||
		same != equal {
		t.Errorf("equal rows: %v, %v", same, err)
	}
}

// Where the photographs of all classes differ most by their light, kinds are still told
// apart by what distinguishes them.
func TestKindsByLight(t *testing.T) {
	kinds := append(slices.Repeat([]int{1}, 26), 2, 2, 3, 3)
	rng := rand.New(rand.NewPCG(6, 3))
	x, labels, fine := drawPhotographs(rng, kinds, 24)
	for i := range x.Rows {
		x.Row(i)[0] += float32(12 * rng.NormFloat64())
	}
	r := findSubClasses(t, x, labels, Options{Resamples: -1})
	if !r.Verdict.Calibrated || r.Verdict.NumDivided < 3 {
		t.Fatalf("%v", &r.Verdict)
	}
	for k, c := range r.Classes {
		if kinds[k] == 1 || len(c.SubClasses) == 1 {
			continue
		}
		var truth, found []int64
		for _, kind := range c.SubClasses {
			for _, i := range kind.Rows {
				truth, found = append(truth, fine[i]), append(found, r.SubClassOf[i])
			}
		}
		table, err := cluster.NewTable(truth, found)
		if err != nil {
			t.Fatal(err)
		}
		if nmi := table.NMI(cluster.Arithmetic); nmi < 0.8 {
			t.Errorf("class %d, %d kinds for %d: NMI %.2f", k, len(c.SubClasses), kinds[k], nmi)
		}
	}
}
