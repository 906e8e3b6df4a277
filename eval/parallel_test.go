package eval

import (
	"context"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// parallelSet makes classes that hold the same vectors in other lengths: by cosine, each row
// has copies in every class.
func parallelSet(classes, each int) Set {
	s := Set{X: matrix.New(classes*each, 3), Labels: [][]int64{make([]int64, classes*each)}}
	for i := range s.X.Rows {
		c, k := i/each, float32(i%each)
		s.Labels[0][i] = int64(c)
		for j, v := range []float32{1 + k, -3.125, 1.125 * k} {
			s.X.Row(i)[j] = float32(2*c+1) * v
		}
	}
	return s
}

// Copies in other classes have distance 0, so that no threshold above 0 accepts fewer.
func TestCopiesAcrossClassesByCosine(t *testing.T) {
	s := parallelSet(6, 4)
	c, err := ComparePairs(context.Background(), s, nil, CompareOptions{Distance: Cosine})
	if err != nil {
		t.Fatal(err)
	}
	const copies = 4 * 6 * 5 / 2
	if g, i := c.PairsWithin(0); g != 0 || i != copies {
		t.Errorf("%d genuine and %d impostor pairs at distance 0, want 0 and %d", g, i, copies)
	}
	if r := c.RatesAtFMR(0.003); r.FNMR != 1 || r.FMR != 0 {
		t.Errorf("at FMR 0.003 FNMR is %v and FMR %v, want 1 and 0", r.FNMR, r.FMR)
	}
	probes := Set{X: s.X, Labels: [][]int64{append([]int64{-1, -1}, s.Labels[0][2:]...)}}
	o, err := Identify(context.Background(), probes, &s, CompareOptions{Distance: Cosine})
	if err != nil {
		t.Fatal(err)
	}
	if r := o.RatesAt(0); r.FPIR != 1 || r.FNIR != 0 {
		t.Errorf("at distance 0 FPIR is %v and FNIR %v, want 1 and 0", r.FPIR, r.FNIR)
	}
	if want := 2. / 22; o.Rank1() != want {
		t.Errorf("rank 1 is %v, want %v: the lowest row is of the first class", o.Rank1(), want)
	}
}
