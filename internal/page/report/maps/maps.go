// Package maps makes a report.Map of a set of embeddings and its coordinates in the
// plane.
package maps

import (
	"fmt"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// maxItems is the largest number of items on a page: with names of 40 letters about ten
// megabytes. Of a larger set every k-th item is shown.
const maxItems = 150_000

// NewMap returns the map of a set whose row i has the coordinates (x[i], y[i]).
func NewMap(set *embedding.Table, x, y []float64) report.Map {
	m := report.Map{Step: (len(x) + maxItems - 1) / maxItems}
	m.X, m.Y = takeEvery(x, m.Step), takeEvery(y, m.Step)
	m.Names = takeEvery(set.ItemNames(), m.Step)
	for i := range set.Columns {
		class, names := NumberClasses(&set.Columns[i])
		column := report.MapColumn{Name: set.Columns[i].Name, Class: takeEvery(class, m.Step), Names: names}
		m.Columns = append(m.Columns, column)
	}
	if m.Step > 1 {
		m.Caption = fmt.Sprintf("Shown are %d of %d items: one in %d.", len(m.X), len(x), m.Step)
	}
	return m
}

// NumberClasses numbers a column's labels from 0, in the order of the labels, and names
// them.
func NumberClasses(c *embedding.Column) (class []int, names []string) {
	ids, texts := embedding.Unify(c)
	if texts == nil {
		return figure.Classes(ids[0], nil)
	}
	named := make(map[int64]string, len(texts))
	for i, t := range texts {
		named[int64(i)] = t
	}
	return figure.Classes(ids[0], named)
}

// takeEvery returns every step-th value; nil for nil.
func takeEvery[T any](in []T, step int) []T {
	if in == nil || step <= 1 {
		return in
	}
	var out []T
	for i := 0; i < len(in); i += step {
		out = append(out, in[i])
	}
	return out
}

// Sample returns every step-th row of a set, at most n rows, and the step.
func Sample(set *embedding.Table, n int) (sample *embedding.Table, step int) {
	step = max(1, (set.X.Rows+n-1)/n)
	if step == 1 {
		return set, 1
	}
	var rows []int
	for i := 0; i < set.X.Rows; i += step {
		rows = append(rows, i)
	}
	return set.TakeRows(rows), step
}
