package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/app/mirror"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// defaultK is the default number of neighbours.
const defaultK = 10

// asked is a search, read and checked.
type asked struct {
	api.Search
	collection *collection
	info       store.Info
	item       *store.Item        // the query, if it is an item
	picture    []byte             // the query, if it is a picture
	sum        *[sha256.Size]byte // of the picture, once it is needed
	among      *decide.Among      // nil without a calibration
	closed     bool               // the calibration is closed
}

// query returns the search for k items.
func (a *asked) query(k int) store.Query {
	q := store.Query{Vector: a.Vector, K: k, Filter: a.Filter, Vectors: a.Vectors}
	if a.item != nil {
		q.Except = []string{a.item.ID}
	}
	return q
}

// ask reads a search: JSON, or a form with a picture.
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
		if a.picture, err = a.readForm(r, params["boundary"]); err != nil {
			return nil, err
		}
	} else if err := readJSON(r, &a.Search); err != nil {
		return nil, err
	}
	if err := s.checkSearch(a); err != nil {
		return nil, err
	}
	if a.info, err = c.Store.Info(r.Context()); err != nil {
		return nil, err
	}
	switch {
	case a.picture != nil:
		a.Vector, err = s.embed(r.Context(), c, a.picture, receivedOf(r).loan)
	case a.Text != "":
		a.Vector, err = s.embedText(r.Context(), c, a.Text)
	case a.ID != "":
		var it store.Item
		if it, err = c.Store.Get(r.Context(), a.ID); err == nil {
			a.item, a.Vector = &it, it.Vector
		}
	}
	if err != nil {
		return nil, err
	}
	if len(a.Vector) != a.info.Dim {
		return nil, &store.DimensionError{Have: len(a.Vector), Want: a.info.Dim}
	}
	says := c.says()
	if says == nil || a.Text != "" { // the distances of words have no calibration
		return a, nil
	}
	a.closed = says.IsClosed()
	a.among, err = s.among(r.Context(), c, says, &a.info)
	return a, err
}

// readForm reads a search with a picture.
func (a *asked) readForm(r *http.Request, boundary string) (picture []byte, err error) {
	f, err := readForm(r, boundary, 1, "k", "filter", "columns", "vectors", "least", "except_itself")
	if err != nil {
		return nil, err
	}
	a.Filter = f.values["filter"]
	if text, ok := f.values["columns"]; ok {
		a.Columns = []string{}
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name != "" {
				a.Columns = append(a.Columns, name)
			}
		}
	}
	if text, ok := f.values["k"]; ok {
		if a.K, err = strconv.Atoi(text); err != nil {
			return nil, badRequest.is("Send a whole number.", "k is %q", escape.Within(text, 32))
		}
		if a.K == 0 {
			a.K = -1 // an explicit 0 is an error; left out, it means the default
		}
	}
	for name, to := range map[string]*bool{"vectors": &a.Vectors, "except_itself": &a.ExceptItself} {
		if text, ok := f.values[name]; ok {
			if *to, err = strconv.ParseBool(text); err != nil {
				return nil, badRequest.is("Send true or false.", "%s is %q", name, escape.Within(text, 32))
			}
		}
	}
	a.Least, err = f.number("least")
	return f.pictures[0], err
}

func (s *Server) checkSearch(a *asked) error {
	const way = "GET /openapi.json describes a search."
	switch given := b2i(a.Vector != nil) + b2i(a.ID != "") + b2i(a.Text != ""); {
	case a.picture != nil:
	case given > 1:
		return invalid.is(way, "the search has more than one of a vector, an id and a text")
	case given == 0:
		return invalid.is(way, "the search has neither a picture, nor a vector, nor an id, nor a text")
	case a.Text != "" && strings.TrimSpace(a.Text) == "", len(a.Text) > maxWords:
		return invalid.is(way, "text must have words, and at most %d bytes", maxWords)
	case a.Text != "" && a.Least > 0:
		return invalid.is(way, "least applies to pictures: the distances of words have no calibration")
	}
	if !(a.Least >= 0 && a.Least <= 1) {
		return invalid.is(way, "least must be a probability, from 0 to 1")
	}
	if a.Least > 0 && a.collection.says() == nil {
		return uncalibrated(a.collection)
	}
	if a.K == 0 {
		a.K = min(defaultK, s.limits.K)
	}
	if a.K < 1 || a.K > s.limits.K {
		return invalid.is(way, "k must be from 1 to %d", s.limits.K)
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// search answers POST /v1/search.
func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	a, err := s.ask(r)
	if err != nil {
		return err
	}
	hits, itself, err := s.found(r.Context(), a, a.query(a.K))
	if err != nil {
		return err
	}
	found := api.Found{Head: a.head(), Answer: api.Answer{Query: cmp.Or(a.ID, a.Text), Neighbours: a.shown(hits),
		Itself: itself}}
	if a.Vectors {
		found.Vector = a.Vector
	}
	return reply(w, http.StatusOK, found)
}

// head returns the beginning of an answer.
func (a *asked) head() api.Head {
	return api.Head{Schema: api.Schema, Gallery: a.collection.Name, Items: a.info.Items, Distance: a.info.Distance,
		Least: a.Least}
}

// nearest searches and records the time of the search.
func (s *Server) nearest(ctx context.Context, a *asked, q store.Query) ([]store.Hit, error) {
	timer := s.metrics.searching()
	defer timer()
	hits, err := a.collection.Store.Search(ctx, q)
	if hits == nil {
		hits = []store.Hit{}
	}
	return hits, err
}

// shown returns the neighbours with the requested columns and their probabilities of being the same thing.
// It leaves out neighbours below the requested probability.
func (a *asked) shown(hits []store.Hit) []api.Neighbour {
	out := []api.Neighbour{}
	label := a.collection.label(&a.info)
	for _, h := range hits {
		n := api.Neighbour{Hit: h, Region: mirror.Region(h.Columns), Label: store.FormatValue(h.Columns[label])}
		if a.among != nil {
			p := a.among.Same(h.Distance)
			if p < a.Least { // farther neighbours are below it too
				break
			}
			n.Same = new(p)
		}
		n.Columns = chosen(h.Columns, a.Columns)
		if !a.Vectors {
			n.Vector = nil
		}
		out = append(out, n)
	}
	return out
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
