package index

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kindred-ml/kindred/store"
)

// Store returns an open index as an engine for a server. With readOnly it refuses
// changes. The caller closes the index once the store is no longer used, and must not
// change the index otherwise.
func (x *Index) Store(readOnly bool) store.Store {
	f := &indexStore{x: x, readOnly: readOnly}
	f.writes.Store(x.Info().Generation << 20) // other than in an earlier life
	return f
}

type indexStore struct {
	x        *Index
	readOnly bool
	writes   atomic.Uint64
}

func (f *indexStore) Info(ctx context.Context) (store.Info, error) {
	in := f.x.Info()
	if in.Dim == 0 {
		return store.Info{}, ErrClosed
	}
	out := store.Info{Items: in.Items, Dim: in.Dim, Distance: in.Distance.String(), Columns: in.Columns,
		Network: in.Network.Name, Version: f.writes.Load() + f.x.changes.Load(), ReadOnly: f.readOnly}
	slices.SortFunc(out.Columns, func(a, b store.Column) int { return strings.Compare(a.Name, b.Name) })
	return out, ctx.Err()
}

// storeError converts an error of a query or a page to that of the contract of stores.
func storeError(err error) error {
	var input *InputError
	if errors.As(err, &input) {
		return &store.ItemError{Err: input}
	}
	return err
}

func (f *indexStore) Search(ctx context.Context, q store.Query) ([]store.Hit, error) {
	keep, err := store.ParseFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	want := f.x.Info().Dim
	if want == 0 {
		return nil, ErrClosed
	}
	if len(q.Vector) != want {
		return nil, &store.DimensionError{Have: len(q.Vector), Want: want}
	}
	res, err := f.x.Search(ctx, Query{Vector: q.Vector, K: q.K, Filter: keep, Exclude: q.ExcludeIDs,
		Vectors: q.Vectors})
	if err != nil {
		return nil, storeError(err)
	}
	return res.Hits, nil
}

func (f *indexStore) Get(ctx context.Context, id string) (store.Item, error) {
	it, ok, err := f.x.Get(id)
	if err == nil && !ok {
		err = &store.NotFoundError{ID: id}
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return store.Item{}, err
	}
	return it, nil
}

func (f *indexStore) Put(ctx context.Context, items []store.Item, mode store.Mode) error {
	dim := f.x.Info().Dim
	if dim == 0 {
		return ErrClosed
	}
	if len(items) == 0 {
		return ctx.Err()
	}
	for i := range items {
		if err := items[i].Check(dim); err != nil {
			return err
		}
	}
	opt := AddOptions{Existing: Replace}
	if mode == store.Insert {
		opt.Existing = Refuse
	}
	if _, err := f.x.Add(ctx, items, opt); err != nil {
		return err
	}
	f.writes.Add(1)
	return nil
}

func (f *indexStore) Delete(ctx context.Context, ids []string) (int, error) {
	n, err := f.x.Remove(ctx, ids...)
	if err != nil {
		return 0, err
	}
	f.writes.Add(1)
	return n, nil
}

// Update calls Index.Update, for store.Updater.
func (f *indexStore) Update(ctx context.Context, compute func(get func(id string) (store.Item, error)) (store.Change,
	error)) (int, error) {
	removed, _, err := f.x.Update(ctx, func() (Change, error) {
		c, err := compute(func(id string) (store.Item, error) { return f.Get(ctx, id) })
		return Change{Remove: c.Remove, Put: c.Put}, err
	})
	return removed, err
}

func (f *indexStore) List(ctx context.Context, p store.Page) ([]store.Item, error) {
	keep, err := store.ParseFilter(p.Filter)
	if err != nil {
		return nil, err
	}
	items, err := f.x.List(keep, p.After, p.Limit)
	if err = errors.Join(storeError(err), ctx.Err()); err != nil {
		return nil, err
	}
	if !p.Vectors {
		for i := range items {
			items[i].Vector = nil
		}
	}
	return items, nil
}

// Sample and Like call those of Index, for store.Browser.
func (f *indexStore) Sample(ctx context.Context, p store.Page, seed uint64) ([]store.Item, int, error) {
	keep, err := store.ParseFilter(p.Filter)
	if err != nil {
		return nil, 0, err
	}
	items, passed, err := f.x.Sample(keep, p.After, p.Limit, seed)
	if err = errors.Join(storeError(err), ctx.Err()); err != nil {
		return nil, 0, err
	}
	if !p.Vectors {
		for i := range items {
			items[i].Vector = nil
		}
	}
	return items, passed, nil
}

func (f *indexStore) SimilarIDs(ctx context.Context, text string, limit int) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.x.SimilarIDs(text, limit)
}

func (f *indexStore) All(ctx context.Context) iter.Seq2[store.Item, error] {
	return untilDone(ctx, f.x.All())
}

// Bare calls that of Index, for store.Lister.
func (f *indexStore) AllWithoutVectors(ctx context.Context) iter.Seq2[store.Item, error] {
	return untilDone(ctx, f.x.AllWithoutVectors())
}

// untilDone yields items until a context ends.
func untilDone(ctx context.Context, items iter.Seq2[store.Item, error]) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		for it, err := range items {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}

// Counts calls Index.Counts, for store.Counter.
func (f *indexStore) Counts(ctx context.Context, column string) (map[string]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.x.Counts(column)
}
