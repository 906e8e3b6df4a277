package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWinograd runs the three transforms and the products between them, and
// compares with the convolution they stand for: one line of n patches, c
// channels in and one filter for each of 16 channels out.
func TestWinograd(t *testing.T) {
	defer Force(AVX512)()
	if !HasWinograd() {
		t.Skip("no AVX-512")
	}
	rnd := rand.New(rand.NewPCG(18, 18))
	for _, c := range []int{16, 32, 48} {
		for n := 1; n < 6; n++ {
			const k, pad = 16, 3
			width := 2*n + 2
			src := normals(rnd, 4*width*c)
			taps := normals(rnd, 9*c*k) // [tap][c][k]
			filters, filtersOK := guardedCopy(rnd, 16*c*k)
			WinogradFilters(filters, taps)
			spread := n*(c+pad) + 5
			v, vOK := guardedCopy(rnd, 16*spread)
			WinogradInput(v, src, n, c, width*c, pad, spread)
			m := make([]float32, 16*n*k)
			for e := range 16 {
				for i := range n {
					for j := range k {
						var sum float64
						for ch := range c {
							sum += float64(v[e*spread+i*(c+pad)+ch]) * float64(filters[(e*c+ch)*k+j])
						}
						m[(e*n+i)*k+j] = float32(sum)
					}
				}
			}
			y, yOK := guardedCopy(rnd, 2*2*n*k)
			WinogradOutput(y, m, n, k, n*k)
			for p := range 2 {
				for q := range 2 * n {
					for j := range k {
						var want, size float64
						for tap := range 9 {
							for ch := range c {
								x := float64(src[((p+tap/3)*width+q+tap%3)*c+ch]) * float64(taps[(tap*c+ch)*k+j])
								want, size = want+x, size+math.Abs(x)
							}
						}
						if got := float64(y[(p*2*n+q)*k+j]); math.Abs(got-want) > 1e-6*size {
							t.Fatalf("c %d n %d: output (%d, %d, %d) is %g, want %g", c, n, p, q, j, got, want)
						}
					}
				}
			}
			if !filtersOK() || !vOK() || !yOK() {
				t.Fatalf("c %d n %d: wrote outside", c, n)
			}
		}
	}
}
