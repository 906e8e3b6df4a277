package items

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/store"
)

// Query is one thing to look up: a photo if it has a path, an item if it has an id, else a vector.
type Query struct {
	Name, Path, ID string
	Vector         []float32
}

// Options say what is found of each query.
type Options struct {
	K        int
	Exact    bool // looks at all lists of an index that is cut into lists
	Filter   *store.Filter
	Distance rank.Distance // of the gallery
}

// Answer is what is found of one query.
type Answer struct {
	Query string `json:"query"`
	// Itself are the items that are the query, and left out.
	Itself     []string `json:"itself,omitempty"`
	Passed     int      `json:"passed"` // the filter; -1 where a database does not count
	Exact      bool     `json:"exact"`
	Neighbours []Item   `json:"neighbours"`
}

// Item is a neighbour.
type Item struct {
	ID       string         `json:"id"`
	Path     string         `json:"path,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"`
	Label    string         `json:"label"` // "" if it is not known
	Distance float64        `json:"distance"`
	// Same is the probability that it shows the same thing; nil without a calibration.
	Same *float64 `json:"same,omitempty"`
}

// Judge says of each neighbour how likely it is the same, and leaves out what is less
// likely than least.
func (q *Answer) Judge(among *decide.Among, least float64) {
	for k := range q.Neighbours {
		p := among.Same(q.Neighbours[k].Distance)
		if p < least { // and so are those that are farther
			q.Neighbours = q.Neighbours[:k]
			return
		}
		q.Neighbours[k].Same = &p
	}
}

// ByID are the queries for items of the gallery.
func (g *Gallery) ByID(ctx context.Context, ids []string) ([]Query, error) {
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

// near is a remark on the id that is most like one that is not there, "" if there is none or
// a database does not tell.
func (g *Gallery) near(ctx context.Context, id string) string {
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

// ByVector are the queries for the embeddings of a file, which must have dim numbers.
func ByVector(t *embedding.Table, file string, dim int) ([]Query, error) {
	if t.X == nil || t.X.Cols != dim {
		return nil, fmt.Errorf("%s holds no embeddings of %d numbers, as the index does", file, dim)
	}
	list := make([]Query, t.X.Rows)
	for i := range list {
		list[i] = Query{Name: fmt.Sprintf("%s, row %d", file, i+1), Vector: t.X.Row(i)}
	}
	return list, nil
}

// together is how many queries are under way at a time: an index answers them in one pass.
const together = 64

// LookUpAll answers queries in their order.
func (g *Gallery) LookUpAll(ctx context.Context, list []Query, opt Options) ([]Answer, error) {
	out := make([]Answer, len(list))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(together)
	for i := range list {
		all.Go(func() (err error) {
			out[i], err = g.LookUp(ctx, &list[i], opt)
			return err
		})
	}
	return out, all.Wait()
}

// spare is how many more items than wanted are asked for at first, because some may
// turn out to be the photo itself.
const spare = 8

// LookUp answers one query. The item of its id is left out of the answer, and so are the items that
// are its photo or a copy of that.
func (g *Gallery) LookUp(ctx context.Context, q *Query, opt Options) (Answer, error) {
	out := Answer{Query: q.Name, Neighbours: []Item{}}
	iq := index.Query{Vector: q.Vector, K: opt.K, Filter: opt.Filter, Exact: opt.Exact}
	if q.ID != "" {
		iq.Exclude = []string{q.ID}
		out.Itself = iq.Exclude
	}
	if q.Path == "" {
		res, err := g.nearest(ctx, iq)
		if err != nil {
			return out, err
		}
		out.Passed, out.Exact = res.Passed, res.Exact
		for _, h := range res.Hits {
			out.Neighbours = append(out.Neighbours, newItem(h))
		}
		return out, nil
	}
	// Where many items are the photo itself, more of them are asked for.
	for wide := spare; ; wide *= 8 {
		iq.K, iq.Vectors = opt.K+wide, true
		res, err := g.nearest(ctx, iq)
		if err != nil {
			return out, err
		}
		out.Passed, out.Exact = res.Passed, res.Exact
		kept, itself, err := withoutItself(ctx, q, res.Hits, opt)
		if err != nil {
			return out, err
		}
		if len(kept) < opt.K && len(res.Hits) == iq.K {
			continue
		}
		for _, k := range itself {
			out.Itself = append(out.Itself, res.Hits[k].ID)
		}
		for _, k := range kept {
			out.Neighbours = append(out.Neighbours, newItem(res.Hits[k]))
		}
		return out, nil
	}
}

// withoutItself tells which hits are not the photo that was asked with, and which
// are.
func withoutItself(ctx context.Context, q *Query, hits []store.Hit, opt Options) (kept []int32, itself []int,
	err error) {
	if len(hits) == 0 {
		return nil, nil, nil
	}
	gallery := mat.New(len(hits), len(q.Vector))
	for i, h := range hits {
		copy(gallery.Row(i), h.Vector)
	}
	found, err := rank.NearestPhotos(ctx,
		rank.Photos{X: mat.Of(1, len(q.Vector), q.Vector), Path: func(int) string { return q.Path }},
		rank.Photos{X: gallery, Path: func(i int) string { return hits[i].Path }}, opt.K,
		rank.Options{Distance: opt.Distance})
	if err != nil {
		return nil, nil, err
	}
	return found[0].Row, found[0].Self, nil
}

func newItem(h store.Hit) Item {
	return Item{ID: h.ID, Path: h.Path, Fields: h.Columns, Label: store.FormatValue(h.Columns["label"]),
		Distance: h.Distance}
}
