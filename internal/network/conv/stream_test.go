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

// With moments a product is computed chunk by chunk, without them in blocks that ask
// for the next one: to the same bits.
func TestStreamedHasTheSameBits(t *testing.T) {
	if simd.Active() != simd.AVX512 {
		t.Skip("streams need AVX-512")
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, s := range []Shape{
		{N: 3, H: 57, W: 31, C: 64, K: 256}, {N: 16, H: 28, W: 28, C: 256, K: 64}, {N: 1, H: 1811, W: 1, C: 48, K: 33},
		{N: 2, H: 33, W: 40, C: 3, K: 7}, {N: 5, H: 14, W: 14, C: 512, K: 500}, {N: 1, H: 4001, W: 1, C: 1, K: 1},
	} {
		s.R, s.S, s.StrideH, s.StrideW, s.Groups = 1, 1, 1, 1, 1
		if !new(Workspace).isStreamed(&s, &Epilogue{}) {
			t.Fatalf("%+v is not streamed", s)
		}
		nx, nw, ny := s.Len()
		x, w, res := normals(rnd, nx), normals(rnd, nw), normals(rnd, ny)
		scale, shift := normals(rnd, s.K), normals(rnd, s.K)
		for i, e := range []Epilogue{
			{}, {Shift: shift, ReLU: true}, {Scale: scale, Shift: shift, Residual: res, ReLU6: true},
			{Residual: res, Act: func(y []float32) { simd.Scale(y, -2, y) }},
		} {
			want, got := make([]float32, ny), make([]float32, ny)
			m := e
			m.Moments = &Moments{make([]float32, s.K), make([]float32, s.K)}
			Forward(&Workspace{}, &s, x, w, want, &m)
			for _, procs := range []int{1, 2, 5} {
				t.Run(fmt.Sprintf("%dx%d/%d/%d", s.C, s.K, i, procs), func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					clear(got)
					Forward(&Workspace{}, &s, x, w, got, &e)
					for j := range want {
						if math.Float32bits(got[j]) != math.Float32bits(want[j]) {
							t.Fatalf("value %d is %g, want %g", j, got[j], want[j])
						}
					}
				})
			}
		}
	}
}

// The same in bfloat16, whatever of a convolution is bfloat16 in memory.
func TestStreamedHalvesHaveTheSameBits(t *testing.T) {
	defer bf16.Force(bf16.AVX512)()
	if bf16.Active() != bf16.AVX512 {
		t.Skip("streams of bfloat16 need AVX-512 with it")
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for i, s := range []Shape{
		{N: 3, H: 57, W: 31, C: 64, K: 256}, {N: 16, H: 28, W: 28, C: 256, K: 64}, {N: 1, H: 2111, W: 1, C: 48, K: 33},
		{N: 5, H: 21, W: 21, C: 512, K: 500}, {N: 2, H: 50, W: 40, C: 37, K: 41},
	} {
		s.R, s.S, s.StrideH, s.StrideW, s.Groups = 1, 1, 1, 1, 1
		nx, nw, ny := s.Len()
		x, w, res := normals(rnd, nx), normals(rnd, nw), normals(rnd, ny)
		scale, shift := normals(rnd, s.K), normals(rnd, s.K)
		for mode := range 8 {
			s.Half = Halves{X: mode&1 != 0, Y: mode&2 != 0}
			e := Epilogue{Scale: scale, Shift: shift, Residual: res, ReLU: true}
			in, size := x, ny
			if s.Half.X {
				in = halves(x)
			}
			if s.Half.Y {
				size = (ny + 1) / 2
			} else {
				e.Act = func(y []float32) { simd.Scale(y, -2, y) }
			}
			if e.HalfResidual = mode&4 != 0; e.HalfResidual {
				e.Residual = halves(res)
			}
			ws := &Workspace{BFloat16: true}
			if !ws.isStreamed(&s, &e) {
				t.Fatalf("%+v is not streamed", s)
			}
			want, got := make([]float32, size), make([]float32, size)
			m := e
			m.Moments = &Moments{make([]float32, s.K), make([]float32, s.K)}
			Forward(ws, &s, in, w, want, &m)
			for _, procs := range []int{1, 2, 5} {
				t.Run(fmt.Sprintf("%d/%d/%d", i, mode, procs), func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					clear(got)
					Forward(&Workspace{BFloat16: true}, &s, in, w, got, &e)
					same(t, &s, "output", want, got)
				})
			}
		}
	}
}
