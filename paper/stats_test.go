package paper

import (
	"math"
	"testing"
)

func TestPairedAgainstKnownValues(t *testing.T) {
	arm := []float64{5, 7, 6, 9, 8}
	base := []float64{4, 5, 6, 6, 5.75}
	got := paired(arm, base)
	diff := []float64{1, 2, 0, 3, 2.25}
	var mean, ss float64
	for _, d := range diff {
		mean += d / 5
	}
	for _, d := range diff {
		ss += (d - mean) * (d - mean)
	}
	std := math.Sqrt(ss / 4)
	if math.Abs(got.Gain.Mean-mean) > 1e-12 || math.Abs(got.Gain.Std-std) > 1e-12 || got.Gain.N != 5 {
		t.Errorf("gain %+v, want mean %v std %v", got.Gain, mean, std)
	}
	// The two-sided 5 % and 1 % points of t with 4 degrees of freedom, from tables.
	for _, tc := range []struct{ t, p float64 }{{2.776445, 0.05}, {4.604095, 0.01}} {
		d := []float64{-1, -0.5, 0, 0.5, 1}
		s := math.Sqrt(2.5 / 4)
		shift := tc.t * s / math.Sqrt(5)
		a := make([]float64, 5)
		for i := range a {
			a[i] = d[i] + shift
		}
		if p := paired(a, make([]float64, 5)).P; math.Abs(p-tc.p) > 1e-5 {
			t.Errorf("t = %v: p = %v, want %v", tc.t, p, tc.p)
		}
	}
}

func TestPairedDegenerate(t *testing.T) {
	for _, tc := range []struct {
		name      string
		arm, base []float64
		p         float64
	}{
		{"one seed", []float64{5}, []float64{1}, 1},
		{"no difference", []float64{5, 6}, []float64{5, 6}, 1},
		{"the same gain", []float64{5, 6}, []float64{4, 5}, 0},
	} {
		if got := paired(tc.arm, tc.base).P; got != tc.p {
			t.Errorf("%s: p = %v, want %v", tc.name, got, tc.p)
		}
	}
}
