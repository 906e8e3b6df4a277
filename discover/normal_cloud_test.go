package discover

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// The effective dimension is the square of the sum of the variances along the principal
// axes, over the sum of their squares.
func TestEffective(t *testing.T) {
	for _, c := range []struct {
		rows []float32
		want float64
	}{
		{[]float32{1, 0, -1, 0, 0, 1, 0, -1}, 2},
		{[]float32{2, 0, -2, 0, 0, 1, 0, -1}, 25. / 17},
		{[]float32{1, 1, -1, -1, 3, 3, -3, -3}, 1},
		{make([]float32, 8), 0},
	} {
		requireNear(t, "dimension", effectiveDimension(centreRows(matrix.FromSlice(4, 2, c.rows))), c.want, 1e-6)
	}
	got := centreRows(matrix.FromSlice(2, 2, []float32{1, 10, 4, 4}))
	if !slices.Equal(got.Data, []float32{-1.5, 3, 1.5, -3}) {
		t.Errorf("%v", got.Data)
	}
}

// The number of groups has the largest criterion, the fewer of equals, at least two.
func TestBIC(t *testing.T) {
	x, _ := drawClouds(rand.New(rand.NewPCG(3, 21)), 5, 8, 6, 1.2)
	merges, err := ward.Tree(t.Context(), ward.Squared(x))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range []float64{0.5, 1, 2, 3, 4, 6} {
		for _, most := range []int{2, 4, 30} {
			best, top := 0, math.Inf(-1)
			for k := 2; k <= most; k++ {
				var within float64 // squared distances from the means of the groups
				group := ward.Cut(merges, 40, k)
				for g := range k {
					var rows []int
					for i, h := range group {
						if h == g {
							rows = append(rows, i)
						}
					}
					for _, v := range centreRows(x.RowsAt(rows)).Data {
						within += float64(v) * float64(v)
					}
				}
				if v := -40*p*math.Log(within/(40*p)) - float64(k)*(p+1)*math.Log(40); v > top {
					best, top = k, v
				}
			}
			if got := bestByBIC(merges, 40, most, p); got != best {
				t.Errorf("%d groups of up to %d in %g dimensions, want %d", got, most, p, best)
			}
			seen[best] = true
		}
	}
	if len(seen) < 3 {
		t.Errorf("only %v groups are right: the test says little", seen)
	}
	equal := []ward.Merge{{A: 0, B: 1, Height: 0}, {A: 0, B: 2, Height: 0}, {A: 0, B: 3, Height: 0}}
	if got := bestByBIC(equal, 4, 4, 2); got != 2 {
		t.Errorf("%d groups of equal rows", got)
	}
}

// Rows are compared with draws of one cloud: those of one cloud look less divided than several, and
// fewer than ten rows, and equal ones, are not compared.
func TestCloud(t *testing.T) {
	opt := Options{Draws: 19, MaxSubClasses: 6}
	several, _ := drawClouds(rand.New(rand.NewPCG(4, 21)), 3, 10, 2, 20)
	c, err := newCloud(t.Context(), several, opt, rand.New(rand.NewPCG(1, 1)))
	if err != nil || c == nil {
		t.Fatalf("%v, %v", c, err)
	}
	if len(c.mean) != 7 || slices.Max(c.mean) > 0.7 || slices.Min(c.mean[2:]) < 0.2 || c.dim < 1 || c.dim > 2 {
		t.Errorf("%+v", c)
	}
	merges, err := ward.Tree(t.Context(), ward.Squared(several))
	if err != nil {
		t.Fatal(err)
	}
	if k, err := c.chooseNumGroups(t.Context(), several, merges, 6); k != 3 || err != nil {
		t.Errorf("%d groups, %v", k, err)
	}
	// Where the draws look as divided as the rows do into three, two are more surprising.
	s, err := silhouettes(t.Context(), distances(several), merges, 6)
	if err != nil {
		t.Fatal(err)
	}
	c.mean = slices.Clone(s)
	c.mean[2] -= 0.1
	if k, err := c.chooseNumGroups(t.Context(), several, merges, 6); k != 2 || err != nil {
		t.Errorf("%d groups, %v", k, err)
	}
	c.mean = slices.Clone(s)
	c.mean[6] -= 0.1 // as many as there may be
	if k, err := c.chooseNumGroups(t.Context(), several, merges, 6); k != 6 || err != nil {
		t.Errorf("%d groups, %v", k, err)
	}
	c.mean = s // of equals the first
	if k, err := c.chooseNumGroups(t.Context(), several, merges, 6); k != 2 || err != nil {
		t.Errorf("%d groups of equals, %v", k, err)
	}
	c.dim = 4 // from here on by BIC
	if k, err := c.chooseNumGroups(t.Context(), several, merges, 6); k != bestByBIC(merges, 30, 6, 4) || err != nil {
		t.Errorf("%d groups by BIC, %v", k, err)
	}
	one, _ := drawClouds(rand.New(rand.NewPCG(5, 21)), 1, 30, 2, 0)
	if c, err = newCloud(t.Context(), one, opt, rand.New(rand.NewPCG(1, 1))); err != nil || c == nil {
		t.Errorf("one cloud: %+v, %v", c, err)
	}
	if c, err = newCloud(t.Context(), matrix.New(30, 2), opt, rand.New(rand.NewPCG(1, 1))); c != nil || err != nil {
		t.Errorf("equal rows: %v, %v", c, err)
	}
	for n, want := range map[int]bool{9: false, 10: true} {
		c, err := newCloud(t.Context(), several.RowsAt(sequence(n)), opt, rand.New(rand.NewPCG(1, 1)))
		if err != nil || (c != nil) != want {
			t.Errorf("%d rows: %v, %v", n, c, err)
		}
	}
}

func sequence(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Copies may be joined by steps, each of which is at most a tenth of the usual distance.
func TestDistinctSteps(t *testing.T) {
	for _, c := range []struct {
		places []float32
		want   []int
	}{
		{[]float32{0, 10, 20, 30, 40, 50, 60, 0.0625, 0.125, 0.1875}, []int{0, 1, 2, 3, 4, 5, 6}},
		{[]float32{0, 10, 20, 30, 40, 50, 1}, []int{0, 1, 2, 3, 4, 5}}, // the distance of 9 is no usual one
		{[]float32{0, 10, 20, 30, 40, 50, 1.25}, []int{0, 1, 2, 3, 4, 5, 6}},
		{[]float32{3}, []int{0}},
	} {
		if got := distinctRows(ward.Squared(rowsOnLine(c.places...))); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.places, got, c.want)
		}
	}
}
