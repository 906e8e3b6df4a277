package discover

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// Of equally near groups the first rows join first, and a merge is as high as twice what it
// adds to the sum of squares.
func TestWardTies(t *testing.T) {
	for _, c := range []struct {
		x    *matrix.Dense
		want []ward.Merge
	}{
		{rowsOnLine(0, 1, 2, 3), []ward.Merge{{A: 0, B: 1, Height: 1}, {A: 2, B: 3, Height: 1},
			{A: 0, B: 2, Height: 8}}},
		{rowsOnLine(1, 0, 2), []ward.Merge{{A: 0, B: 1, Height: 1}, {A: 0, B: 2, Height: 3}}}, // 2 * 2/3 * 1.5^2
		{rowsOnLine(5, 5, 5), []ward.Merge{{A: 0, B: 1, Height: 0}, {A: 0, B: 2, Height: 0}}},
		{rowsOnLine(7), []ward.Merge{}},
	} {
		if got, err := ward.Tree(t.Context(), ward.Squared(c.x)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, %v, want %v", c.x.Data, got, err, c.want)
		}
	}
	merges := []ward.Merge{
		{A: 2, B: 3, Height: 1}, {A: 0, B: 4, Height: 1}, {A: 0, B: 2, Height: 8},
		{A: 0, B: 1, Height: 9},
	}
	for k, want := range [][]int{{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 1, 2, 2, 0}, {0, 1, 2, 2, 3},
		{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}} {
		if k == 0 {
			continue
		}
		if got := ward.Cut(merges, 5, k); !slices.Equal(got, want) {
			t.Errorf("%d groups: %v, want %v", k, got, want)
		}
	}
}

// The silhouette of rows is (b - a) / max(a, b), that of a row alone 0.
func TestSilhouette(t *testing.T) {
	d := distances(rowsOnLine(0, 1, 4, 6, 20))
	want := ((5-1)/5. + (4-1)/4. + (3.5-2)/3.5 + (5.5-2)/5.5) / 5
	requireNear(t, "three groups", meanSilhouette(d, []int{0, 0, 1, 1, 2}, 3), want, 1e-6)
	// Worse than the other group: a is the larger one.
	requireNear(t, "mixed", meanSilhouette(distances(rowsOnLine(0, 3, 4)), []int{0, 1, 0}, 2),
		((3-4)/4.+(1-4)/4.)/3, 1e-6)
	requireNear(t, "one group", meanSilhouette(d, make([]int, 5), 1), 0, 0)
	requireNear(t, "equal rows", meanSilhouette(matrix.New(4, 4), []int{0, 0, 1, 1}, 2), 0, 0)
	merges, err := ward.Tree(t.Context(), ward.Squared(rowsOnLine(0, 1, 4, 6, 20)))
	if err != nil {
		t.Fatal(err)
	}
	for most, n := range map[int]int{0: 2, 1: 2, 2: 3, 5: 6, 9: 6} {
		got, err := silhouettes(t.Context(), d, merges, most)
		if err != nil || len(got) != n || got[0] != 0 || got[1] != 0 || n > 3 && math.Abs(got[3]-want) > 1e-6 {
			t.Errorf("up to %d groups: %v, %v", most, got, err)
		}
	}
}

// The exemplar has the least sum of distances; the different ones are each the farthest
// from it and from those before.
func TestShown(t *testing.T) {
	d := distances(rowsOnLine(0, 1, 2, 500, 3, 10))
	sample, group := []int{10, 11, 12, 13, 14, 15}, []int{0, 0, 0, 1, 0, 0}
	for most, want := range map[int][]int{0: nil, 2: {15, 10}, 4: {15, 10, 11, 14}, 9: {15, 10, 11, 14}} {
		if k, got := chooseShown(d, sample, group, 0, most); k != 12 || !slices.Equal(got, want) {
			t.Errorf("%d shown: %v about %d, want %v about 12", most, got, k, want)
		}
	}
	if k, got := chooseShown(d, sample, group, 1, 4); k != 13 || got != nil {
		t.Errorf("of one: %v about %d", got, k)
	}
	copies := distances(rowsOnLine(0, 4, 4, 0))
	if k, got := chooseShown(copies, sample, make([]int, 4), 0, 4); k != 10 || !slices.Equal(got, []int{11}) {
		t.Errorf("of copies: %v about %d", got, k) // all sums are equal, and the first of copies stands for them
	}
	if k, got := chooseShown(distances(rowsOnLine(4, 4, 4)), sample, make([]int, 3), 0, 4); k != 10 || got != nil {
		t.Errorf("of equal rows: %v about %d", got, k)
	}
}

// Rows that were not looked at get the kind of the nearest that was, of equals the first.
func TestSpread(t *testing.T) {
	const n = 600 // of more than two blocks
	x := matrix.New(n, 1)
	var rows []int
	for i := range n {
		x.Row(i)[0] = float32((7 * i) % 101)
		if i%10 != 3 {
			rows = append(rows, i)
		}
	}
	sample, group := []int{0, 17, 250, 411, 599}, []int{0, 1, 1, 2, 0}
	want := make([][]int, 3)
	for _, i := range rows {
		at := 0
		for k, j := range sample {
			if math.Abs(float64(x.At(i, 0)-x.At(j, 0))) < math.Abs(float64(x.At(i, 0)-x.At(sample[at], 0))) {
				at = k
			}
		}
		want[group[at]] = append(want[group[at]], i)
	}
	if got := assignToNearestRow(x, rows, sample, group, 3); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := assignToNearestRow(x, []int{4, 9, 12}, []int{4, 9, 12}, []int{1, 0, 1}, 2); !slices.Equal(got[1],
		[]int{4, 12}) {
		t.Errorf("%v", got)
	}
}

// Stability is the mean over divisions of four fifths of the rows of the largest share that
// a new kind has in common with the old, of all rows of either.
func TestStability(t *testing.T) {
	const n = 21
	x, place := matrix.New(n, 1), make([]int, n)
	for i := range n { // three places far apart, that rows take in turns
		place[i] = i % 3
		x.Row(i)[0] = float32(1000*place[i]) + float32(i)/10
	}
	group := make([]int, n) // half of the first, and all others
	for i := range group {
		group[i] = 1
		if place[i] == 0 && i%2 == 0 {
			group[i] = 0
		} else if place[i] == 2 {
			group[i] = 2
		}
	}
	opt := Options{Resamples: 7}
	got, err := opt.measureStability(t.Context(), x, group, 3, rand.New(rand.NewPCG(3, 4)))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var want [3]float64
	for range 7 {
		some := rng.Perm(n)[:16]
		for g := range want {
			best := 0.0
			for p := range 3 {
				both, either := 0.0, 0.0
				for _, i := range some {
					if group[i] == g || place[i] == p {
						either++
					}
					if group[i] == g && place[i] == p {
						both++
					}
				}
				best = max(best, both/either)
			}
			want[g] += best / 7
		}
	}
	for g, w := range want {
		requireNear(t, "stability", got[g], w, 1e-12)
	}
	if got[2] != 1 || got[0] > 0.8 {
		t.Errorf("%v", got)
	}
	opt.Resamples = 1
	if got, err = opt.measureStability(t.Context(), x, place, 3, rng); err != nil ||
		!slices.Equal(got, []float64{1, 1, 1}) {
		t.Errorf("places far apart, divided once more: %v, %v", got, err)
	}
	opt.Resamples = -1
	if got, err := opt.measureStability(t.Context(), x, group, 3, rng); err != nil ||
		!slices.Equal(got, []float64{0, 0, 0}) {
		t.Errorf("not measured: %v, %v", got, err)
	}
}

// Options at the ends of what they may be, and their defaults.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		good bool
	}{
		{Options{}, true}, {Options{Level: 1}, true}, {Options{Level: 1.01}, false}, {Options{Level: -0.01}, false},
		{Options{Draws: -1}, false}, {Options{MinRows: -1}, false}, {Options{MaxSubClasses: -1}, false},
		{Options{NumShown: -1}, false},
		{Options{Resamples: -1}, true}, {Options{Resamples: -2}, false}, {Options{MaxRows: -1}, false},
		{Options{MaxRows: 9}, false}, {Options{MaxRows: 10}, true}, {Options{Method: Density}, true},
		{Options{Method: 2}, false},
		{Options{Method: -1}, false},
	} {
		if err := c.opt.setDefaults(); (err == nil) != c.good {
			t.Errorf("%+v: %v", c.opt, err)
		} else if err != nil && !strings.HasPrefix(err.Error(), "options out of range: level ") {
			t.Error(err)
		}
	}
	var o Options
	if err := o.setDefaults(); err != nil || o.Level != 0.05 || o.Draws != 39 || o.MaxSubClasses != 150 ||
		o.MaxRows != 1000 ||
		o.Resamples != 10 || o.NumShown != 4 || o.MinRows != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	for n, want := range map[int]int{0: 2, 8: 2, 11: 2, 12: 3, 39: 9, 600: 150, 2000: 150} {
		if got := o.maxGroups(n); got != want {
			t.Errorf("up to %d kinds of %d rows, want %d", got, n, want)
		}
	}
	o.MinRows = 10
	if o.maxGroups(39) != 3 {
		t.Errorf("up to %d kinds of ten rows", o.maxGroups(39))
	}
}

// Density looks for groups of a fiftieth of the rows and at least five, or as many as are
// asked for.
func TestDensityLeast(t *testing.T) {
	groups := func(size, least int) int {
		var places []float32
		for _, at := range []float32{0, 1000} {
			for i := range size {
				places = append(places, at+float32(i))
			}
		}
		for i := range 300 - 2*size { // one long row
			places = append(places, 5000+float32(i))
		}
		o := Options{Method: Density, MinRows: least}
		got, err := o.divideInto(t.Context(), rowsOnLine(places...), 0)
		if err != nil {
			t.Fatal(err)
		}
		return 1 + slices.Max(got)
	}
	for _, c := range [][3]int{{5, 0, 2}, {6, 0, 3}, {9, 10, 2}, {10, 10, 3}} {
		if got := groups(c[0], c[1]); got != c[2] {
			t.Errorf("two groups of %d rows where %d are the fewest: %d kinds, want %d", c[0], c[1], got, c[2])
		}
	}
}

// Kinds come in the order of their sizes, of equals in that of their first rows, and are
// numbered through all classes.
func TestOrderOfKinds(t *testing.T) {
	var labels []int64
	var rows [][2]float32
	rng := rand.New(rand.NewPCG(2, 21))
	for _, class := range []int64{9, -4} {
		for k, n := range []int{10, 25, 10, 18} {
			for range n {
				rows = append(rows, [2]float32{float32(100*k) + float32(rng.NormFloat64()),
					float32(100*(k%2)) + float32(rng.NormFloat64())})
				labels = append(labels, class)
			}
		}
	}
	x := matrix.New(len(rows), 2)
	for i, r := range rows {
		copy(x.Row(i), r[:])
	}
	var told [][2]int
	r := findSubClasses(t, x, labels, Options{Level: 1, Resamples: -1, Progress: func(done, total int) {
		told = append(told, [2]int{done, total})
	}})
	if len(r.Classes) != 2 || r.Classes[0].Label != -4 || r.Classes[1].Label != 9 {
		t.Fatalf("%+v", r.Classes)
	}
	for c, first := range []int{63, 0} {
		var sizes, from []int
		for g, k := range r.Classes[c].SubClasses {
			sizes, from = append(sizes, len(k.Rows)), append(from, k.Rows[0]-first)
			for _, i := range k.Rows {
				if r.SubClassOf[i] != int64(4*c+g) {
					t.Errorf("row %d has the kind %d, want %d", i, r.SubClassOf[i], 4*c+g)
				}
			}
		}
		if !slices.Equal(sizes, []int{25, 18, 10, 10}) || !slices.Equal(from, []int{10, 45, 0, 35}) {
			t.Errorf("class %d: kinds of %v from row %v", r.Classes[c].Label, sizes, from)
		}
	}
	if !slices.Equal(told, [][2]int{{1, 2}, {2, 2}}) {
		t.Errorf("told of %v", told)
	}
}

// Where nothing was learned from the set, a class is compared with a cloud when it is divided, if
// it has the rows for it; rows that are equal stay together.
func TestGroupsWithoutACloud(t *testing.T) {
	opt := Options{}
	if err := opt.setDefaults(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		n     int
		apart float32
		kinds int
	}{{2 * minClassRows, 100, 2}, {minClassRows, 100, 2}, {minClassRows - 1, 100, 1}, {2 * minClassRows, 0, 1}} {
		x := matrix.New(c.n, 8)
		for i := range c.n {
			row := x.Row(i)
			if row[0] = c.apart * float32(i%2); c.apart > 0 {
				for k := range row {
					row[k] += float32(rng.NormFloat64())
				}
			}
		}
		group, err := opt.chooseGroups(t.Context(), x, x, nil, rng)
		if err != nil || len(group) != c.n || 1+slices.Max(group) != c.kinds {
			t.Errorf("%d rows, %g apart: %v, %v, want %d kinds", c.n, c.apart, group, err, c.kinds)
		}
		if err == nil && c.kinds == 2 {
			for i, g := range group {
				if g != group[i%2] {
					t.Errorf("row %d is of kind %d in %v", i, g, group)
				}
			}
		}
	}
}
