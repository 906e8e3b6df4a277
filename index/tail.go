package index

import (
	"maps"
	"slices"
)

// tail is the rows that are in the log and in no segment yet, as one view sees
// them. Later tails share its memory: rows are only added behind it.
type tail struct {
	dim   int
	items []Item
	x     []float32
	dead  bitmap
	gone  int // rows in dead
}

func (t *tail) rows() int { return len(t.items) }

func (t *tail) row(i int) []float32 { return t.x[i*t.dim : (i+1)*t.dim] }

// clone is t for changes; what it shares with t does not change.
func (t *tail) clone() *tail {
	out := *t
	return &out
}

// find returns the row that holds an id, -1 if none does.
func (t *tail) find(id string) int {
	for i := len(t.items) - 1; i >= 0; i-- {
		if t.items[i].ID == id && !t.dead.has(i) {
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
