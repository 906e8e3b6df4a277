package detection

import (
	"math"
	"testing"
)

func TestRanked(t *testing.T) {
	wrong := []bool{true, false, true, false}
	for _, c := range []struct {
		score           []float64
		precision, area float64
	}{
		{[]float64{4, 1, 3, 2}, 1, 1},
		{[]float64{1, 4, 2, 3}, 0, 0},
		{[]float64{4, 3, 2, 1}, 0.5, 0.75},
		{[]float64{1, 1, 1, 1}, 0.5, 0.5},
	} {
		if p, a := PrecisionAndArea(c.score, wrong); p != c.precision || a != c.area {
			t.Errorf("%v: %g and %g, want %g and %g", c.score, p, a, c.precision, c.area)
		}
	}
}

func TestReliability(t *testing.T) {
	for _, c := range []struct {
		p          []float64
		came       []bool
		brier, ece float64
	}{
		{[]float64{1, 0}, []bool{true, false}, 0, 0},
		{[]float64{1, 1}, []bool{true, false}, 0.5, 0.5},
		{[]float64{0.5, 0.5}, []bool{true, false}, 0.25, 0},
		{[]float64{0.25, 0.25, 0.25, 0.25}, []bool{true, false, false, false}, 0.1875, 0},
	} {
		if b, e := CalibrationError(c.p, c.came); math.Abs(b-c.brier) > 1e-12 || math.Abs(e-c.ece) > 1e-12 {
			t.Errorf("%v: %g and %g, want %g and %g", c.p, b, e, c.brier, c.ece)
		}
	}
}
