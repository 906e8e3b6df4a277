package discover

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// What is usual is the middle of the logarithms, and the way down to where 15.87 % are left.
func TestUsual(t *testing.T) {
	var scatter []float64
	for i := range 23 {
		scatter = append(scatter, math.Exp(float64(i)))
	}
	if newUsual(append(scatter, 0, 0)) != nil {
		t.Error("learned from 23 classes")
	}
	u := newUsual(append(scatter, math.Exp(23), 0))
	about(t, "middle", u.middle, 11.5, 1e-9)
	about(t, "deviation", u.deviation, 11.5-3, 1e-9) // 0.1587 of 24 are 3.8
	about(t, "degrees of freedom", u.free, 11, 0)
	if same := newUsual(slices.Repeat([]float64{2}, 24)); same.deviation != 0.01 {
		t.Errorf("of equal classes %+v", same)
	}
	about(t, "p of the middle", u.p(math.Exp(11.5)), 0.5, 1e-9)
	about(t, "p of one deviation", u.p(math.Exp(20)), distuv.StudentsT{Sigma: 1, Nu: 11}.Survival(1), 1e-9)
	about(t, "p of none", u.p(0), 1, 0)
}

// As many groups as scatter like so many classes of one kind in the middle, at least two.
func TestUsualCount(t *testing.T) {
	merges := []merge{{0, 1, 2}, {2, 3, 2}, {4, 5, 2}, {0, 2, 20}, {0, 4, 40}} // in all 33
	for _, c := range []struct {
		one, scale float64
		most, want int
	}{
		{100, 1, 6, 2}, {7, 1, 6, 2}, {6.5, 1, 6, 2}, {6.4, 1, 6, 3}, {1, 1, 6, 3}, {0.9, 1, 6, 4}, {0.4, 1, 6, 5},
		{0.1, 1, 6, 6}, {0.1, 1, 3, 3}, {0.1, 1, 1, 2}, {13, 2, 6, 2}, {12.9, 2, 6, 3},
	} {
		u := &usual{middle: math.Log(c.one * (1 + 1e-12))}
		if got := u.count(merges, c.most, c.scale); got != c.want {
			t.Errorf("%+v: %d groups", c, got)
		}
	}
}

// The share of classes that would be found with their nearest.
func TestTold(t *testing.T) {
	class := func(mean, scatter float64) *judged {
		return &judged{mean: []float64{mean}, scatter: scatter, rows: make([]int, 10)}
	}
	u := &usual{middle: math.Log(20), deviation: 0.1, free: 11}
	// The first two scatter by 10 each and 0.2 together, the others by 10 each and 500 together.
	classes := []*judged{class(0, 10), class(0.2, 10), class(100, 10), class(110, 10)}
	about(t, "told", u.told(classes, 0.025), 0.5, 0)
	about(t, "of one", u.told(classes[:1], 0.025), 0, 0)
	// Of more than 200 every second and so on is asked.
	var many []*judged
	for i := range 402 {
		at := float64(10 * i)
		if i%3 == 0 {
			at += 0.5
		}
		many = append(many, class(at, 10))
	}
	about(t, "of many", u.told(many, 0.025), 1, 0)
	about(t, "joined", joined(classes[2], classes[3]), 10+10+100*10*10/20, 1e-9)
	mean, sum := scattered(along(1, 3, 8))
	if mean[0] != 4 || sum != 9+1+16 {
		t.Errorf("%v, %g", mean, sum)
	}
}

// Labels are coarse where at least half of the classes hold several kinds, of 24 or more.
func TestCoarse(t *testing.T) {
	for _, c := range []struct {
		tested, several int
		want            bool
	}{{24, 12, true}, {24, 11, false}, {23, 23, false}, {25, 13, true}, {25, 12, false}, {0, 0, false}} {
		if v := (&Verdict{Tested: c.tested, Several: c.several}); v.Coarse() != c.want {
			t.Errorf("%d of %d: %v", c.several, c.tested, v.Coarse())
		}
	}
	v := &Verdict{Tested: 30, Several: 3, Level: 0.05, Calibrated: true, Told: 0.25}
	if s := v.String(); !strings.HasPrefix(s, "3 of 30 classes hold several kinds (level 5 %, learned") ||
		!strings.Contains(s, "25 % would be found") {
		t.Error(s)
	}
}

// Some rows are drawn in ascending order, or all.
func TestDrawnRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	rows := []int{3, 5, 8, 13, 21}
	if got := drawn(rows, 5, rng); !slices.Equal(got, rows) {
		t.Errorf("%v", got)
	}
	times := map[int]int{}
	for range 300 {
		got := drawn(rows, 3, rng)
		if len(got) != 3 || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != 3 {
			t.Fatalf("%v", got)
		}
		for _, i := range got {
			times[i]++
		}
	}
	for _, i := range rows {
		if times[i] < 120 { // of 180 on average
			t.Errorf("row %d was drawn %d times of 300", i, times[i])
		}
	}
}
