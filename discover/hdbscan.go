package discover

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// hdbscan finds groups as HDBSCAN does (Campello, Moulavi and Sander 2013). Rows are joined in the order of
// their mutual reachability distance, which is the largest of their distance and of the distances to their
// neighbours-th nearest rows. A group has at least least rows. Of nested groups, those are taken that
// together persist longest over the falling density. d has the n x n distances. Rows without a group get the
// group of the nearest row that has one. If there are no parts, all rows are one group.
func hdbscan(ctx context.Context, d *matrix.Dense, neighbours, least int) ([]int, error) {
	n := d.Rows
	edges, err := spanningTree(ctx, d, coreDistances(d, neighbours))
	if err != nil {
		return nil, err
	}
	t := condense(edges, n, least)
	group := make([]int, n) // counted from 1; 0 for none
	chosen := 0
	t.selectGroups(0)
	var mark func(c int)
	mark = func(c int) {
		if !t.nodes[c].selected {
			for _, k := range t.nodes[c].children {
				mark(k)
			}
			return
		}
		chosen++
		for _, i := range t.nodes[c].rows {
			group[i] = chosen
		}
	}
	mark(0)
	if chosen == 0 {
		return make([]int, n), nil
	}
	assignUngrouped(d, group)
	return renumberGroups(group), nil
}

// coreDistances is the distance of every row to its k-th nearest.
func coreDistances(d *matrix.Dense, k int) []float32 {
	out := make([]float32, d.Rows)
	row := make([]float32, d.Cols)
	for i := range out {
		copy(row, d.Row(i))
		slices.Sort(row)
		out[i] = row[min(k, len(row)-1)] // row[0] is its own
	}
	return out
}

// spanningTree returns the minimum spanning tree of the mutual reachability, by Prim's algorithm, as merges in
// the order of their height.
func spanningTree(ctx context.Context, d *matrix.Dense, core []float32) ([]ward.Merge, error) {
	n := d.Rows
	best, from := make([]float32, n), make([]int, n)
	in := make([]bool, n)
	for i := range best {
		best[i] = float32(math.Inf(1))
	}
	var out []ward.Merge
	at := 0
	for range n - 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in[at] = true
		next := -1
		for j, v := range d.Row(at) {
			if in[j] {
				continue
			}
			if r := max(v, core[at], core[j]); r < best[j] {
				best[j], from[j] = r, at
			}
			if next < 0 || best[j] < best[next] {
				next = j
			}
		}
		out = append(out, ward.Merge{A: from[next], B: next, Height: float64(best[next])})
		at = next
	}
	slices.SortStableFunc(out, func(a, b ward.Merge) int { return cmp.Compare(a.Height, b.Height) })
	return out, nil
}

// condensedTree is a hierarchy of groups with enough rows. Node 0 is the group of all rows.
type condensedTree struct{ nodes []node }

type node struct {
	rows      []int
	children  []int
	stability float64 // sum over its rows of the density at which they leave less the density at which the group begins
	selected  bool
}

// condense makes the hierarchy from the edges of the spanning tree.
func condense(edges []ward.Merge, n, least int) *condensedTree {
	type part struct {
		rows        []int
		left, right *part
		height      float64 // height at which left and right meet
	}
	root := make([]int, n)
	parts := make([]*part, n)
	for i := range root {
		root[i], parts[i] = i, &part{rows: []int{i}}
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	top := parts[0]
	for _, e := range edges {
		a, b := find(e.A), find(e.B)
		p := &part{left: parts[a], right: parts[b], height: e.Height}
		p.rows = slices.Concat(p.left.rows, p.right.rows)
		root[b], parts[a], top = a, p, p
	}
	t := &condensedTree{}
	density := func(height float64) float64 { return 1 / max(height, 1e-12) }
	var walk func(p *part, birth float64) int
	walk = func(p *part, birth float64) int {
		id := len(t.nodes)
		t.nodes = append(t.nodes, node{rows: p.rows})
		stability := 0.0
		for p.left != nil {
			now := density(p.height)
			l, r := len(p.left.rows) >= least, len(p.right.rows) >= least
			if l && r {
				stability += float64(len(p.rows)) * (now - birth)
				a := walk(p.left, now)
				b := walk(p.right, now)
				t.nodes[id].children = []int{a, b}
				break
			}
			if !l && !r {
				stability += float64(len(p.rows)) * (now - birth)
				break
			}
			stay, leave := p.left, p.right
			if r {
				stay, leave = leave, stay
			}
			stability += float64(len(leave.rows)) * (now - birth)
			p = stay
		}
		t.nodes[id].stability = stability
		return id
	}
	birth := 0.0
	if top.left != nil {
		birth = density(top.height)
	}
	walk(top, birth)
	return t
}

// selectGroups takes the groups at or below c with the largest total stability, and returns that. The group of all
// rows is taken only if it has no parts.
func (t *condensedTree) selectGroups(c int) float64 {
	n := &t.nodes[c]
	if len(n.children) == 0 {
		n.selected = true
		return n.stability
	}
	var below float64
	for _, k := range n.children {
		below += t.selectGroups(k)
	}
	if c != 0 && n.stability >= below {
		n.selected = true
		return n.stability
	}
	return below
}

// assignUngrouped puts rows without a group into the group of the nearest row with a group.
func assignUngrouped(d *matrix.Dense, group []int) {
	was := slices.Clone(group)
	for i, g := range was {
		if g > 0 {
			continue
		}
		var near float32
		for j, v := range d.Row(i) {
			if was[j] > 0 && (group[i] == 0 || v < near) {
				near, group[i] = v, was[j]
			}
		}
	}
}

// renumberGroups numbers groups in the order of their first rows.
func renumberGroups(group []int) []int {
	out := make([]int, len(group))
	_, members := lists.Group(group)
	for k, m := range members {
		for _, i := range m {
			out[i] = k
		}
	}
	return out
}
