package pair

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/matrix"
)

// The products of rows that are split are about as close to the true ones as those
// of float32 are, symmetric, and equal for equal rows; plain Go has the bits of the
// matrix unit.
func TestSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	for _, n := range []int{1, 15, 16, 17, 31, 33, 100, 255, 257, 300} {
		for _, d := range []int{16, 17, 31, 40, 512} {
			if d == 512 && n > 100 {
				continue
			}
			rows := &Rows{}
			x := randomDense(rng, n, d)
			copy(x.Row(n-1), x.Row(0))
			copy(x.Row(n/2), x.Row(0))
			x.Row(n / 2)[3] += 0.01
			if err := rows.Set(x, true); err != nil {
				t.Fatal(err)
			}
			var g gram
			plain := matrix.New(n, n)
			g.run(rows.E, plain)
			var first *matrix.Dense
			for _, l := range []bf16.Level{bf16.AMX, bf16.Generic} {
				restore := bf16.Force(l)
				if bf16.Active() != l { // AVX512_BF16 alone adds in another order, and is not asked
					restore()
					continue
				}
				s := &matrix.Dense{Rows: n, Cols: n, Stride: rowStride(n), Data: make([]float32, n*rowStride(n))}
				var p split
				p.run(rows.E, s)
				checkSplit(t, rows.E, s, plain)
				if first != nil && bf16.Active() == l && l == bf16.Generic {
					for i := range n {
						for j := range n {
							if s.At(i, j) != first.At(i, j) {
								t.Fatalf("n %d d %d: S[%d][%d] is %v in plain Go, %v on the matrix unit", n, d, i, j,
									s.At(i, j), first.At(i, j))
							}
						}
					}
				}
				if bf16.Active() == bf16.AMX {
					first = s
				}
				restore()
			}
		}
	}
}

func checkSplit(t *testing.T, e, s, plain *matrix.Dense) {
	t.Helper()
	n, d := e.Rows, e.Cols
	var worst, worstPlain float64
	for i := range n {
		for j := range n {
			var want float64
			for k := range d {
				want += float64(e.At(i, k)) * float64(e.At(j, k))
			}
			worst = max(worst, math.Abs(float64(s.At(i, j))-want))
			worstPlain = max(worstPlain, math.Abs(float64(plain.At(i, j))-want))
			if s.At(i, j) != s.At(j, i) {
				t.Fatalf("n %d d %d: S[%d][%d] is not S[%d][%d]", n, d, i, j, j, i)
			}
		}
		if s.At(0, i) != s.At(n-1, i) {
			t.Fatalf("n %d d %d: equal rows have similarities %v and %v", n, d, s.At(0, i), s.At(n-1, i))
		}
	}
	most := 0x1p-15
	if d >= splitDepth {
		most = 3e-6 // float32: some 8e-7
	}
	if worst > most {
		t.Fatalf("n %d d %d: S is %.2g off, where float32 is %.2g off", n, d, worst, worstPlain)
	}
}

func TestSplitOnAnyNumberOfCores(t *testing.T) {
	const n, d = 700, 48
	rows := &Rows{}
	if err := rows.Set(randomDense(rand.New(rand.NewPCG(8, 2)), n, d), true); err != nil {
		t.Fatal(err)
	}
	var first *matrix.Dense
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		s := matrix.New(n, n)
		var p split
		p.run(rows.E, s)
		runtime.GOMAXPROCS(old)
		if first == nil {
			first = s
		}
		if !slices.Equal(s.Data, first.Data) {
			t.Fatalf("%d threads give other bits than 1", procs)
		}
	}
}
