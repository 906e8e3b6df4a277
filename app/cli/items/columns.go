package items

import (
	"cmp"
	"fmt"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/embedding/parquet"
	"github.com/kindred-ml/kindred/store"
)

// Columns has further columns of items, by their ids or paths. The zero value has no columns.
type Columns struct {
	path   string
	keys   map[string]int
	values []column
	unread []embedding.Unread
}

// Unread returns one line for each column of the file that an index cannot hold.
func (c *Columns) Unread() []string { return Unread(c.unread, c.path) }

// Unread returns one line for each column of a file that is not read, with the reason.
func Unread(columns []embedding.Unread, file string) []string {
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

// columnsOf returns the labels of a table as columns of an index.
func columnsOf(t *embedding.Table) []column {
	var out []column
	for i := range t.Columns {
		out = append(out, newColumn(t.Columns[i].Name, t.Rows(), t.Columns[i].At))
	}
	return out
}

// adapt gives columns the types of existing columns with the same names.
func adapt(columns []column, to []store.Column) {
	kinds := make(map[string]store.Kind)
	for _, c := range to {
		kinds[c.Name] = c.Kind
	}
	for i := range columns {
		columns[i].kind = cmp.Or(kinds[columns[i].name], columns[i].kind)
	}
}

// set sets the columns of an item to their values in row i.
func set(it *store.Item, columns []column, i int) error {
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
func ReadColumns(path string) (*Columns, error) {
	c := &Columns{path: path}
	if path == "" {
		return c, nil
	}
	t, err := embedding.Formats{parquet.Format{Fractions: true}}.ReadLabels(path)
	if err != nil {
		return nil, err
	}
	if err := t.CheckIDs(); err != nil {
		return nil, err
	}
	key := func(i int) string { return t.Files[i] }
	switch {
	case t.ID != nil:
		key = t.ID.At
	case t.Files == nil:
		return nil, fmt.Errorf("%s has no column id and no column path to identify its rows", path)
	}
	c.keys = make(map[string]int)
	for i := range t.Rows() {
		if j, twice := c.keys[key(i)]; twice {
			return nil, fmt.Errorf("%s: rows %d and %d both belong to %s", path, j+1, i+1, key(i))
		}
		c.keys[key(i)] = i
	}
	c.values, c.unread = columnsOf(t), t.Unread
	return c, nil
}

// put sets the columns of an item, if the file has a row for it.
func (c *Columns) put(it *store.Item) (bool, error) {
	i, ok := c.keys[it.ID]
	if !ok {
		return false, nil
	}
	if err := set(it, c.values, i); err != nil {
		return true, fmt.Errorf("%s: %w", c.path, err)
	}
	return true, nil
}
