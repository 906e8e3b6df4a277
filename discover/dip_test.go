package discover

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Two groups without an overlap dip by a quarter, even steps by half a row, and of uniform samples
// as many as the probability says dip as deep.
func TestDip(t *testing.T) {
	two := []float64{0, 1, 1e-9, 1 + 1e-9, 2e-9, 1 + 2e-9, 3e-9, 1 + 3e-9, 4e-9, 1 + 4e-9}
	requireNear(t, "two groups", dipStatistic(two), 0.25, 0.011) // less a tenth of a row of ten
	requireNear(t, "even steps", dipStatistic([]float64{5, 3, 1, 2, 4, 6}), 1./12, 1e-12)
	requireNear(t, "equal places", dipStatistic([]float64{2, 2, 2, 2, 2}), 0.1, 0)
	rng := rand.New(rand.NewPCG(1, 5))
	for _, n := range []int{10, 20, 77, 300, 900} {
		const of = 400
		deep, x := 0.0, make([]float64, n)
		for range of {
			for i := range x {
				x[i] = rng.Float64()
			}
			if dipPValue(dipStatistic(x), n) <= 0.05 {
				deep++
			}
		}
		requireNear(t, "share of uniform samples", deep/of, 0.05, 0.03) // 2.8 deviations
	}
	if dipPValue(0.25, minClassRows-1) != 1 {
		t.Error("too few rows are judged")
	}
}

// No function with a single mode is nearer, and the nearest that may also jump at its mode is
// nearer by half a row at most: for each mode the greatest convex minorant before it and the
// least concave majorant after it, by all chords.
func TestDipByModes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		x := make([]float64, 4+rng.IntN(20))
		for i := range x {
			x[i] = rng.NormFloat64() + float64(4*rng.IntN(2))
		}
		d, want := dipStatistic(x), math.Inf(1)
		turned := make([]float64, len(x))
		for i, v := range x {
			turned[len(x)-1-i] = -v
		}
		slices.Sort(turned)
		for m := range x {
			want = min(want, max(0.5, convexOff(x, m), convexOff(turned, len(x)-1-m))/float64(len(x)))
		}
		if d < want-1e-9 || d > want+0.5/float64(len(x)) {
			t.Errorf("the dip of %d is %g, that with a jump %g", len(x), d, want)
		}
	}
}

// convexOff is half of what a convex function through the lower corners of the steps before row m
// is below their upper ones, in rows.
func convexOff(x []float64, m int) (most float64) {
	for i := range m {
		least := float64(i)
		for a := 0; a < i; a++ {
			for b := i + 1; b <= m; b++ {
				least = min(least, float64(a)+float64(b-a)*(x[i]-x[a])/(x[b]-x[a]))
			}
		}
		most = max(most, (float64(i+1)-least)/2)
	}
	return most
}

// Two kinds of ten rows, six deviations apart, are found more often than not, also where a few
// rows stand alone; one kind hardly ever.
func TestTwoKindsOfTen(t *testing.T) {
	count := func(apart float32, outliers int) (found int) {
		for k := range 100 {
			rng := rand.New(rand.NewPCG(uint64(k), 61))
			x, _ := drawClouds(rng, 1, 20+outliers, 12, 0)
			for i := range 20 {
				x.Row(i)[0] += apart * float32(i%2)
			}
			for i := range outliers {
				x.Row(20 + i)[3+i] += 20
			}
			e, err := findGaps(t.Context(), x, rng)
			if err != nil {
				t.Fatal(err)
			}
			if e.pValue() <= 0.05 {
				found++
			}
		}
		return found
	}
	// By counting the rows between the groups alone it was 56.
	if two := count(6, 0); two < 70 {
		t.Errorf("%d of 100 are found", two)
	}
	if two := count(8, 2); two < 70 {
		t.Errorf("%d of 100 are found with rows that stand alone", two)
	}
	if one := count(0, 0); one > 10 {
		t.Errorf("%d of 100 of one kind are divided", one)
	}
}

// The line leans away from a direction along which both parts scatter, and its ends stay.
func TestLean(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	res := make([][]float64, 400)
	for i := range res {
		res[i] = make([]float64, 8)
		for j := range res[i] {
			res[i][j] = rng.NormFloat64()
		}
		res[i][0] *= 10
	}
	from, to := make([]float32, 8), make([]float32, 8)
	to[0], to[1] = 1, 1
	l := newLine(from, to)
	l.turnToDiscriminant(res)
	if a := float64(l.direction[0] / l.direction[1]); a > 0.1 {
		t.Errorf("%v still goes along the scatter", l.direction)
	}
	requireNear(t, "the second end", dot(l.direction, to)/l.square, 1, 1e-6)
	for _, r := range res {
		r[0] /= 10
	}
	l = newLine(from, to)
	l.turnToDiscriminant(res) // as wide in all directions
	if math.Abs(float64(l.direction[0]/l.direction[1])-1) > 0.1 {
		t.Errorf("%v leans from a round cloud", l.direction)
	}
	// As gonum solves it: (S/s + I) w = b.
	w := solveRegularised(res[:3], 2, []float64{1, 2, 3, 4, 5, 6, 7, 8})
	for j := range w {
		v := w[j]
		for _, r := range res[:3] {
			v += dot64(r, w) / 3 / 2 * r[j]
		}
		requireNear(t, "solved", v, float64(j+1), 1e-3)
	}
}

// What most classes show is no evidence, unless most are at the level.
func TestCommon(t *testing.T) {
	classes := func(n int, p float64) (out []*measuredClass) {
		for range n {
			out = append(out, &measuredClass{p: p})
		}
		return out
	}
	for _, c := range []struct {
		of   []*measuredClass
		want float64
	}{
		{classes(23, 0.2), 0}, {classes(24, 0.2), 0.8416}, {classes(24, 0.9), 0}, {classes(24, 0.01), 0},
		{append(classes(13, 1), classes(12, 0)...), 0}, {append(classes(13, 0.5), classes(12, 0)...), 0},
	} {
		requireNear(t, "common", commonStrength(c.of, 0.05), c.want, 1e-4)
	}
	requireNear(t, "beyond", probabilityBeyond(0.05, 0), 0.05, 0)
	requireNear(t, "beyond", probabilityBeyond(0.05, 1), 0.2595, 1e-3)
	requireNear(t, "beyond", probabilityBeyond(1, 1), 1, 0)
	requireNear(t, "beyond", probabilityBeyond(0, 1), 0, 0)
}
