package clean

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/compute/detection"
	"github.com/kindred-ml/kindred/matrix"
)

// Look-alikes are the classes with the three nearest means, the nearest first, of equals
// the first.
func TestLookalikeClasses(t *testing.T) {
	x := rowsOnLine(0, 2, 10, 12, 3, 8, 17, 20) // means of 1, 11, 3, 8, 17 and 20
	y := []int{0, 0, 1, 1, 2, 3, 4, 5}
	want := [][]int{{2, 3, 1}, {3, 4, 2}, {0, 3, 1}, {1, 2, 0}, {5, 1, 3}, {4, 1, 3}}
	for c, got := range detection.ConfusableClasses(x, y, 6, maxLookAlikes) {
		if !slices.Equal(got, want[c]) {
			t.Errorf("class %d: %v, want %v", c, got, want[c])
		}
	}
	for c, got := range detection.ConfusableClasses(rowsOnLine(0, 5, 5), []int{0, 1, 2}, 3, maxLookAlikes) {
		if want := [][]int{{1, 2}, {2, 0}, {1, 0}}[c]; !slices.Equal(got, want) {
			t.Errorf("of three, class %d: %v, want %v", c, got, want)
		}
	}
}

// Every other item is given the label of a look-alike, those between any wrong one.
func TestInjected(t *testing.T) {
	const n, classes = 4000, 7
	y := make([]int, n)
	for i := range y {
		y[i] = i / 2 % classes
	}
	alike := [][]int{{1, 2, 3}, {2}, {4, 5}, {0}, nil, {6}, {5}}
	var times [2][classes][classes]int
	for i, c := range injectErrors(y, classes, alike, rand.New(rand.NewPCG(1, 2))) {
		times[i%2][y[i]][c]++
	}
	for c := range classes {
		for to := range classes {
			even, odd := times[0][c][to], times[1][c][to]
			if to == c && even+odd > 0 {
				t.Errorf("%d items of class %d keep their label", even+odd, c)
			}
			if among := slices.Contains(alike[c], to) || alike[c] == nil && to != c; among != (even > 20) ||
				!among && even > 0 {
				t.Errorf("%d of class %d get %d, of %v", even, c, to, alike[c])
			}
			if to != c && odd < 20 { // of 286, a sixth on average
				t.Errorf("%d of class %d get %d at random", odd, c, to)
			}
		}
	}
}

// Suspects come from the most probable, of the same score by what it was made of.
func TestSuspects(t *testing.T) {
	j := &LabelErrors{Score: []float64{0.5, 0.9, 0.49, 0.9, 0.5, 1}, Raw: []float64{3, 7, 9, 8, 3, 20}}
	if got := j.Suspects(0.5); !slices.Equal(got, []int{5, 3, 1, 0, 4}) {
		t.Errorf("%v", got)
	}
	if got := j.Suspects(1.1); got != nil {
		t.Errorf("%v", got)
	}
}

// Votes and Agree count the neighbours with the suggested and the item's own label, in
// the embedding that the item is judged in.
func TestCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 21))
	x, labels := drawClasses(rng, 4, 12, 3, 1)
	other := matrix.New(x.Rows, 3)
	for i := range other.Data {
		other.Data[i] = x.Data[i] + float32(rng.NormFloat64())
	}
	var even, odd []int
	for i := range labels {
		if i%2 == 0 {
			even = append(even, i)
		} else {
			odd = append(odd, i)
		}
	}
	for _, k := range []int{0, 5} {
		used := 15
		if k > 0 {
			used = k
		}
		whole, err := FindLabelErrors(t.Context(), labels, Options{Neighbours: k}, Fold{X: x})
		if err != nil {
			t.Fatal(err)
		}
		halves, err := FindLabelErrors(t.Context(), labels, Options{Neighbours: k}, Fold{X: x, HeldOut: even},
			Fold{X: other, HeldOut: odd})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range labels {
			rows, _ := nearestBySorting(x, i, used)
			checkCounts(t, whole, i, used, rows, labels)
			in, rest := x, odd
			if i%2 == 1 {
				in, rest = other, even
			}
			rows, _ = nearestBySorting(in.RowsAt(append(slices.Clone(rest), i)), len(rest), used)
			for e, r := range rows {
				rows[e] = rest[r]
			}
			checkCounts(t, halves, i, used, rows, labels)
			if whole.Suggested[i] == l || !slices.Contains(labels, whole.Suggested[i]) {
				t.Errorf("item %d: %d suggested for %d", i, whole.Suggested[i], l)
			}
		}
	}
	few, err := FindLabelErrors(t.Context(), []int64{1, 1, 2, 2, 2}, Options{}, Fold{X: rowsOnLine(1, 2, 3, 4, 5)})
	if err != nil || few.Neighbours != 4 {
		t.Errorf("%d neighbours of five items, %v", few.Neighbours, err)
	}
}

func checkCounts(t *testing.T, j *LabelErrors, i, k int, rows []int, labels []int64) {
	t.Helper()
	agree, votes := 0, 0
	for _, r := range rows {
		switch labels[r] {
		case labels[i]:
			agree++
		case j.Suggested[i]:
			votes++
		}
	}
	if j.Agree[i] != agree || j.Votes[i] != votes || j.Neighbours != k {
		t.Errorf("item %d: %d for its label and %d for %d of %d, want %d and %d of %d", i, j.Agree[i], j.Votes[i],
			j.Suggested[i], j.Neighbours, agree, votes, k)
	}
}

// Errors name the fold, counted from 1, and the item.
func TestFoldErrors(t *testing.T) {
	x := rowsOnLine(1, 2, 3, 4)
	y := []int64{1, 1, 2, 2}
	all := []int{0, 1, 2, 3}
	for name, c := range map[string]struct {
		opt   Options
		folds []Fold
		want  string
	}{
		"no embedding": {folds: []Fold{{}}, want: "number of rows of fold 1 differs from the 4 labels"},
		"rows": {folds: []Fold{{X: x, HeldOut: all[:2]}, {X: rowsOnLine(1, 2, 3)}},
			want: "number of rows of fold 2 differs"},
		"beyond": {folds: []Fold{{X: x, HeldOut: []int{0, 4}}}, want: "fold 1 holds item 4,"},
		"below":  {folds: []Fold{{X: x, HeldOut: []int{-1}}}, want: "fold 1 holds item -1,"},
		"in two": {folds: []Fold{{X: x, HeldOut: all[:2]}, {X: x, HeldOut: all[1:]}},
			want: "fold 2 holds item 1,"},
		"in none":       {folds: []Fold{{X: x, HeldOut: all[:3]}}, want: "item 3 is in no fold"},
		"none left":     {folds: []Fold{{X: x, HeldOut: all}}, want: "fold 1 holds out 4 of 4 items"},
		"none held":     {folds: []Fold{{X: x}, {X: x, HeldOut: []int{}}}, want: "fold 2 holds out 0 of 4 items"},
		"one neighbour": {opt: Options{Neighbours: -1}, folds: []Fold{{X: x}}, want: "-1 neighbours, 0 rounds"},
	} {
		if _, err := FindLabelErrors(t.Context(), y, c.opt, c.folds...); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// One item is enough to judge others by.
	if j, err := FindLabelErrors(t.Context(), y, Options{}, Fold{X: x, HeldOut: all[1:]},
		Fold{X: x, HeldOut: all[:1]}); err != nil ||
		j.Neighbours != 1 {
		t.Errorf("%v", err)
	}
}

// Disagreement is the share of the neighbours with another label.
func TestPlainDisagreement(t *testing.T) {
	got, err := Disagreement(t.Context(), []int64{1, 1, 2, 1, 2}, 2, Fold{X: rowsOnLine(0, 1, 3, 6, 10)})
	if err != nil || !slices.Equal(got, []float64{0.5, 0.5, 1, 1, 0.5}) {
		t.Errorf("%v, %v", got, err)
	}
}

// Confident is the margin of probabilities over the thresholds of their classes, of a
// regression without the item.
func TestPlainConfident(t *testing.T) {
	x, labels := drawClasses(rand.New(rand.NewPCG(7, 21)), 3, 9, 4, 0.7)
	y, _ := lists.Rank[int](labels)
	n := len(y)
	all, trust := make([]int, n), slices.Repeat([]float64{1}, n)
	for i := range all {
		all[i] = i
	}
	prob := make([][]float64, n)
	var threshold [3]float64
	for i := range prob {
		prob[i] = leaveOneOut(x, all, y, 3, trust, i)
		total := 0.0
		for c, v := range prob[i] {
			prob[i][c] = max(v, 0)
			total += prob[i][c]
		}
		for c := range prob[i] {
			prob[i][c] /= total
		}
		threshold[y[i]] += prob[i][y[i]] / 9
	}
	got, err := ConfidentLearning(t.Context(), labels, Fold{X: x})
	if err != nil {
		t.Fatal(err)
	}
	for i, have := range got {
		best := math.Inf(-1)
		for c := range 3 {
			if c != y[i] {
				best = max(best, prob[i][c]-threshold[c])
			}
		}
		requireNear(t, "margin", have, best-(prob[i][y[i]]-threshold[y[i]]), 1e-4)
	}
}

// The penalty is a tenth of the mean variance of a coordinate: of four items at -3, -1, 1
// and 3 the slope of the second class is 4 / (20 + 2), and 2.5 / (11 + 2) without the last.
func TestHeadOnALine(t *testing.T) {
	x := rowsOnLine(-3, -1, 1, 3)
	parts, err := splitFolds(t.Context(), []Fold{{X: x}}, 4, &Options{Neighbours: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := &evidence{y: []int{0, 0, 1, 1}, classes: 2, trust: []float64{1, 1, 1, 1}}
	head, err := parts[0].fit(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	requireNear(t, "slope", float64(head.beta.At(0, 1)), 4./22, 1e-6)
	out := matrix.New(1, 2)
	head.predict(parts[0], h, 3, 4, out)
	requireNear(t, "the last item's class", float64(out.At(0, 1)), 0.5+3*2.5/13, 1e-6)
}

// An item whose label is likely to be wrong counts for as much less, and always a little.
func TestTrusted(t *testing.T) {
	for wrong, want := range map[float64]float64{0: 1, 0.25: 0.75, 0.99: 0.01, 0.995: 0.01, 1: 0.01} {
		if got := trustWeight(wrong); math.Abs(got-want) > 1e-12 {
			t.Errorf("wrong with %g: counts %g, want %g", wrong, got, want)
		}
	}
}
