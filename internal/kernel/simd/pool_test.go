package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPool compares every pool kernel with the definition, on values with many
// ties and some NaN.
func TestPool(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(14, 14))
		for _, c := range []int{1, 3, 8, 16, 24, 32, 64, 80} {
			for n := 1; n < 9; n++ {
				checkPool(t, rnd, n, c, false)
				checkPool(t, rnd, n, c, true)
			}
		}
	})
}

// checkPool compares a pool, forward and back, with its definition.
//
// Long: backward's definition needs what forward's chose.
func checkPool(t *testing.T, rnd *rand.Rand, n, c int, nans bool) {
	t.Helper()
	var intact []func() bool
	alloc := func(size int) []float32 {
		v, ok := guardedCopy(rnd, size)
		intact = append(intact, ok)
		return v
	}
	p := &Pool{X0: alloc(2 * n * c), X1: alloc(2 * n * c), Index: make([]uint8, n*c), C: c}
	for _, x := range [][]float32{p.X0, p.X1} {
		for i := range x {
			x[i] = float32(rnd.IntN(5) - 2)
			if nans && rnd.IntN(20) == 0 {
				x[i] = float32(math.NaN())
			}
		}
	}
	old := [2][]float32{append([]float32(nil), p.X0...), append([]float32(nil), p.X1...)}
	pixel := func(w, k, ch int) float64 { return float64(old[k/2][(2*w+k%2)*c+ch]) }
	a, b, q, r, mean := alloc(c), alloc(c), alloc(c), alloc(c), alloc(c)
	y, dy, sum, dot := alloc(n*c), alloc(n*c), alloc(c), alloc(c)
	first := func(w, ch int, f func(v float64) float64) (best float64, where int) {
		best = f(pixel(w, 0, ch))
		for k := 1; k < 4; k++ {
			if v := f(pixel(w, k, ch)); v > best || v != v && best == best {
				best, where = v, k
			}
		}
		return best, where
	}
	same := func(what string, got float32, want float64) {
		t.Helper()
		if want != want && got != got {
			return
		}
		if !(math.Abs(float64(got)-want) <= 1e-5*(1+math.Abs(want))) {
			t.Fatalf("n %d c %d: %s is %g, want %g", n, c, what, got, want)
		}
	}
	act, in := ReLU6(), Bounds{-1, 2}

	p.Max(y)
	for i := range y {
		best, where := first(i/c, i%c, func(v float64) float64 { return v })
		same("maximum", y[i], best)
		if best == best && int(p.Index[i]) != where {
			t.Fatalf("n %d c %d: index %d is %d, want %d", n, c, i, p.Index[i], where)
		}
	}
	p.MaxGrad(dy)
	for i := range n * c {
		for k := range 4 {
			want := 0.0
			if int(p.Index[i]) == k {
				want = float64(dy[i])
			}
			same("gradient", [2][]float32{p.X0, p.X1}[k/2][(2*(i/c)+k%2)*c+i%c], want)
		}
	}
	copy(p.X0, old[0])
	copy(p.X1, old[1])

	p.NormMax(y, a, b, act)
	for i := range y {
		best, _ := first(i/c, i%c, func(v float64) float64 { return float64(a[i%c])*v + float64(b[i%c]) })
		same("normed maximum", y[i], element{lo: 0, hi: 6}.clamp(best))
	}
	if nans {
		return
	}
	sums, dots := make([]float64, c), make([]float64, c)
	for j := range c {
		sums[j], dots[j] = float64(sum[j]), float64(dot[j])
	}
	for i := range n * c {
		if !act.isFlat(y[i]) {
			sums[i%c] += float64(dy[i])
			dots[i%c] += float64(dy[i]) * (pixel(i/c, int(p.Index[i]), i%c) - float64(mean[i%c]))
		}
	}
	p.NormMaxSums(sum, dot, dy, y, mean, act)
	for j := range c {
		same("sum", sum[j], sums[j])
		same("dot", dot[j], dots[j])
	}
	p.NormMaxGrad(dy, y, a, q, r, mean, act, in)
	for i := range n * c {
		j := i % c
		for k := range 4 {
			x := pixel(i/c, k, j)
			want := float64(q[j])*(x-float64(mean[j])) + float64(r[j])
			if int(p.Index[i]) == k && !act.isFlat(y[i]) {
				want += float64(a[j]) * float64(dy[i])
			}
			if x <= -1 || x >= 2 {
				want = 0
			}
			same("normed gradient", [2][]float32{p.X0, p.X1}[k/2][(2*(i/c)+k%2)*c+j], want)
		}
	}
	for _, ok := range intact {
		if !ok() {
			t.Fatalf("n %d c %d: wrote outside", n, c)
		}
	}
}

func TestMaxTap(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(17, 17))
		for _, c := range []int{1, 3, 8, 16, 24, 48} {
			for n := range 6 {
				for _, step := range []int{c, 2 * c, 3*c + 1} {
					x := normals(rnd, n*step+c)
					y, yOK := guardedCopy(rnd, n*c)
					idx, want, wantIdx := make([]uint8, n*c), append([]float32(nil), y...), make([]uint8, n*c)
					if n > 0 {
						x[(n-1)*step] = float32(math.NaN())
					}
					for i := range want {
						if v := x[i/c*step+i%c]; v > want[i] || v != v {
							want[i], wantIdx[i] = v, 7
						}
					}
					MaxTap(y, idx, x, c, step, 7)
					for i := range want {
						if math.Float32bits(y[i]) != math.Float32bits(want[i]) || idx[i] != wantIdx[i] {
							t.Fatalf("n %d c %d step %d: element %d is %g from %d, want %g from %d", n, c, step, i,
								y[i], idx[i], want[i], wantIdx[i])
						}
					}
					if !yOK() {
						t.Fatalf("n %d c %d: wrote outside", n, c)
					}
				}
			}
		}
	})
}
