package pair

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

func randomDense(rng *rand.Rand, r, c int) *matrix.Dense {
	m := matrix.New(r, c)
	for k := range m.Data {
		m.Data[k] = float32(rng.NormFloat64())
	}
	return m
}

// eachLevel runs f with every instruction set this machine has.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range []simd.Level{simd.Generic, simd.NEON, simd.AVX2, simd.AVX512} {
		restore := simd.Force(l)
		if simd.Active() == l {
			t.Run(l.String(), f)
		}
		restore()
	}
}

func TestGram(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, n := range []int{1, 2, 3, 5, 13, 14, 15, 31, 32, 33, 47, 64, 65, 100, 130} {
			for _, d := range []int{1, 2, 7, 33, 128} {
				e, s := randomDense(rng, n, d), matrix.New(n, n)
				copy(e.Row(n-1), e.Row(0))
				var g gram
				g.run(e, s)
				for i := range n {
					for j := range n {
						var want float64
						for k := range d {
							want += float64(e.At(i, k)) * float64(e.At(j, k))
						}
						if diff := math.Abs(float64(s.At(i, j)) - want); diff > 1e-5*float64(d) {
							t.Fatalf("n %d d %d: S[%d][%d] = %v, want %v", n, d, i, j, s.At(i, j), want)
						}
						if s.At(i, j) != s.At(j, i) {
							t.Fatalf("n %d d %d: not symmetric", n, d)
						}
					}
					if s.At(0, i) != s.At(n-1, i) {
						t.Fatalf("n %d d %d: equal rows have similarities %v and %v", n, d, s.At(0, i), s.At(n-1, i))
					}
				}
			}
		}
	})
}

func TestSymmetrize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, n := range []int{1, 2, 31, 32, 33, 70, 129} {
		w := randomDense(rng, n, n)
		want := matrix.New(n, n)
		for i := range n {
			for j := range n {
				want.Row(i)[j] = w.At(i, j) + w.At(j, i)
			}
		}
		var s symmetrize
		s.run(w)
		for k, v := range want.Data {
			if w.Data[k] != v {
				t.Fatalf("n %d: element %d is %v, want %v", n, k, w.Data[k], v)
			}
		}
	}
}
