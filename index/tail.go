package index

import (
	"maps"
	"slices"

	"github.com/kindred-ml/kindred/internal/nearest"
)

// tail is the rows that are in the log and in no segment yet, as one view sees
// them. Later tails share its memory: rows are only added behind it.
type tail struct {
	dim   int
	items []Item
	x     []float32
	live  bitmap           // may be longer than the rows
	gone  int              // rows that are not in live
	codes []*nearest.Codes // of its first blocks
}

func (t *tail) rows() int { return len(t.items) }

func (t *tail) row(i int) []float32 { return t.x[i*t.dim : (i+1)*t.dim] }

// clone is t for changes; what it shares with t does not change, but for live.
func (t *tail) clone() *tail {
	out := *t
	return &out
}

// put adds a row. The caller owns live.
func (t *tail) put(e *Entry) {
	it := e.Item
	it.Fields = maps.Clone(it.Fields)
	maps.DeleteFunc(it.Fields, func(_ string, v Value) bool { return v.kind == None })
	if r := len(t.items); r>>6 >= len(t.live) {
		t.live = append(t.live, 0)
	}
	t.live.set(len(t.items))
	t.items, t.x = append(t.items, it), append(t.x, e.Vector...)
}

// encode codes the blocks that have become full.
func (t *tail) encode(m *manifest) {
	for done := len(t.codes) * nearest.Block; done+nearest.Block <= t.rows(); done += nearest.Block {
		c := nearest.Encode(m.Distance, t.x[done*t.dim:(done+nearest.Block)*t.dim], t.dim)
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
func (t *tail) item(i int) Item {
	it := t.items[i]
	it.Fields = maps.Clone(it.Fields)
	return it
}

// value is what a row has in a column of a filter.
func (t *tail) value(i int, column string) Value {
	switch column {
	case "id":
		return Text(t.items[i].ID)
	case "path":
		return textOrMissing(t.items[i].Path)
	}
	return t.items[i].Fields[column]
}

// textOrMissing is a text, a missing value if it is empty.
func textOrMissing(s string) Value {
	if s == "" {
		return Value{}
	}
	return Text(s)
}

func (t *tail) vector(i int) []float32 { return slices.Clone(t.row(i)) }

// passing returns the rows that are there and pass a filter.
func (t *tail) passing(f *Filter) bitmap {
	out := newBitmap(t.rows())
	for i := range t.rows() {
		if t.live.has(i) && (f == nil || passes(f.root, func(c string) Value { return t.value(i, c) })) {
			out.set(i)
		}
	}
	return out
}
