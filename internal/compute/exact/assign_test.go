package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

// steps are rows in steps of 1/64, no longer than 1, some of them twice and one of zeros:
// sums are exact and ties many.
func steps(rng *rand.Rand, n, d, values int) *matrix.Dense {
	x := matrix.New(n, d)
	for i := range x.Data {
		x.Data[i] = float32(rng.IntN(values)-values/2) / 64
	}
	clear(x.Row(n / 2))
	copy(x.Row(n-1), x.Row(n/3))
	return x
}

func TestAssignAgreesWithALoop(t *testing.T) {
	for _, l := range []simd.Level{simd.Generic, simd.AVX2, simd.AVX512} {
		t.Run(l.String(), func(t *testing.T) {
			defer simd.Force(l)()
			rng := rand.New(rand.NewPCG(1, 2))
			for _, c := range []struct{ n, k, d, values int }{
				{1, 1, 1, 3}, {5, 9, 7, 3}, {230, 40, 1, 9}, {230, 33, 49, 5}, {460, 451, 3, 7}, {40, 20, 65, 2},
			} {
				x, centroids := steps(rng, c.n, c.d, c.values), steps(rng, c.k, c.d, c.values)
				checkAssign(t, fmt.Sprintf("n %d, K %d, d %d", c.n, c.k, c.d), x, centroids)
				for i := range c.n { // 8 bits do not hold the shortest; sums are exact still, or nothing is added
					e := -i % 9
					if i%3 == 0 {
						e = -110 - i%30
					}
					for j := range c.d {
						x.Row(i)[j] = float32(math.Ldexp(float64(x.Row(i)[j]), e))
					}
				}
				checkAssign(t, fmt.Sprintf("n %d, K %d, d %d, many lengths", c.n, c.k, c.d), x, centroids)
				checkAssign(t, fmt.Sprintf("n %d of zeros, K %d, d %d", c.n, c.k, c.d), matrix.New(c.n, c.d), centroids)
			}
		})
	}
}

func checkAssign(t *testing.T, what string, x, centroids *matrix.Dense) {
	t.Helper()
	want, got := make([]int32, x.Rows), make([]int32, x.Rows)
	for i := range x.Rows {
		best := math.Inf(1)
		for k := range centroids.Rows {
			if d := squared(x.Row(i), centroids.Row(k)); d < best {
				best, want[i] = d, int32(k)
			}
		}
		got[i] = -1
	}
	changed, err := NewAssigner(x).Assign(context.Background(), got, centroids)
	if err != nil || !changed || !slices.Equal(got, want) {
		t.Fatalf("%s: %v, %v, %v\nwant %v", what, got, changed, err, want)
	}
	if changed, err := NewAssigner(x).Assign(context.Background(), got, centroids); err != nil || changed {
		t.Fatalf("%s: again: changed %v, %v", what, changed, err)
	}
}

func squared(x, y []float32) (sum float64) {
	for j, v := range x {
		d := float64(v) - float64(y[j])
		sum += d * d
	}
	return sum
}
