package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"

	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// getItem answers GET /v1/items/{id}.
func (s *Server) getItem(w http.ResponseWriter, r *http.Request) error {
	c, err := s.collectionOf(r)
	if err != nil {
		return err
	}
	it, err := c.Store.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, it)
}

// addItems answers POST /v1/items, and put PUT /v1/items. They differ for items that exist
// already.
func (s *Server) addItems(w http.ResponseWriter, r *http.Request) error {
	return s.writeItems(w, r, store.Insert, http.StatusCreated)
}

func (s *Server) putItems(w http.ResponseWriter, r *http.Request) error {
	return s.writeItems(w, r, store.Replace, http.StatusOK)
}

// writeItems writes the items of a request: several with vectors in JSON, or one with a
// picture in a form.
func (s *Server) writeItems(w http.ResponseWriter, r *http.Request, mode store.Mode, status int) error {
	c, info, err := s.writableCollection(r)
	if err != nil {
		return err
	}
	t, params, err := mediaType(r)
	if err != nil {
		return err
	}
	var items []store.Item
	var kept *uploadedFile
	if t == "multipart/form-data" {
		it, u, err := s.readPictureItem(r, c, params["boundary"], "")
		if err != nil {
			return err
		}
		items, kept = []store.Item{it}, u
	} else {
		var body struct { // api.Items
			Items itemList `json:"items"`
		}
		body.Items.limit = s.limits.Items
		if err := readJSON(r, &body); err != nil {
			return err
		}
		items = body.Items.items
	}
	if err := cmp.Or(convertClasses(items, &info), s.checkItems(items, info.Dim)); err != nil {
		if kept != nil {
			err = errors.Join(err, c.discardUpload(r.Context(), items[0].ID, kept))
		}
		return err
	}
	defer c.holdUploads()()
	for i := range items {
		if err := c.checkPath(r.Context(), &items[i]); kept == nil && err != nil {
			return err
		}
	}
	if err := s.storeItems(r.Context(), c, items, info.Dim, mode, kept); err != nil {
		return err
	}
	out := api.Written{IDs: make([]string, len(items))}
	for i, it := range items {
		out.IDs[i] = it.ID
	}
	return writeJSON(w, status, out)
}

// storeItems writes items. An item without a vector keeps that of the item it replaces, and its path. If an
// item came with a picture, store removes the file of the replaced picture.
func (s *Server) storeItems(ctx context.Context, c *servedCollection, items []store.Item, dim int, mode store.Mode,
	kept *uploadedFile) (err error) {
	before := ""
	if mode == store.Insert {
		err = c.Store.Put(ctx, items, mode)
	} else {
		_, err = c.update(ctx, func(get itemGetter) (store.Change, error) {
			put := slices.Clone(items)
			for i := range put {
				it := &put[i]
				old, ok, err := getIfExists(get, it.ID)
				if err == nil && !ok && it.Vector == nil {
					err = &store.NotFoundError{ID: it.ID}
				}
				if err != nil {
					return store.Change{}, err
				}
				if it.Vector == nil {
					it.Vector, it.Path = old.Vector, cmp.Or(it.Path, old.Path) // the vector is that of this picture
				}
				if ok {
					if err := c.prepareReplacement(&old, it); err != nil {
						return store.Change{}, err
					}
					before = old.Path
				}
				if err := it.Check(dim); err != nil {
					return store.Change{}, err
				}
			}
			return store.Change{Put: put}, nil
		})
	}
	if err != nil {
		if kept != nil {
			err = errors.Join(err, c.discardUpload(ctx, items[0].ID, kept))
		}
		return err
	}
	if kept != nil && before != kept.path {
		s.removeUploads(c, before)
	}
	s.metrics.written.WithLabelValues(c.Name).Add(float64(len(items)))
	return nil
}

func (s *Server) checkItems(items []store.Item, dim int) error {
	const way = `Send {"items": [{"id": "...", "vector": [...]}]}; GET /openapi.json describes it.`
	if len(items) == 0 {
		return invalid.newProblem(way, "the request has no items")
	}
	seen := map[string]bool{}
	for i := range items {
		it := &items[i]
		if err := it.Check(dim); err != nil {
			return err
		}
		if seen[it.ID] {
			return invalid.newProblem(way, "the request has the item %q twice", it.ID)
		}
		seen[it.ID] = true
	}
	return nil
}

// readPictureItem makes an item of a form with a picture. Its id is the given one, else the
// form's, else a digest of the file, so that sending it again changes
// nothing.
func (s *Server) readPictureItem(r *http.Request, c *servedCollection, boundary, id string) (store.Item,
	*uploadedFile, error) {
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
		if err := keepClassTexts(it.Columns, []byte(text)); err != nil {
			return it, nil, err
		}
	}
	if it.ID == "" {
		sum := sha256.Sum256(f.pictures[0])
		it.ID = hex.EncodeToString(sum[:16])
	}
	if it.Vector, err = s.embed(r.Context(), c, f.pictures[0], bodyOf(r).loan); err != nil {
		return it, nil, err
	}
	if err := it.Check(len(it.Vector)); err != nil { // check before writing the file
		return it, nil, err
	}
	u, err := c.saveUpload(it.ID, f.pictures[0])
	if err != nil {
		return it, nil, err
	}
	if u != nil {
		it.Path = u.path
	}
	return it, u, nil
}

// changeItem answers PUT /v1/items/{id}.
func (s *Server) changeItem(w http.ResponseWriter, r *http.Request) error {
	c, info, err := s.writableCollection(r)
	if err != nil {
		return err
	}
	t, params, err := mediaType(r)
	if err != nil {
		return err
	}
	it := store.Item{ID: r.PathValue("id")}
	var kept *uploadedFile
	if t == "multipart/form-data" {
		if it, kept, err = s.readPictureItem(r, c, params["boundary"], it.ID); err != nil {
			return err
		}
	} else {
		var body api.Change
		if err := readJSON(r, &body); err != nil {
			return err
		}
		it.Path, it.Columns, it.Vector = body.Path, body.Columns, body.Vector
		if err := keepItemTexts(it.Columns, bodyOf(r).body); err != nil {
			return err
		}
	}
	one := []store.Item{it}
	err = convertClasses(one, &info)
	if err == nil && it.Vector != nil {
		err = one[0].Check(info.Dim)
	}
	if err != nil {
		if kept != nil {
			err = errors.Join(err, c.discardUpload(r.Context(), it.ID, kept))
		}
		return err
	}
	defer c.holdUploads()()
	if err := c.checkPath(r.Context(), &one[0]); kept == nil && err != nil {
		return err
	}
	if err := s.storeItems(r.Context(), c, one, info.Dim, store.Replace, kept); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.Written{IDs: []string{it.ID}})
}

// removeItems answers DELETE /v1/items: ids as parameters or in the body.
func (s *Server) removeItems(w http.ResponseWriter, r *http.Request) error {
	c, _, err := s.writableCollection(r)
	if err != nil {
		return err
	}
	ids := r.URL.Query()["id"]
	var body api.IDs
	if len(bodyOf(r).body) > 0 {
		if err := readJSON(r, &body); err != nil {
			return err
		}
		ids = append(ids, body.IDs...)
	}
	switch n := len(ids); {
	case n == 0:
		return invalid.newProblem(`Send {"ids": ["..."]}, or ?id=... in the address.`, "the request names no items")
	case n > s.limits.Items:
		return tooLarge.newProblem("Remove them in several requests.", "%d ids: at most %d are allowed at once", n,
			s.limits.Items)
	}
	out, err := s.deleteItems(r.Context(), c, ids, body.Keep)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, out)
}

// removeItem answers DELETE /v1/items/{id}.
func (s *Server) removeItem(w http.ResponseWriter, r *http.Request) error {
	c, _, err := s.writableCollection(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	out, err := s.deleteItems(r.Context(), c, []string{id}, false)
	if err == nil && out.Deleted == 0 {
		err = &store.NotFoundError{ID: id}
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, out)
}

// deleteItems removes items, and the pictures of those that were uploaded; with keep, the pictures are removed later.
func (s *Server) deleteItems(ctx context.Context, c *servedCollection, ids []string, keep bool) (out api.Deleted,
	err error) {
	var gone []store.Item
	out.Deleted, err = c.update(ctx, func(get itemGetter) (store.Change, error) {
		change := store.Change{Remove: ids}
		if c.Uploads == "" && c.FolderSync == nil && !keep {
			return change, nil
		}
		gone = nil
		seen := map[string]bool{}
		for _, id := range ids {
			it, ok, err := getIfExists(get, id)
			if err == nil && ok {
				err = c.checkOwned(&it, "Move or delete the file in the folder.", "removed")
			}
			if err != nil {
				return change, err
			}
			if ok && !seen[id] {
				gone = append(gone, it)
			}
			seen[id] = true
		}
		return change, nil
	})
	if err != nil {
		return out, err
	}
	if keep {
		out.Items = gone
		s.removeUploadsLater(c, gone)
	} else {
		for _, it := range gone {
			s.removeUploads(c, it.Path)
		}
	}
	s.metrics.removed.WithLabelValues(c.Name).Add(float64(out.Deleted))
	return out, nil
}
