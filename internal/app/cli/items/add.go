package items

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// Adder adds items to a gallery and counts them.
type Adder struct {
	Gallery *lookup.Items
	Update  bool   // replace items whose ids exist already
	Prefix  string // beginning of the ids
	Columns *Columns
	// From is the absolute path of the data set that photos come from.
	From string
	// Progress, if set, is called with the number of photos embedded.
	Progress func(done, total int)
	// Shared, if set, embeds the photos by jobs, with the network that Photos is given.
	Shared *shards.SharedDataset

	Result index.Added
}

// AddPhotos embeds and adds the photos of a set that the gallery does not have. It returns the photos
// that cannot be read. Names of photos are relative to root.
func (d *Adder) AddPhotos(ctx context.Context, m *run.Model, set *data.Dataset, root string) ([]data.LeftOut, error) {
	todo, err := d.missingSamples(ctx, set, root)
	if err != nil {
		return nil, err
	}
	left, read := set.AllLeftOut(), len(todo) < set.Len()
	done := 0
	for p, err := range d.embedPieces(ctx, m, set, todo) {
		if err != nil {
			return nil, err
		}
		left = data.AddLeftOut(left, set.LeftOut, p.LeftOut)
		if p.X.Rows > 0 {
			read = true
			if err := d.add(ctx, p.ItemTable(), root, &p.fileInfo); err != nil {
				return nil, err
			}
		}
		if err := p.written(ctx); err != nil {
			return nil, err
		}
		if done += p.Part.Len(); d.Progress != nil {
			d.Progress(done, len(todo))
		}
	}
	if !read {
		return nil, NoneReadError(set.Len(), left)
	}
	return left, nil
}

// NoneReadError returns the error for n pictures that cannot be read, if these are all.
func NoneReadError(n int, left []data.LeftOut) error {
	err := fmt.Errorf("none of %d pictures can be read", n)
	for _, l := range left {
		err = fmt.Errorf("%w; %v", err, l)
	}
	return err
}

// missingSamples returns the samples of a set that must be embedded.
func (d *Adder) missingSamples(ctx context.Context, set *data.Dataset, root string) ([]int, error) {
	var todo []int
	for i, name := range set.Names {
		id := d.Prefix + set.ItemName(i)
		e, there, err := d.Gallery.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		if there && !d.Update {
			if path := filePath(root, name); e.Path != "" && path != "" && path != e.Path {
				return nil, fmt.Errorf("%s would be added as %q, which is %s in the index: choose other ids with "+
					"--prefix, or replace the item with --update", path, id, e.Path)
			}
			d.Result.Skipped++
			if _, _, err := d.Columns.rowOf(e.ID, set.Item(i)); err != nil {
				return nil, err
			}
			continue
		}
		todo = append(todo, i)
	}
	return todo, nil
}

// filePath returns the path of a sample's file, or "" if the sample is not a file.
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

// AddTable adds the rows of a table by their ids; see embedding.Table.ItemID.
func (d *Adder) AddTable(ctx context.Context, t *embedding.Table, root string) error {
	if err := t.CheckItems(); err != nil {
		return err
	}
	if err := d.checkClash(ctx, t); err != nil {
		return err
	}
	return d.add(ctx, t, root, &fileInfo{})
}

// checkClash returns an error for the first row with the id of an item that has another embedding, because skipping the
// row would lose it. With Update the row replaces the item, unless the ids are only the numbers of rows, as kindred
// embed wrote them once: then the item may be anything.
func (d *Adder) checkClash(ctx context.Context, t *embedding.Table) error {
	numbers := t.Files != nil && t.HasRowNumberIDs()
	if d.Update && !numbers {
		return nil
	}
	info, err := d.Gallery.Info(ctx)
	if err != nil {
		return err
	}
	const rounding = 1e-3 // of networks on other machines, and of databases
	for i := range t.Rows() {
		e, there, err := d.Gallery.Find(ctx, d.Prefix+t.ItemID(i))
		if err != nil {
			return err
		}
		if !there || len(e.Vector) != t.X.Cols || lookup.RelativeDistance(e.Vector, t.X.Row(i),
			info.Distance) < rounding {
			continue
		}
		if numbers {
			return fmt.Errorf("the ids of the embeddings are the numbers of their rows, and %s is in %s with another "+
				"embedding: embed the photos again with this version of kindred embed, whose ids are paths, or choose "+
				"other ids with --prefix", e.ID, d.Gallery.Name)
		}
		return fmt.Errorf("%s is in %s with another embedding: replace it with --update, or choose other ids with "+
			"--prefix", e.ID, d.Gallery.Name)
	}
	return nil
}

// add adds the rows of a table, with what is known about their files.
func (d *Adder) add(ctx context.Context, t *embedding.Table, root string, of *fileInfo) error {
	// Each item needs itself, its columns, and its entry in the write.
	if err := budget.Check(fmt.Sprintf("adding %d items at once", t.X.Rows), budget.Product(int64(t.X.Rows),
		budget.Sum(600, budget.Product(8, int64(t.X.Cols)), budget.Product(100, int64(len(t.Columns)))))); err != nil {
		return err
	}
	columns := labelColumns(t)
	info, err := d.Gallery.Info(ctx)
	if err != nil {
		return err
	}
	adaptTypes(columns, info.Columns)
	adaptTypes(d.Columns.values, info.Columns)
	own := d.existingColumns(info)
	list := make([]store.Item, t.X.Rows)
	for i := range list {
		e := &list[i]
		e.Vector = t.X.Row(i)
		e.ID = d.Prefix + t.ItemID(i)
		if t.Files != nil {
			e.Path = filePath(root, t.Files[i])
		}
		if err := setColumns(e, columns, i); err != nil {
			return err
		}
		of.setColumns(e, t, i, own)
		if err := d.Columns.setItem(e, t.Item(i)); err != nil {
			return err
		}
	}
	opt := index.AddOptions{Existing: index.Skip}
	if d.Update {
		opt.Existing = index.Replace
	}
	n, err := writeItems(ctx, d.Gallery, list, opt)
	d.Result.Added += n.Added
	d.Result.Replaced += n.Replaced
	d.Result.Skipped += n.Skipped
	return err
}

// UnmatchedWarning returns a warning about rows of the file of columns that belong to no item, else "".
func (d *Adder) UnmatchedWarning() string {
	c := d.Columns
	rows, lost := c.countUnused()
	switch {
	case lost == 0 || d.Result.Added+d.Result.Replaced == 0:
		return ""
	case lost == rows:
		return fmt.Sprintf("no row of %s belongs to an item: its column id or path must have the items' ids or paths",
			c.path)
	}
	return fmt.Sprintf("%d of the %d rows of %s belong to no item, such as %s", lost, rows, c.path, c.firstUnused())
}
