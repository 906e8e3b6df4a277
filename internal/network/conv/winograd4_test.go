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

// wino4Shapes go through groups for one core and for all, with images that do not end with
// a patch.
func wino4Shapes() []Shape {
	shapes := []Shape{
		{N: 2, H: 13, W: 17, C: 64, K: 64, PadH: 1, PadW: 1}, {N: 5, H: 4, W: 5, C: 48, K: 96, PadH: 1, PadW: 1},
		{N: 3, H: 7, W: 7, C: 160, K: 176, PadH: 1, PadW: 1}, {N: 1, H: 9, W: 30, C: 32, K: 32, EndH: 2, EndW: 1},
		{N: 9, H: 14, W: 6, C: 256, K: 32, PadH: 1},
	}
	for i := range shapes {
		s := &shapes[i]
		s.R, s.S, s.StrideH, s.StrideW, s.Groups = 3, 3, 1, 1, 1
	}
	return shapes
}

// The error is at most 1e-6 of the largest sum of magnitudes in the patch, because the
// values of a patch are transformed together. The bits
// do not depend on the number of cores, on the other images of the batch, or on
// whether filters are kept.
func TestWinograd4(t *testing.T) {
	if !simd.HasWinograd4() {
		t.Skip("no AVX-512")
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, s := range wino4Shapes() {
		nx, nw, ny := s.Len()
		x, w, res := normals(rnd, nx), normals(rnd, nw), normals(rnd, ny)
		scale, shift := normals(rnd, s.K), normals(rnd, s.K)
		for i := range x {
			x[i] = max(x[i], 0)
		}
		z := newSums(make([]float32, ny))
		forEachTap(&s, func(i, j, k int) { z.add(k, x[i], w[j]) })
		want, size := z.value, inPatches(&s, z.size)
		for i, e := range []Epilogue{{}, {Scale: scale, Shift: shift, Residual: res, ReLU: true},
			{Shift: shift, Act: func(y []float32) { simd.Scale(y, -2, y) }}} {
			e.Filters = new(Filters)
			ws := new(Workspace)
			y := make([]float32, ny)
			Forward(ws, &s, x, w, y, &e)
			if !ws.layout(evaluated(&s)).wino4 {
				t.Fatalf("%+v is not computed by Winograd's transforms", s)
			}
			for j, got := range y {
				v, most := want[j], size[j]
				if e.Scale != nil {
					v, most = v*float64(scale[j%s.K]), most*math.Abs(float64(scale[j%s.K]))
				}
				if e.Shift != nil {
					v += float64(shift[j%s.K])
				}
				if e.Residual != nil {
					v += float64(res[j])
				}
				if e.ReLU {
					v = max(v, 0)
				}
				if e.Act != nil {
					v, most = -2*v, 2*most
				}
				if math.Abs(float64(got)-v) > 1e-6*(most+math.Abs(v)) {
					t.Fatalf("%+v, epilogue %d: value %d is %g, want %g", s, i, j, got, v)
				}
			}
			sameWinograd4(t, &s, x, w, y, &e)
		}
	}
}

func sameWinograd4(t *testing.T, s *Shape, x, w, want []float32, e *Epilogue) {
	t.Helper()
	compare := func(what string, got, want []float32) {
		t.Helper()
		for j := range want {
			if math.Float32bits(got[j]) != math.Float32bits(want[j]) {
				t.Fatalf("%+v, %s: value %d is %g, want %g", *s, what, j, got[j], want[j])
			}
		}
	}
	got := make([]float32, len(want))
	kept := *e
	kept.Filters = &Filters{Constant: true}
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		ws := new(Workspace)
		for range 2 {
			clear(got)
			Forward(ws, s, x, w, got, &kept)
			compare(fmt.Sprintf("%d cores", procs), got, want)
		}
		runtime.GOMAXPROCS(old)
	}
	one := *s
	one.N = 1
	nx, _, ny := one.Len()
	last := *e
	if e.Residual != nil {
		last.Residual = e.Residual[(s.N-1)*ny:]
	}
	Forward(new(Workspace), &one, x[(s.N-1)*nx:], w, got[:ny], &last)
	compare("alone", got[:ny], want[(s.N-1)*ny:])
}

// evaluated is the geometry of a convolution in evaluation.
func evaluated(s *Shape) geometry {
	g := s.forward(0)
	g.evaluated = true
	return g
}

// inPatches returns the largest of the values of each patch's channel.
func inPatches(s *Shape, size []float64) []float64 {
	oh, ow := s.OutH(), s.OutW()
	most := map[[4]int]float64{}
	patch := func(at int) [4]int {
		pos := at / s.K
		return [4]int{pos / ow / oh, pos / ow % oh / 4, pos % ow / 4, at % s.K}
	}
	for at, v := range size {
		most[patch(at)] = max(most[patch(at)], v)
	}
	out := make([]float64, len(size))
	for at := range out {
		out[at] = most[patch(at)]
	}
	return out
}

// In bfloat16 the sums are the same, and what is bfloat16 in memory is rounded once. With a
// matrix unit products of bfloat16 are faster.
func TestWinograd4InBFloat16(t *testing.T) {
	if !simd.HasWinograd4() {
		t.Skip("no AVX-512")
	}
	rnd := rand.New(rand.NewPCG(9, 8))
	for l := bf16.Generic; l <= bf16.AVX512; l++ {
		restore := bf16.Force(l)
		for _, s := range wino4Shapes() {
			nx, nw, ny := s.Len()
			exact := &Workspace{BFloat16: true}
			x, w, res := operands(exact, rnd, nx), normals(rnd, nw), operands(exact, rnd, ny)
			scale, shift := normals(rnd, s.K), normals(rnd, s.K)
			for i, plain := range []Epilogue{{}, {Scale: scale, Shift: shift, Residual: res, ReLU: true},
				{Residual: res, Act: func(y []float32) { simd.Scale(y, -2, y) }}} {
				plain.Filters = new(Filters)
				want := make([]float32, ny)
				Forward(new(Workspace), &s, x, w, want, &plain)
				for mode := range 8 {
					e, half, in, got, what := plain, s, x, make([]float32, ny), want
					half.Half = Halves{X: mode&1 != 0, Y: mode&2 != 0}
					if half.Half.X {
						in = halves(x)
					}
					if half.Half.Y {
						got, what = make([]float32, (ny+1)/2), halves(want)
					}
					if e.HalfResidual = mode&4 != 0 && e.Residual != nil; e.HalfResidual {
						e.Residual = halves(res)
					}
					Forward(&Workspace{BFloat16: true}, &half, in, w, got, &e)
					same(t, &s, fmt.Sprintf("epilogue %d, mode %d: output", i, mode), what, got)
				}
			}
		}
		restore()
	}
}
