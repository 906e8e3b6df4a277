package lookup

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// Options control a search.
type Options struct {
	K      int
	Exact  bool          // search all lists of an index with lists
	Filter *store.Filter // for an index or a store
	// WithItself also finds items of an index or a store that are the query itself, except the item of Query.Item.
	WithItself bool
	Vectors    bool // return the vectors of the neighbours
	// Same returns the probabilities that neighbours show the same thing; nil without a calibration. Neighbours below
	// Least are left out. Neither applies to words and sums.
	Same  *decide.GalleryRates
	Least float64
	api.Arrange
	// Explain is returned with each answer, with the query and the steps; nil returns none.
	Explain *api.Provenance

	bare bool // only what decisions need
}

// Nearest finds for each query the K nearest items, or those that Options.Arrange chooses among more. Options must have
// passed Validate. It returns the answers in the order of the queries.
func Nearest(ctx context.Context, g Gallery, queries []Query, opt Options) ([]api.Answer, error) {
	in, err := g.Info(ctx)
	if err != nil {
		return nil, err
	}
	r := &arranger{g: g, by: in.Distance, opt: &opt}
	if err := r.check(in.Columns); err != nil {
		return nil, err
	}
	out := make([]api.Answer, len(queries))
	todo := lists.Indices(len(queries))
	for k := maxResults(g, r.searchSize()); len(todo) > 0; k = maxResults(g, min(4*k, max(k, maxSearched))) {
		answers, err := g.searchNear(ctx, lists.At(queries, todo), k, &opt)
		if err != nil {
			return nil, err
		}
		var again []int
		for j, i := range todo {
			found := len(answers[j].Neighbours)
			complete, err := r.finish(ctx, &queries[i], &answers[j])
			if err != nil {
				return nil, err
			}
			out[i] = answers[j]
			if !complete && len(out[i].Neighbours) < opt.K && found == k && k < min(maxResults(g, 4*k), maxSearched) {
				again = append(again, i)
			}
		}
		todo = again
	}
	return out, nil
}

// maxResults returns the number of items that a search for k may bring.
func maxResults(g Gallery, k int) int {
	if x, ok := g.(*Items); ok && x.Most > 0 {
		return min(k, x.Most)
	}
	return k
}

// queryBatch is the number of queries sent at a time: an index answers them in one pass.
const queryBatch = 64

func (g *Items) searchNear(ctx context.Context, queries []Query, k int, opt *Options) ([]api.Answer, error) {
	out := make([]api.Answer, len(queries))
	if len(queries) == 1 {
		var err error
		out[0], err = g.searchOne(ctx, &queries[0], k, opt)
		return out, err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(queryBatch)
	for i := range queries {
		all.Go(func() (err error) {
			out[i], err = g.searchOne(ctx, &queries[i], k, opt)
			return err
		})
	}
	return out, all.Wait()
}

// searchOne answers one query. It leaves out the items that are the query itself, unless they are wanted.
func (g *Items) searchOne(ctx context.Context, q *Query, k int, opt *Options) (api.Answer, error) {
	out, m := api.Answer{Query: q.Name}, newMatcher(q, g.Files)
	iq := index.Query{Vector: q.Vector, Filter: opt.Filter, Exact: opt.Exact, Vectors: true}
	for _, h := range q.items() {
		iq.Exclude = append(iq.Exclude, h.ID)
	}
	search := func(k int) ([]store.Hit, error) {
		iq.K = k
		res, err := g.search(ctx, iq)
		if err != nil {
			return nil, err
		}
		if out.Exact = res.Exact; res.Passed >= 0 {
			out.Passed = &res.Passed
		}
		return res.Hits, nil
	}
	var hits, same []store.Hit
	var err error
	if opt.WithItself {
		hits, err = search(k)
	} else {
		own := "" // the item of the same path, which is listed before copies
		again := func(k int) ([]store.Hit, error) {
			own, out.OutdatedIDs = "", nil
			return search(k)
		}
		hits, same, err = searchOthers(ctx, k, g.Most, again, func(h *store.Hit) bool {
			is, older := m.isSelf(h)
			if older {
				out.OutdatedIDs = append(out.OutdatedIDs, h.ID)
				return false
			}
			if own == "" && m.isAtPath(h) {
				own = h.ID
			}
			return h.ID == own || is
		})
		if i := slices.IndexFunc(same, func(h store.Hit) bool { return h.ID == own }); i > 0 {
			first := same[i]
			same = slices.Insert(slices.Delete(same, i, i+1), 0, first)
		}
		for _, h := range append(q.items(), same...) {
			out.QueryIDs, out.QueryLabels = append(out.QueryIDs, h.ID), append(out.QueryLabels, g.labelOf(&h))
		}
	}
	out.Neighbours = make([]api.Neighbour, len(hits))
	for i, h := range hits {
		out.Neighbours[i] = api.Neighbour{Hit: h, Region: mirror.Region(h.Columns), Label: g.labelOf(&h)}
		if opt.WithItself {
			out.Neighbours[i].IsQuery, _ = m.isSelf(&h)
		}
	}
	return out, err
}

// search finds the nearest items. A database does not return how many items pass a filter, or whether
// its search was exact.
func (g *Items) search(ctx context.Context, q index.Query) (*index.Result, error) {
	if g.Timed != nil {
		defer g.Timed()()
	}
	if g.Index != nil {
		return g.Index.Search(ctx, q)
	}
	hits, err := g.Store.Search(ctx, store.Query{Vector: q.Vector, K: cmp.Or(q.K, 10), Filter: q.Filter.String(),
		ExcludeIDs: q.Exclude, Vectors: q.Vectors})
	if err != nil {
		return nil, err
	}
	return &index.Result{Passed: -1, Hits: hits}, nil
}

// spareItems is the number of further items in the first search, because some items may be the query
// itself.
const spareItems = 8

// searchOthers finds the k nearest items that are not the query itself, and returns the items that are, as
// reported by is. search finds the nearest items. If many of them are the query, others searches for more
// items: up to most more, if that is above 0.
func searchOthers(ctx context.Context, k, most int, search func(k int) ([]store.Hit, error),
	is func(h *store.Hit) bool) (
	hits, itself []store.Hit, err error) {
	for wide := spareItems; ; wide *= 8 {
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
			itself = append(itself, h)
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
