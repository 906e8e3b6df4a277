package nearest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
)

// A row's half is less than what a score loses by it, by no more than its rounding to
// float32 may add: no row seems farther than it is.
func TestHalvesAreBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const n, d = 50, 7
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(rng.NormFloat64()) * float32(math.Ldexp(1, i%d)) // coordinates of many sizes
	}
	s := FitSpace(exact.Euclidean, d, n, func(r int) []float32 { return x[r*d : (r+1)*d] })
	u := make([]float64, d)
	for r := range n {
		norm, half := s.place(u, x[r*d:(r+1)*d])
		square := 0.0
		for _, v := range u {
			square += v * v
		}
		if math.Abs(norm*norm-square) > 1e-12*square {
			t.Errorf("row %d: length %g, want %g", r, norm, math.Sqrt(square))
		}
		if whole := square / 2; half > whole*(1-0x1p-22) || half < whole*(1-0x1p-20) || float64(float32(half)) > whole {
			t.Errorf("row %d: half %g of %g, %g less as a share", r, half, whole, 1-half/whole)
		}
	}
}
