package holm

import (
	"math"
	"testing"
)

// By hand: 0.01 x 4, 0.02 x 3, 0.03 x 2, and 0.04, which is raised to the one before.
func TestCorrect(t *testing.T) {
	got := Correct([]float64{0.04, 0.01, 0.03, 0.02})
	for i, want := range []float64{0.06, 0.04, 0.06, 0.06} {
		if math.Abs(got[i]-want) > 1e-15 {
			t.Errorf("%v", got)
		}
	}
	if got := Correct([]float64{0.6, 0.5}); got[0] != 1 || got[1] != 1 {
		t.Errorf("%v, want 1, 1", got)
	}
}
