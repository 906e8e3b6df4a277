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
	var classes []*measuredClass
	for i := range 25 {
		classes = append(classes, &measuredClass{scatter: float64(i)})
	}
	if u := newUsualScatter(classes[:24]); u != nil {
		t.Errorf("learned %g from 23 classes", *u)
	}
	requireNear(t, "of 24", float64(*newUsualScatter(classes)), 12.5, 0)
	mean, variance := meanAndScatter(rowsOnLine(1, 3, 8))
	if mean[0] != 4 || variance != (9+1+16)/2. {
		t.Errorf("%v, %g", mean, variance)
	}
	if _, variance = meanAndScatter(rowsOnLine(7)); variance != 0 {
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
		u := usualScatter(c.one)
		if got := u.chooseNumGroups(merges, 6, c.most); got != c.want {
			t.Errorf("%+v: %d groups", c, got)
		}
	}
}

// The share of classes in which gaps are found once they are put together with their nearest.
func TestTold(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	opt := &Options{Level: 0.05, MaxRows: 1000}
	for _, c := range []struct {
		apart   float32
		classes int
		want    float64
	}{{0, 4, 0}, {40, 4, 1}, {40, 1, 0}, {40, 2 * numMergedPairs, 1}} {
		x := matrix.New(20*c.classes, 6)
		var classes []*measuredClass
		for k := range c.classes {
			j := &measuredClass{label: int64(k)}
			for i := 20 * k; i < 20*k+20; i++ {
				for d := range 6 {
					x.Row(i)[d] = float32(rng.NormFloat64())
				}
				x.Row(i)[0] += c.apart * float32(k)
				j.sample = append(j.sample, i)
			}
			j.mean, _ = meanAndScatter(x.RowsAt(j.sample))
			classes = append(classes, j)
		}
		got, err := (&classSet{even: x}).measureDetectionRate(t.Context(), x, classes, opt)
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
		if v := (&Verdict{NumTested: c.tested, NumDivided: c.several}); v.HasCoarseLabels() != c.want {
			t.Errorf("%d of %d: %v", c.several, c.tested, v.HasCoarseLabels())
		}
	}
	v := &Verdict{NumTested: 30, NumDivided: 3, Level: 0.05, Calibrated: true, DetectionRate: 0.25}
	if s := v.String(); !strings.HasPrefix(s, "3 of 30 classes hold several sub-classes (level 5 %; most") ||
		!strings.Contains(s, "25 % would be found") {
		t.Error(s)
	}
}

// Some rows are drawn in ascending order, or all.
func TestDrawnRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	rows := []int{3, 5, 8, 13, 21}
	if got := sampleRows(rows, 5, rng); !slices.Equal(got, rows) {
		t.Errorf("%v", got)
	}
	times := map[int]int{}
	for range 300 {
		got := sampleRows(rows, 3, rng)
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
