package conv

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestForwardPair compares with two calls of Forward, to the bit.
func TestForwardPair(t *testing.T) {
	rnd := rand.New(rand.NewPCG(23, 23))
	double := func(y []float32) {
		for i := range y {
			y[i] *= 2
		}
	}
	eachLevel(t, func(t *testing.T) {
		for i, d := range []Shape{
			{N: 1, H: 5, W: 4, C: 3, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
			{N: 3, H: 9, W: 11, C: 24, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
			{N: 2, H: 12, W: 10, C: 37, R: 3, S: 3, StrideH: 2, StrideW: 2, EndH: 1, EndW: 1},
			{N: 17, H: 4, W: 4, C: 256, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1}, // spread in its slab
			{N: 2, H: 30, W: 33, C: 40, R: 5, S: 5, StrideH: 2, StrideW: 2, PadH: 2, PadW: 2},
			{N: 2, H: 8, W: 9, C: 20, R: 3, S: 3, StrideH: 1, StrideW: 1}, // read in place
			{N: 1, H: 40, W: 41, C: 8, R: 7, S: 7, StrideH: 1, StrideW: 1, PadH: 3, PadW: 3},
			// Rows of positions that meet nothing but padding.
			{N: 2, H: 3, W: 90, C: 30, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 20, PadW: 1},
			// Few positions, many panels: parts of one chunk.
			{N: 1, H: 4, W: 4, C: 32, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
		} {
			d.K, d.Groups = d.C, d.C
			p := Shape{N: d.N, H: d.OutH(), W: d.OutW(), C: d.K, K: 30 + 290*(i%2), R: 1, S: 1, StrideH: 1, StrideW: 1,
				Groups: 1}
			nx, nd, nz := d.Len()
			_, np, ny := p.Len()
			x, wd, wp := normals(rnd, nx), normals(rnd, nd), normals(rnd, np)
			ed := &Epilogue{Scale: normals(rnd, d.K), Shift: normals(rnd, d.K), ReLU6: i%2 == 0}
			ep := &Epilogue{Shift: normals(rnd, p.K), ReLU: i%3 == 0, Residual: normals(rnd, ny)}
			if i%3 == 1 {
				ed.Act, ep.Residual, ep.Scale = double, nil, normals(rnd, p.K)
			}
			z, want, ws := make([]float32, nz), make([]float32, ny), &Workspace{}
			Forward(ws, &d, x, wd, z, ed)
			Forward(ws, &p, z, wp, want, ep)
			for _, procs := range []int{1, 3} {
				old := runtime.GOMAXPROCS(procs)
				y, check := guarded(rnd, ny)
				ForwardPair(ws, &d, &p, x, wd, wp, y, ed, ep)
				runtime.GOMAXPROCS(old)
				for j, w := range want {
					if math.Float32bits(y[j]) != math.Float32bits(w) {
						t.Fatalf("shape %d, value %d is %g, apart %g", i, j, y[j], w)
					}
				}
				check(t)
			}
			if n := testing.AllocsPerRun(3, func() { ForwardPair(ws, &d, &p, x, wd, wp, want, ed, ep) }); n > 0 {
				t.Errorf("shape %d: %g allocations", i, n)
			}
		}
	})
}
