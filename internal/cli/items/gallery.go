package items

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/cli/origin"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// Gallery is what items are added to and looked up in: an index or a store of a database.
type Gallery struct {
	store.Store
	Name string // for people
	// Model returns the network that made the vectors, nil if it is not known.
	Model func() (*run.Model, error)
	// Index is the index, which counts and bounds what a store.Store does not; nil for a
	// database.
	Index *index.Index
}

// OfIndex is the gallery of an open index.
func OfIndex(x *index.Index) *Gallery {
	return &Gallery{x.Store(false), x.Dir(), func() (*run.Model, error) { return origin.Load(x) }, x}
}

// Info is the store's, with the columns of an index in the order in which they appeared.
func (g *Gallery) Info(ctx context.Context) (store.Info, error) {
	in, err := g.Store.Info(ctx)
	if g.Index != nil && err == nil {
		in.Columns = g.Index.Info().Columns
	}
	return in, err
}

// Find returns the item with an id, false if there is none.
func (g *Gallery) Find(ctx context.Context, id string) (store.Item, bool, error) {
	it, err := g.Get(ctx, id)
	var missing *store.NotFoundError
	if errors.As(err, &missing) {
		return store.Item{}, false, nil
	}
	return it, err == nil, err
}

// putSize is how many items are written to a store at a time.
const putSize = 500

// Add writes items. A database counts them as an index does, apart from items that others
// write at the same time.
func (g *Gallery) Add(ctx context.Context, list []store.Item, opt index.AddOptions) (index.Added, error) {
	if g.Index != nil {
		return g.Index.Add(ctx, list, opt)
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
	for _, it := range list {
		j, twice := at[it.ID]
		there := twice
		var err error
		if !twice {
			_, there, err = g.Find(ctx, it.ID)
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

// nearest finds the nearest items. A database does not say how many items pass a filter, nor
// whether it looked at all.
func (g *Gallery) nearest(ctx context.Context, q index.Query) (*index.Result, error) {
	if g.Index != nil {
		return g.Index.Search(ctx, q)
	}
	hits, err := g.Search(ctx, store.Query{Vector: q.Vector, K: cmp.Or(q.K, 10), Filter: q.Filter.String(),
		Except: q.Exclude, Vectors: q.Vectors})
	if err != nil {
		return nil, err
	}
	return &index.Result{Passed: -1, Hits: hits}, nil
}

// Network is the network for photos. It is an error if there is none; way, if it is not "", says
// what to do about that.
func (g *Gallery) Network(way string) (*run.Model, error) {
	m, err := g.Model()
	if err == nil && m == nil {
		err = fmt.Errorf("%s has no network, so that photos cannot be embedded%s", g.Name, way)
	}
	return m, err
}
