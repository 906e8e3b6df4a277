package dot16

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for n := range 200 {
		x, m := make([]float32, n), make([]float64, n+1)
		for i := range x {
			x[i], m[i] = float32(rng.NormFloat64()*1e3), rng.NormFloat64()
		}
		got, want := make([]float32, n+1), make([]float32, n+1)
		Shift(got, x, m, 0.3)
		shiftGeneric(want, x, m, 0.3)
		if !slices.Equal(got, want) {
			t.Errorf("%d values: %v, want %v", n, got, want)
		}
		var sum [16]float64
		squareAboutGeneric(x, m, &sum)
		if got, want := SquareAbout(x, m), sumLanes(&sum); got != want {
			t.Errorf("%d values: square %v, want %v", n, got, want)
		}
	}
}
