package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// forEachTap visits every product of the convolution's definition: indices of an
// input, a weight and the output they add to.
func forEachTap(s *Shape, visit func(x, w, y int)) {
	oh, ow, cg, kg := s.OutH(), s.OutW(), s.C/s.Groups, s.K/s.Groups
	for n := range s.N {
		for p := range oh {
			for q := range ow {
				for k := range s.K {
					for r := range s.R {
						for t := range s.S {
							h, v := p*s.StrideH+r-s.PadH, q*s.StrideW+t-s.PadW
							if h < 0 || h >= s.H || v < 0 || v >= s.W {
								continue
							}
							for c := range cg {
								visit(((n*s.H+h)*s.W+v)*s.C+k/kg*cg+c, ((k*s.R+r)*s.S+t)*cg+c, ((n*oh+p)*ow+q)*s.K+k)
							}
						}
					}
				}
			}
		}
	}
}

func normals(rnd *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rnd.NormFloat64())
	}
	return v
}

// sums holds what a computation should give, and the sum of the magnitudes of
// its terms, which float32 errors scale with.
type sums struct{ value, size []float64 }

func newSums(start []float32) sums {
	s := sums{make([]float64, len(start)), make([]float64, len(start))}
	for i, v := range start {
		s.value[i], s.size[i] = float64(v), math.Abs(float64(v))
	}
	return s
}

func (s sums) add(i int, a, b float32) {
	v := float64(a) * float64(b)
	s.value[i] += v
	s.size[i] += math.Abs(v)
}

func (s sums) check(t *testing.T, what string, got []float32) {
	t.Helper()
	for i, want := range s.value {
		if d := math.Abs(float64(got[i]) - want); !(d <= 1e-6*s.size[i]+1e-12) {
			t.Fatalf("%s: element %d is %g, want %g", what, i, got[i], want)
		}
	}
}

func eachLevel(t *testing.T, f func(t *testing.T)) {
	for l := simd.Generic; l <= simd.AVX512; l++ {
		restore := simd.Force(l)
		if simd.Active() == l {
			t.Run(l.String(), f)
		}
		restore()
	}
}

// guarded returns n values within a larger slice whose rest must not change.
func guarded(rnd *rand.Rand, n int) (v []float32, check func(t *testing.T)) {
	all := normals(rnd, n+64)
	old := append([]float32(nil), all...)
	return all[32 : 32+n : 32+n], func(t *testing.T) {
		t.Helper()
		for i, v := range all {
			if (i < 32 || i >= 32+n) && v != old[i] {
				t.Fatalf("wrote outside, at %d of %d", i-32, n)
			}
		}
	}
}

func checkShape(t *testing.T, rnd *rand.Rand, ws *Workspace, s *Shape, mode int) {
	t.Helper()
	nx, nw, ny := s.Len()
	x, w, dy := operands(ws, rnd, nx), operands(ws, rnd, nw), operands(ws, rnd, ny)
	name := fmt.Sprintf("%+v mode %d", *s, mode)

	z := newSums(make([]float32, ny))
	accumulate := mode&1 != 0
	dx, dxGuard := guarded(rnd, nx)
	dw, dwGuard := guarded(rnd, nw)
	wantX, wantW := newSums(make([]float32, nx)), newSums(make([]float32, nw))
	if accumulate {
		wantX, wantW = newSums(dx), newSums(dw)
	}
	forEachTap(s, func(i, j, k int) {
		z.add(k, x[i], w[j])
		wantX.add(i, dy[k], w[j])
		wantW.add(j, dy[k], x[i])
	})
	e := &Epilogue{ReLU: mode&8 != 0, ReLU6: mode&64 != 0}
	if mode&1 != 0 {
		e.Scale = normals(rnd, s.K)
	}
	if mode&2 != 0 {
		e.Shift = normals(rnd, s.K)
	}
	if mode&4 != 0 {
		e.Residual = normals(rnd, ny)
	}
	if mode&16 != 0 {
		e.Moments = &Moments{Mean: make([]float32, s.K), Var: make([]float32, s.K)}
	}
	if mode&32 != 0 {
		e.Act = func(y []float32) {
			for i, v := range y {
				y[i] = -v / 2
			}
		}
	}
	for i := range z.value {
		if e.Scale != nil {
			z.value[i] *= float64(e.Scale[i%s.K])
			z.size[i] *= math.Abs(float64(e.Scale[i%s.K]))
		}
		if e.Shift != nil {
			z.add(i, e.Shift[i%s.K], 1)
		}
		if e.Residual != nil {
			z.add(i, e.Residual[i], 1)
		}
		if e.ReLU || e.ReLU6 {
			z.value[i] = max(z.value[i], 0)
		}
		if e.ReLU6 {
			z.value[i] = min(z.value[i], 6)
		}
		if e.Act != nil {
			z.value[i] /= -2
		}
	}
	y, guard := guarded(rnd, ny)
	Forward(ws, s, x, w, y, e)
	z.check(t, name+": forward", y)
	guard(t)
	if e.Moments != nil {
		checkMoments(t, name, y, s.K, e.Moments)
	}

	BackwardData(ws, s, dy, w, dx, accumulate)
	wantX.check(t, name+": backward to the input", dx)
	dxGuard(t)
	BackwardWeights(ws, s, x, dy, dw, accumulate)
	wantW.check(t, name+": backward to the filters", dw)
	dwGuard(t)
}

func checkMoments(t *testing.T, name string, y []float32, k int, m *Moments) {
	t.Helper()
	for c := range k {
		var sum, sq, n float64
		for i := c; i < len(y); i += k {
			sum += float64(y[i])
			n++
		}
		mean := sum / n
		for i := c; i < len(y); i += k {
			d := float64(y[i]) - mean
			sq += d * d
		}
		if math.Abs(float64(m.Mean[c])-mean) > 1e-5*(math.Abs(mean)+math.Sqrt(sq/n)) ||
			math.Abs(float64(m.Var[c])-sq/n) > 1e-5*(sq/n)+1e-6*math.Abs(mean)*math.Sqrt(sq/n)+1e-12 {
			t.Fatalf("%s: channel %d has mean %g variance %g, want %g and %g", name, c, m.Mean[c], m.Var[c], mean, sq/n)
		}
	}
}

var shapes = []Shape{
	{N: 1, H: 3, W: 3, C: 1, K: 1, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1},
	{N: 2, H: 9, W: 9, C: 1, K: 32, R: 3, S: 3, StrideH: 1, StrideW: 1, Groups: 1},
	{N: 3, H: 10, W: 10, C: 1, K: 64, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1},
	{N: 3, H: 5, W: 5, C: 64, K: 64, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1},
	{N: 1, H: 7, W: 5, C: 3, K: 5, R: 3, S: 2, StrideH: 2, StrideW: 1, PadH: 1, PadW: 0, Groups: 1},
	{N: 2, H: 8, W: 11, C: 6, K: 9, R: 2, S: 5, StrideH: 1, StrideW: 3, PadH: 0, PadW: 3, Groups: 3},
	{N: 2, H: 7, W: 7, C: 8, K: 8, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 8},
	{N: 9, H: 6, W: 7, C: 70, K: 70, R: 3, S: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1, Groups: 70},
	{N: 2, H: 9, W: 11, C: 32, K: 48, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1},
	{N: 9, H: 8, W: 10, C: 32, K: 32, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 0, Groups: 1},
	{N: 1, H: 38, W: 15, C: 32, K: 32, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 2, PadW: 3, Groups: 1},
	{N: 2, H: 6, W: 7, C: 17, K: 17, R: 3, S: 2, StrideH: 1, StrideW: 3, Groups: 17},
	{N: 2, H: 7, W: 8, C: 5, K: 10, R: 3, S: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1, Groups: 5},
	{N: 1, H: 23, W: 21, C: 3, K: 20, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3, Groups: 1},
	{N: 2, H: 8, W: 8, C: 16, K: 40, R: 1, S: 1, StrideH: 2, StrideW: 2, Groups: 1},
	{N: 1, H: 5, W: 5, C: 256, K: 33, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1},
	{N: 2, H: 4, W: 4, C: 256, K: 72, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1},
	{N: 2, H: 3, W: 3, C: 512, K: 330, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1},
	{N: 1, H: 2, W: 1, C: 2, K: 3, R: 3, S: 3, StrideH: 3, StrideW: 2, PadH: 2, PadW: 1, Groups: 1},
	{N: 20, H: 4, W: 6, C: 4, K: 17, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1},
	{N: 11, H: 6, W: 6, C: 4, K: 50, R: 3, S: 3, StrideH: 1, StrideW: 1, Groups: 2},
	{N: 0, H: 4, W: 4, C: 2, K: 2, R: 3, S: 3, StrideH: 1, StrideW: 1, Groups: 1},
	{N: 1, H: 1, W: 200, C: 2, K: 3, R: 1, S: 5, StrideH: 1, StrideW: 2, PadW: 6, Groups: 1},
	{N: 17, H: 2, W: 2, C: 3, K: 4, R: 2, S: 2, StrideH: 4, StrideW: 4, PadH: 1, PadW: 1, Groups: 1},
	// More zeros at the bottom and on the right.
	{N: 2, H: 8, W: 10, C: 3, K: 20, R: 3, S: 3, StrideH: 2, StrideW: 2, EndH: 1, EndW: 1, Groups: 1},
	{N: 2, H: 12, W: 10, C: 20, K: 20, R: 3, S: 3, StrideH: 2, StrideW: 2, EndH: 1, EndW: 1, Groups: 20},
	{N: 3, H: 12, W: 9, C: 33, K: 33, R: 5, S: 5, StrideH: 2, StrideW: 2, PadH: 1, PadW: 2, EndH: 1, Groups: 33},
	{N: 2, H: 10, W: 10, C: 32, K: 32, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, EndH: 3, EndW: 2, Groups: 1},
	// Enough filters that rows of the gradient are copied tile by tile, some of two taps.
	{N: 2, H: 7, W: 6, C: 20, K: 260, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1},
	{N: 2, H: 9, W: 6, C: 72, K: 258, R: 3, S: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1, Groups: 1},
	{N: 1, H: 3, W: 2, C: 2, K: 3, R: 5, S: 4, StrideH: 3, StrideW: 1, EndH: 4, EndW: 5, Groups: 1},
	// Wide depthwise filters.
	{N: 2, H: 9, W: 7, C: 36, K: 36, R: 5, S: 5, StrideH: 1, StrideW: 1, PadH: 2, PadW: 2, Groups: 36},
	{N: 2, H: 7, W: 8, C: 50, K: 50, R: 7, S: 7, StrideH: 1, StrideW: 1, PadH: 3, PadW: 3, Groups: 50},
}

func TestShapes(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(8, 8))
		ws := &Workspace{}
		for i := range shapes {
			modes := []int{0, 3, 16, 15, 4, 24, 59, 67}
			if _, _, ny := shapes[i].Len(); ny*shapes[i].C/shapes[i].Groups > 1e5 {
				modes = []int{47, 16} // the definition takes its time
			}
			for _, mode := range modes {
				if shapes[i].N > 0 || mode&16 == 0 {
					checkShape(t, rnd, ws, &shapes[i], mode)
				}
			}
		}
	})
}

func FuzzConv(f *testing.F) {
	f.Add(uint64(1), uint8(2), uint8(7), uint8(9), uint8(3), uint8(4), uint8(3), uint8(3), uint8(1), uint8(2), uint8(1),
		uint8(0), uint8(1), uint8(3))
	f.Add(uint64(2), uint8(1), uint8(1), uint8(1), uint8(1), uint8(1), uint8(1), uint8(1), uint8(3), uint8(3), uint8(2),
		uint8(2), uint8(2), uint8(16))
	f.Fuzz(func(t *testing.T, seed uint64, n, h, w, c, k, r, q, sh, sw, ph, pw, groups, mode uint8) {
		g := int(groups%4) + 1
		s := &Shape{N: int(n%4) + 1, H: int(h%14) + 1, W: int(w%14) + 1, C: g * (int(c%20) + 1), K: g * (int(k%40) + 1),
			R: int(r%5) + 1, S: int(q%5) + 1, StrideH: int(sh%3) + 1, StrideW: int(sw%3) + 1, PadH: int(ph % 4),
			PadW: int(pw % 4), Groups: g, EndH: int(ph / 4 % 3), EndW: int(pw / 4 % 3)}
		if s.Check() != nil {
			t.Skip()
		}
		for _, half := range []bool{false, true} {
			checkShape(t, rand.New(rand.NewPCG(seed, 0)), &Workspace{BFloat16: half}, s, int(mode%128))
		}
	})
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	s := &Shape{N: 16, H: 20, W: 20, C: 32, K: 64, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1}
	nx, nw, ny := s.Len()
	rnd := rand.New(rand.NewPCG(9, 9))
	x, w, dy := normals(rnd, nx), normals(rnd, nw), normals(rnd, ny)
	for _, half := range []bool{false, true} {
		var first [][]float32
		for _, procs := range []int{1, 2, 5} {
			old := runtime.GOMAXPROCS(procs)
			y, dx, dw := make([]float32, ny), make([]float32, nx), make([]float32, nw)
			m := &Moments{make([]float32, s.K), make([]float32, s.K)}
			ws := &Workspace{BFloat16: half}
			Forward(ws, s, x, w, y, &Epilogue{Moments: m})
			BackwardData(ws, s, dy, w, dx, false)
			BackwardWeights(ws, s, x, dy, dw, false)
			runtime.GOMAXPROCS(old)
			all := [][]float32{y, dx, dw, m.Mean, m.Var}
			if first == nil {
				first = all
			}
			for i, v := range all {
				for j := range v {
					if math.Float32bits(v[j]) != math.Float32bits(first[i][j]) {
						t.Fatalf("GOMAXPROCS %d: result %d differs at %d: %g, with 1 %g", procs, i, j, v[j],
							first[i][j])
					}
				}
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, half := range []bool{false, true} {
		ws := &Workspace{BFloat16: half}
		rnd := rand.New(rand.NewPCG(10, 10))
		for _, s := range []*Shape{&shapes[3], &shapes[8], &shapes[12],
			{N: 16, H: 20, W: 20, C: 32, K: 64, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1}} {
			nx, nw, ny := s.Len()
			x, w, y, dx, dw := normals(rnd, nx), normals(rnd, nw), normals(rnd, ny), normals(rnd, nx), normals(rnd, nw)
			e := &Epilogue{Shift: normals(rnd, s.K), Moments: &Moments{make([]float32, s.K), make([]float32, s.K)}}
			runs := 20
			if half && bf16.Active() == bf16.Generic {
				runs = 1 // plain Go takes its time
			}
			if n := testing.AllocsPerRun(runs, func() {
				Forward(ws, s, x, w, y, e)
				BackwardData(ws, s, y, w, dx, false)
				BackwardWeights(ws, s, x, y, dw, false)
			}); n >= 1 {
				t.Errorf("%+v: %g allocations a step", *s, n)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	good := Shape{N: 1, H: 4, W: 4, C: 4, K: 4, R: 3, S: 3, StrideH: 1, StrideW: 1, Groups: 2}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for i, spoil := range []func(s *Shape){
		func(s *Shape) { s.H = 0 }, func(s *Shape) { s.N = -1 }, func(s *Shape) { s.StrideW = 0 },
		func(s *Shape) { s.PadH = -1 }, func(s *Shape) { s.EndH = -1 }, func(s *Shape) { s.EndW = -1 },
		func(s *Shape) { s.R = 7; s.EndH = 2 }, func(s *Shape) { s.S = 7; s.EndW = 2 },
		func(s *Shape) { s.W = 0 }, func(s *Shape) { s.C = 0 }, func(s *Shape) { s.K = 0 }, func(s *Shape) { s.R = 0 },
		func(s *Shape) { s.S = 0 },
		func(s *Shape) { s.StrideH = 0 }, func(s *Shape) { s.PadW = -1 }, func(s *Shape) { s.C = 5 },
		func(s *Shape) { s.K = 5 },
		func(s *Shape) { s.R = 7; s.PadH = 1 }, func(s *Shape) { s.S = 5 },
		func(s *Shape) { s.Groups = 3 }, func(s *Shape) { s.Groups = 0 }, func(s *Shape) { s.R = 5 },
		func(s *Shape) { s.S = 7; s.PadW = 1 },
	} {
		s := good
		spoil(&s)
		if s.Check() == nil {
			t.Errorf("case %d: no error for %+v", i, s)
		}
	}
	for _, c := range []struct {
		change    func(s *Shape)
		outH, out int
	}{
		{func(s *Shape) {}, 2, 2},
		{func(s *Shape) { s.N = 0 }, 2, 2},
		{func(s *Shape) { s.R, s.S = 4, 1 }, 1, 4},
		{func(s *Shape) { s.R, s.S, s.PadH, s.PadW = 6, 8, 1, 2 }, 1, 1},
		{func(s *Shape) { s.StrideH, s.StrideW, s.PadH = 2, 3, 1 }, 2, 1},
		{func(s *Shape) { s.R, s.S, s.EndH, s.EndW = 6, 5, 2, 3 }, 1, 3},
		{func(s *Shape) { s.H, s.W, s.C, s.K, s.R, s.S, s.Groups = 1, 1, 1, 1, 1, 1, 1 }, 1, 1},
	} {
		s := good
		c.change(&s)
		if err := s.Check(); err != nil || s.OutH() != c.outH || s.OutW() != c.out {
			t.Errorf("%+v: %d x %d, want %d x %d: %v", s, s.OutH(), s.OutW(), c.outH, c.out, err)
		}
	}
}
