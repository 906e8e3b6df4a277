package embedding

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/mat"
)

// Table is what a file of embeddings or labels holds.
type Table struct {
	X       *mat.Dense // n x d; nil if the file holds labels only
	Columns []Column   // labels, possibly none
	Files   []string   // names of the items, nil if the file has none
}

// Column is one label for every row. Exactly one of IDs and Text is set; a
// column without rows may have neither. Two labels are equal if they are
// written alike: the number 7 equals the text 7 in another file, but not the
// text 07.
type Column struct {
	Name string
	IDs  []int64
	Text []string
}

// Len returns the number of labels.
func (c *Column) Len() int { return max(len(c.IDs), len(c.Text)) }

// Rows returns the number of rows of the table.
func (t *Table) Rows() int {
	switch {
	case t.X != nil:
		return t.X.Rows
	case len(t.Columns) > 0:
		return t.Columns[0].Len()
	}
	return len(t.Files)
}

// Read reads a table from path; the extension determines the format: .npy,
// .npz, .safetensors, .csv or .parquet.
func Read(path string) (*Table, error) {
	var t *Table
	var err error
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".npy":
		t, err = readNPYTable(path)
	case ".npz":
		t, err = readNPZ(path)
	case ".safetensors":
		t, err = readSafetensors(path)
	case ".csv":
		t, err = readCSV(path)
	case ".parquet":
		t, err = readParquet(path)
	default:
		return nil, fmt.Errorf("%s: the extension %q is not one of %s", path, ext, strings.Join(Extensions, ", "))
	}
	if err != nil {
		return nil, err
	}
	return t, t.check(path)
}

// Extensions lists the extensions that Read knows.
var Extensions = []string{".npy", ".npz", ".safetensors", ".csv", ".parquet"}

// check compares the lengths of a table's parts.
func (t *Table) check(path string) error {
	n := t.Rows()
	for _, c := range t.Columns {
		if c.Len() != n {
			return fmt.Errorf("%s: %d labels in %q for %d rows", path, c.Len(), c.Name, n)
		}
	}
	if t.Files != nil && len(t.Files) != n {
		return fmt.Errorf("%s: %d file names for %d rows", path, len(t.Files), n)
	}
	return nil
}

// Column returns the column of labels with a name, or nil.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// Select returns the named columns of labels in that order. With no names it
// returns those of label, fine and coarse that exist, or else the only column.
func (t *Table) Select(names []string) ([]Column, error) {
	var have []string
	for _, c := range t.Columns {
		have = append(have, c.Name)
	}
	var out []Column
	if len(names) > 0 {
		for _, n := range names {
			c := t.Column(n)
			if c == nil {
				return nil, fmt.Errorf("no column of labels %q; there are: %s", n, some(have))
			}
			out = append(out, *c)
		}
		return out, nil
	}
	for _, n := range []string{"label", "fine", "coarse"} {
		if c := t.Column(n); c != nil {
			out = append(out, *c)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case len(t.Columns) == 0:
		return nil, fmt.Errorf("no labels in the file")
	case len(t.Columns) == 1:
		return t.Columns, nil
	}
	return nil, fmt.Errorf("several columns of labels (%s) and none called label: name the ones to use", some(have))
}

// some lists names for a message, the first few of many.
func some(names []string) string {
	const few = 20
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// Unify gives the labels of all columns, which must describe the same kind of
// class, one numbering. If all are numbers they are kept and names is nil;
// otherwise labels are numbered in the order of their text, which names holds.
// A number among texts stands for its decimal digits.
func Unify(columns ...*Column) (ids [][]int64, names []string) {
	text := false
	for _, c := range columns {
		text = text || len(c.Text) > 0
	}
	if !text {
		for _, c := range columns {
			ids = append(ids, c.IDs)
		}
		return ids, nil
	}
	texts := make([][]string, len(columns))
	for i, c := range columns {
		texts[i] = slices.Clip(c.Text)
		for _, v := range c.IDs {
			texts[i] = append(texts[i], strconv.FormatInt(v, 10))
		}
		names = append(names, texts[i]...)
	}
	slices.Sort(names)
	names = slices.Clone(slices.Compact(names))
	number := make(map[string]int64, len(names))
	for i, n := range names {
		number[n] = int64(i)
	}
	for _, t := range texts {
		col := make([]int64, len(t))
		for i, s := range t {
			col[i] = number[s]
		}
		ids = append(ids, col)
	}
	return ids, names
}

// column makes a column of labels that a file holds as text. Where every one is
// a whole number that fits in int64, written as a program writes it, the numbers
// stand for the texts: nothing is lost. With 00, +1 or -0 among them all stay text.
func column(name string, text []string) Column {
	ids := make([]int64, len(text))
	for i, s := range text {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || strconv.FormatInt(v, 10) != s {
			return Column{Name: name, Text: text}
		}
		ids[i] = v
	}
	return Column{Name: name, IDs: ids}
}

// readNPYTable reads a .npy file as embeddings if it holds floats and as labels
// if it holds integers.
func readNPYTable(path string) (*Table, error) {
	a, err := ReadNPYFile(path)
	if err != nil {
		return nil, err
	}
	t, err := a.table("label")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// maxLabelColumns bounds the kinds of labels in one array. Beyond it the array is
// something else, such as embeddings rounded to integers.
const maxLabelColumns = 1000

// table views an array as embeddings (floats, two dimensions) or as labels
// (integers, one dimension, or two with a column for each kind of label).
func (a *Array) table(name string) (*Table, error) {
	if len(a.Shape) == 2 && (a.Shape[0] == 0 || a.Shape[1] == 0) {
		// The other side is a claim that no value stands behind.
		return nil, fmt.Errorf("shape %v of %s: it holds no values", a.Shape, a.DType)
	}
	if a.Floats != nil {
		if len(a.Shape) != 2 {
			return nil, fmt.Errorf("shape %v of %s: embeddings need two dimensions, rows and coordinates; labels "+
				"need an integer dtype", a.Shape, a.DType)
		}
		return &Table{X: mat.Of(a.Shape[0], a.Shape[1], a.Floats)}, nil
	}
	switch {
	case len(a.Shape) == 1 || len(a.Shape) == 2 && a.Shape[1] == 1:
		return &Table{Columns: []Column{{Name: name, IDs: a.Ints}}}, nil
	case len(a.Shape) != 2:
		return nil, fmt.Errorf("shape %v of %s: labels need one dimension, or two with a column for each kind of label",
			a.Shape, a.DType)
	case a.Shape[1] > maxLabelColumns:
		return nil, fmt.Errorf("shape %v of %s: %d columns of labels, at most %d are read; embeddings need a "+
			"floating-point dtype", a.Shape, a.DType, a.Shape[1], maxLabelColumns)
	}
	t := &Table{}
	for c := range a.Shape[1] {
		ids := make([]int64, a.Shape[0])
		for i := range ids {
			ids[i] = a.Ints[i*a.Shape[1]+c]
		}
		t.Columns = append(t.Columns, Column{Name: fmt.Sprintf("%s_%d", name, c), IDs: ids})
	}
	return t, nil
}
