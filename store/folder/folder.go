// Package folder is an index folder as a store.Store.
package folder

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/store"
)

// New returns the store that an open index is. Whoever opened it closes it, when the
// store is not used any more; nobody else may write to it meanwhile.
func New(x *index.Index, readOnly bool) store.Store {
	f := &folder{x: x, readOnly: readOnly}
	f.writes.Store(x.Info().Generation << 20) // other than in an earlier life
	return f
}

type folder struct {
	x        *index.Index
	readOnly bool
	writes   atomic.Uint64
}

func (f *folder) Info(ctx context.Context) (store.Info, error) {
	in := f.x.Info()
	if in.Dim == 0 {
		return store.Info{}, index.ErrClosed
	}
	out := store.Info{Items: in.Items, Dim: in.Dim, Distance: in.Distance.String(), Network: in.Network.Name,
		Version: f.writes.Load(), ReadOnly: f.readOnly}
	for _, c := range in.Columns {
		out.Columns = append(out.Columns, store.Column{Name: c.Name, Kind: store.Kind(c.Kind.String())})
	}
	slices.SortFunc(out.Columns, func(a, b store.Column) int { return strings.Compare(a.Name, b.Name) })
	return out, ctx.Err()
}

// filter parses a filter; nil of "".
func filter(text string) (*index.Filter, error) {
	if text == "" {
		return nil, nil
	}
	f, err := index.ParseFilter(text)
	return f, mapped(err, text, "")
}

// mapped is an error of the index as the contract has it.
func mapped(err error, filter, id string) error {
	var (
		exists *index.ExistsError
		wrong  *index.FilterError
		input  *index.InputError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exists):
		return &store.ExistsError{ID: exists.ID}
	case errors.As(err, &wrong):
		return &store.FilterError{Filter: filter, Err: fmt.Errorf("column %d: %s", wrong.Column, wrong.Reason)}
	case errors.As(err, &input):
		return &store.ItemError{ID: id, Err: input}
	case errors.Is(err, index.ErrReadOnly):
		return store.ErrReadOnly
	}
	return err
}

func (f *folder) Search(ctx context.Context, q store.Query) ([]store.Hit, error) {
	keep, err := filter(q.Filter)
	if err != nil {
		return nil, err
	}
	want := f.x.Info().Dim
	if want == 0 {
		return nil, index.ErrClosed
	}
	if len(q.Vector) != want {
		return nil, &store.DimensionError{Have: len(q.Vector), Want: want}
	}
	res, err := f.x.Search(ctx, index.Query{Vector: q.Vector, K: q.K, Filter: keep, Exclude: q.Except,
		Vectors: q.Vectors})
	if err != nil {
		return nil, mapped(err, q.Filter, "")
	}
	hits := make([]store.Hit, len(res.Hits))
	for i, h := range res.Hits {
		hits[i] = store.Hit{Item: Item(h.Entry, q.Vectors), Distance: h.Distance}
	}
	return hits, nil
}

// Item is an entry of an index as an item of a store, with its vector if asked.
func Item(e index.Entry, vector bool) store.Item {
	it := store.Item{ID: e.ID, Path: e.Path}
	if vector {
		it.Vector = e.Vector
	}
	if len(e.Fields) > 0 {
		it.Columns = make(map[string]any, len(e.Fields))
	}
	for name, v := range e.Fields {
		switch v.Kind() {
		case index.KindText:
			it.Columns[name] = v.Text()
		case index.KindNumber:
			it.Columns[name] = v.Number()
		case index.KindBool:
			it.Columns[name] = v.Bool()
		}
	}
	return it
}

// Entry is an item of a store as an entry of an index.
func Entry(it store.Item) index.Entry {
	e := index.Entry{Item: index.Item{ID: it.ID, Path: it.Path}, Vector: it.Vector}
	if len(it.Columns) > 0 {
		e.Fields = make(map[string]index.Value, len(it.Columns))
	}
	for name, v := range it.Columns {
		switch v := v.(type) {
		case string:
			e.Fields[name] = index.Text(v)
		case float64:
			e.Fields[name] = index.Number(v)
		case bool:
			e.Fields[name] = index.Bool(v)
		}
	}
	return e
}

func (f *folder) Get(ctx context.Context, id string) (store.Item, error) {
	e, ok, err := f.x.Get(id)
	if err == nil && !ok {
		err = &store.NotFoundError{ID: id}
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return store.Item{}, err
	}
	return Item(e, true), nil
}

func (f *folder) Put(ctx context.Context, items []store.Item, mode store.Mode) error {
	dim := f.x.Info().Dim
	if dim == 0 {
		return index.ErrClosed
	}
	if len(items) == 0 {
		return ctx.Err()
	}
	entries := make([]index.Entry, len(items))
	for i := range items {
		it := &items[i]
		if err := it.Check(dim); err != nil {
			return err
		}
		entries[i] = Entry(*it)
	}
	opt := index.AddOptions{Existing: index.Replace}
	if mode == store.Insert {
		opt.Existing = index.Refuse
	}
	if _, err := f.x.Add(ctx, entries, opt); err != nil {
		return mapped(err, "", items[0].ID)
	}
	f.writes.Add(1)
	return nil
}

func (f *folder) Delete(ctx context.Context, ids []string) (int, error) {
	n, err := f.x.Remove(ctx, ids...)
	if err != nil {
		return 0, mapped(err, "", "")
	}
	f.writes.Add(1)
	return n, nil
}

func (f *folder) List(ctx context.Context, p store.Page) ([]store.Item, error) {
	keep, err := filter(p.Filter)
	if err != nil {
		return nil, err
	}
	entries, err := f.x.List(keep, p.After, p.Limit)
	if err = errors.Join(mapped(err, p.Filter, ""), ctx.Err()); err != nil {
		return nil, err
	}
	out := make([]store.Item, len(entries))
	for i, e := range entries {
		out[i] = Item(e, p.Vectors)
	}
	return out, nil
}

func (f *folder) All(ctx context.Context) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		for e, err := range f.x.All() {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(Item(e, true), err) || err != nil {
				return
			}
		}
	}
}
