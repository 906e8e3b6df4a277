package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/embedding/parquet"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// columnFile holds further columns of items, by their ids or paths.
type columnFile struct {
	path   string
	keys   map[string]int
	values []fieldColumn
}

// fieldColumn is a column of values, one for each row of a table.
type fieldColumn struct {
	name string
	kind store.Kind
	text func(i int) string
	n    int
}

// newFieldColumn finds out what kind of values a column holds: numbers or truth values if
// all values that are not empty are written so, otherwise texts.
func newFieldColumn(name string, n int, text func(i int) string) fieldColumn {
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
	return fieldColumn{name, kind, text, n}
}

// columnsOf are the labels of a table as columns of an index.
func columnsOf(t *embedding.Table) []fieldColumn {
	var out []fieldColumn
	for i := range t.Columns {
		out = append(out, newFieldColumn(t.Columns[i].Name, t.Rows(), t.Columns[i].At))
	}
	return out
}

// adapt makes the kinds of columns those of the columns that are there.
func adapt(columns []fieldColumn, to []store.Column) {
	kinds := make(map[string]store.Kind)
	for _, c := range to {
		kinds[c.Name] = c.Kind
	}
	for i := range columns {
		columns[i].kind = cmp.Or(kinds[columns[i].name], columns[i].kind)
	}
}

// setFields sets the fields of an item from row i of the columns.
func setFields(it *store.Item, columns []fieldColumn, i int) error {
	for _, c := range columns {
		v, err := store.ParseValue(c.kind, c.text(i))
		if err != nil {
			return fmt.Errorf("column %s of %s: %w, as the index has there", c.name, it.ID, err)
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

// readColumns reads a file of columns; without a path it has none.
func readColumns(path string) (*columnFile, error) {
	c := &columnFile{path: path}
	if path == "" {
		return c, nil
	}
	t, err := embedding.Formats{parquet.Format{Fractions: true}}.ReadLabels(path)
	if err != nil {
		return nil, err
	}
	key := func(i int) string { return t.Files[i] }
	switch {
	case t.ID != nil:
		key = t.ID.At
	case t.Files == nil:
		return nil, fmt.Errorf("%s has neither a column id nor a column path, by which its rows could be told", path)
	}
	c.keys = make(map[string]int)
	for i := range t.Rows() {
		if j, twice := c.keys[key(i)]; twice {
			return nil, fmt.Errorf("%s: rows %d and %d are both of %s", path, j+1, i+1, key(i))
		}
		c.keys[key(i)] = i
	}
	c.values = columnsOf(t)
	return c, nil
}

// put sets the fields of an item, if the file has any of it.
func (c *columnFile) put(it *store.Item) (bool, error) {
	i, ok := c.keys[it.ID]
	if !ok {
		return false, nil
	}
	if err := setFields(it, c.values, i); err != nil {
		return true, fmt.Errorf("%s: %w", c.path, err)
	}
	return true, nil
}

// adder adds items to an index and counts.
type adder struct {
	a       *app
	to      *gallery
	update  bool
	prefix  string
	columns *columnFile

	done    index.Added
	matched int // items that the file of columns has
}

// piece is how many photos are embedded between two writes to the disk.
const piece = 1024

// photos embeds the photos of a set that the index does not have and adds them.
func (d *adder) photos(ctx context.Context, m *run.Model, set *data.Dataset, root string) ([]data.LeftOut, error) {
	todo, err := d.missing(ctx, set, root)
	if err != nil {
		return nil, err
	}
	part := set.All()
	left, read := set.Unread(), len(todo) < set.Len()
	meter := d.a.newMeter("embedding", countUnit)
	defer meter.close()
	for lo := 0; lo < len(todo); lo += piece {
		e, err := m.Embed(ctx, part.Subset(todo[lo:min(lo+piece, len(todo))]))
		if err != nil {
			return nil, err
		}
		left = data.AddLeftOut(left, set.LeftOut, e.LeftOut)
		if e.X.Rows > 0 {
			read = true
			if err := d.table(ctx, e.Table(), root); err != nil {
				return nil, err
			}
		}
		meter.count(min(lo+piece, len(todo)), len(todo))
	}
	if !read {
		return nil, noneRead(set.Len(), left)
	}
	return left, nil
}

// missing lists the samples of a set that are to be embedded.
func (d *adder) missing(ctx context.Context, set *data.Dataset, root string) ([]int, error) {
	var todo []int
	for i, name := range set.Names {
		id := d.prefix + name
		e, there, err := d.to.find(ctx, id)
		if err != nil {
			return nil, err
		}
		if there && !d.update {
			if path := filePath(root, name); e.Path != "" && path != "" && path != e.Path {
				return nil, fmt.Errorf("%s would be added as %q, and that is %s in the index: choose other ids with "+
					"--prefix, or replace it with --update", path, id, e.Path)
			}
			d.done.Skipped++
			continue
		}
		todo = append(todo, i)
	}
	return todo, nil
}

// filePath is where the file of a sample is, "" if it is none.
func filePath(root, name string) string {
	path := filepath.FromSlash(name)
	if root != "" && !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

// table adds the rows of a table: items of the ids, or the names, it has.
func (d *adder) table(ctx context.Context, t *embedding.Table, root string) error {
	columns := columnsOf(t)
	info, err := d.to.Info(ctx)
	if err != nil {
		return err
	}
	adapt(columns, info.Columns)
	adapt(d.columns.values, info.Columns)
	items := make([]store.Item, t.X.Rows)
	for i := range items {
		e := &items[i]
		e.Vector = t.X.Row(i)
		switch {
		case t.ID != nil:
			e.ID = d.prefix + t.ID.At(i)
		case t.Files != nil:
			e.ID = d.prefix + filepath.ToSlash(t.Files[i])
		default:
			e.ID = d.prefix + strconv.Itoa(i)
		}
		if t.Files != nil {
			e.Path = filePath(root, t.Files[i])
		}
		if err := setFields(e, columns, i); err != nil {
			return err
		}
		ok, err := d.columns.put(e)
		if err != nil {
			return err
		}
		if ok {
			d.matched++
		}
	}
	opt := index.AddOptions{Existing: index.Skip}
	if d.update {
		opt.Existing = index.Replace
	}
	n, err := d.to.add(ctx, items, opt)
	d.done.Added += n.Added
	d.done.Replaced += n.Replaced
	d.done.Skipped += n.Skipped
	return err
}

// sayMatched warns of a file of columns that fits no item.
func (d *adder) sayMatched() {
	if c := d.columns; c.path != "" && d.matched == 0 && d.done.Added+d.done.Replaced > 0 {
		fmt.Fprintf(d.a.err, "kindred: no row of %s is of an item that was added: its column id, or path, has to hold "+
			"the items' ids\n", c.path)
	}
}
