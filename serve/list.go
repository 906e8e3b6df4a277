package serve

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// listItems answers GET /v1/items: items in the order of their ids, in a random order by a seed, or
// items whose ids are like a text.
func (s *Server) listItems(w http.ResponseWriter, r *http.Request) error {
	c, err := s.collectionOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	p, err := s.parsePage(q)
	if err != nil {
		return err
	}
	if !q.Has("seed") && !q.Has("like") {
		items, err := c.Store.List(r.Context(), p)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, newListed(items, p.Limit))
	}
	b, ok := c.Store.(store.Browser)
	if !ok {
		return invalid.newProblem("Leave out seed and like; collections with browse in GET /v1/info support them.",
			"the collection %s is in a database, which cannot draw items or compare ids", c.Name)
	}
	if q.Has("like") {
		out, err := listSimilar(r.Context(), b, q, p)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, out)
	}
	seed, err := strconv.ParseUint(q.Get("seed"), 10, 64)
	if err != nil {
		return badRequest.newProblem(parameterAdvice, "seed must be a whole number from 0 to 2^64 - 1")
	}
	items, passed, err := b.Sample(r.Context(), p, seed)
	if err != nil {
		return err
	}
	out := newListed(items, p.Limit)
	out.Passed = &passed
	return writeJSON(w, http.StatusOK, out)
}

// parsePage reads the parameters of all lists.
func (s *Server) parsePage(q url.Values) (p store.Page, err error) {
	p = store.Page{After: q.Get("after"), Filter: q.Get("filter"), Limit: min(100, s.limits.Items)}
	if text := q.Get("limit"); text != "" {
		if p.Limit, err = strconv.Atoi(text); err != nil || p.Limit < 1 || p.Limit > s.limits.Items {
			return p, badRequest.newProblem(parameterAdvice, "limit must be a whole number from 1 to %d",
				s.limits.Items)
		}
	}
	if text := q.Get("vectors"); text != "" {
		if p.Vectors, err = strconv.ParseBool(text); err != nil {
			return p, badRequest.newProblem(parameterAdvice, "vectors must be true or false")
		}
	}
	return p, nil
}

func newListed(items []store.Item, limit int) api.Listed {
	out := api.Listed{Items: items}
	if items == nil {
		out.Items = []store.Item{}
	}
	if len(items) == limit {
		out.Next = items[len(items)-1].ID
	}
	return out
}

// listSimilar lists the items whose ids are like a text, on one page.
func listSimilar(ctx context.Context, b store.Browser, q url.Values, p store.Page) (out api.Listed, err error) {
	for _, name := range []string{"after", "filter", "seed"} {
		if q.Has(name) {
			return out, badRequest.newProblem(parameterAdvice, "like cannot be combined with %s", name)
		}
	}
	ids, err := b.SimilarIDs(ctx, q.Get("like"), p.Limit)
	if err != nil {
		return out, err
	}
	out.Items = []store.Item{}
	for _, id := range ids {
		it, err := b.Get(ctx, id)
		var gone *store.NotFoundError
		if errors.As(err, &gone) {
			continue // removed since then
		}
		if err != nil {
			return out, err
		}
		if !p.Vectors {
			it.Vector = nil
		}
		out.Items = append(out.Items, it)
	}
	return out, nil
}
