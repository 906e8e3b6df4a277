package discover

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/matrix"
)

// Of whole counts p is that of the binomial distribution, and of others between.
func TestGapsBetween(t *testing.T) {
	last := 0.0
	for _, m := range []float64{0, 1, 2, 2.5, 3, 4.25, 5, 9} {
		var g gaps
		g[0].middle, g[0].side = m, 12-m
		p := g.pValue()
		if want := (distuv.Binomial{N: 12, P: 0.5}).CDF(m); m == math.Floor(m) && math.Abs(p-want) > 1e-12 {
			t.Errorf("%g of 12: %g, want %g", m, p, want)
		}
		if p <= last {
			t.Errorf("%g of 12: %g after %g", m, p, last)
		}
		last = p
		g[2].middle = 3 // a second window, which says nothing
		if two := g.pValue(); math.Abs(two-min(1, 2*p)) > 1e-12 {
			t.Errorf("%g of 12 in two windows: %g, want %g", m, two, 2*p)
		}
	}
}

// Several deals say more surely how deep the dip is than one does.
func TestPartitions(t *testing.T) {
	x, _ := drawClouds(rand.New(rand.NewPCG(2, 9)), 2, 25, 8, 4)
	shares := func(count func(rng *rand.Rand) (evidence, error)) (out []float64) {
		for k := range 40 {
			e, err := count(rand.New(rand.NewPCG(uint64(k), 9)))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e.dip)
		}
		return out
	}
	one := shares(func(rng *rand.Rand) (evidence, error) { return findGapsOnce(t.Context(), x, rng) })
	all := shares(func(rng *rand.Rand) (evidence, error) { return findGaps(t.Context(), x, rng) })
	if a, b := stat.Variance(all, nil), stat.Variance(one, nil); a > b/2 {
		t.Errorf("variance %g of one deal, %g of several", b, a)
	}
}

// Along a line a class of one kind may be as flat as can be, and is still not divided.
func TestFlat(t *testing.T) {
	const classes, n = 6, 250
	rng := rand.New(rand.NewPCG(4, 8))
	x, labels := matrix.New(classes*n, 3), make([]int64, classes*n)
	for i := range x.Rows {
		labels[i] = int64(i % classes)
		x.Row(i)[0] = 20 * rng.Float32()
		x.Row(i)[1], x.Row(i)[2] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
	}
	v, err := Judge(t.Context(), x, labels, Options{})
	if err != nil || v.NumDivided > 0 {
		t.Errorf("%v, %v", v, err)
	}
}
