package serve

import (
	"net/http"
	"strings"

	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// editAdvice is the way out of a wrong PATCH.
const editAdvice = `Send {"items": [{"id": "...", "columns": {...}}]}, or {"ids": [...], "columns": {...}}; ` +
	"GET /openapi.json describes both."

// patchItem answers PATCH /v1/items/{id}.
func (s *Server) patchItem(w http.ResponseWriter, r *http.Request) error {
	c, info, err := s.writableCollection(r)
	if err != nil {
		return err
	}
	var body columnsBody
	if err := readJSON(r, &body); err != nil {
		return err
	}
	if err := keepItemTexts(body.Columns, bodyOf(r).body); err != nil {
		return err
	}
	return s.applyEdits(w, r, c, &info, []store.Item{{ID: r.PathValue("id"), Columns: body.Columns}})
}

// columnsBody is the body of PATCH /v1/items/{id}.
type columnsBody struct {
	Columns map[string]any `json:"columns"`
}

// patchItems answers PATCH /v1/items.
func (s *Server) patchItems(w http.ResponseWriter, r *http.Request) error {
	c, info, err := s.writableCollection(r)
	if err != nil {
		return err
	}
	var body struct { // api.Edits
		Items   itemList       `json:"items"`
		IDs     []string       `json:"ids"`
		Columns map[string]any `json:"columns"`
	}
	body.Items.limit = s.limits.Items
	if err := readJSON(r, &body); err != nil {
		return err
	}
	items := body.Items.items
	switch n := len(body.IDs); {
	case (items == nil) == (body.IDs == nil), items != nil && body.Columns != nil:
		return invalid.newProblem(editAdvice, "the request needs either items, or ids with columns")
	case n > s.limits.Items:
		return tooLarge.newProblem("Change them in several requests.", "%d ids: at most %d are allowed at once", n,
			s.limits.Items)
	}
	if err := keepItemTexts(body.Columns, bodyOf(r).body); err != nil {
		return err
	}
	for _, id := range body.IDs {
		items = append(items, store.Item{ID: id, Columns: body.Columns})
	}
	return s.applyEdits(w, r, c, &info, items)
}

// applyEdits sets single columns of items, of all or none, and answers with the earlier values.
func (s *Server) applyEdits(w http.ResponseWriter, r *http.Request, c *servedCollection, info *store.Info,
	edits []store.Item) error {
	if err := checkEdits(edits); err != nil {
		return err
	}
	values := make([]store.Item, len(edits)) // without the columns to remove
	for i, e := range edits {
		values[i] = store.Item{ID: e.ID, Columns: map[string]any{}}
		for name, v := range e.Columns {
			if v != nil {
				values[i].Columns[name] = v
			}
		}
	}
	if err := convertClasses(values, info); err != nil {
		return err
	}
	out := api.Edited{IDs: make([]string, len(edits)), Before: []api.Edit{}}
	for i, e := range edits {
		out.IDs[i] = e.ID
	}
	written := 0
	_, err := c.update(r.Context(), func(get itemGetter) (change store.Change, err error) {
		out.Before = out.Before[:0]
		for i, e := range edits {
			it, err := get(e.ID)
			if err != nil {
				return change, err
			}
			before := setColumns(&it, e.Columns, values[i].Columns)
			if len(before) == 0 {
				continue
			}
			if err := it.Check(info.Dim); err != nil {
				return change, err
			}
			out.Before = append(out.Before, api.Edit{ID: e.ID, Columns: before})
			change.Put = append(change.Put, it)
		}
		written = len(change.Put)
		return change, nil
	})
	if err != nil {
		return err
	}
	s.metrics.written.WithLabelValues(c.Name).Add(float64(written))
	return writeJSON(w, http.StatusOK, out)
}

// checkEdits checks all that can be checked without the items.
func checkEdits(edits []store.Item) error {
	if len(edits) == 0 {
		return invalid.newProblem(editAdvice, "the request has no items")
	}
	seen := map[string]bool{}
	for _, e := range edits {
		switch {
		case e.Path != "" || e.Vector != nil:
			return invalid.newProblem("PUT changes the path and the vector of an item.",
				"the item %q has more than an id and "+
					"columns", e.ID)
		case seen[e.ID]:
			return invalid.newProblem(editAdvice, "the request has the item %q twice", e.ID)
		case e.Columns == nil:
			return invalid.newProblem(editAdvice, "the item %q has no columns", e.ID)
		}
		seen[e.ID] = true
		for name := range e.Columns {
			if strings.HasPrefix(name, mirror.Prefix) {
				return invalid.newProblem("Leave it out.",
					"the column %q of the item %q is the server's: it describes the "+
						"item's file", name, e.ID)
			}
		}
	}
	return nil
}

// setColumns sets columns of an item, and removes those that are not among the values. It returns the earlier values of
// the columns that changed, nil for a missing one.
func setColumns(it *store.Item, names, values map[string]any) (before map[string]any) {
	old := *it
	before = map[string]any{}
	it.Columns = map[string]any{}
	for name, v := range old.Columns {
		it.Columns[name] = v
	}
	for name := range names {
		if old.Columns[name] == values[name] {
			continue
		}
		before[name] = old.Columns[name]
		if it.Columns[name] = values[name]; values[name] == nil {
			delete(it.Columns, name)
		}
	}
	mirror.CopyFileRecord(&old, it)
	return before
}
