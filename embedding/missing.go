package embedding

import (
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/mat"
)

// Missing reports whether row i has no label: in a file an empty field, a null or an empty
// string, as programs for tables write it. The texts nan, NA and None are labels.
func (c *Column) Missing(i int) bool { return c.Text != nil && strings.TrimSpace(c.Text[i]) == "" }

// Unlabelled lists the rows that have no label in one of the columns, in their order.
func (t *Table) Unlabelled() []int {
	var rows []int
	for i := range t.Rows() {
		if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Missing(i) }) {
			rows = append(rows, i)
		}
	}
	return rows
}

// Without returns t without some of its rows, which are given in their order; t itself if
// there are none. Labels that were text only because others were missing are numbers then.
func (t *Table) Without(rows []int) *Table {
	if len(rows) == 0 {
		return t
	}
	keep := []int{}
	for i := range t.Rows() {
		if _, out := slices.BinarySearch(rows, i); !out {
			keep = append(keep, i)
		}
	}
	out := t.reordered(keep)
	out.onDisk, out.byRow = t.onDisk, t.byRow
	for i, c := range out.Columns {
		if c.Text != nil {
			out.Columns[i] = NewColumn(c.Name, c.Text)
		}
	}
	if t.X != nil {
		out.X = mat.New(len(keep), t.X.Cols)
		for k, i := range keep {
			copy(out.X.Row(k), t.X.Row(i))
		}
	}
	return out
}
