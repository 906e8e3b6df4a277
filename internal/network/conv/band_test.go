package conv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// TestBands compares depthwise convolutions that read the image where it lies with those
// that read a slab, and apply the epilogue after it, to the bit.
func TestBands(t *testing.T) {
	rnd := rand.New(rand.NewPCG(29, 29))
	eachLevel(t, func(t *testing.T) {
		banded := 0
		for i := range 200 {
			s := Shape{N: 1 + rnd.IntN(3), H: 3 + rnd.IntN(40), W: 3 + rnd.IntN(20), C: 2 + rnd.IntN(50), R: 3, S: 3,
				StrideH: 1 + rnd.IntN(2), PadH: rnd.IntN(3), PadW: rnd.IntN(3), EndH: rnd.IntN(2), EndW: rnd.IntN(2)}
			s.StrideW = s.StrideH
			s.K, s.Groups = s.C, s.C
			nx, nw, ny := s.Len()
			x, w, ws := normals(rnd, nx), normals(rnd, nw), &Workspace{}
			e := &Epilogue{Scale: normals(rnd, s.K), Shift: normals(rnd, s.K), ReLU6: i%2 == 0}
			want := make([]float32, ny)
			Forward(ws, &s, x, w, want, nil)
			act := simd.Linear()
			if e.ReLU6 {
				act = simd.ReLU6()
			}
			simd.ScaleShift(want, want, e.Scale, e.Shift, act)
			y, check := guarded(rnd, ny)
			Forward(ws, &s, x, w, y, e)
			for j, v := range want {
				if math.Float32bits(y[j]) != math.Float32bits(v) {
					t.Fatalf("%+v: value %d is %g, want %g", s, j, y[j], v)
				}
			}
			check(t)
			l := ws.layout(s.allChannels(s.forward(0)))
			p := product{layout: l, scale: e.Scale}
			if p.isBanded() {
				banded++
			}
		}
		if any := simd.HasDepthwiseBand(); any && (banded < 50 || banded > 150) || !any && banded > 0 {
			t.Errorf("%d of 200 shapes were computed in bands", banded)
		}
	})
}
