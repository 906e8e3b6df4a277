package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ulps returns the distance between two floats of one sign in steps of float32.
func ulps(a, b float32) int64 {
	d := int64(math.Float32bits(a)) - int64(math.Float32bits(b))
	return max(d, -d)
}

// Exp is within 2 ulps of the float64 exponential over its whole range, denormal
// results included.
func TestExpAccuracy(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const n = 1 << 16
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i] = -106 + 196*float32(i)/n
		}
		Exp(y, x)
		for i, v := range x {
			want := float32(math.Exp(float64(v)))
			if ulps(y[i], want) > 2 {
				t.Fatalf("exp(%g) is %g, want %g", v, y[i], want)
			}
		}
	})
}

func TestExpLimits(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		inf := float32(math.Inf(1))
		x := []float32{0, float32(math.Copysign(0, -1)), 1e-40, 88.72283, 88.7229, 89, 1e38, inf, -87.3, -103.2, -104,
			-1e38, -inf, 1, -1}
		want := make([]float32, len(x))
		for i, v := range x {
			want[i] = float32(math.Exp(float64(v)))
		}
		y := make([]float32, len(x)+1)
		Exp(y, append(x, float32(math.NaN())))
		for i, w := range want {
			if ulps(y[i], w) > 2 {
				t.Errorf("exp(%g) is %g, want %g", x[i], y[i], w)
			}
		}
		if v := y[len(x)]; v == v {
			t.Errorf("exp(NaN) is %g", v)
		}
	})
}

func TestMax(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(16, 16))
		for n := range 1000 {
			x, _ := guardedCopy(rnd, n)
			want := math.Inf(-1)
			for i := range x {
				x[i] -= 10 // so that a zero would show
				if rnd.IntN(9) == 0 {
					x[i] = float32(math.NaN())
				}
				if v := float64(x[i]); v > want {
					want = v
				}
			}
			if got := Max(x); float64(got) != want {
				t.Fatalf("n %d: maximum %g, want %g", n, got, want)
			}
		}
	})
}
