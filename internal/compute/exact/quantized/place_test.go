package quantized

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// Means and the farthest row are those of a loop in float64, of as many rows as one part
// holds and of more, with factors and without.
func TestMeanAndFarthest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 255, 256, 257, 1023, 1024, 1025, 2500} {
		x := matrix.New(n, 3)
		factors := make([]float64, n)
		for i := range x.Data {
			x.Data[i] = float32(rng.NormFloat64()) + 2
		}
		for i := range factors {
			factors[i] = rng.Float64()
		}
		x.Row(rng.IntN(n))[1] = 50 // in any part
		for _, f := range [][]float64{nil, factors} {
			var want [3]float64
			for i := range n {
				for j, v := range x.Row(i) {
					if f == nil {
						want[j] += float64(v) / float64(n)
					} else {
						want[j] += float64(v) * f[i] / float64(n)
					}
				}
			}
			got := Mean(x, f)
			far := 0.0
			for i := range n {
				square := 0.0
				for j, v := range x.Row(i) {
					square += (float64(v) - got[j]) * (float64(v) - got[j])
				}
				far = max(far, math.Sqrt(square))
			}
			for j, w := range want {
				if math.Abs(got[j]-w) > 1e-12*(1+math.Abs(w)) {
					t.Errorf("%d rows, factors %v: mean %v, want %v", n, f != nil, got, want)
				}
			}
			if g := Farthest(x, got); math.Abs(g-far) > 1e-12*far {
				t.Errorf("%d rows: the farthest is at %g, want %g", n, g, far)
			}
		}
	}
}

// An extent that includes others bounds each of them in all it says, in any order.
func TestInclude(t *testing.T) {
	list := []Extent{{1, 6, 3}, {4, 2, 5}, {3, 1, 9}, {}}
	var all, back Extent
	for i := range list {
		all.Include(list[i])
		back.Include(list[len(list)-1-i])
	}
	if want := (Extent{4, 6, 9}); all != want || back != want {
		t.Errorf("%+v and %+v, want %+v", all, back, want)
	}
}

// A row times its inverse length has the length 1; one of zeros stays.
func TestInverseNorm(t *testing.T) {
	for want, x := range map[float64][]float32{0.2: {3, 4}, 1: {0, -1}, 4: {0.25}, 0: {0, 0}} {
		if have := InverseNorm(x); have != want {
			t.Errorf("of %v %g, want %g", x, have, want)
		}
	}
}

// The bounds of what is not lost in coding are next to nothing beside the rows, and grow
// with these: bounds that are too wide would cost no answer, but most of the time saved.
func TestBoundsAreTight(t *testing.T) {
	for _, k := range kinds {
		for _, size := range []float64{1, 1000} {
			row, col := Extent{Norm: size, Half: size * size / 2}, Extent{Norm: 2 * size, Half: 2 * size * size}
			if b := k.Band(100, row, col); b < 0x1p-23*size*size || b > 1e-4*size*size {
				t.Errorf("kind %d: a band of %g of rows %g long", k, b, size)
			}
			if r := k.Reach(size, 0); r < size || r > 1.02*size {
				t.Errorf("kind %d: a reach of %g of a row %g long", k, r, size)
			}
		}
	}
}
