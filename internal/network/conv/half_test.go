package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
)

// operands draws values that a workspace's arithmetic multiplies exactly.
func operands(ws *Workspace, rnd *rand.Rand, n int) []float32 {
	v := normals(rnd, n)
	for i := range v {
		if ws.BFloat16 {
			v[i] = bf16.ToFloat(bf16.FromFloat(v[i]))
		}
	}
	return v
}

// eachHalfLevel runs f at every level of bfloat16; those that the machine lacks are
// skipped by name.
func eachHalfLevel(t *testing.T, f func(t *testing.T)) {
	for l := bf16.Generic; l <= bf16.AMX; l++ {
		t.Run(l.String(), func(t *testing.T) {
			defer bf16.Force(l)()
			if bf16.Active() != l {
				t.Skipf("the machine has no %v", l)
			}
			f(t)
		})
	}
}

func TestHalfShapes(t *testing.T) {
	eachHalfLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(18, 8))
		ws := &Workspace{BFloat16: true}
		for i := range shapes {
			modes := []int{0, 3, 16, 15, 24, 67}
			if _, _, ny := shapes[i].Len(); ny*shapes[i].C/shapes[i].Groups > 1e4 {
				modes = []int{47, 16}
			}
			for _, mode := range modes {
				if shapes[i].N > 0 || mode&16 == 0 {
					checkShape(t, rnd, ws, &shapes[i], mode)
				}
			}
		}
	})
}

// halves returns v as bfloat16, two to a float32.
func halves(v []float32) []float32 {
	out := make([]float32, (len(v)+1)/2)
	bf16.Round(bf16.View(out)[:len(v)], v)
	return out
}

// Activations and gradients that are bfloat16 in memory give the bits of the same
// values in float32, rounded.
func TestHalfOperands(t *testing.T) {
	eachHalfLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(19, 8))
		ws := &Workspace{BFloat16: true}
		for i := range shapes {
			s := shapes[i]
			if !s.UsesBFloat16() || s.N == 0 {
				continue
			}
			nx, nw, ny := s.Len()
			x, w, dy := operands(ws, rnd, nx), operands(ws, rnd, nw), operands(ws, rnd, ny)
			modes := []int{0, 1, 2, 3}
			if ny*s.C/s.Groups > 1e4 {
				modes = [][]int{{1, 2}, {2, 3}}[i%2]
			}
			for _, mode := range modes {
				want, got := &Epilogue{Shift: normals(rnd, s.K), ReLU: mode == 3}, &Epilogue{}
				if mode&1 != 0 {
					want.Residual = operands(ws, rnd, ny)
				}
				if *got = *want; mode&1 != 0 {
					got.Residual, got.HalfResidual = halves(want.Residual), true
				}
				if mode == 2 {
					want.Moments = &Moments{make([]float32, s.K), make([]float32, s.K)}
					got.Moments = &Moments{make([]float32, s.K), make([]float32, s.K)}
					want.Act = func(y []float32) {
						for i := range y {
							y[i] *= 2
						}
					}
					got.Act = want.Act
				}
				y, dx, dw := make([]float32, ny), operands(ws, rnd, nx), make([]float32, nw)
				half := s
				half.Half = Halves{X: true, DX: true, Y: true, DY: true}
				hy, hdx, hdw := make([]float32, (ny+1)/2), halves(dx), make([]float32, nw)
				Forward(ws, &s, x, w, y, want)
				Forward(ws, &half, halves(x), w, hy, got)
				BackwardData(ws, &s, dy, w, dx, mode == 1)
				BackwardData(ws, &half, halves(dy), w, hdx, mode == 1)
				BackwardWeights(ws, &s, x, dy, dw, false)
				BackwardWeights(ws, &half, halves(x), halves(dy), hdw, false)
				same(t, &s, "output", halves(y), hy)
				same(t, &s, "gradient of the input", halves(dx), hdx)
				same(t, &s, "gradient of the filters", dw, hdw)
				if mode == 2 {
					same(t, &s, "mean", want.Moments.Mean, got.Moments.Mean)
					same(t, &s, "variance", want.Moments.Var, got.Moments.Var)
				}
			}
		}
	})
}

func same(t *testing.T, s *Shape, what string, want, got []float32) {
	t.Helper()
	w, g := bf16.Words(want), bf16.Words(got)
	for i := range w {
		if w[i] != g[i] {
			t.Fatalf("%+v: %s has %#x at %d, want %#x", *s, what, g[i], i, w[i])
		}
	}
}
