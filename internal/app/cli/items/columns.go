package items

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/parquet"
	"github.com/kindred-ml/kindred/store"
)

// Columns has further columns of items, by their ids or paths. The zero value has no columns.
type Columns struct {
	path   string
	ids    map[string]int // rows by id; nil if the file has no ids
	names  map[string]int // rows by the name of the item
	used   []bool         // rows that belong to an item
	table  *embedding.Table
	values []column
	unread []embedding.SkippedColumn
}

// DescribeUnread returns one line for each column of the file that an index cannot hold.
func (c *Columns) DescribeUnread() []string { return DescribeUnread(c.unread, c.path) }

// DescribeUnread returns one line for each column of a file that is not read, with the reason.
func DescribeUnread(columns []embedding.SkippedColumn, file string) []string {
	var out []string
	for _, u := range columns {
		out = append(out, fmt.Sprintf("%s: the column %s is left out: it is %s", file, u.Name, u.Why))
	}
	return out
}

// column is a column of values, one for each row of a table.
type column struct {
	name string
	kind store.Kind
	text func(i int) string
}

// newColumn determines the type of a column: numbers or truth values if all values that
// are not empty have that form, otherwise texts. Classes are always texts.
func newColumn(name string, n int, text func(i int) string) column {
	if store.IsClassColumn(name) {
		return column{name, store.Text, text}
	}
	number, truth, some := true, true, false
	for i := range n {
		if s := text(i); s != "" {
			some = true
			number = number && store.IsNumber(s)
			truth = truth && (s == "true" || s == "false")
		}
	}
	kind := store.Text
	switch {
	case some && number:
		kind = store.Number
	case some && truth:
		kind = store.Bool
	}
	return column{name, kind, text}
}

// labelColumns returns the labels of a table as columns of an index.
func labelColumns(t *embedding.Table) []column {
	var out []column
	for i := range t.Columns {
		out = append(out, newColumn(t.Columns[i].Name, t.Rows(), t.Columns[i].At))
	}
	return out
}

// adaptTypes gives columns the types of existing columns with the same names.
func adaptTypes(columns []column, to []store.Column) {
	kinds := make(map[string]store.Kind)
	for _, c := range to {
		kinds[c.Name] = c.Kind
	}
	for i := range columns {
		columns[i].kind = cmp.Or(kinds[columns[i].name], columns[i].kind)
	}
}

// setColumns sets the columns of an item to their values in row i.
func setColumns(it *store.Item, columns []column, i int) error {
	for _, c := range columns {
		v, err := store.ParseValue(c.kind, c.text(i))
		if err != nil && store.IsClassColumn(c.name) {
			return store.ClassError(c.name, it.ID, err)
		}
		if err != nil {
			return fmt.Errorf("column %s of %s: %w, the type of this column in the index", c.name, it.ID, err)
		}
		if v == nil {
			continue
		}
		if it.Columns == nil {
			it.Columns = make(map[string]any)
		}
		it.Columns[c.name] = v
	}
	return nil
}

// ReadColumns reads a file of columns; without a path it has none.
func ReadColumns(file string) (*Columns, error) {
	c := &Columns{path: file}
	if file == "" {
		return c, nil
	}
	t, err := embedding.Formats{parquet.Format{Fractions: true}}.ReadLabels(file)
	if err != nil {
		return nil, err
	}
	if err := t.CheckIDs(); err != nil {
		return nil, err
	}
	if t.ID == nil && t.Files == nil {
		return nil, fmt.Errorf("%s has no column id and no column path to identify its rows", file)
	}
	if err := t.CheckItems(); err != nil {
		return nil, err
	}
	if t.ID != nil {
		c.ids = make(map[string]int)
	}
	c.names, c.used, c.table = make(map[string]int), make([]bool, t.Rows()), t
	for i := range t.Rows() {
		if t.ID != nil {
			c.ids[t.ID.At(i)] = i
		}
		if t.Files != nil {
			c.names[t.Item(i).Name()] = i
		}
	}
	c.values, c.unread = labelColumns(t), t.Skipped
	return c, nil
}

// rowOf returns the row that belongs to an item: that of its id, or else of its name or of its path. It is an error if
// the row of its id has another path.
func (c *Columns) rowOf(id string, of embedding.Item) (rowOf int, ok bool, err error) {
	if rowOf, ok = c.ids[id]; !ok {
		for _, name := range []string{id, of.Name(), of.Path} {
			if rowOf, ok = c.names[name]; ok {
				break
			}
		}
	} else if c.table.Files != nil && !isOnlyRow(of) && path.Base(c.table.Item(rowOf).Path) != path.Base(of.Path) {
		return 0, false, fmt.Errorf("%s: row %d has the id %s, which is %s, but the path %s: leave out one of both "+
			"columns", c.path, rowOf+1, id, of.Path, c.table.Files[rowOf])
	}
	if ok {
		c.used[rowOf] = true
	}
	return rowOf, ok, nil
}

// isOnlyRow reports whether an item is known only as a row of a file.
func isOnlyRow(of embedding.Item) bool { return strings.HasPrefix(of.Region, "row=") }

// countUnused returns the number of rows, and of those that belong to no item so far.
func (c *Columns) countUnused() (rows, countUnused int) {
	for _, used := range c.used {
		if !used {
			countUnused++
		}
	}
	return len(c.used), countUnused
}

// firstUnused names the first row that belongs to no item.
func (c *Columns) firstUnused() string { return c.table.RowName(slices.Index(c.used, false)) }

// setItem sets the columns of an item, if the file has a row for it.
func (c *Columns) setItem(it *store.Item, of embedding.Item) error {
	i, ok, err := c.rowOf(it.ID, of)
	if !ok || err != nil {
		return err
	}
	if err := setColumns(it, c.values, i); err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	return nil
}
