package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// get answers GET /v1/items/{id}.
func (s *Server) get(w http.ResponseWriter, r *http.Request) error {
	c, err := s.named(r)
	if err != nil {
		return err
	}
	it, err := c.Store.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, it)
}

// add answers POST /v1/items, and put PUT /v1/items. They differ for items that exist
// already.
func (s *Server) add(w http.ResponseWriter, r *http.Request) error {
	return s.write(w, r, store.Insert, http.StatusCreated)
}

func (s *Server) put(w http.ResponseWriter, r *http.Request) error {
	return s.write(w, r, store.Replace, http.StatusOK)
}

// write writes the items of a request: several with vectors in JSON, or one with a
// picture in a form.
func (s *Server) write(w http.ResponseWriter, r *http.Request, mode store.Mode, status int) error {
	c, info, err := s.writable(r)
	if err != nil {
		return err
	}
	t, params, err := mediaType(r)
	if err != nil {
		return err
	}
	var items []store.Item
	var kept *upload
	if t == "multipart/form-data" {
		it, u, err := s.pictured(r, c, params["boundary"], "")
		if err != nil {
			return err
		}
		items, kept = []store.Item{it}, u
	} else {
		var body struct { // api.Items
			Items someItems `json:"items"`
		}
		body.Items.limit = s.limits.Items
		if err := readJSON(r, &body); err != nil {
			return err
		}
		items = body.Items.items
	}
	if err := cmp.Or(fitClasses(items, &info), s.checkItems(items, info.Dim)); err != nil {
		if kept != nil {
			err = errors.Join(err, c.unkeep(r.Context(), items[0].ID, kept))
		}
		return err
	}
	for i := range items {
		if err := c.mayHave(r.Context(), &items[i]); kept == nil && err != nil {
			return err
		}
	}
	if err := s.store(r.Context(), c, items, mode, kept); err != nil {
		return err
	}
	out := api.Written{IDs: make([]string, len(items))}
	for i, it := range items {
		out.IDs[i] = it.ID
	}
	return reply(w, status, out)
}

// store writes items. If an item came with a picture, it removes the file of the replaced picture.
func (s *Server) store(ctx context.Context, c *collection, items []store.Item, mode store.Mode, kept *upload) error {
	old := ""
	if kept != nil && mode == store.Replace {
		if it, err := c.Store.Get(ctx, items[0].ID); err == nil {
			old = it.Path
		}
	}
	if err := c.Store.Put(ctx, items, mode); err != nil {
		if kept != nil {
			err = errors.Join(err, c.unkeep(ctx, items[0].ID, kept))
		}
		return err
	}
	if old != items[0].Path {
		s.forget(c, old)
	}
	s.metrics.written.WithLabelValues(c.Name).Add(float64(len(items)))
	return nil
}

func (s *Server) checkItems(items []store.Item, dim int) error {
	const way = `Send {"items": [{"id": "...", "vector": [...]}]}; GET /openapi.json describes it.`
	if len(items) == 0 {
		return invalid.is(way, "the request has no items")
	}
	seen := map[string]bool{}
	for i := range items {
		it := &items[i]
		if err := it.Check(dim); err != nil {
			return err
		}
		if seen[it.ID] {
			return invalid.is(way, "the request has the item %q twice", it.ID)
		}
		seen[it.ID] = true
	}
	return nil
}

// pictured makes an item of a form with a picture. Its id is the given one, else the
// form's, else a digest of the file, so that sending it again changes
// nothing.
func (s *Server) pictured(r *http.Request, c *collection, boundary, id string) (store.Item, *upload, error) {
	it := store.Item{ID: id}
	fields := map[string]any{"columns": &it.Columns}
	if id == "" {
		fields["id"] = &it.ID
	}
	f, err := readForm(r, boundary, 1, fields)
	if err != nil {
		return store.Item{}, nil, err
	}
	if text, ok := f.values["columns"]; ok {
		if err := exactClasses(it.Columns, []byte(text)); err != nil {
			return it, nil, err
		}
	}
	if it.ID == "" {
		sum := sha256.Sum256(f.pictures[0])
		it.ID = hex.EncodeToString(sum[:16])
	}
	if it.Vector, err = s.embed(r.Context(), c, f.pictures[0], receivedOf(r).loan); err != nil {
		return it, nil, err
	}
	if err := it.Check(len(it.Vector)); err != nil { // check before writing the file
		return it, nil, err
	}
	u, err := c.keep(it.ID, f.pictures[0])
	if err != nil {
		return it, nil, err
	}
	if u != nil {
		it.Path = u.path
	}
	return it, u, nil
}

// change answers PUT /v1/items/{id}.
func (s *Server) change(w http.ResponseWriter, r *http.Request) error {
	c, info, err := s.writable(r)
	if err != nil {
		return err
	}
	t, params, err := mediaType(r)
	if err != nil {
		return err
	}
	it := store.Item{ID: r.PathValue("id")}
	var kept *upload
	if t == "multipart/form-data" {
		if it, kept, err = s.pictured(r, c, params["boundary"], it.ID); err != nil {
			return err
		}
	} else {
		var body api.Change
		if err := readJSON(r, &body); err != nil {
			return err
		}
		it.Path, it.Columns, it.Vector = body.Path, body.Columns, body.Vector
		if err := exactItem(it.Columns, receivedOf(r).body); err != nil {
			return err
		}
		if it.Vector == nil {
			old, err := c.Store.Get(r.Context(), it.ID)
			if err != nil {
				return err
			}
			it.Vector = old.Vector
			if it.Path == "" {
				it.Path = old.Path // the vector is that of this picture
			}
		}
	}
	one := []store.Item{it}
	if err := cmp.Or(fitClasses(one, &info), one[0].Check(info.Dim)); err != nil {
		if kept != nil {
			err = errors.Join(err, c.unkeep(r.Context(), it.ID, kept))
		}
		return err
	}
	if err := c.mayHave(r.Context(), &one[0]); kept == nil && err != nil {
		return err
	}
	if err := s.store(r.Context(), c, one, store.Replace, kept); err != nil {
		return err
	}
	return reply(w, http.StatusOK, api.Written{IDs: []string{it.ID}})
}

// remove answers DELETE /v1/items: ids as parameters or in the body.
func (s *Server) remove(w http.ResponseWriter, r *http.Request) error {
	c, _, err := s.writable(r)
	if err != nil {
		return err
	}
	ids := r.URL.Query()["id"]
	if len(receivedOf(r).body) > 0 {
		var body api.IDs
		if err := readJSON(r, &body); err != nil {
			return err
		}
		ids = append(ids, body.IDs...)
	}
	switch n := len(ids); {
	case n == 0:
		return invalid.is(`Send {"ids": ["..."]}, or ?id=... in the address.`, "the request names no items")
	case n > s.limits.Items:
		return tooLarge.is("Remove them in several requests.", "%d ids, and %d are allowed at once", n, s.limits.Items)
	}
	n, err := s.delete(r.Context(), c, ids)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, api.Deleted{Deleted: n})
}

// removeOne answers DELETE /v1/items/{id}.
func (s *Server) removeOne(w http.ResponseWriter, r *http.Request) error {
	c, _, err := s.writable(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	n, err := s.delete(r.Context(), c, []string{id})
	if err == nil && n == 0 {
		err = &store.NotFoundError{ID: id}
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, api.Deleted{Deleted: n})
}

// delete removes items, and the pictures of those that were uploaded.
func (s *Server) delete(ctx context.Context, c *collection, ids []string) (int, error) {
	var paths []string
	if c.Uploads != "" {
		for _, id := range ids {
			if it, err := c.Store.Get(ctx, id); err == nil && it.Path != "" {
				paths = append(paths, it.Path)
			}
		}
	}
	n, err := c.Store.Delete(ctx, ids)
	if err != nil {
		return 0, err
	}
	s.forget(c, paths...)
	s.metrics.removed.WithLabelValues(c.Name).Add(float64(n))
	return n, nil
}
