package conv

import (
	"math"
	"math/rand/v2"
	"testing"
)

// By hand: 3 x 3 input 1..9, a 2 x 2 filter of ones, stride 1, no padding.
func TestForwardByHand(t *testing.T) {
	s := &Shape{N: 1, H: 3, W: 3, C: 1, K: 1, R: 2, S: 2, StrideH: 1, StrideW: 1, Groups: 1}
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	w := []float32{1, 10, 100, 1000}
	y := make([]float32, 4)
	Forward(&Workspace{}, s, x, w, y, nil)
	want := []float32{5421, 6532, 8754, 9865}
	for i := range want {
		if y[i] != want[i] {
			t.Fatalf("y = %v, want %v", y, want)
		}
	}
}

// <dy, conv(x, w)> = <dx, x> = <dw, w> as the operation is bilinear.
func TestGradientsAreAdjoint(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := &Shape{N: 2, H: 7, W: 6, C: 4, K: 6, R: 3, S: 2, StrideH: 2, StrideW: 1, PadH: 1, PadW: 1, Groups: 2}
	nx, nw, ny := s.Len()
	fill := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rnd.NormFloat64())
		}
		return v
	}
	dot := func(a, b []float32) (d float64) {
		for i := range a {
			d += float64(a[i]) * float64(b[i])
		}
		return d
	}
	x, w, dy := fill(nx), fill(nw), fill(ny)
	y, dx, dw := make([]float32, ny), make([]float32, nx), make([]float32, nw)
	ws := &Workspace{}
	Forward(ws, s, x, w, y, nil)
	BackwardData(ws, s, dy, w, dx, false)
	BackwardWeights(ws, s, x, dy, dw, false)
	a, b, c := dot(dy, y), dot(dx, x), dot(dw, w)
	if math.Abs(a-b) > 1e-3 || math.Abs(a-c) > 1e-3 {
		t.Fatalf("<dy,y> = %g, <dx,x> = %g, <dw,w> = %g", a, b, c)
	}
}
