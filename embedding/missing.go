package embedding

import (
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/matrix"
)

// Missing reports whether row i has no label, which is an empty field, a null or an empty string in a file.
// The texts nan, NA and None are labels.
func (c *Column) Missing(i int) bool { return c.Text != nil && strings.TrimSpace(c.Text[i]) == "" }

// UnlabelledRows returns the rows that lack a label in any column, in their order.
func (t *Table) UnlabelledRows() []int {
	var rows []int
	for i := range t.Rows() {
		if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Missing(i) }) {
			rows = append(rows, i)
		}
	}
	return rows
}

// WithoutRows returns t without the given rows, which are in order. It returns t itself if rows is empty. Labels
// that were text only because others were missing become numbers.
func (t *Table) WithoutRows(rows []int) *Table {
	if len(rows) == 0 {
		return t
	}
	keep := []int{}
	for i := range t.Rows() {
		if _, out := slices.BinarySearch(rows, i); !out {
			keep = append(keep, i)
		}
	}
	out := t.TakeRows(keep)
	for i, c := range out.Columns {
		if c.Text != nil {
			out.Columns[i] = NewColumn(c.Name, c.Text)
		}
	}
	return out
}

// TakeRows returns the given rows of t, in their order. They keep their names and the numbers that they have
// in its file.
func (t *Table) TakeRows(rows []int) *Table {
	out := t.reorder(append([]int{}, rows...)) // not nil, which means all rows
	out.onDisk, out.rowPairing = t.onDisk, t.rowPairing
	if t.X != nil {
		out.X = matrix.New(len(rows), t.X.Cols)
		for k, i := range rows {
			copy(out.X.Row(k), t.X.Row(i))
		}
	}
	return out
}
