package discover

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// What is usual is the middle of the scatters, of at least 24 classes that scatter.
func TestUsual(t *testing.T) {
	var classes []*judged
	for i := range 25 {
		classes = append(classes, &judged{scatter: float64(i)})
	}
	if u := newUsual(classes[:24]); u != nil {
		t.Errorf("learned %g from 23 classes", *u)
	}
	about(t, "of 24", float64(*newUsual(classes)), 12.5, 0)
	mean, variance := scattered(along(1, 3, 8))
	if mean[0] != 4 || variance != (9+1+16)/2. {
		t.Errorf("%v, %g", mean, variance)
	}
	if _, variance = scattered(along(7)); variance != 0 {
		t.Errorf("one row scatters by %g", variance)
	}
}

// As many groups as scatter like one kind, with a degree of freedom less for each; at least two.
func TestUsualCount(t *testing.T) {
	merges := []ward.Merge{
		{A: 0, B: 1, Height: 2}, {A: 2, B: 3, Height: 2}, {A: 4, B: 5, Height: 2},
		{A: 0, B: 2, Height: 20}, {A: 0, B: 4, Height: 40},
	} // in all 33
	for _, c := range []struct {
		one        float64
		most, want int
	}{
		{100, 6, 2}, {13. / 4, 6, 2}, {3.2, 6, 3}, {1, 6, 3}, {0.99, 6, 6}, {0.99, 4, 4}, {0.1, 6, 6}, {0.1, 3, 3},
		{0.1, 1, 2},
	} {
		u := usual(c.one)
		if got := u.count(merges, 6, c.most); got != c.want {
			t.Errorf("%+v: %d groups", c, got)
		}
	}
}

// The share of classes in which gaps are found once they are put together with their nearest.
func TestTold(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	opt := &Options{Level: 0.05, Rows: 1000}
	for _, c := range []struct {
		apart   float32
		classes int
		want    float64
	}{{0, 4, 0}, {40, 4, 1}, {40, 1, 0}, {40, 2 * asked, 1}} {
		x := matrix.New(20*c.classes, 6)
		var classes []*judged
		for k := range c.classes {
			j := &judged{label: int64(k)}
			for i := 20 * k; i < 20*k+20; i++ {
				for d := range 6 {
					x.Row(i)[d] = float32(rng.NormFloat64())
				}
				x.Row(i)[0] += c.apart * float32(k)
				j.sample = append(j.sample, i)
			}
			j.mean, _ = scattered(gather(x, j.sample))
			classes = append(classes, j)
		}
		got, err := (&set{even: x}).told(t.Context(), x, classes, opt)
		if err != nil || got != c.want {
			t.Errorf("%d classes %g apart: %g, %v, want %g", c.classes, c.apart, got, err, c.want)
		}
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
	if s := v.String(); !strings.HasPrefix(s, "3 of 30 classes hold several sub-classes (level 5 %; most") ||
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
