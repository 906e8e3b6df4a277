package embedding

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/classname"
	"github.com/kindred-ml/kindred/internal/format/columns"
	"github.com/kindred-ml/kindred/matrix"
)

// Table is the content of a file of embeddings or labels. All its parts have the
// same number of rows.
type Table struct {
	// X holds the embeddings, n x d; nil if the file holds labels only.
	X *matrix.Dense
	// ID identifies the rows; nil without ids. In a file it is a column called id
	// in which no value occurs twice.
	ID *Column
	// Files are the names of the items, or nil. In a file it is the column path, file or filename.
	Files []string
	// Regions and Digests complete the items of the rows, as in Item; nil without them, "" where a row has none. In a
	// file they are the columns region and digest, if the file has paths and all values have that form.
	Regions, Digests []string
	// Columns are labels, possibly none.
	Columns []Column
	// Skipped are columns of the file whose values cannot be labels: lists, bytes that are not text, and
	// floating-point numbers that are not coordinates. It is only an error to select one.
	Skipped []SkippedColumn
	// Network is the network that made the embeddings, if the file says so.
	Network Network

	source     string // the file it was read from, for messages
	vectors    string // the file of the embeddings, if source is that of the labels
	rows       []int  // number of each row in the file; nil: that of the table
	onDisk     bool   // source is a path
	rowPairing string // see RowPairingReason

	networkNote string // see NetworkNote
}

// NewTable makes a table of embeddings, the names of the items and columns of labels. Each may be nil. A column
// called id in which no value occurs twice becomes ID, unless there is nothing else. The error names a part with
// another number of rows.
func NewTable(x *matrix.Dense, files []string, labels []Column) (*Table, error) {
	t := &Table{X: x, Files: files, Columns: labels}
	return t, t.check()
}

// ReasonFloats is the reason why a column of floating-point numbers is not read.
const ReasonFloats = "of floating-point numbers"

// SkippedColumn is a column that was not read.
type SkippedColumn struct {
	Name string
	// Why completes "the column is": "of type BSON".
	Why string
}

// skipReason returns the reason why a column was not read, or nil if it was read or does not exist.
func (t *Table) skipReason(name string) error {
	for _, u := range t.Skipped {
		switch {
		case u.Name == name && u.Why == ReasonFloats:
			return floatError(name)
		case u.Name == name:
			return fmt.Errorf("the column %s is %s: want integers, text, dates or true and false", u.Name, u.Why)
		}
	}
	return nil
}

// skippedNames names the columns that were not read, for messages about missing columns.
func (t *Table) skippedNames() string {
	var out []string
	for _, u := range t.Skipped {
		out = append(out, u.Name+" is "+u.Why)
	}
	if out == nil {
		return ""
	}
	return " (" + columns.Few(out) + ")"
}

// NoEmbeddingsError returns the error for a table that lacks embeddings.
func (t *Table) NoEmbeddingsError() error {
	return fmt.Errorf("%s holds labels but no embeddings%s", t.sourceName(), t.skippedNames())
}

// Rows returns the number of rows of the table.
func (t *Table) Rows() int {
	switch {
	case t.X != nil:
		return t.X.Rows
	case len(t.Columns) > 0:
		return t.Columns[0].Len()
	case t.ID != nil:
		return t.ID.Len()
	}
	return len(t.Files)
}

// sourceName returns the table's name for messages.
func (t *Table) sourceName() string {
	if t.source == "" {
		return "the table"
	}
	return t.source
}

// check compares the lengths of the parts, and separates ids from labels.
func (t *Table) check() error {
	n := t.Rows()
	for _, c := range t.Columns {
		if c.Len() != n {
			return fmt.Errorf("%d labels in %q for %d rows", c.Len(), c.Name, n)
		}
		if err := columns.CheckText(c.Name, c.Text); err != nil {
			return err
		}
	}
	t.cleanClasses()
	if t.Files != nil && len(t.Files) != n {
		return fmt.Errorf("%d file names for %d rows", len(t.Files), n)
	}
	if err := columns.CheckText(columns.File, t.Files); err != nil {
		return err
	}
	if t.ID != nil && t.ID.Len() != n {
		return fmt.Errorf("%d identities for %d rows", t.ID.Len(), n)
	}
	t.takeID()
	t.takeItems()
	for _, c := range t.itemColumns() {
		if c.Len() != n {
			return fmt.Errorf("%d texts in %q for %d rows", c.Len(), c.Name, n)
		}
	}
	return nil
}

// cleanClasses drops the spaces at the ends of the names of classes.
func (t *Table) cleanClasses() {
	t.Columns = slices.Clone(t.Columns) // the caller may have made the list
	for i, c := range t.Columns {
		blank := func(s string) bool { return classname.Clean(s) != s }
		if !classname.IsColumn(c.Name) || !slices.ContainsFunc(c.Text, blank) {
			continue
		}
		text := make([]string, len(c.Text))
		for k, s := range c.Text {
			text[k] = classname.Clean(s)
		}
		t.Columns[i] = NewColumn(c.Name, text)
	}
}

// takeID makes the column called id the ID of the rows if no value occurs in it twice. The only column of a file
// without embeddings stays a label.
func (t *Table) takeID() {
	for i := range t.Columns {
		c := t.Columns[i]
		if c.Name != columns.ID || t.ID != nil || !c.isDistinct() || t.X == nil && len(t.Columns) == 1 {
			continue
		}
		t.ID = &c
		t.Columns = append(t.Columns[:i:i], t.Columns[i+1:]...)
		return
	}
}

// Check returns an error if t cannot be written and read again: it is empty, its parts have different lengths,
// two columns have the same name, a column of labels has a reserved name, or a text is not UTF-8 or contains a
// zero byte.
func (t *Table) Check() error {
	n := t.Rows()
	switch {
	case t.X != nil && (t.X.Rows == 0 || t.X.Cols == 0):
		return fmt.Errorf("a table of %d embeddings of %d numbers", t.X.Rows, t.X.Cols)
	case t.X == nil && len(t.Columns) == 0:
		return errors.New("a table with neither embeddings nor labels")
	case t.Files != nil && len(t.Files) != n:
		return fmt.Errorf("%d file names for %d rows", len(t.Files), n)
	}
	if err := checkText(columns.File, t.Files); err != nil {
		return err
	}
	if t.ID != nil {
		if err := t.ID.check(n); err != nil {
			return err
		}
	}
	seen := make(map[string]bool)
	for _, c := range t.itemColumns() {
		form := map[string]func(string) bool{columns.Region: isRegion, columns.Digest: isDigest}[c.Name]
		if err := c.check(n); err != nil || t.Files == nil || !c.allMatch(form) {
			return cmp.Or(err, fmt.Errorf("the column %s needs paths and texts of its form", c.Name))
		}
		seen[c.Name] = true
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		_, coordinate := columns.Coordinate(c.Name)
		switch {
		case c.Name == "" || seen[c.Name]:
			return fmt.Errorf("a column of labels called %q: the name is empty or used twice", c.Name)
		case coordinate || columns.IsFile(c.Name) || slices.Contains(embeddingNames[:2], c.Name) ||
			c.Name == columns.ID && t.ID != nil, t.Files != nil && c.Name == columns.Region && c.allMatch(isRegion),
			t.Files != nil && c.Name == columns.Digest && c.allMatch(isDigest):
			return fmt.Errorf("a column of labels called %q: files use this name for something else", c.Name)
		}
		seen[c.Name] = true
		if err := c.check(n); err != nil {
			return err
		}
	}
	return nil
}

// checkText returns an error for the first text that no format can hold.
func checkText(column string, texts []string) error {
	holds := func(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
	if !holds(column) {
		return fmt.Errorf("a column called %q: want UTF-8 without zero bytes", column)
	}
	for i, s := range texts {
		if !holds(s) {
			return fmt.Errorf("row %d of the column %q is %q: want UTF-8 without zero bytes", i+1, column, s)
		}
	}
	return nil
}

// labelColumns returns the ID of the rows, under its name in files, the columns of labels, and those of the items.
func (t *Table) labelColumns() []*Column {
	var out []*Column
	if t.ID != nil {
		out = append(out, &Column{Name: columns.ID, IDs: t.ID.IDs, Text: t.ID.Text})
	}
	for i := range t.Columns {
		out = append(out, &t.Columns[i])
	}
	return append(out, t.itemColumns()...)
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

// ColumnNames returns the names of the columns of labels.
func (t *Table) ColumnNames() []string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// Select returns t with only the named columns of labels, in that order; fine and label are one column where only one
// of them exists. Without names it takes those of label,
// fine and coarse that exist and differ from the ones before, or else the only column.
func (t *Table) Select(names ...string) (*Table, error) {
	cols, err := t.choose(names)
	if err != nil {
		if t.source != "" {
			err = fmt.Errorf("%s: %w", t.source, err)
		}
		return nil, err
	}
	out := *t
	out.Columns = cols
	return &out, nil
}

func (t *Table) choose(names []string) ([]Column, error) {
	var out []Column
	if len(names) > 0 {
		for _, n := range names {
			c := t.Column(classname.Find(n, func(n string) bool {
				return t.Column(n) != nil || t.skipReason(n) != nil
			}))
			if err := t.skipReason(n); c == nil && err != nil {
				return nil, err
			}
			if c == nil {
				return nil, fmt.Errorf("no column of labels %q; there are: %s", n, columns.Few(t.ColumnNames()))
			}
			out = append(out, *c)
		}
		return out, nil
	}
	if err := t.checkLabel(); err != nil {
		return nil, err
	}
	for _, n := range []string{"label", "fine", "coarse"} {
		c := t.Column(n)
		if c != nil && !slices.ContainsFunc(out, func(b Column) bool { return b.equal(c) }) {
			out = append(out, *c)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case len(t.Columns) == 0:
		return nil, errors.New("no labels in the file" + t.skippedNames())
	case len(t.Columns) == 1:
		return t.Columns, nil
	}
	return nil, fmt.Errorf("several columns of labels (%s) and none called label: name the ones to use",
		columns.Few(t.ColumnNames()))
}

// CheckLabel returns an error if the column label, or without labels a column with another usual name, exists but
// was not read.
func (t *Table) CheckLabel() error {
	if err := t.checkLabel(); err != nil {
		return fmt.Errorf("%s: %w", t.sourceName(), err)
	}
	return nil
}

func (t *Table) checkLabel() error {
	if t.Column("label") != nil {
		return nil
	}
	for _, u := range t.Skipped {
		if u.Name == "label" || len(t.Columns) == 0 && slices.Contains(otherLabels(), u.Name) {
			return t.skipReason(u.Name)
		}
	}
	return nil
}

// floatError returns the error for labels that are floating-point numbers.
func floatError(column string) error {
	return fmt.Errorf("the column %s holds floating-point numbers: labels must be integers or text, for as float32 "+
		"the ids above 2^24 would merge", column)
}

// Labels returns the labels of all columns as numbers.
func (t *Table) Labels() [][]int64 {
	labels, _ := t.NamedLabels()
	return labels
}

// NamedLabels returns the labels of all columns as numbers, and the names of
// labels that were text.
func (t *Table) NamedLabels() (labels [][]int64, names []map[int64]string) {
	for i := range t.Columns {
		ids, text := Unify(&t.Columns[i])
		labels, names = append(labels, ids[0]), append(names, nameMap(text))
	}
	return labels, names
}

// LabelsWith returns the labels of queries and gallery, numbered in the same way,
// and the names of labels that were text. Columns are matched by position.
func (t *Table) LabelsWith(gallery *Table) (queries, galleryLabels [][]int64, names []map[int64]string, err error) {
	if len(t.Columns) != len(gallery.Columns) {
		return nil, nil, nil, fmt.Errorf("%d columns of labels for the queries, %d for the gallery", len(t.Columns),
			len(gallery.Columns))
	}
	for i := range t.Columns {
		ids, text := Unify(&t.Columns[i], &gallery.Columns[i])
		queries, galleryLabels = append(queries, ids[0]), append(galleryLabels, ids[1])
		names = append(names, nameMap(text))
	}
	return queries, galleryLabels, names, nil
}

func nameMap(text []string) map[int64]string {
	if text == nil {
		return nil
	}
	m := make(map[int64]string, len(text))
	for i, n := range text {
		m[int64(i)] = n
	}
	return m
}
