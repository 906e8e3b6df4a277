package discover

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// rowsOnLine has a row of one coordinate for each place.
func rowsOnLine(places ...float32) *matrix.Dense { return matrix.FromSlice(len(places), 1, places) }

func requireNear(t *testing.T, what string, have, want, within float64) {
	t.Helper()
	if !(math.Abs(have-want) <= within) {
		t.Errorf("%s: %.9g, want %.9g", what, have, want)
	}
}

// Groups are dense parts of at least so many rows; what lies outside goes to the nearest.
func TestDense(t *testing.T) {
	for name, c := range map[string]struct {
		x     *matrix.Dense
		least int
		want  []int
	}{
		"two and one between":     {rowsOnLine(0, 1, 2, 10, 11, 12, 5), 3, []int{0, 0, 0, 1, 1, 1, 0}},
		"one beyond":              {rowsOnLine(0, 1, 2, 10, 11, 12, 90), 3, []int{0, 0, 0, 1, 1, 1, 1}},
		"groups of four at least": {rowsOnLine(0, 1, 2, 10, 11, 12, 13), 4, []int{0, 0, 0, 0, 0, 0, 0}},
		"a group in two": {rowsOnLine(0, 1, 2, 5, 6, 7, 90, 91, 92, 95, 96, 97), 3,
			[]int{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}},
		"numbered by first rows": {rowsOnLine(10, 11, 0, 1, 12, 2), 3, []int{0, 0, 1, 1, 0, 1}},
		"one":                    {rowsOnLine(4), 3, []int{0}},
	} {
		got, err := hdbscan(t.Context(), distances(c.x), 1, c.least)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

// The distance to the k-th nearest row, or to the farthest of fewer.
func TestCore(t *testing.T) {
	d := distances(rowsOnLine(0, 1, 3, 7))
	for k, want := range map[int][]float32{1: {1, 1, 2, 4}, 2: {3, 2, 3, 6}, 3: {7, 6, 4, 7}, 9: {7, 6, 4, 7}} {
		if got := coreDistances(d, k); !slices.Equal(got, want) {
			t.Errorf("k %d: %v, want %v", k, got, want)
		}
	}
}

// The spanning tree is the lightest one, by Kruskal's way to it, and has its edges in order.
func TestSpanning(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 21))
	x := matrix.New(25, 3)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	d := distances(x)
	far := coreDistances(d, 3)
	var all []ward.Merge
	for i := range 25 {
		for j := range i {
			all = append(all, ward.Merge{A: j, B: i, Height: float64(max(d.Row(i)[j], far[i], far[j]))})
		}
	}
	slices.SortStableFunc(all, func(a, b ward.Merge) int { return cmp.Compare(a.Height, b.Height) })
	of := make([]int, 25)
	for i := range of {
		of[i] = i
	}
	join := func(e ward.Merge) bool {
		a, b := of[e.A], of[e.B]
		for i := range of {
			if of[i] == b {
				of[i] = a
			}
		}
		return a != b
	}
	var want []float64
	for _, e := range all {
		if join(e) {
			want = append(want, e.Height)
		}
	}
	got, err := spanningTree(t.Context(), d, far)
	if err != nil || len(got) != 24 {
		t.Fatalf("%d edges, %v", len(got), err)
	}
	for i := range of {
		of[i] = i
	}
	for k, e := range got {
		if e.Height != want[k] || !join(e) || e.Height != float64(max(d.Row(e.A)[e.B], far[e.A], far[e.B])) {
			t.Errorf("edge %d: %+v, want the height %g", k, e, want[k])
		}
	}
}

// What a group lasts is the sum over its rows of the density at which they leave less that
// at which it arises.
func TestCondense(t *testing.T) {
	edges := []ward.Merge{
		{A: 0, B: 1, Height: 1}, {A: 3, B: 4, Height: 1}, {A: 1, B: 2, Height: 2},
		{A: 4, B: 5, Height: 4}, {A: 2, B: 3, Height: 10},
	}
	tree := condense(edges, 6, 2)
	if len(tree.nodes) != 3 || !slices.Equal(tree.nodes[0].children, []int{1, 2}) || tree.nodes[0].stability != 0 {
		t.Fatalf("%+v", tree.nodes)
	}
	// From 1/10 on: row 2 leaves at 1/2 and the others at 1; row 5 at 1/4 and the others at 1.
	requireNear(t, "the first", tree.nodes[1].stability, (0.5-0.1)+2*(1-0.1), 1e-12)
	requireNear(t, "the second", tree.nodes[2].stability, (0.25-0.1)+2*(1-0.1), 1e-12)
	if rows := tree.nodes[1].rows; !slices.Equal(rows, []int{0, 1, 2}) {
		t.Errorf("rows %v", rows)
	}
	// Groups of three fall apart where two and one are left.
	tree = condense(edges, 6, 3)
	requireNear(t, "the first of three", tree.nodes[1].stability, 3*(0.5-0.1), 1e-12)
	// A group of four falls into two of two: all leave there.
	tree = condense([]ward.Merge{
		{A: 0, B: 1, Height: 1}, {A: 2, B: 3, Height: 1}, {A: 1, B: 2, Height: 2},
		{A: 4, B: 5, Height: 1}, {A: 3, B: 4, Height: 10},
	}, 6, 2)
	requireNear(t, "the first of four", tree.nodes[1].stability, 4*(0.5-0.1), 1e-12)
	requireNear(t, "its first half", tree.nodes[2].stability, 2*(1-0.5), 1e-12)
	// The smaller part leaves, on whichever side it is.
	tree = condense([]ward.Merge{
		{A: 0, B: 1, Height: 1}, {A: 1, B: 2, Height: 2}, {A: 5, B: 2, Height: 4},
		{A: 3, B: 4, Height: 5}, {A: 5, B: 3, Height: 10},
	}, 6, 2)
	requireNear(t, "one from the left", tree.nodes[1].stability, (0.25-0.1)+(0.5-0.1)+2*(1-0.1), 1e-12)
}

// Of a group and its parts those are taken that last longer, the group where both do as
// long; the group of all only if it has no parts.
func TestChoose(t *testing.T) {
	tree := &condensedTree{nodes: []node{{children: []int{1, 2}, stability: 100}, {children: []int{3, 4}, stability: 5},
		{children: []int{5, 6}, stability: 1}, {stability: 2}, {stability: 3}, {stability: 1}, {stability: 1}}}
	requireNear(t, "all", tree.selectGroups(0), 5+2, 0)
	for c, want := range map[int]bool{0: false, 1: true, 2: false, 5: true, 6: true} {
		if tree.nodes[c].selected != want {
			t.Errorf("group %d taken: %v", c, !want)
		}
	}
	tree.nodes = []node{{stability: 4}}
	if tree.selectGroups(0) != 4 || !tree.nodes[0].selected {
		t.Errorf("all in one: %+v", tree.nodes[0])
	}
}

// Rows without a group get that of the nearest that had one before, of equals the first.
func TestAdopt(t *testing.T) {
	group := []int{0, 4, 0, 7, 0, 0}
	assignUngrouped(distances(rowsOnLine(0, 2, 3, 4, 4.5, 9)), group)
	if !slices.Equal(group, []int{4, 4, 4, 7, 7, 7}) {
		t.Errorf("%v", group)
	}
	if got := renumberGroups([]int{5, 2, 5, 9, 2, 0}); !slices.Equal(got, []int{0, 1, 0, 2, 1, 3}) {
		t.Errorf("%v", got)
	}
}
