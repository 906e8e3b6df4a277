package gallery

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/internal/compute/itself"
	"github.com/kindred-ml/kindred/store"
)

// ByID are the queries for items of the gallery.
func (g *Items) ByID(ctx context.Context, ids []string) ([]Query, error) {
	var list []Query
	for _, id := range ids {
		e, ok, err := g.Find(ctx, id)
		if err == nil && !ok {
			err = fmt.Errorf("%s has no item %q%s", g.Name, id, g.near(ctx, id))
		}
		if err != nil {
			return nil, err
		}
		list = append(list, Query{Name: id, ID: id, Vector: e.Vector})
	}
	return list, nil
}

// near is a remark that names the id most like a missing one. It is "" if no id is like it, or
// if the items are in a database, which cannot be asked for that.
func (g *Items) near(ctx context.Context, id string) string {
	b, ok := g.Store.(store.Browser)
	if !ok {
		return ""
	}
	ids, err := b.Like(ctx, id, 1)
	if err != nil || len(ids) == 0 {
		return ""
	}
	return spell.Meant(ids[0])
}

// together is how many queries are under way at a time: an index answers them in one pass.
const together = 64

// Nearest asks for many queries at the same time.
func (g *Items) Nearest(ctx context.Context, queries []Query, opt Options) ([]Answer, error) {
	out := make([]Answer, len(queries))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(together)
	for i := range queries {
		all.Go(func() (err error) {
			out[i], err = g.lookUp(ctx, &queries[i], opt)
			return err
		})
	}
	return out, all.Wait()
}

// lookUp answers one query. The item of its id is left out of the answer, and so are the items that
// are its photo or a copy of that.
func (g *Items) lookUp(ctx context.Context, q *Query, opt Options) (Answer, error) {
	out := Answer{Query: q.Name, Neighbours: []Neighbour{}}
	iq := index.Query{Vector: q.Vector, Filter: opt.Filter, Exact: opt.Exact, Vectors: q.Path != ""}
	if q.ID != "" {
		iq.Exclude = []string{q.ID}
		out.Itself = iq.Exclude
	}
	search := func(k int) ([]store.Hit, error) {
		iq.K = k
		res, err := g.nearest(ctx, iq)
		if err != nil {
			return nil, err
		}
		out.Passed, out.Exact = res.Passed, res.Exact
		return res.Hits, nil
	}
	var hits []store.Hit
	var err error
	if q.Path == "" {
		hits, err = search(opt.K)
	} else {
		photo, place := itself.New(q.Path, q.Vector), itself.Place(q.Path)
		own := "" // the item of the same path, which is named before copies
		hits, out.Itself, err = Others(ctx, opt.K, 0, search, func(h *store.Hit) bool {
			if own == "" && itself.Place(h.Path) == place {
				own = h.ID
			}
			return h.ID == own || photo.Is(h.Path, h.Vector)
		})
		if i := slices.Index(out.Itself, own); i > 0 {
			out.Itself = slices.Insert(slices.Delete(out.Itself, i, i+1), 0, own)
		}
	}
	for _, h := range hits {
		out.Neighbours = append(out.Neighbours, Neighbour{ID: h.ID, Path: h.Path, Fields: h.Columns,
			Label: store.FormatValue(h.Columns[g.column()]), Distance: h.Distance})
	}
	return out, err
}

// nearest finds the nearest items. A database does not say how many items pass a filter, nor
// whether it looked at all.
func (g *Items) nearest(ctx context.Context, q index.Query) (*index.Result, error) {
	if g.Index != nil {
		return g.Index.Search(ctx, q)
	}
	hits, err := g.Store.Search(ctx, store.Query{Vector: q.Vector, K: cmp.Or(q.K, 10), Filter: q.Filter.String(),
		Except: q.Exclude, Vectors: q.Vectors})
	if err != nil {
		return nil, err
	}
	return &index.Result{Passed: -1, Hits: hits}, nil
}

// spare is how many more items than wanted are asked for at first, because some may
// turn out to be the query.
const spare = 8

// Others finds the k nearest items that are not the query itself, and the ids of those that are, as is tells. search
// finds the nearest items; more of them are asked for where many are the query: up to most more, if that is above 0.
func Others(ctx context.Context, k, most int, search func(k int) ([]store.Hit, error), is func(h *store.Hit) bool) (
	hits []store.Hit, itself []string, err error) {
	for wide := spare; ; wide *= 8 {
		last := most > 0 && wide >= most
		if last {
			wide = most
		}
		if hits, err = search(k + wide); err != nil {
			return nil, nil, err
		}
		last = last || len(hits) < k+wide
		itself = nil
		hits = slices.DeleteFunc(hits, func(h store.Hit) bool {
			if ctx.Err() != nil || !is(&h) {
				return false
			}
			itself = append(itself, h.ID)
			return true
		})
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if len(hits) >= k || last {
			return hits[:min(k, len(hits))], itself, nil
		}
	}
}
