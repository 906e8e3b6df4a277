package items

import (
	"context"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/store"
)

// fileInfo describes the files of photos, by the names of their items.
type fileInfo struct {
	facts map[string]mirror.FileRecord
	exif  map[string]imaging.EXIF
}

// readFileInfo returns the facts of the samples' files that kindred index sync needs, and their EXIF
// data.
func (d *Adder) readFileInfo(ctx context.Context, p *data.Part) (l fileInfo, err error) {
	if d.Gallery.Index == nil {
		return l, nil
	}
	facts, err := mirror.ReadFileRecords(ctx, p, d.From)
	if err != nil {
		return l, err
	}
	l.facts = make(map[string]mirror.FileRecord, len(facts))
	for i := range facts {
		l.facts[p.Data.ItemName(p.Index[i])] = facts[i]
	}
	photos, err := p.EXIF(ctx)
	l.exif = make(map[string]imaging.EXIF, len(photos))
	for i := range photos {
		l.exif[p.Data.ItemName(p.Index[i])] = photos[i]
	}
	return l, err
}

// existingColumns returns the existing columns: those of the gallery, and those of the file of columns.
func (d *Adder) existingColumns(info lookup.Info) []store.Column {
	out := slices.Clone(info.Columns)
	for _, c := range d.Columns.values {
		out = append(out, store.Column{Name: c.name, Kind: c.kind})
	}
	return out
}

// setColumns sets the columns of an item that describe its file.
func (l *fileInfo) setColumns(it *store.Item, t *embedding.Table, i int, own []store.Column) {
	if t.Files == nil {
		return
	}
	of := t.Item(i)
	if fact, ok := l.facts[of.Name()]; ok {
		fact.Put(it)
	} else {
		mirror.PutItem(it, of)
	}
	if photo, ok := l.exif[of.Name()]; ok {
		mirror.PutExif(it, &photo, own)
	}
}

// CountStale counts the items of an index that are out of date after adding a set: items whose photos are
// gone, and items whose files have changed.
func (d *Adder) CountStale(ctx context.Context, set *data.Dataset) (gone, changed int, err error) {
	if d.Gallery.Index == nil || set == nil || d.Result.Skipped+d.Result.Replaced == 0 {
		return 0, 0, nil
	}
	return mirror.CountStale(ctx, d.Gallery.Index, set, mirror.Options{Prefix: d.Prefix, Set: d.From})
}

// LabelColumns returns the columns of labels of each row of a table, with the types of the columns have.
func LabelColumns(t *embedding.Table, have []store.Column) ([]map[string]any, error) {
	columns := labelColumns(t)
	adaptTypes(columns, have)
	out := make([]map[string]any, t.Rows())
	for i := range out {
		it := store.Item{ID: t.ItemID(i)}
		if err := setColumns(&it, columns, i); err != nil {
			return nil, err
		}
		out[i] = it.Columns
	}
	return out, nil
}
