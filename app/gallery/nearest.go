package gallery

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/kindred-ml/kindred/app/mirror"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/internal/compute/itself"
	"github.com/kindred-ml/kindred/store"
)

// ByID returns the queries for items of the gallery.
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

// near returns a remark with the id that is most similar to a missing one. It is "" if no id is similar, or
// if the items are in a database, which cannot search for ids.
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

// together is the number of queries sent at a time: an index answers them in one pass.
const together = 64

// Nearest sends many queries at the same time.
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

// lookUp answers one query. It leaves out the item of the query's id. For a photo or a vector it leaves out the items
// that are the query itself, as package itself says.
func (g *Items) lookUp(ctx context.Context, q *Query, opt Options) (Answer, error) {
	out := Answer{Query: q.Name, Neighbours: []Neighbour{}}
	iq := index.Query{Vector: q.Vector, Filter: opt.Filter, Exact: opt.Exact, Vectors: q.ID == ""}
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
	if q.ID != "" {
		iq.Exclude = []string{q.ID}
		out.Itself = iq.Exclude
		hits, err = search(opt.K)
	} else {
		photo, place := itself.New(q.Path, q.Vector), itself.Place(q.Path)
		own := "" // the item of the same path, listed before copies
		again := func(k int) ([]store.Hit, error) {
			own, out.Older = "", nil
			return search(k)
		}
		hits, out.Itself, err = Others(ctx, opt.K, 0, again, func(h *store.Hit) bool {
			is, older := same(photo, h)
			if older {
				out.Older = append(out.Older, h.ID)
				return false
			}
			if own == "" && place != "" && itself.Place(h.Path) == place && mirror.Region(h.Columns) == "" {
				own = h.ID
			}
			return h.ID == own || is
		})
		if i := slices.Index(out.Itself, own); i > 0 {
			out.Itself = slices.Insert(slices.Delete(out.Itself, i, i+1), 0, own)
		}
	}
	for _, h := range hits {
		out.Neighbours = append(out.Neighbours, Neighbour{ID: h.ID, Path: h.Path, Region: mirror.Region(h.Columns),
			Fields: h.Columns, Label: store.FormatValue(h.Columns[g.column()]), Distance: h.Distance})
	}
	return out, err
}

// same reports whether an item is a photo or a copy of it, and whether its file is, but its embedding is of an
// older content. An item with a digest is compared by it.
func same(photo *itself.Query, h *store.Hit) (is, older bool) {
	if photo.HasFile() && mirror.Region(h.Columns) != "" { // a part of the photo is another item
		return false, false
	}
	is = photo.Is(h.Path, h.Vector, func() (same, known bool) {
		sum, ok := photo.Sum()
		if !ok {
			return false, false
		}
		same, known = mirror.Embedded(h.Columns, sum)
		if known && !same {
			older, _ = photo.Has(h.Path)
		}
		return same, known
	})
	return is, older
}

// nearest finds the nearest items. A database does not return how many items pass a filter, or whether
// its search was exact.
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

// LeaveOutTogether leaves out the items that are one of the queries from the answers to all of them.
func LeaveOutTogether(answers []Answer) {
	ids, rows := map[string]bool{}, map[int]bool{}
	for _, a := range answers {
		for _, j := range a.self { // of a table
			rows[j] = true
		}
		for _, id := range a.Itself[len(a.self):] {
			ids[id] = true
		}
	}
	for i := range answers {
		a := &answers[i]
		a.Neighbours = slices.DeleteFunc(a.Neighbours, func(n Neighbour) bool {
			return ids[n.ID] || len(rows) > 0 && rows[n.Row]
		})
	}
}

// spare is the number of further items in the first search, because some items may be the query
// itself.
const spare = 8

// Others finds the k nearest items that are not the query itself, and returns the ids of items that are, as reported
// by is. search finds the nearest items. If many of them are the query, Others searches for more items: up to most
// more, if that is above 0.
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
