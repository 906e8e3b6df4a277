package embedding

import (
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
)

// maxLabelColumns is the largest number of columns of labels in an array. An array with more is something
// else, such as embeddings rounded to integers.
const maxLabelColumns = 1000

// table interprets an array as embeddings (floats, two dimensions) or as labels (integers or strings, one
// dimension, or two with several columns).
func (a *Array) table(name string) (*Table, error) {
	if len(a.Shape) == 2 && (a.Shape[0] == 0 || a.Shape[1] == 0) {
		// No values support the other side.
		return nil, fmt.Errorf("shape %v of %s: it holds no values", a.Shape, a.DType)
	}
	if a.Floats != nil {
		if len(a.Shape) != 2 {
			return nil, fmt.Errorf("shape %v of %s: embeddings need two dimensions, rows and coordinates; labels need "+
				"an integer dtype", a.Shape, a.DType)
		}
		return &Table{X: matrix.FromSlice(a.Shape[0], a.Shape[1], a.Floats)}, nil
	}
	switch {
	case len(a.Shape) == 1 || len(a.Shape) == 2 && a.Shape[1] == 1:
		return &Table{Columns: []Column{a.column(name, 0, 1)}}, nil
	case len(a.Shape) != 2:
		return nil, fmt.Errorf("shape %v of %s: labels need one dimension, or two with a column for each kind of label",
			a.Shape, a.DType)
	case a.Shape[1] > maxLabelColumns:
		return nil, fmt.Errorf("shape %v of %s: %d columns of labels, at most %d are read; embeddings need a "+
			"floating-point dtype", a.Shape, a.DType, a.Shape[1], maxLabelColumns)
	}
	t := &Table{}
	for c := range a.Shape[1] {
		t.Columns = append(t.Columns, a.column(fmt.Sprintf("%s_%d", name, c), c, a.Shape[1]))
	}
	return t, nil
}

// column returns column c of an array with of columns of labels.
func (a *Array) column(name string, c, of int) Column {
	if a.Text != nil {
		return NewColumn(name, everyNth(a.Text, c, of))
	}
	return Column{Name: name, IDs: everyNth(a.Ints, c, of)}
}

// everyNth returns every step-th value, beginning with first.
func everyNth[T any](values []T, first, step int) []T {
	if step == 1 {
		return values
	}
	out := make([]T, 0, len(values)/step)
	for i := first; i < len(values); i += step {
		out = append(out, values[i])
	}
	return out
}
