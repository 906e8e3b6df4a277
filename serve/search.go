package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// defaultK is the default number of neighbours.
const defaultK = 10

// searchRequest is a search, read and checked.
type searchRequest struct {
	api.Search
	collection *servedCollection
	pictures   [][]byte
	store      store.Info
	info       lookup.Info // the same, as a gallery's
	query      lookup.Query
	opt        lookup.Options
	closed     bool // the calibration is closed
}

// galleryOf returns a collection as a gallery of lookups. A request asks a database for its description once.
func (s *Server) galleryOf(c *servedCollection, info *store.Info) *lookup.Items {
	return &lookup.Items{Store: c.Store, Known: info, Name: c.Name, Label: c.Label, Files: c.openFile, Most: s.limits.K,
		Timed: s.metrics.timeSearch}
}

// readSearch reads a search: JSON, or a form with pictures.
func (s *Server) readSearch(r *http.Request) (*searchRequest, error) {
	c, err := s.collectionOf(r)
	if err != nil {
		return nil, err
	}
	a := &searchRequest{collection: c}
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
			if p, err = s.findKeptPicture(a.Picture); err == nil {
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
	if a.info, err = s.galleryOf(c, &a.store).Info(ctx); err != nil {
		return nil, err
	}
	if err := s.makeQuery(r, a); err != nil {
		return nil, err
	}
	if len(a.query.Vector) != a.info.Dim {
		return nil, &store.DimensionError{Have: len(a.query.Vector), Want: a.info.Dim}
	}
	says := c.calibration()
	if says == nil || a.query.Summed { // the distances of words have no calibration
		return a, nil
	}
	a.closed = says.IsClosed()
	g, err := s.countLabels(ctx, c, &a.store)
	if err == nil {
		a.opt.Same, err = says.GalleryRates(g.Gallery, 0)
	}
	return a, err
}

// readForm reads a search with pictures.
func (a *searchRequest) readForm(r *http.Request, boundary string) error {
	k := 0
	f, err := readForm(r, boundary, maxPhotosTogether, map[string]any{"k": &k, "filter": &a.Filter,
		"columns": &a.Columns,
		"vectors": &a.Vectors, "least": &a.MinProbability, "except_itself": &a.ExcludeQuery, "terms": &a.Terms,
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
		return badRequest.newProblem("Give terms, or send one picture.",
			"the form has more than 1 picture, but no terms")
	}
	return nil
}

// searchAdvice is the way out of a wrong search.
const searchAdvice = "GET /openapi.json describes a search."

func (s *Server) checkSearch(a *searchRequest) error {
	const way = searchAdvice
	switch given := boolToInt(a.Vector != nil) + boolToInt(a.ID != "") + boolToInt(a.Text != "") +
		boolToInt(a.Terms != nil) +
		boolToInt(a.Picture != ""); {
	case given > 1:
		return invalid.newProblem(way, "the search has more than one of a vector, an id, a text, a picture and terms")
	case given == 0 && a.pictures == nil:
		return invalid.newProblem(way,
			"the search has neither a picture, nor a vector, nor an id, nor a text, nor terms")
	case a.Text != "" && strings.TrimSpace(a.Text) == "", len(a.Text) > maxTextBytes:
		return invalid.newProblem(way, "text must have words, and at most %d bytes", maxTextBytes)
	case (a.Text != "" || a.Terms != nil) && a.MinProbability > 0:
		return invalid.newProblem(way, "least applies to pictures: the distances of words and sums have no calibration")
	}
	if a.K == 0 {
		a.K = min(defaultK, s.limits.K)
	}
	if a.K < 1 || a.K > s.limits.K {
		return invalid.newProblem(way, "k must be from 1 to %d", s.limits.K)
	}
	filter, err := store.ParseFilter(a.Filter)
	if err != nil {
		return err
	}
	a.opt = lookup.Options{K: a.K, Filter: filter, WithItself: !a.ExcludeQuery, Vectors: a.Vectors,
		Least:   a.MinProbability,
		Arrange: a.Arrange}
	if err := a.opt.Validate(); err != nil {
		return err
	}
	if a.MinProbability > 0 && a.collection.calibration() == nil {
		return noCalibrationError(a.collection)
	}
	return nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// makeQuery makes the query of a search.
func (s *Server) makeQuery(r *http.Request, a *searchRequest) error {
	if a.Terms == nil {
		one := api.Term{ID: a.ID, Text: a.Text, Vector: a.Vector}
		if a.pictures != nil {
			one.Picture = new(int)
		}
		q, err := s.termQuery(r, a, &one)
		if err == nil {
			a.query = *q
		}
		return err
	}
	if len(a.Terms) == 0 || len(a.Terms) > maxPhotosTogether {
		return invalid.newProblem(searchAdvice, "%d terms: must be 1 to %d", len(a.Terms), maxPhotosTogether)
	}
	if by := a.info.Distance; by != eval.Cosine && !a.collection.HasUnitLength {
		return invalid.newProblem("Search by a picture, an id or a vector.",
			"sums need cosine distance or vectors of unit "+
				"length, and the distance of the collection %s is %s", a.collection.Name, by)
	}
	used := make([]bool, len(a.pictures))
	terms := make([]lookup.Summand, len(a.Terms))
	for i := range a.Terms {
		t := &a.Terms[i]
		if n := boolToInt(t.Vector != nil) + boolToInt(t.ID != "") + boolToInt(t.Text != "") +
			boolToInt(t.Picture != nil); n != 1 {
			return invalid.newProblem(searchAdvice,
				"terms[%d] has %d of a vector, an id, a text and a picture: must be one",
				i,
				n)
		}
		if p := t.Picture; p != nil {
			if *p < 0 || *p >= len(a.pictures) {
				return invalid.newProblem(searchAdvice, "terms[%d] has the picture %d, but the form has %d pictures, "+
					"counted from 0", i, *p, len(a.pictures))
			}
			used[*p] = true
		}
		q, err := s.termQuery(r, a, t)
		if err != nil {
			return err
		}
		q.Name = cmp.Or(q.Name, fmt.Sprintf("terms[%d]", i))
		terms[i] = lookup.Summand{Query: *q, Minus: t.Minus}
	}
	for p, is := range used {
		if !is {
			return invalid.newProblem(searchAdvice, "no term has the picture %d of the form", p)
		}
	}
	q, err := lookup.SumQueries("terms", terms)
	if err != nil {
		return invalid.newProblem(searchAdvice, "%v", err)
	}
	a.query = *q
	a.query.Name = ""
	return nil
}

// termQuery makes the query of one term.
func (s *Server) termQuery(r *http.Request, a *searchRequest, t *api.Term) (*lookup.Query, error) {
	ctx, c := r.Context(), a.collection
	switch {
	case t.Picture != nil:
		v, err := s.embed(ctx, c, a.pictures[*t.Picture], bodyOf(r).loan)
		return &lookup.Query{Content: a.pictures[*t.Picture], Vector: v, From: "the picture, embedded by the network"},
			err
	case t.Text != "":
		v, err := s.embedText(ctx, c, t.Text)
		return &lookup.Query{Name: t.Text, Vector: v, Summed: true, From: "words, embedded by the text tower"}, err
	case t.ID != "":
		return s.itemQuery(ctx, c, t.ID)
	}
	return &lookup.Query{Vector: t.Vector, From: "the vector of the request"}, nil
}

// itemQuery returns the query for an item.
func (s *Server) itemQuery(ctx context.Context, c *servedCollection, id string) (*lookup.Query, error) {
	it, err := c.Store.Get(ctx, id)
	return &lookup.Query{Name: id, Item: &it, Vector: it.Vector, From: "the item's vector"}, err
}

// answerSearch searches.
func (s *Server) answerSearch(ctx context.Context, a *searchRequest) (api.Found, error) {
	if a.Explain {
		gallery := fmt.Sprintf("%s: %d items, of %s", a.info.Name, a.info.Items,
			cmp.Or(a.store.Network, "an unknown network"))
		a.opt.Explain = lookup.Explain(&a.info, gallery, &a.opt, "")
	}
	answers, err := lookup.Nearest(ctx, s.galleryOf(a.collection, &a.store), []lookup.Query{a.query}, a.opt)
	if err != nil {
		return api.Found{}, err
	}
	out := api.Found{Head: a.info.AnswerHead(), Answer: answers[0]}
	out.MinProbability = a.MinProbability
	return out, nil
}

// search answers POST /v1/search.
func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	a, err := s.readSearch(r)
	if err != nil {
		return err
	}
	found, err := s.answerSearch(r.Context(), a)
	if err != nil {
		return err
	}
	if a.Vectors {
		found.Vector = a.query.Vector
	}
	a.trimNeighbours(found.Neighbours)
	return writeJSON(w, http.StatusOK, found)
}

// trimNeighbours leaves only what was requested of neighbours.
func (a *searchRequest) trimNeighbours(near []api.Neighbour) {
	for i := range near {
		near[i].Item.Columns = selectColumns(near[i].Item.Columns, a.Search.Columns)
		if !a.Vectors {
			near[i].Vector = nil
		}
		a.trimNeighbours(near[i].Others)
	}
}

// selectColumns returns the columns with the given names; nil names mean all columns.
func selectColumns(columns map[string]any, names []string) map[string]any {
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
