package dot16

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTotal: the lanes are added in halves, to the bit.
func TestTotal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		var lanes [16]float64
		for i := range lanes {
			lanes[i] = math.Exp(8*rng.NormFloat64()) * rng.NormFloat64()
		}
		want := lanes
		for half := 8; half > 0; half /= 2 {
			for i := range half {
				want[i] += want[i+half]
			}
		}
		if have := sumLanes(&lanes); math.Float64bits(have) != math.Float64bits(want[0]) {
			t.Fatalf("%v, want %v", have, want[0])
		}
	}
}
