package matrix

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSquaredDistances(t *testing.T) {
	forEachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(20, 20))
		for _, s := range [][3]int{{1, 1, 1}, {5, 3, 2}, {40, 70, 33}, {29, 130, 1100}, {3, 4, 0}, {0, 4, 3}, {4, 0, 3},
			{200, 190, 128}} {
			a, b, c := random(rnd, s[0], s[2], 1), random(rnd, s[1], s[2], 2), random(rnd, s[0], s[1], 3)
			SquaredDistances(a, b, c)
			for i := range s[0] {
				for j := range s[1] {
					var want, size float64
					for k := range s[2] {
						x, y := float64(a.At(i, k)), float64(b.At(j, k))
						want, size = want+(x-y)*(x-y), size+x*x+y*y
					}
					if d := math.Abs(float64(c.At(i, j)) - want); !(d <= 3e-6*size) {
						t.Fatalf("%v: (%d, %d) is %g, want %g", s, i, j, c.At(i, j), want)
					}
				}
			}
		}
	})
}

// Equal rows are at distance 0 exactly, whether or not they are the same row,
// however long, and no distance is negative.
func TestSquaredDistancesOfEqualRows(t *testing.T) {
	forEachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(21, 21))
		for _, d := range []int{1, 7, 128, 1025, 2500} {
			a := random(rnd, 50, d, 0)
			for i := range a.Data {
				a.Data[i] *= 1e3
			}
			for i := 25; i < 50; i++ {
				copy(a.Row(i), a.Row(i-25))
			}
			b := &Dense{Rows: 50, Cols: d, Stride: d, Data: append([]float32(nil), a.Data...)}
			for _, other := range []*Dense{a, b} {
				c := New(50, 50)
				SquaredDistances(a, other, c)
				for i := range 50 {
					for j := range 50 {
						v := c.At(i, j)
						if (i-j)%25 == 0 && v != 0 || v < 0 {
							t.Fatalf("d %d: distance of rows %d and %d is %g", d, i, j, v)
						}
						if math.Float32bits(v) != math.Float32bits(c.At(j, i)) {
							t.Fatalf("d %d: distances (%d, %d) and back are %g and %g", d, i, j, v, c.At(j, i))
						}
					}
				}
			}
		}
	})
}

func TestSquaredDistancesOfNaN(t *testing.T) {
	a := New(3, 4)
	a.Row(1)[2] = float32(math.NaN())
	c := New(3, 3)
	SquaredDistances(a, a, c)
	for i := range 3 {
		for j := range 3 {
			if v := c.At(i, j); (v != v) != (i == 1 || j == 1) {
				t.Errorf("distance (%d, %d) is %g", i, j, v)
			}
		}
	}
}

func TestSquaredDistancesDoesNotAllocate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(22, 22))
	a, c := random(rnd, 300, 128, 0), New(300, 300)
	if n := testing.AllocsPerRun(50, func() { SquaredDistances(a, a, c) }); n >= 1 {
		t.Errorf("%g allocations a call", n)
	}
}
