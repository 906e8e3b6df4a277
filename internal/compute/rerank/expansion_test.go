package rerank

import (
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// length returns the Euclidean length of a row.
func length(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// alphaQE is AlphaQE by its formula.
func alphaQE(c *Candidates, n int, alpha float64) []float64 {
	unit := func(x []float32) float64 {
		if l := length(x); c.By == eval.Cosine && l > 0 {
			return l
		}
		return 1
	}
	sum, total := make([]float64, len(c.Query)), 1.0
	for k, v := range c.Query {
		sum[k] = float64(v) / unit(c.Query)
	}
	for i := range min(n, c.X.Rows) {
		x, dot := c.X.Row(i), 0.0
		for k, v := range x {
			dot += float64(v) * float64(c.Query[k])
		}
		if dot <= 0 {
			continue
		}
		w := math.Pow(dot/(length(x)*length(c.Query)), alpha)
		total += w
		for k, v := range x {
			sum[k] += w * float64(v) / unit(x)
		}
	}
	expanded := make([]float32, len(sum))
	for k := range sum {
		expanded[k] = float32(sum[k] / total)
	}
	out := make([]float64, c.X.Rows)
	for i := range out {
		out[i] = c.apart(expanded, c.X.Row(i))
	}
	return out
}

func TestAlphaQE(t *testing.T) {
	forEachCase(t, func(t *testing.T, c *Candidates) {
		for _, n := range []int{0, 1, 5, 100} {
			for _, alpha := range []float64{0, 1, Alpha} {
				got, want := c.AlphaQE(n, alpha), alphaQE(c, n, alpha)
				size := 0.0 // of what is rounded to float32
				for i := range want {
					size = max(size, math.Abs(want[i]), length(c.X.Row(i)))
				}
				if c.By == eval.Cosine {
					size = 1
				}
				if c.By == eval.Dot {
					size *= max(size, length(c.Query))
				}
				for i := range want {
					if !(math.Abs(got[i]-want[i]) <= 1e-6*size) {
						t.Errorf("n %d, alpha %g: distance %d is %g, want %g", n, alpha, i, got[i], want[i])
					}
				}
			}
		}
	})
}

// For rows of length 1 all distances give one order, and without expansion the order is that of the search.
func TestAlphaQEOrder(t *testing.T) {
	x := eval.NormalizeRows(draw("normal", 80, eval.Cosine).X)
	var want []int
	for _, by := range distances {
		c := found(x, by)
		if got := Order(c.AlphaQE(0, Alpha)); !slices.IsSorted(got) {
			t.Errorf("%s: without expansion the order is %v", by, got)
		}
		order := Order(c.AlphaQE(5, Alpha))
		if by == eval.Euclidean {
			want = order
		}
		if slices.IsSorted(order) || !slices.Equal(order, want) {
			t.Errorf("%s: order %v, want %v", by, order, want)
		}
	}
}

func TestAlphaQEOfZeros(t *testing.T) {
	x := matrix.FromSlice(3, 2, []float32{0, 0, 3, 4, 0, 0})
	for by, want := range map[eval.Distance][]float64{
		eval.Euclidean: {5, 0}, eval.Cosine: {1, 1}, eval.Dot: {0, 0},
	} {
		c := &Candidates{Query: x.Row(2), X: x.RowRange(1, 3), By: by}
		checkNear(t, c.AlphaQE(2, 0), want, 1e-7)
	}
	c := &Candidates{Query: []float32{6, 8}, X: matrix.FromSlice(2, 2, []float32{0, 0, 3, 4}), By: eval.Cosine}
	checkNear(t, c.AlphaQE(1, 0), []float64{1, 0}, 1e-7)
}
