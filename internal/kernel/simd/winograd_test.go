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
		t.Skip("no AVX-512 or NEON")
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

// TestWinograd4 is TestWinograd for patches of 4 x 4 output pixels.
func TestWinograd4(t *testing.T) {
	defer Force(AVX512)()
	if !HasWinograd4() {
		t.Skip("no AVX-512")
	}
	rnd := rand.New(rand.NewPCG(20, 20))
	tmp := make([]float32, Winograd4Room)
	for _, c := range []int{16, 32, 48} {
		for n := 1; n < 6; n++ {
			const k, pad = 16, 3
			width := 4*n + 2
			src := normals(rnd, 6*width*c)
			taps := normals(rnd, 9*c*k) // [tap][c][k]
			filters, filtersOK := guardedCopy(rnd, 36*c*k)
			Winograd4Filters(filters, taps, tmp)
			spread := n*(c+pad) + 5
			v, vOK := guardedCopy(rnd, 36*spread)
			Winograd4Input(v, src, n, c, width*c, pad, spread, tmp)
			m := make([]float32, 36*n*k)
			for e := range 36 {
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
			y, yOK := guardedCopy(rnd, 4*4*n*k)
			Winograd4Output(y, m, n, k, n*k, tmp)
			for p := range 4 {
				for q := range 4 * n {
					for j := range k {
						var want, size float64
						for tap := range 9 {
							for ch := range c {
								x := float64(src[((p+tap/3)*width+q+tap%3)*c+ch]) * float64(taps[(tap*c+ch)*k+j])
								want, size = want+x, size+math.Abs(x)
							}
						}
						if got := float64(y[(p*4*n+q)*k+j]); math.Abs(got-want) > 1e-6*size {
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

// TestWinogradGradient runs the transforms of the way back to the filters, and the
// products between them, and compares with the sum they stand for.
func TestWinogradGradient(t *testing.T) {
	defer Force(AVX512)()
	if !HasWinograd() {
		t.Skip("no AVX-512 or NEON")
	}
	rnd := rand.New(rand.NewPCG(19, 19))
	for _, c := range []int{16, 32, 48} {
		for n := 1; n < 6; n++ {
			const pad = 3
			k := 64 - c
			width := 2*n + 2
			x, dy := normals(rnd, 4*width*c), normals(rnd, 2*2*n*k)
			spreadX, spreadY := n*(c+pad)+5, n*(k+pad)+7
			v, vOK := guardedCopy(rnd, 16*spreadX)
			u, uOK := guardedCopy(rnd, 16*spreadY)
			WinogradInput(v, x, n, c, width*c, pad, spreadX)
			WinogradGradient(u, dy, n, k, 2*n*k, pad, spreadY)
			m := make([]float32, 16*c*k)
			for e := range 16 {
				for ch := range c {
					for j := range k {
						var sum float64
						for i := range n {
							sum += float64(v[e*spreadX+i*(c+pad)+ch]) * float64(u[e*spreadY+i*(k+pad)+j])
						}
						m[(e*c+ch)*k+j] = float32(sum)
					}
				}
			}
			for tap, at := range WinogradTaps(m) {
				for ch := range c {
					for j := range k {
						var want, size float64
						for p := range 2 {
							for q := range 2 * n {
								d := float64(x[((p+tap/3)*width+q+tap%3)*c+ch]) * float64(dy[(p*2*n+q)*k+j])
								want, size = want+d, size+math.Abs(d)
							}
						}
						if got := float64(m[(at*c+ch)*k+j]); math.Abs(got-want) > 1e-6*(size+1) {
							t.Fatalf("c %d n %d: tap %d of (%d, %d) is %g, want %g", c, n, tap, ch, j, got, want)
						}
					}
				}
			}
			if !vOK() || !uOK() {
				t.Fatalf("c %d n %d: wrote outside", c, n)
			}
		}
	}
}
