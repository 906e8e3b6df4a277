package exact

import "github.com/kindred-ml/kindred/internal/kernel/dot16"

// Head holds items that may be among the first of a query's ranking. The first Depth are among
// them. It is valid until its show returns.
type Head struct {
	Query, Depth int
	// Places is storage for the caller.
	Places []int32

	head *head
	t    *headTools
}

// Rows returns the gallery rows of the items, in no order.
func (h *Head) Rows() []int32 { return h.head.row }

// Ahead returns how many items are ahead of the one at a place of Rows.
func (h *Head) Ahead(place int) int {
	t, near, rows, sp, i := h.t, h.head.near, h.head.row, h.t.sp, h.Query
	lo, hi := t.window(near[place])
	ahead, _ := dot16.CountRow(t.padScores(near), lo, hi, t.headFiller.open)
	var own Item // if there is something to compare it with
	known := false
	forEachBit(t.headFiller.open, func(e int) {
		if e == place {
			return
		}
		if !known {
			own, known = sp.Item(i, rows[place]), true
		}
		if other := sp.Item(i, rows[e]); sp.Compare(i, &other, &own) < 0 {
			ahead++
		}
	})
	return ahead
}

// Ordered returns the items, the nearest first. A run of items whose near scores leave their order
// open is put in the order of their exact scores where matters says that this decides something.
func (h *Head) Ordered(matters func([]Item) bool) []Item {
	c, sp, i := h.t.nearScorer, h.t.sp, h.Query
	items := h.t.sorted.sort(h.head.near, h.head.row)
	depth := min(h.Depth, len(items)) // a query that is an item has one item less
	for from := 0; from < depth; {
		to := from + 1
		for to < len(items) && c.upperBound(float32(items[to].Score)) >= c.lowerBound(float32(items[to-1].Score)) {
			to++
		}
		if to-from > 1 && matters(items[from:to]) {
			for k := from; k < to; k++ {
				items[k].Score = sp.exact(i, int(items[k].Row))
			}
			sp.Sort(i, items[from:to])
		}
		from = to
	}
	return items[:depth]
}
