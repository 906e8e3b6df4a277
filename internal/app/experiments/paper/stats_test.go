package paper

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
)

func TestPairedAgainstKnownValues(t *testing.T) {
	arm := []Number{5, 7, 6, 9, 8}
	base := []Number{4, 5, 6, 6, 5.75}
	got := pairedTest(arm, base)
	diff := []float64{1, 2, 0, 3, 2.25}
	var mean, ss float64
	for _, d := range diff {
		mean += d / 5
	}
	for _, d := range diff {
		ss += (d - mean) * (d - mean)
	}
	std := math.Sqrt(ss / 4)
	if math.Abs(float64(got.Gain.Mean)-mean) > 1e-12 || math.Abs(float64(got.Gain.Std)-std) > 1e-12 || got.Gain.N != 5 {
		t.Errorf("gain %+v, want mean %v std %v", got.Gain, mean, std)
	}
	// The two-sided 5 % and 1 % points of t with 4 degrees of freedom, from tables.
	for _, tc := range []struct{ t, p float64 }{{2.776445, 0.05}, {4.604095, 0.01}} {
		d := []float64{-1, -0.5, 0, 0.5, 1}
		s := math.Sqrt(2.5 / 4)
		shift := tc.t * s / math.Sqrt(5)
		a := make([]Number, 5)
		for i := range a {
			a[i] = Number(d[i] + shift)
		}
		if p := pairedTest(a, make([]Number, 5)).P; math.Abs(float64(p)-tc.p) > 1e-5 {
			t.Errorf("t = %v: p = %v, want %v", tc.t, p, tc.p)
		}
	}
}

// TestPairedDegenerate checks that p is missing where it is not defined.
func TestPairedDegenerate(t *testing.T) {
	nan := missing
	for _, tc := range []struct {
		name      string
		arm, base []Number
		mean      Number
		n         int
	}{
		{"no seed", nil, nil, nan, 0},
		{"one arm missing", []Number{1, 2, 3}, nil, nan, 0},
		{"one seed", []Number{5}, []Number{1}, 4, 1},
		{"no difference", []Number{5, 6, 7}, []Number{5, 6, 7}, 0, 3},
		{"the same gain", []Number{5, 6, 7}, []Number{4, 5, 6}, 1, 3},
		{"the same gain but for rounding", []Number{33.3 + 0.1, 44.4 + 0.1, 66.1 + 0.1}, []Number{33.3, 44.4, 66.1},
			0.1, 3},
		{"no number", []Number{5, nan, 7}, []Number{4, 5, 5}, nan, 3},
	} {
		got := pairedTest(tc.arm, tc.base)
		if got.P.isKnown() || got.Gain.N != tc.n || tc.mean.isKnown() != got.Gain.Mean.isKnown() || tc.mean.isKnown() &&
			math.Abs(float64(got.Gain.Mean-tc.mean)) > 1e-9 {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if v, why := judgeTests([]PairedTest{got}); v != Undecided {
			t.Errorf("%s: %s (%s)", tc.name, v, why)
		}
		text, err := json.Marshal(got)
		var back PairedTest
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || fmt.Sprint(back) != fmt.Sprint(got) {
			t.Errorf("%s: %s reads as %v, %v", tc.name, text, back, err)
		}
	}
}
