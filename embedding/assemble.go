package embedding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/columns"
)

// embeddingNames are the names of embeddings in an archive with several matrices of floats.
var embeddingNames = []string{"embeddings", "embedding", "features", "x", "X"}

// namedArray is one array of an archive.
type namedArray struct {
	name string
	*Array
}

// assembleTable makes a table of an archive's arrays. The matrix of floats is the embeddings. Arrays of integers
// and strings are labels, but the first array of strings with a name for files holds the names of the items.
func assembleTable(arrays []namedArray) (*Table, error) {
	t := &Table{}
	var matrices, floats []namedArray
	var have []string
	for _, a := range arrays {
		have = append(have, fmt.Sprintf("%s %s %v", a.name, a.DType, a.Shape))
		if a.Floats != nil {
			if len(a.Shape) == 2 {
				matrices = append(matrices, a)
			}
			if len(a.Shape) == 1 || len(a.Shape) == 2 && a.Shape[1] == 1 {
				floats = append(floats, a)
			}
			continue
		}
		if len(a.Shape) != 1 && len(a.Shape) != 2 {
			continue
		}
		if len(a.Shape) == 2 && (a.Shape[0] == 0 || a.Shape[1] > maxLabelColumns) {
			continue
		}
		if a.Text != nil && len(a.Shape) == 1 && t.Files == nil && columns.IsFile(a.name) {
			t.Files = a.Text
			continue
		}
		part, err := a.table(a.name)
		if err != nil {
			return nil, err
		}
		t.Columns = append(t.Columns, part.Columns...)
	}
	if len(matrices) > 1 {
		i := slices.IndexFunc(matrices, func(a namedArray) bool { return slices.Contains(embeddingNames, a.name) })
		if i < 0 {
			return nil, fmt.Errorf("several matrices (%s) and none named %s", columns.Few(have),
				strings.Join(embeddingNames, ", "))
		}
		matrices[0], matrices[i] = matrices[i], matrices[0]
	}
	if len(matrices) > 0 {
		m := matrices[0]
		part, err := m.table(m.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		t.X = part.X
		for _, a := range floats {
			if a.Shape[0] == m.Shape[0] && a.name != m.name {
				t.Skipped = append(t.Skipped, SkippedColumn{a.name, ReasonFloats})
			}
		}
		t.Skipped = append(t.Skipped, mismatchedLabels(t.Columns, matrices[1:], m.Shape[0])...)
		// Columns of another length do not belong to the rows.
		t.Columns = slices.DeleteFunc(t.Columns, func(c Column) bool { return c.Len() != m.Shape[0] })
		if len(t.Files) != m.Shape[0] {
			t.Files = nil
		}
	}
	if t.X == nil && len(t.Columns) == 0 {
		return nil, fmt.Errorf("neither a matrix of floats nor integers among the arrays (%s)", columns.Few(have))
	}
	if t.Column("label") == nil {
		for i := range t.Columns {
			if slices.Contains(otherLabels(), t.Columns[i].Name) {
				t.Columns[i].Name = "label"
				break
			}
		}
	}
	return t, nil
}

// mismatchedLabels returns the arrays that are called label but cannot be the labels of the given number of rows.
func mismatchedLabels(list []Column, matrices []namedArray, rows int) (out []SkippedColumn) {
	for _, a := range matrices {
		if isLabelName(a.name) {
			out = append(out, SkippedColumn{a.name, fmt.Sprintf("a matrix of floats %v", a.Shape)})
		}
	}
	for _, c := range list {
		if c.Len() != rows && isLabelName(c.Name) {
			out = append(out, SkippedColumn{c.Name, fmt.Sprintf("of %d rows, where the embeddings have %d", c.Len(),
				rows)})
		}
	}
	return out
}

// isLabelName reports whether an array with this name should hold the labels.
func isLabelName(name string) bool { return name == "label" || slices.Contains(otherLabels(), name) }

// otherLabels returns other usual names of a single column of labels.
func otherLabels() []string { return []string{"labels", "y", "Y"} }
