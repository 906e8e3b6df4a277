package fft

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// random returns Lanes sequences of n numbers, between guards that no transform may change.
func random(rng *rand.Rand, n int) []complex128 {
	x := make([]complex128, n*Lanes+2)
	for i := range x {
		x[i] = complex(rng.NormFloat64(), rng.NormFloat64())
	}
	return x
}

// TestTransform compares every length with the sum itself, and all levels of instructions with plain Go to the bit.
func TestTransform(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 20, 25, 27, 30, 32, 36, 60, 64, 90, 125, 144, 240} {
		in := random(rng, n)
		plan := New(n)
		var want []complex128
		for l := simd.AVX512; l >= simd.Generic; l-- {
			restore := simd.Force(l)
			x, work := slices.Clone(in), slices.Clone(in)
			got := plan.Transform(x[1:len(x)-1], work[1:len(x)-1])
			restore()
			last := len(in) - 1
			if x[0] != in[0] || x[last] != in[last] || work[0] != in[0] || work[last] != in[last] {
				t.Fatalf("%d numbers, %v: written beyond the ends", n, l)
			}
			if want == nil {
				want = got
				checkSums(t, n, in[1:last], got)
			} else if !slices.Equal(got, want) {
				t.Errorf("%d numbers: %v differs from the highest level", n, l)
			}
		}
	}
}

func checkSums(t *testing.T, n int, x, got []complex128) {
	t.Helper()
	for l := range Lanes {
		for k := range n {
			var want complex128
			for a := range n {
				want += x[a*Lanes+l] * cmplx.Rect(1, -2*math.Pi*float64(a*k%n)/float64(n))
			}
			if d := cmplx.Abs(got[k*Lanes+l] - want); !(d < 1e-13*float64(n+1)) {
				t.Fatalf("%d numbers, sequence %d, frequency %d: %v, want %v", n, l, k, got[k*Lanes+l], want)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, n := range []int{0, 7, 22, -4} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a plan for %d numbers", n)
				}
			}()
			New(n)
		}()
	}
}

func BenchmarkTransform(b *testing.B) {
	for _, n := range []int{256, 800, 1200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, plan := random(rand.New(rand.NewPCG(1, 2)), n), New(n)
			x = x[:n*Lanes]
			work := make([]complex128, len(x))
			for b.Loop() {
				clear(x)
				plan.Transform(x, work)
			}
		})
	}
}
