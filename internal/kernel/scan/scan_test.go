package scan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range []simd.Level{simd.Generic, simd.NEON, simd.AVX2, simd.AVX512} {
		restore := simd.Force(l)
		if simd.Active() == l {
			t.Run(l.String(), f)
		}
		restore()
	}
}

// values are coarse, so that ties are common.
func values(rng *rand.Rand, n, offset int) []float32 {
	x := make([]float32, n+offset)
	for i := range x {
		x[i] = float32(rng.IntN(41)-20) / 4
		if rng.IntN(9) == 0 {
			x[i] = float32(math.Inf(-1))
		}
	}
	return x[offset:]
}

func TestMaxBelow(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		for n := range 300 {
			x := values(rng, n, n%3)
			for _, limit := range []float32{float32(math.Inf(1)), 2, 0, -4.75, -6} {
				want, wantAt := float32(math.Inf(-1)), -1
				for i, v := range x {
					if v < limit && v > want {
						want, wantAt = v, i
					}
				}
				if got, at := MaxBelow(x, limit); got != want || at != wantAt {
					t.Fatalf("n %d limit %v: %v at %d, want %v at %d", n, limit, got, at, want, wantAt)
				}
			}
		}
	})
}

func TestBetweenAndAbsAbove(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(2, 1))
		for n := range 300 {
			x := values(rng, n, n%5)
			buf := make([]int32, ListCap(n)+4)
			for i := range buf {
				buf[i] = 12345
			}
			var inside, large []int32
			for i, v := range x {
				if v > -1 && v < 2 {
					inside = append(inside, int32(i))
				}
				if math.Abs(float64(v)) > 1.5 {
					large = append(large, int32(i))
				}
			}
			if got := Between(x, -1, 2, buf[:0:ListCap(n)]); !slices.Equal(got, inside) {
				t.Fatalf("n %d: between %v, want %v", n, got, inside)
			}
			if got := AbsAbove(x, 1.5, buf[:0:ListCap(n)]); !slices.Equal(got, large) {
				t.Fatalf("n %d: above %v, want %v", n, got, large)
			}
			for _, v := range buf[ListCap(n):] {
				if v != 12345 {
					t.Fatalf("n %d: written past the room", n)
				}
			}
		}
	})
}

func TestAbsMaxAndAbsBelowSum(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(4, 1))
		for n := range 200 {
			x := make([]float32, n)
			var largest, sum float64
			for i := range x {
				x[i] = float32(rng.NormFloat64())
				a := math.Abs(float64(x[i]))
				largest = max(largest, a)
				if float32(a) <= 0.7 {
					sum += a
				}
			}
			if got := AbsMax(x); float64(got) != largest {
				t.Fatalf("n %d: largest %v, want %v", n, got, largest)
			}
			if got := AbsBelowSum(x, 0.7); math.Abs(float64(got)-sum) > 1e-5 {
				t.Fatalf("n %d: sum %v, want %v", n, got, sum)
			}
		}
	})
}

func TestExpSum(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 1))
		for n := range 200 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rng.Float64()*190 - 112)
			}
			a, b := float32(1), float32(0)
			if n%2 == 1 {
				a, b = -0.5, 3.25
			}
			got := make([]float32, n+1)
			got[n] = 77
			sum := ExpSum(got[:n], x, a, b)
			var want float64
			for i, v := range x {
				e := math.Exp(float64(float32(math.FMA(float64(a), float64(v), float64(b)))))
				want += e
				if e < 1.18e-38 {
					e = 0
				}
				if d := math.Abs(float64(got[i]) - e); d > 3e-7*e+2e-38 {
					t.Fatalf("n %d: exp(%v %v + %v) = %v, want %v", n, a, v, b, got[i], e)
				}
			}
			if got[n] != 77 {
				t.Fatalf("n %d: written past the end", n)
			}
			if math.Abs(float64(sum)-want) > 1e-6*want {
				t.Fatalf("n %d: sum %v, want %v", n, sum, want)
			}
		}
	})
}

func BenchmarkMaxBelow(b *testing.B) {
	x := values(rand.New(rand.NewPCG(1, 1)), 2048, 0)
	for range b.N {
		MaxBelow(x, 3)
	}
}

func BenchmarkExpSum(b *testing.B) {
	x := make([]float32, 2048)
	d := make([]float32, 2048)
	for range b.N {
		ExpSum(d, x, 50, -25)
	}
}

func TestLargest(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, special := range []float32{0, inf, -inf} {
		for n := range 100 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(i*37%19) - 30
				if i%5 == 2 {
					x[i] = special
				}
			}
			if want, _ := MaxBelow(x, inf); Largest(x) != want {
				t.Errorf("%v: %v, want %v", x, Largest(x), want)
			}
		}
	}
}
