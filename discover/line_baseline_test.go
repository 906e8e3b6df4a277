package discover

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// Two groups of four rows, ten apart, are isolated: each row is nearer to its side. Rows one apart have only their
// neighbours as near as the joint is wide.
func TestIsolated(t *testing.T) {
	for _, c := range []struct {
		x    []float32
		want [len(facingCounts)]float64
	}{
		{[]float32{0, 1, 2, 3, 13, 14, 15, 16}, [2]float64{8, 8}},
		{[]float32{0, 1, 2, 3, 4.5, 5.5, 6.5, 7.5}, [2]float64{4, 4}},
	} {
		group := []int{0, 0, 0, 0, 1, 1, 1, 1}
		d := ward.Squared(rowsOnLine(c.x...))
		if got := countIsolated(d, group, 0); got != c.want || countIsolated(d, group, 1) != c.want {
			t.Errorf("%v: %v, want %v", c.x, got, c.want)
		}
		var x []float64
		for _, v := range c.x {
			x = append(x, float64(v))
		}
		if got := lineIsolated(x, 0, 4); got != c.want || lineIsolated(x, 4, 8) != c.want {
			t.Errorf("%v on a line: %v, want %v", c.x, got, c.want)
		}
	}
	if got := countIsolated(ward.Squared(rowsOnLine(1, 2, 3)), []int{0, 1, 1}, 0); got != [2]float64{} {
		t.Errorf("one row: %v", got)
	}
}

// Rows on a line have as many isolated rows by lineIsolation as by isolation, on average.
func TestLineIsolation(t *testing.T) {
	const n, draws = 64, 40
	var sum [3][2]float64
	for k := range draws {
		rng := rand.New(rand.NewPCG(uint64(k), 5))
		y, x := make([]float64, n), matrix.New(n, 1)
		for i := range y {
			y[i] = rng.Float64()
			x.Data[i] = float32(y[i])
		}
		c, err := measureIsolation(t.Context(), x, rng)
		if err != nil {
			t.Fatal(err)
		}
		for w := range sum {
			sum[w][0] += c[w][0] / draws
			sum[w][1] += lineIsolation(y, w, rng)[0] / draws
		}
	}
	for w, s := range sum {
		if math.Abs(s[0]-s[1]) > 0.15*s[0] || s[0] == 0 {
			t.Errorf("window %d: %.2f isolated rows, on a line %.2f", w, s[0], s[1])
		}
	}
}

// The tree of a line cuts it where Ward's tree does.
func TestLineTree(t *testing.T) {
	x := []float64{0, 1, 2.5, 10, 11.2, 20}
	if got := lineTree(x); !slices.Equal(got, []int{1, 4, 2, 5, 3}) {
		t.Errorf("%v", got)
	}
}

// P falls with the number of isolated rows, also above all lines that were drawn.
func TestLinesP(t *testing.T) {
	last := 2.0
	for _, count := range []float64{0, 5, 7, 8, 9, 10, 12, 20} {
		p := linesPValue(count, lineKey{20, 0}, 0)
		if p > last || p <= 0 || count == 0 && p != 1 {
			t.Errorf("%g isolated rows: %g after %g", count, p, last)
		}
		last = p
	}
	if last > 1./(numLines+1) {
		t.Errorf("all rows isolated: %g", last)
	}
}
