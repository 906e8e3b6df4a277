package rank

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
)

// answers are the ranks of one query's positives, for each column of labels.
type answers struct {
	ranks []int32
	ends  []int32 // of each column's
}

// finish tells the ranks of the positives in a head.
func (r *headRunner) finish(t *headTools, h *head, i int) answers {
	if !t.close(h) {
		h.begin()
		for from := 0; from < len(r.order); from += block {
			at := t.at[:0]
			for _, j := range r.order[from:min(from+block, len(r.order))] {
				if int(j) != i || !r.p.same {
					at = append(at, j)
				}
			}
			t.takeAll(h, i, at)
		}
		t.close(h)
	}
	var out answers
	var sorted []item
	for c, labels := range r.p.g.Labels {
		y := r.p.q.Labels[c][i]
		positives := t.at[:0]
		for k, j := range h.row {
			if labels[j] == y {
				positives = append(positives, int32(k))
			}
		}
		t.at = positives
		switch {
		case len(positives) <= len(h.row)/8: // counting takes less time than sorting
			out.ranks = r.count(t, h, i, positives, out.ranks)
		default:
			if sorted == nil {
				sorted = t.sorted.sort(h.near, h.row)
				r.settle(t.nearness, h, sorted, i)
			}
			for k, it := range sorted[:h.depth] {
				if labels[it.row] == y {
					out.ranks = append(out.ranks, int32(k+1))
				}
			}
		}
		out.ends = append(out.ends, int32(len(out.ranks)))
	}
	return out
}

// count appends the ranks of positives of a head, which are given by their places in it,
// as far as they are within its depth.
func (r *headRunner) count(t *headTools, h *head, i int, positives, ranks []int32) []int32 {
	from := len(ranks)
	padded := t.pad(h.near)
	for _, k := range positives {
		lo, hi := t.window(h.near[k])
		ahead, _ := dot16.CountRow(padded, lo, hi, t.open)
		var own item // if there is something to compare it with
		known := false
		each(t.open, func(e int) {
			if e == int(k) {
				return
			}
			if !known {
				own, known = r.sp.item(i, h.row[k]), true
			}
			if other := r.sp.item(i, h.row[e]); r.sp.compare(i, &other, &own) < 0 {
				ahead++
			}
		})
		if ahead < h.depth {
			ranks = append(ranks, int32(ahead+1))
		}
	}
	slices.Sort(ranks[from:])
	return ranks
}

// settle puts items in the order of their exact scores where this decides about the
// ranks of positives: in a run of items whose near scores leave their order open, if some
// of them are positives and some are not.
func (r *headRunner) settle(c *nearness, h *head, items []item, i int) {
	for from := 0; from < h.depth; {
		to := from + 1
		for to < len(items) && c.above(float32(items[to].score)) >= c.below(float32(items[to-1].score)) {
			to++
		}
		if to-from > 1 && r.mixed(items[from:to], i) {
			for k := from; k < to; k++ {
				items[k].score = r.sp.exact(i, int(items[k].row))
			}
			r.sp.sort(i, items[from:to])
		}
		from = to
	}
}

// mixed tells whether by any column some items are positives and some are not.
func (r *headRunner) mixed(items []item, i int) bool {
	for c, labels := range r.p.g.Labels {
		y := r.p.q.Labels[c][i]
		first := labels[items[0].row] == y
		for _, it := range items[1:] {
			if labels[it.row] == y != first {
				return true
			}
		}
	}
	return false
}

// visit tells the ranks of queries lo, lo+1, ... in order.
func (r *headRunner) visit(all []answers, lo int, visit func(Query)) {
	for k, a := range all {
		from := int32(0)
		for c, to := range a.ends {
			visit(Query{Index: lo + k, Column: c, R: r.p.count(lo+k, c), Ranks: a.ranks[from:to]})
			from = to
		}
	}
}
