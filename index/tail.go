package index

import (
	"maps"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/nearest"
	"github.com/kindred-ml/kindred/store"
)

// tail holds the rows that are in the log and not in a segment yet, as one view sees
// them. Later tails share its memory: rows are only appended.
type tail struct {
	dim        int
	items      []store.Item // without their vectors
	x          []float32
	live       bitmap           // may be longer than the rows
	numRemoved int              // rows that are not in live
	codes      []*nearest.Codes // of its first blocks
}

func (t *tail) rows() int { return len(t.items) }

func (t *tail) row(i int) []float32 { return t.x[i*t.dim : (i+1)*t.dim] }

// clone returns a copy of t that can be changed. It shares with t only what never changes, and live.
func (t *tail) clone() *tail {
	out := *t
	return &out
}

// put adds a row. The caller owns live.
func (t *tail) put(e *store.Item) {
	it := *e
	it.Columns, it.Vector = maps.Clone(it.Columns), nil
	if r := len(t.items); r>>6 >= len(t.live) {
		t.live = append(t.live, 0)
	}
	t.live.set(len(t.items))
	t.items, t.x = append(t.items, it), append(t.x, e.Vector...)
}

// encode codes the blocks that have become full.
func (t *tail) encode(m *manifest) {
	for done := len(t.codes) * nearest.Block; done+nearest.Block <= t.rows(); done += nearest.Block {
		c := nearest.Encode(exact.Distance(m.Distance), t.x[done*t.dim:(done+nearest.Block)*t.dim], t.dim)
		t.codes = append(t.codes, c)
	}
}

// find returns the row that holds an id, -1 if none does.
func (t *tail) find(id string) int {
	for i := len(t.items) - 1; i >= 0; i-- {
		if t.items[i].ID == id && t.live.has(i) {
			return i
		}
	}
	return -1
}

// item returns a copy of a row's item.
func (t *tail) item(i int) store.Item {
	it := t.itemWithoutVector(i)
	it.Vector = slices.Clone(t.row(i))
	return it
}

// itemWithoutVector is item without the vector.
func (t *tail) itemWithoutVector(i int) store.Item {
	it := t.items[i]
	it.Columns = maps.Clone(it.Columns)
	for name, v := range it.Columns {
		if v == 0.0 {
			it.Columns[name] = 0.0 // no -0, as it is written
		}
	}
	return it
}

// matchingRows returns the rows that were not removed and pass a filter.
func (t *tail) matchingRows(f *store.Filter) bitmap {
	out := newBitmap(t.rows())
	for i := range t.rows() {
		if t.live.has(i) && f.Match(&t.items[i]) {
			out.set(i)
		}
	}
	return out
}
