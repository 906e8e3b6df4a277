package cosine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
)

func TestRoundedOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for n := range 400 {
		d := 1 + rng.IntN(40)
		x, y := make([]float32, d), make([]float32, d)
		for j := range d {
			x[j] = float32(rng.NormFloat64() * math.Exp(float64(n%4)*20*(rng.Float64()-0.5)))
			y[j] = float32(rng.NormFloat64())
			switch n % 5 {
			case 1: // almost orthogonal
				if j%2 == 1 {
					y[j] = -x[j-1] * y[j-1] / x[j]
				}
			case 2: // almost parallel
				y[j] = x[j] * (3 + float32(rng.IntN(2))*0x1p-21)
			case 3: // lengths at the ends of float32
				x[j], y[j] = x[j]*1e-38, y[j]*1e36
			case 4: // which tie
				x[j], y[j] = float32(rng.IntN(3)), float32(rng.IntN(3))
			}
		}
		if got, want := Similarity(x, y), exactCosine(x, y); got != want || math.Abs(got) > 1 {
			t.Fatalf("%v and %v: cosine %v, want %v", x, y, got, want)
		}
		score := dot16.Dot(x, y) * quantized.InverseNorm(x) * quantized.InverseNorm(y)
		if want := Similarity(x, y); math.Abs(score-want) > ErrorBound(d) {
			t.Fatalf("draw %d: score %v is farther than %v from %v", n, score, ErrorBound(d), want)
		}
	}
}

func TestInFullByHand(t *testing.T) {
	for _, c := range []struct{ x, y []float32 }{
		{[]float32{3, 4}, []float32{4, 3}}, {[]float32{1, 1, 1, 1}, []float32{1, 0, 0, 0}},
		{[]float32{-1, 0}, []float32{1, 0}}, {[]float32{0, 2}, []float32{5, 0}}, {[]float32{0}, []float32{5}},
	} {
		var xy, xx, yy float64
		for j, v := range c.x {
			xy, xx, yy = xy+float64(v*c.y[j]), xx+float64(v*v), yy+float64(c.y[j]*c.y[j])
		}
		want := 0.
		if xy != 0 {
			want = xy / math.Sqrt(xx*yy) // exact, but for the quotient
		}
		if got := exactCosine(c.x, c.y); got != want {
			t.Errorf("%v and %v: %v, want %v", c.x, c.y, got, want)
		}
	}
}

// Parallel rows are those that differ by a positive factor, and they have one direction.
func TestParallel(t *testing.T) {
	zero := float32(math.Copysign(0, -1))
	for _, c := range []struct {
		x, y []float32
		want bool
	}{
		{[]float32{1, -3.125, -1.125}, []float32{17, -53.125, -19.125}, true},
		{[]float32{0, 2, 1}, []float32{zero, 0x1p-140, 0x1p-141}, true},
		{[]float32{0, 2, 0}, []float32{0, 3, zero}, true},
		{[]float32{0, 0}, []float32{0, zero}, true},
		{[]float32{1, 2}, []float32{-1, -2}, false},
		{[]float32{0, 2}, []float32{1, 2}, false},
		{[]float32{1, 0}, []float32{0, 0}, false},
		{[]float32{1, 1}, []float32{1, 1 + 0x1p-23}, false},
		{[]float32{3e38, 3e38}, []float32{1e-45, 1e-45}, true},
	} {
		for range 2 {
			if got := IsParallel(c.x, c.y); got != c.want || (DirectionHash(c.x) == DirectionHash(c.y)) != c.want {
				t.Errorf("%v and %v: parallel %v, directions %x and %x", c.x, c.y, got, DirectionHash(c.x),
					DirectionHash(c.y))
			}
			c.x, c.y = c.y, c.x
		}
	}
}
