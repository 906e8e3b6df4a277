package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
	"github.com/kindred-ml/kindred/store/folder"
)

// target is what items are added to and looked up in: an index or a store of a database.
type target interface {
	// called is its name for people.
	called() string
	info(ctx context.Context) (index.Info, error)
	get(ctx context.Context, id string) (index.Entry, bool, error)
	add(ctx context.Context, entries []index.Entry, opt index.AddOptions) (index.Added, error)
	search(ctx context.Context, q index.Query) (*index.Result, error)
	// model is the network that made the vectors, nil if it is not known.
	model() (*run.Model, error)
}

// indexTarget is an index as a target.
type indexTarget struct{ x *index.Index }

func (t indexTarget) called() string                           { return t.x.Dir() }
func (t indexTarget) info(context.Context) (index.Info, error) { return t.x.Info(), nil }
func (t indexTarget) model() (*run.Model, error)               { return indexModel(t.x) }

func (t indexTarget) get(_ context.Context, id string) (index.Entry, bool, error) { return t.x.Get(id) }

func (t indexTarget) add(ctx context.Context, entries []index.Entry, opt index.AddOptions) (index.Added, error) {
	return t.x.Add(ctx, entries, opt)
}

func (t indexTarget) search(ctx context.Context, q index.Query) (*index.Result, error) {
	return t.x.Search(ctx, q)
}

// storeTarget is a store of a database as a target.
type storeTarget struct {
	*remote
	network func() (*run.Model, error)
}

func (t storeTarget) called() string             { return t.name }
func (t storeTarget) model() (*run.Model, error) { return t.network() }

func (t storeTarget) info(ctx context.Context) (index.Info, error) {
	in, err := t.Info(ctx)
	if err != nil {
		return index.Info{}, err
	}
	out := index.Info{Items: in.Items, Dim: in.Dim, Network: index.Network{Name: in.Network}}
	for _, c := range in.Columns {
		var kind index.Kind
		if err := kind.UnmarshalText([]byte(c.Kind)); err != nil {
			return out, err
		}
		out.Columns = append(out.Columns, index.Column{Name: c.Name, Kind: kind})
	}
	out.Distance, err = rank.ParseDistance(in.Distance)
	return out, err
}

func (t storeTarget) get(ctx context.Context, id string) (index.Entry, bool, error) {
	it, err := t.Get(ctx, id)
	var missing *store.NotFoundError
	if errors.As(err, &missing) {
		return index.Entry{}, false, nil
	}
	return folder.Entry(it), err == nil, err
}

// putSize is how many items are written to a store at a time.
const putSize = 500

// add writes entries, as the index does but for those that others write at the same time.
func (t storeTarget) add(ctx context.Context, entries []index.Entry, opt index.AddOptions) (index.Added, error) {
	var done index.Added
	var put []store.Item
	at := map[string]int{} // of put
	flush := func() error {
		if len(put) == 0 {
			return nil
		}
		err := t.Put(ctx, put, store.Replace)
		put = put[:0]
		clear(at)
		return err
	}
	for i := range entries {
		e := &entries[i]
		j, twice := at[e.ID]
		there := twice
		var err error
		if !twice {
			_, there, err = t.get(ctx, e.ID)
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
			put[j] = folder.Item(*e, true)
			continue
		}
		at[e.ID] = len(put)
		if put = append(put, folder.Item(*e, true)); len(put) == putSize {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}

func (t storeTarget) search(ctx context.Context, q index.Query) (*index.Result, error) {
	hits, err := t.Search(ctx, store.Query{Vector: q.Vector, K: cmp.Or(q.K, 10), Filter: q.Filter.String(),
		Except: q.Exclude, Vectors: q.Vectors})
	if err != nil {
		return nil, err
	}
	// How many items pass a filter no engine says, nor whether all were looked at.
	out := &index.Result{Passed: -1, Hits: make([]index.Hit, len(hits))}
	for i, h := range hits {
		out.Hits[i] = index.Hit{Entry: folder.Entry(h.Item), Distance: h.Distance}
	}
	return out, nil
}
