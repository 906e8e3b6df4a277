package discover

import (
	"slices"
	"testing"
)

// Rows count around both ends, a sixth of the way on either side, and in the middle third.
func TestThirds(t *testing.T) {
	for place, want := range map[float64][3]float64{-1.01: {0, 0, 0}, -1: {1, 0, 0}, 1: {1, 0, 0}, 1.01: {0, 0, 0},
		2: {0, 0, 0}, 2.01: {0, 1, 0}, 3.99: {0, 1, 0}, 4: {0, 0, 0}, 4.99: {0, 0, 0}, 5: {0, 0, 1}, 7: {0, 0, 1},
		7.01: {0, 0, 0}} {
		l, m, r := countThirds([2][]float64{{place}, {100}}, 0, 6)
		if got := [3]float64{l, m, r}; got != want {
			t.Errorf("%g between 0 and 6: %v, want %v", place, got, want)
		}
		l, m, r = countThirds([2][]float64{nil, {10 - place}}, 10, 4) // the other way round
		if got := [3]float64{l, m, r}; got != want {
			t.Errorf("%g between 10 and 4: %v, want %v", 10-place, got, want)
		}
	}
}

// The probability of so few rows in the middle is that of a sign test in the window where
// it is least, times the windows that have rows.
func TestGapsP(t *testing.T) {
	for _, c := range []struct {
		gaps gaps
		want float64
	}{
		{gaps{}, 1},
		{gaps{{0, 5}}, 1. / 32},
		{gaps{{1, 4}}, 6. / 32},
		{gaps{{0, 5}, {0, 0}, {2, 1}}, 2. / 32},
		{gaps{{5, 0}}, 1},
		{gaps{{2, 2}, {2, 2}}, 1},
	} {
		requireNear(t, "p", c.gaps.pValue(), c.want, 1e-9)
	}
	for w := range windows { // of any one alone
		var g gaps
		g[w].side = 5
		requireNear(t, "p of one window", g.pValue(), 1./32, 1e-9)
	}
	sum := gaps{{1, 2}, {3, 4}}
	sum.add(gaps{{10, 20}, {30, 40}, {5, 6}})
	if sum != (gaps{{11, 22}, {33, 44}, {5, 6}}) {
		t.Errorf("%v", sum)
	}
}

// Places on a line through two points are 0 at the first and 1 at the second; those in the
// middle are nearer to the second.
func TestPlaces(t *testing.T) {
	l := newLine([]float32{1, 2}, []float32{5, 2})
	x := rowsOnLine(0, 0, 3, 9, 5, 2, 2, 1, 7, 7)
	x.Rows, x.Cols, x.Stride = 5, 2, 2
	got := l.project(x, []int{1, 1, 1, 0, 1}, 1)
	if !slices.Equal(got[0], []float64{-0.25}) || !slices.Equal(got[1], []float64{0.5, 1, 1.5}) {
		t.Errorf("%v", got)
	}
	centre, size := groupMeans(x, []int{0, 2, 2, 0, 2}, 4)
	if !slices.Equal(size, []int{2, 0, 3, 0}) || !slices.Equal(centre.Data, []float32{1, 0.5, 0, 0, 5, 6, 0, 0}) {
		t.Errorf("%v, %v", centre.Data, size)
	}
	if got := assignToNearest(rowsOnLine(0, 4, 5, 6), rowsOnLine(4, 6, 4)); !slices.Equal(got, []int{0, 0, 0, 1}) {
		t.Errorf("%v", got)
	}
}

// Classes are divided until few rows are left for a group, and as far as there are windows.
func TestDeepest(t *testing.T) {
	for n, want := range map[int]int{0: 0, 8: 1, 9: 2, 10: 2, 14: 3, 120: 27, 280: 63, 285: 64, 1000: 64} {
		if got := maxDivisions(n); got != want {
			t.Errorf("%d rows fall into %d groups at most, want %d", n, got, want)
		}
	}
}
