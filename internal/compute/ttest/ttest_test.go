package ttest

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// TestPaired compares with scipy.stats.ttest_rel of scipy 1.10.1.
func TestPaired(t *testing.T) {
	for _, c := range []struct {
		a, b         []float64
		mean, std, p float64
	}{
		{[]float64{0.611, 0.624, 0.598}, []float64{0.587, 0.601, 0.589}, 0.018666666666666682, 0.00838649708360609,
			0.06117411539923844},
		{[]float64{0.587, 0.601, 0.589}, []float64{0.604, 0.619, 0.601}, -0.01566666666666668, 0.0032145502536643214,
			0.013744834522481387},
		{[]float64{52.1, 48.7, 50.3, 55.0, 49.9, 51.2, 53.3}, []float64{50.0, 48.9, 47.1, 52.2, 49.0, 50.8, 50.1},
			1.7714285714285711, 1.4008500820505179, 0.015502646723268853},
	} {
		r, back := Paired(c.a, c.b), Paired(c.b, c.a)
		if !near(r.Mean, c.mean) || !near(r.Std, c.std) || !near(r.P, c.p) || r.N != len(c.a) {
			t.Errorf("%+v, want %+v", r, c)
		}
		if back.Mean != -r.Mean || back.P != r.P {
			t.Errorf("the other way round: %+v and %+v", back, r)
		}
	}
}

// TestPairedDegenerate: what is not defined is NaN.
func TestPairedDegenerate(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		a, b []float64
		mean float64
		n    int
	}{
		"no pair":        {nil, nil, nan, 0},
		"another number": {[]float64{1, 2, 3}, []float64{1, 2}, nan, 0},
		"one pair":       {[]float64{3}, []float64{1}, 2, 1},
		"equal":          {[]float64{1, 2, 3}, []float64{1, 2, 3}, 0, 3},
		"equal gains but for rounding": {[]float64{33.3 + 0.1, 44.4 + 0.1, 66.1 + 0.1}, []float64{33.3, 44.4, 66.1},
			0.1, 3},
		"not a number": {[]float64{1, nan, 3}, []float64{1, 2, 2}, nan, 3},
	} {
		r := Paired(c.a, c.b)
		if !math.IsNaN(r.P) || r.N != c.n || math.IsNaN(c.mean) != math.IsNaN(r.Mean) ||
			math.Abs(r.Mean-c.mean) > 1e-9 {
			t.Errorf("%s: %+v", name, r)
		}
		if k := r.PairsNeeded(1); k != 0 {
			t.Errorf("%s: %d pairs are needed", name, k)
		}
	}
}

// TestPairsNeeded: the first n with scipy's 2 t.sf(mean / (std / sqrt n), n - 1) times the comparisons below 0.05.
func TestPairsNeeded(t *testing.T) {
	for _, c := range []struct {
		r                 Result
		comparisons, want int
	}{
		{Result{Mean: 1, Std: 1.5, N: 3}, 1, 12}, {Result{Mean: -1, Std: 1.5, N: 3}, 3, 17},
		{Result{Mean: 1, Std: 1.5, N: 20}, 1, 21}, {Result{Mean: 0, Std: 1, N: 3}, 1, 0},
		{Result{Mean: 0.01, Std: 1, N: 3}, 1, 0}, {Result{Mean: 100, Std: 1, N: 2}, 1, 3},
	} {
		if got := c.r.PairsNeeded(c.comparisons); got != c.want {
			t.Errorf("%+v, %d comparisons: %d, want %d", c.r, c.comparisons, got, c.want)
		}
	}
}
