package discover

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

// drawClouds draws k normal clouds of n rows in d dimensions, whose centres have
// coordinates of the given deviation, and returns which cloud each row is of.
func drawClouds(rng *rand.Rand, k, n, d int, apart float64) (*matrix.Dense, []int64) {
	x, of := matrix.New(k*n, d), make([]int64, k*n)
	for c := range k {
		centre := make([]float64, d)
		for j := range centre {
			centre[j] = apart * rng.NormFloat64()
		}
		for i := range n {
			of[c*n+i] = int64(c)
			for j := range centre {
				x.Row(c*n + i)[j] = float32(centre[j] + rng.NormFloat64())
			}
		}
	}
	return x, of
}

func findSubClasses(t *testing.T, x *matrix.Dense, labels []int64, opt Options) *Result {
	t.Helper()
	r, err := Find(context.Background(), x, labels, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Of two classes, one of five kinds and one of a single kind, the first is divided
// as it was made, in the plane and in many dimensions, and the second is not.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		d      int
		apart  float64
		method Method
	}{{2, 30, Ward}, {40, 2, Ward}, {2, 30, Density}, {40, 2, Density}} {
		rng := rand.New(rand.NewPCG(uint64(c.d), 1))
		several, of := drawClouds(rng, 5, 24, c.d, c.apart)
		one, _ := drawClouds(rng, 1, 120, c.d, 0)
		x, labels := matrix.New(240, c.d), make([]int64, 240)
		for i := range 120 { // the classes take turns
			copy(x.Row(2*i), several.Row(i))
			copy(x.Row(2*i+1), one.Row(i))
			labels[2*i], labels[2*i+1] = 7, 3
		}
		r := findSubClasses(t, x, labels, Options{Method: c.method, Seed: 3})
		if len(r.Classes) != 2 || r.Classes[0].Label != 3 || r.Classes[1].Label != 7 {
			t.Fatalf("%v in %d dimensions: classes %+v", c.method, c.d, r.Classes)
		}
		if got := r.Classes[0]; len(got.SubClasses) != 1 || got.P <= 0.05 || got.Stability != 1 {
			t.Errorf("%v in %d dimensions: one cloud has %d kinds, p %g", c.method, c.d, len(got.SubClasses), got.P)
		}
		got := r.Classes[1]
		if len(got.SubClasses) != 5 || got.P > 0.05 || got.Stability < 0.9 {
			t.Errorf("%v in %d dimensions: five clouds have %d kinds, p %g, stability %g", c.method, c.d,
				len(got.SubClasses), got.P, got.Stability)
		}
		var want, have []int64
		for i := range 120 {
			want, have = append(want, of[i]), append(have, r.SubClassOf[2*i])
			if r.SubClassOf[2*i+1] != 0 {
				t.Fatalf("row %d of class 3 has kind %d", 2*i+1, r.SubClassOf[2*i+1])
			}
		}
		tab, err := cluster.NewTable(want, have)
		if err != nil {
			t.Fatal(err)
		}
		if ari := tab.ARI(); ari < 0.95 {
			t.Errorf("%v in %d dimensions: adjusted Rand index %g", c.method, c.d, ari)
		}
		for _, k := range got.SubClasses {
			if !slices.Contains(k.Rows, k.Exemplar) || len(k.MostDifferent) != 4 ||
				slices.Contains(k.MostDifferent, k.Exemplar) || !slices.IsSorted(k.Rows) {
				t.Errorf("kind %+v", k)
			}
			for _, i := range k.MostDifferent {
				if !slices.Contains(k.Rows, i) {
					t.Errorf("row %d is no member of %v", i, k.Rows)
				}
			}
		}
	}
}

// The test against one cloud errs as often as it says, whatever the cloud's shape.
func TestLevel(t *testing.T) {
	wrong, n := 0, 60
	for k := range n {
		rng := rand.New(rand.NewPCG(9, uint64(k)))
		x, _ := drawClouds(rng, 1, 60, 6, 0)
		for i := range x.Rows {
			x.Row(i)[0] *= 5
			x.Row(i)[1] *= 2
		}
		r := findSubClasses(t, x, make([]int64, x.Rows), Options{Seed: uint64(k), Draws: 19, Resamples: -1})
		if r.Classes[0].P <= 0.05 {
			wrong++
		}
	}
	if wrong > 8 { // of Binomial(60, 0.05) more has probability 0.003
		t.Errorf("%d of %d clouds are divided at the level of 5 %%", wrong, n)
	}
}

// A class larger than Rows is divided by a sample, and all its rows get a kind.
func TestSample(t *testing.T) {
	x, of := drawClouds(rand.New(rand.NewPCG(4, 4)), 3, 200, 8, 4)
	r := findSubClasses(t, x, make([]int64, x.Rows), Options{MaxRows: 90})
	tab, err := cluster.NewTable(of, r.SubClassOf)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Classes[0].SubClasses); n != 3 || tab.ARI() < 0.98 {
		t.Errorf("%d kinds, adjusted Rand index %g", n, tab.ARI())
	}
}

func TestSameBits(t *testing.T) {
	x, _ := drawClouds(rand.New(rand.NewPCG(5, 5)), 4, 30, 12, 2)
	want := findSubClasses(t, x, make([]int64, x.Rows), Options{Seed: 2})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if got := findSubClasses(t, x, make([]int64, x.Rows), Options{Seed: 2}); !reflect.DeepEqual(got, want) {
		t.Error("another number of processors gives other kinds")
	}
}

func TestDegenerate(t *testing.T) {
	same := matrix.New(50, 3)
	two := matrix.New(20, 1) // two points, ten times each: copies are evidence once
	for i := range 10 {
		two.Row(i)[0] = 1
	}
	for _, c := range []struct {
		name  string
		x     *matrix.Dense
		kinds int
	}{{"nothing", matrix.New(0, 3), 0}, {"one row", matrix.New(1, 3), 1}, {"equal rows", same, 1},
		{"two points", two, 1}} {
		for _, m := range []Method{Ward, Density} {
			r := findSubClasses(t, c.x, make([]int64, c.x.Rows), Options{Method: m})
			n := 0
			for _, class := range r.Classes {
				n += len(class.SubClasses)
				if class.P <= 0 || class.P > 1 || c.kinds == 1 && class.P <= 0.05 {
					t.Errorf("%s, %v: p = %g", c.name, m, class.P)
				}
				for _, k := range class.SubClasses {
					if m := k.MostDifferent; c.name == "equal rows" && len(m) > 0 {
						t.Errorf("%v differ among equal rows", m)
					}
				}
			}
			if n != c.kinds {
				t.Errorf("%s, %v: %d kinds, want %d", c.name, m, n, c.kinds)
			}
		}
	}
	bad := matrix.New(9, 2)
	bad.Row(4)[1] = float32(math.NaN())
	for name, f := range map[string]func() error{
		"not finite": func() error { _, err := Find(t.Context(), bad, make([]int64, 9), Options{}); return err },
		"numbers of labels and of rows differ": func() error {
			_, err := Find(t.Context(), same, make([]int64, 9), Options{})
			return err
		},
		"out of range": func() error {
			_, err := Find(t.Context(), same, make([]int64, 50), Options{Level: -1})
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), name) && name != "not finite" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStops(t *testing.T) {
	x, _ := drawClouds(rand.New(rand.NewPCG(6, 6)), 3, 40, 5, 5)
	ctxtest.CheckStops(t, 1000, func(ctx context.Context) error {
		_, err := Find(ctx, x, make([]int64, x.Rows), Options{})
		return err
	})
}

// Ward's merges are those of the definition: each joins the two groups whose union
// adds least to the sum of squares.
func TestWard(t *testing.T) {
	x, _ := drawClouds(rand.New(rand.NewPCG(7, 7)), 3, 9, 4, 1)
	merges, err := ward.Tree(t.Context(), ward.Squared(x))
	if err != nil {
		t.Fatal(err)
	}
	groups := make([][]int, x.Rows)
	for i := range groups {
		groups[i] = []int{i}
	}
	within := func(rows []int) (sum float64) {
		c := centreRows(x.RowsAt(rows))
		for _, v := range c.Data {
			sum += float64(v) * float64(v)
		}
		return sum
	}
	for step := range x.Rows - 1 {
		var a, b int
		least := math.Inf(1)
		for i := range groups {
			for j := range i {
				union := append(slices.Clone(groups[i]), groups[j]...)
				if v := within(union) - within(groups[i]) - within(groups[j]); v < least {
					a, b, least = j, i, v
				}
			}
		}
		if got := merges[step].Height / 2; math.Abs(got-least) > 1e-4*(1+least) {
			t.Fatalf("merge %d adds %g, want %g", step, got, least)
		}
		groups[a] = append(groups[a], groups[b]...)
		groups = slices.Delete(groups, b, b+1)
		want := make([]int64, x.Rows)
		got := make([]int64, x.Rows)
		for g, rows := range groups {
			for _, i := range rows {
				want[i] = int64(g)
			}
		}
		for i, g := range ward.Cut(merges, x.Rows, len(groups)) {
			got[i] = int64(g)
		}
		if tab, err := cluster.NewTable(want, got); err != nil || tab.ARI() < 1-1e-9 {
			t.Fatalf("after merge %d: %v, want %v", step, got, want)
		}
	}
}

// The scores of all cuts are those of each cut by itself.
func TestSilhouettes(t *testing.T) {
	x, _ := drawClouds(rand.New(rand.NewPCG(8, 8)), 4, 12, 3, 2)
	merges, err := ward.Tree(t.Context(), ward.Squared(x))
	if err != nil {
		t.Fatal(err)
	}
	d := distances(x)
	for _, most := range []int{0, 1, 2, 3, 20, x.Rows, x.Rows + 1} {
		score, err := silhouettes(t.Context(), d, merges, most)
		if err != nil {
			t.Fatal(err)
		}
		if n := min(max(most, 1), x.Rows); len(score) != n+1 || score[0] != 0 || score[1] != 0 {
			t.Errorf("up to %d groups: %d scores, %v", most, len(score), score[:2])
		}
		for k := 2; k < len(score); k++ {
			if want := meanSilhouette(d, ward.Cut(merges, x.Rows, k), k); math.Abs(score[k]-want) > 1e-9 {
				t.Errorf("%d groups of up to %d: silhouette %g, want %g", k, most, score[k], want)
			}
		}
	}
}

func TestParseMethod(t *testing.T) {
	for _, m := range []Method{Ward, Density} {
		if got, err := ParseMethod(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	if _, err := ParseMethod("wards"); err == nil || !strings.Contains(err.Error(), `"ward"`) &&
		!strings.Contains(err.Error(), "ward") {
		t.Errorf("%v", err)
	}
}
