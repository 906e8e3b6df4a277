package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

func random(rnd *rand.Rand, r, c, extra int) *Dense {
	m := &Dense{Rows: r, Cols: c, Stride: c + extra, Data: make([]float32, r*(c+extra))}
	for i := range m.Data {
		m.Data[i] = float32(rnd.NormFloat64())
	}
	if r > 0 { // the last row may end at its last column
		m.Data = m.Data[:(r-1)*m.Stride+c]
	}
	return m
}

func forEachLevel(t *testing.T, f func(t *testing.T)) {
	for l := simd.Generic; l <= simd.AVX512; l++ {
		restore := simd.Force(l)
		if simd.Active() == l {
			t.Run(l.String(), f)
		}
		restore()
	}
}

func element(m *Dense, trans bool, i, j int) float64 {
	if trans {
		i, j = j, i
	}
	return float64(m.Data[i*m.Stride+j])
}

func checkGemm(t *testing.T, rnd *rand.Rand, m, n, k int, ta, tb bool, alpha, beta float32) {
	t.Helper()
	shape := func(r, c int, trans bool) *Dense {
		if trans {
			r, c = c, r
		}
		return random(rnd, r, c, rnd.IntN(3))
	}
	a, b := shape(m, k, ta), shape(k, n, tb)
	c := random(rnd, m, n, rnd.IntN(3))
	old := append([]float32(nil), c.Data...)
	if beta == 0 { // must not be read
		for i := range m {
			for j := range c.Row(i) {
				c.Row(i)[j] = float32(math.NaN())
			}
		}
	}
	Gemm(ta, tb, alpha, a, b, beta, c)
	for i := range m {
		for j := range c.Stride {
			at := i*c.Stride + j
			if at >= len(c.Data) {
				break
			}
			if j >= n {
				if c.Data[at] != old[at] {
					t.Fatalf("wrote between rows, at %d, %d", i, j)
				}
				continue
			}
			var sum, size float64
			for p := range k {
				v := element(a, ta, i, p) * element(b, tb, p, j)
				sum, size = sum+v, size+math.Abs(v)
			}
			want := float64(alpha)*sum + float64(beta)*float64(old[at])
			tol := 1e-6 * (math.Abs(float64(alpha))*size + math.Abs(float64(beta)*float64(old[at])))
			if got := float64(c.Data[at]); !(math.Abs(got-want) <= tol) {
				t.Fatalf("m %d n %d k %d trans %v %v alpha %g beta %g: (%d, %d) = %g, want %g", m, n, k, ta, tb, alpha,
					beta, i, j, got, want)
			}
		}
	}
}

func TestGemm(t *testing.T) {
	forEachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(3, 3))
		for _, s := range [][3]int{
			{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {1, 1, 1}, {1, 33, 5}, {29, 1, 7}, {14, 32, 9}, {15, 33, 10},
			{13, 31, 321},
			{5, 2, 700}, {100, 70, 64}, {43, 97, 257}, {200, 300, 20}, {28, 600, 330}, {130, 128, 256}, {7, 1100, 960},
		} {
			for mode := range 4 {
				for k, ab := range [][2]float32{{1, 0}, {-0.5, 1}, {2, 0.25}, {0, 1}} {
					if s[0]*s[1]*s[2] > 1e6 && (k+mode+mode/2)%2 != 0 { // half of the combinations of large ones
						continue
					}
					checkGemm(t, rnd, s[0], s[1], s[2], mode&1 != 0, mode&2 != 0, ab[0], ab[1])
				}
			}
		}
	})
}

// More than one block of B, and chunks on several cores.
func TestGemmLarge(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	rnd := rand.New(rand.NewPCG(4, 4))
	a, b := random(rnd, 300, 700, 0), random(rnd, 700, 3500, 0)
	c := New(300, 3500)
	Gemm(false, false, 1, a, b, 0, c)
	for range 3000 {
		i, j := rnd.IntN(300), rnd.IntN(3500)
		var sum, size float64
		for p := range 700 {
			v := element(a, false, i, p) * element(b, false, p, j)
			sum, size = sum+v, size+math.Abs(v)
		}
		if d := math.Abs(float64(c.At(i, j)) - sum); d > 1e-6*size {
			t.Fatalf("(%d, %d) = %g, want %g", i, j, c.At(i, j), sum)
		}
	}
}

// Blocks are of other sizes on processors with other caches, which must not show.
func TestGemmSameBitsOnAnyFamily(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	a, b := random(rnd, 300, 2500, 0), random(rnd, 2500, 1300, 0)
	want, got := New(300, 1300), New(300, 1300)
	restore := simd.ForceFamily(simd.Common)
	Gemm(false, false, 1, a, b, 0, want)
	restore()
	defer simd.ForceFamily(simd.Sapphire)()
	Gemm(false, false, 1, a, b, 0, got)
	for i, w := range want.Data {
		if math.Float32bits(w) != math.Float32bits(got.Data[i]) {
			t.Fatalf("element %d is %g, with other blocks %g", i, w, got.Data[i])
		}
	}
}

func TestGemmSameBitsOnAnyNumberOfCores(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	a, b := random(rnd, 257, 400, 0), random(rnd, 400, 130, 0)
	var first []float32
	for _, procs := range []int{1, 2, 4} {
		old := runtime.GOMAXPROCS(procs)
		c := New(257, 130)
		Gemm(false, false, 1, a, b, 0, c)
		runtime.GOMAXPROCS(old)
		if first == nil {
			first = c.Data
		}
		for i := range first {
			if math.Float32bits(first[i]) != math.Float32bits(c.Data[i]) {
				t.Fatalf("GOMAXPROCS %d: element %d is %x, with 1 it is %x", procs, i, math.Float32bits(c.Data[i]),
					math.Float32bits(first[i]))
			}
		}
	}
}

func TestGemmDoesNotAllocate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	a, b, c := random(rnd, 300, 200, 0), random(rnd, 200, 300, 0), New(300, 300)
	for _, tr := range []bool{false, true} {
		if tr {
			a = random(rnd, 200, 300, 0)
		}
		if n := testing.AllocsPerRun(50, func() { Gemm(tr, false, 1, a, b, 0, c) }); n >= 1 {
			t.Errorf("transposed %v: %g allocations a call", tr, n)
		}
	}
}

func FuzzGemm(f *testing.F) {
	f.Add(uint64(1), uint16(14), uint16(32), uint16(320), uint8(0))
	f.Add(uint64(2), uint16(15), uint16(63), uint16(321), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, m, n, k uint16, mode uint8) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		checkGemm(t, rnd, int(m%150), int(n%150), int(k%800), mode&1 != 0, mode&2 != 0, 1, float32(mode>>2&1))
	})
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct {
		m, n, k int
		tb      bool
	}{{2048, 2048, 2048, false}, {70000, 64, 288, false}, {44800, 64, 576, false}, {2048, 2048, 512, true},
		{512, 512, 128, true}, {128, 128, 128, true}, {128, 128, 9216, true}, {128, 9216, 128, false},
		{128, 2, 128, true}} {
		b.Run(fmt.Sprintf("%dx%dx%d", s.m, s.k, s.n), func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(7, 7))
			x, y, c := random(rnd, s.m, s.k, 0), random(rnd, s.k, s.n, 0), New(s.m, s.n)
			if s.tb {
				y = random(rnd, s.n, s.k, 0)
			}
			for b.Loop() {
				Gemm(false, s.tb, 1, x, y, 0, c)
			}
			b.ReportMetric(2*float64(s.m)*float64(s.n)*float64(s.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
