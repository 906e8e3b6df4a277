package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// gallery is what items are added to and looked up in: an index or a store of a database.
type gallery struct {
	store.Store
	name string // for people
	// model returns the network that made the vectors, nil if it is not known.
	model func() (*run.Model, error)
	// x is the index, which counts and bounds what a store.Store does not; nil for a
	// database.
	x *index.Index
}

func newIndexGallery(x *index.Index) *gallery {
	return &gallery{x.Store(false), x.Dir(), func() (*run.Model, error) { return indexModel(x) }, x}
}

// Info is the store's, with the columns of an index in the order in which they appeared.
func (g *gallery) Info(ctx context.Context) (store.Info, error) {
	in, err := g.Store.Info(ctx)
	if g.x != nil && err == nil {
		in.Columns = g.x.Info().Columns
	}
	return in, err
}

// find returns the item with an id, false if there is none.
func (g *gallery) find(ctx context.Context, id string) (store.Item, bool, error) {
	it, err := g.Get(ctx, id)
	var missing *store.NotFoundError
	if errors.As(err, &missing) {
		return store.Item{}, false, nil
	}
	return it, err == nil, err
}

// putSize is how many items are written to a store at a time.
const putSize = 500

// add writes items. A database counts them as an index does, apart from items that others
// write at the same time.
func (g *gallery) add(ctx context.Context, items []store.Item, opt index.AddOptions) (index.Added, error) {
	if g.x != nil {
		return g.x.Add(ctx, items, opt)
	}
	var done index.Added
	var put []store.Item
	at := map[string]int{} // of put
	flush := func() error {
		if len(put) == 0 {
			return nil
		}
		err := g.Put(ctx, put, store.Replace)
		put = put[:0]
		clear(at)
		return err
	}
	for _, it := range items {
		j, twice := at[it.ID]
		there := twice
		var err error
		if !twice {
			_, there, err = g.find(ctx, it.ID)
		}
		switch {
		case err != nil:
			return done, err
		case there && opt.Existing != index.Replace:
			done.Skipped++
			continue
		case there:
			done.Replaced++
		default:
			done.Added++
		}
		if twice {
			put[j] = it
			continue
		}
		at[it.ID] = len(put)
		if put = append(put, it); len(put) == putSize {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}

// search finds the nearest items. A database does not say how many items pass a filter, nor
// whether it looked at all.
func (g *gallery) search(ctx context.Context, q index.Query) (*index.Result, error) {
	if g.x != nil {
		return g.x.Search(ctx, q)
	}
	hits, err := g.Search(ctx, store.Query{Vector: q.Vector, K: cmp.Or(q.K, 10), Filter: q.Filter.String(),
		Except: q.Exclude, Vectors: q.Vectors})
	if err != nil {
		return nil, err
	}
	return &index.Result{Passed: -1, Hits: hits}, nil
}
