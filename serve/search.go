package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// defaultK is the default number of neighbours.
const defaultK = 10

// asked is a search, read and checked.
type asked struct {
	api.Search
	collection *collection
	pictures   [][]byte
	store      store.Info
	info       lookup.Info // the same, as a gallery's
	query      lookup.Query
	opt        lookup.Options
	closed     bool // the calibration is closed
}

// gallery returns a collection as a gallery of lookups. A request asks a database for its description once.
func (s *Server) gallery(c *collection, info *store.Info) *lookup.Items {
	return &lookup.Items{Store: c.Store, Known: info, Name: c.Name, Label: c.Label, Files: c.openFile, Most: s.limits.K,
		Timed: s.metrics.searching}
}

// ask reads a search: JSON, or a form with pictures.
func (s *Server) ask(r *http.Request) (*asked, error) {
	c, err := s.named(r)
	if err != nil {
		return nil, err
	}
	a := &asked{collection: c}
	t, params, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	if t == "multipart/form-data" {
		err = a.readForm(r, params["boundary"])
	} else {
		err = readJSON(r, &a.Search)
		if err == nil && a.Picture != "" {
			var p *cachedPicture
			if p, err = s.kept(a.Picture); err == nil {
				a.pictures = [][]byte{p.file}
			}
		}
	}
	if err == nil {
		err = s.checkSearch(a)
	}
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	if a.store, err = c.Store.Info(ctx); err != nil {
		return nil, err
	}
	if a.info, err = s.gallery(c, &a.store).Info(ctx); err != nil {
		return nil, err
	}
	if err := s.makeQuery(r, a); err != nil {
		return nil, err
	}
	if len(a.query.Vector) != a.info.Dim {
		return nil, &store.DimensionError{Have: len(a.query.Vector), Want: a.info.Dim}
	}
	says := c.says()
	if says == nil || a.query.Summed { // the distances of words have no calibration
		return a, nil
	}
	a.closed = says.IsClosed()
	g, err := s.labels(ctx, c, &a.store)
	if err == nil {
		a.opt.Same, err = says.Among(g.Gallery, 0)
	}
	return a, err
}

// readForm reads a search with pictures.
func (a *asked) readForm(r *http.Request, boundary string) error {
	k := 0
	f, err := readForm(r, boundary, mostTogether, map[string]any{"k": &k, "filter": &a.Filter, "columns": &a.Columns,
		"vectors": &a.Vectors, "least": &a.Least, "except_itself": &a.ExceptItself, "terms": &a.Terms,
		"group_by": &a.GroupBy, "collapse": &a.Collapse, "others": &a.Others, "diverse": &a.Diverse,
		"rerank": &a.Rerank, "explain": &a.Explain})
	if err != nil {
		return err
	}
	if a.K = k; f.values["k"] != "" && k == 0 {
		a.K = -1 // an explicit 0 is an error; left out, it means the default
	}
	a.pictures = f.pictures
	if n := len(a.pictures); n > 1 && a.Terms == nil {
		return badRequest.is("Give terms, or send one picture.", "the form has more than 1 picture, and no terms")
	}
	return nil
}

// describesSearch is the way out of a wrong search.
const describesSearch = "GET /openapi.json describes a search."

func (s *Server) checkSearch(a *asked) error {
	const way = describesSearch
	switch given := b2i(a.Vector != nil) + b2i(a.ID != "") + b2i(a.Text != "") + b2i(a.Terms != nil) +
		b2i(a.Picture != ""); {
	case given > 1:
		return invalid.is(way, "the search has more than one of a vector, an id, a text, a picture and terms")
	case given == 0 && a.pictures == nil:
		return invalid.is(way, "the search has neither a picture, nor a vector, nor an id, nor a text, nor terms")
	case a.Text != "" && strings.TrimSpace(a.Text) == "", len(a.Text) > maxWords:
		return invalid.is(way, "text must have words, and at most %d bytes", maxWords)
	case (a.Text != "" || a.Terms != nil) && a.Least > 0:
		return invalid.is(way, "least applies to pictures: the distances of words and sums have no calibration")
	}
	if a.K == 0 {
		a.K = min(defaultK, s.limits.K)
	}
	if a.K < 1 || a.K > s.limits.K {
		return invalid.is(way, "k must be from 1 to %d", s.limits.K)
	}
	filter, err := store.ParseFilter(a.Filter)
	if err != nil {
		return err
	}
	a.opt = lookup.Options{K: a.K, Filter: filter, WithItself: !a.ExceptItself, Vectors: a.Vectors, Least: a.Least,
		Arrange: a.Arrange}
	if err := a.opt.Validate(); err != nil {
		return err
	}
	if a.Least > 0 && a.collection.says() == nil {
		return uncalibrated(a.collection)
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// makeQuery makes the query of a search.
func (s *Server) makeQuery(r *http.Request, a *asked) error {
	if a.Terms == nil {
		one := api.Term{ID: a.ID, Text: a.Text, Vector: a.Vector}
		if a.pictures != nil {
			one.Picture = new(int)
		}
		q, err := s.term(r, a, &one)
		if err == nil {
			a.query = *q
		}
		return err
	}
	if len(a.Terms) == 0 || len(a.Terms) > mostTogether {
		return invalid.is(describesSearch, "%d terms: want 1 to %d", len(a.Terms), mostTogether)
	}
	if by := a.info.Distance; by != rank.Cosine && !a.collection.UnitLength {
		return invalid.is("Search by a picture, an id or a vector.", "sums need cosine distance or vectors of unit "+
			"length, and the distance of the collection %s is %s", a.collection.Name, by)
	}
	used := make([]bool, len(a.pictures))
	terms := make([]lookup.Summand, len(a.Terms))
	for i := range a.Terms {
		t := &a.Terms[i]
		if n := b2i(t.Vector != nil) + b2i(t.ID != "") + b2i(t.Text != "") + b2i(t.Picture != nil); n != 1 {
			return invalid.is(describesSearch, "terms[%d] has %d of a vector, an id, a text and a picture: want one", i,
				n)
		}
		if p := t.Picture; p != nil {
			if *p < 0 || *p >= len(a.pictures) {
				return invalid.is(describesSearch, "terms[%d] has the picture %d, but the form has %d pictures, "+
					"counted from 0", i, *p, len(a.pictures))
			}
			used[*p] = true
		}
		q, err := s.term(r, a, t)
		if err != nil {
			return err
		}
		q.Name = cmp.Or(q.Name, fmt.Sprintf("terms[%d]", i))
		terms[i] = lookup.Summand{Query: *q, Minus: t.Minus}
	}
	for p, is := range used {
		if !is {
			return invalid.is(describesSearch, "no term has the picture %d of the form", p)
		}
	}
	q, err := lookup.SumQueries("terms", terms)
	if err != nil {
		return invalid.is(describesSearch, "%v", err)
	}
	a.query = *q
	a.query.Name = ""
	return nil
}

// term makes the query of one term.
func (s *Server) term(r *http.Request, a *asked, t *api.Term) (*lookup.Query, error) {
	ctx, c := r.Context(), a.collection
	switch {
	case t.Picture != nil:
		v, err := s.embed(ctx, c, a.pictures[*t.Picture], receivedOf(r).loan)
		return &lookup.Query{Content: a.pictures[*t.Picture], Vector: v, From: "the picture, embedded by the network"},
			err
	case t.Text != "":
		v, err := s.embedText(ctx, c, t.Text)
		return &lookup.Query{Name: t.Text, Vector: v, Summed: true, From: "words, embedded by the text tower"}, err
	case t.ID != "":
		return s.item(ctx, c, t.ID)
	}
	return &lookup.Query{Vector: t.Vector, From: "the vector of the request"}, nil
}

// item returns the query for an item.
func (s *Server) item(ctx context.Context, c *collection, id string) (*lookup.Query, error) {
	it, err := c.Store.Get(ctx, id)
	return &lookup.Query{Name: id, Item: &it, Vector: it.Vector, From: "the item's vector"}, err
}

// answer searches.
func (s *Server) answer(ctx context.Context, a *asked) (api.Found, error) {
	if a.Explain {
		gallery := fmt.Sprintf("%s: %d items, of %s", a.info.Name, a.info.Items,
			cmp.Or(a.store.Network, "a network that is not known"))
		a.opt.Explain = lookup.Explain(&a.info, gallery, &a.opt, "")
	}
	answers, err := lookup.Nearest(ctx, s.gallery(a.collection, &a.store), []lookup.Query{a.query}, a.opt)
	if err != nil {
		return api.Found{}, err
	}
	out := api.Found{Head: a.info.AnswerHead(), Answer: answers[0]}
	out.Least = a.Least
	return out, nil
}

// search answers POST /v1/search.
func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	a, err := s.ask(r)
	if err != nil {
		return err
	}
	found, err := s.answer(r.Context(), a)
	if err != nil {
		return err
	}
	if a.Vectors {
		found.Vector = a.query.Vector
	}
	a.show(found.Neighbours)
	return reply(w, http.StatusOK, found)
}

// show leaves only what was requested of neighbours.
func (a *asked) show(near []api.Neighbour) {
	for i := range near {
		near[i].Item.Columns = chosen(near[i].Item.Columns, a.Search.Columns)
		if !a.Vectors {
			near[i].Vector = nil
		}
		a.show(near[i].Others)
	}
}

// chosen returns the columns with the given names; nil names mean all columns.
func chosen(columns map[string]any, names []string) map[string]any {
	if names == nil || len(columns) == 0 {
		return columns
	}
	out := map[string]any{}
	for _, n := range names {
		if v, ok := columns[n]; ok {
			out[n] = v
		}
	}
	return out
}
