package serve

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// parseFromAndLimit reads the parameters of lists that are counted from 0.
func (s *Server) parseFromAndLimit(q url.Values) (from, limit int, err error) {
	limit = min(100, s.limits.Items)
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > s.limits.Items {
			return 0, 0, badRequest.newProblem(parameterAdvice, "limit must be a whole number from 1 to %d",
				s.limits.Items)
		}
	}
	if text := q.Get("from"); text != "" {
		if from, err = strconv.Atoi(text); err != nil || from < 0 {
			return 0, 0, badRequest.newProblem(parameterAdvice, "from must be a whole number from 0")
		}
	}
	return from, limit, nil
}

// listPending answers GET /v1/sync/pending.
func (s *Server) listPending(w http.ResponseWriter, r *http.Request) error {
	c, err := s.collectionOf(r)
	if err != nil {
		return err
	}
	from, limit, err := s.parseFromAndLimit(r.URL.Query())
	if err != nil {
		return err
	}
	p := c.FolderSync.pendingRemovals()
	if p == nil {
		return writeJSON(w, http.StatusOK, api.PendingAnswer{})
	}
	info, err := c.Store.Info(r.Context())
	if err != nil {
		return err
	}
	label := c.classColumn(&info)
	out := api.Pending{PendingCount: api.PendingCount{ID: p.ID, Removed: len(p.Removed), Items: p.Items},
		Since: p.Since.UTC().Format(time.RFC3339), List: []api.PendingItem{}}
	from = min(from, len(p.Removed))
	end := min(from+limit, len(p.Removed))
	if end < len(p.Removed) {
		out.Next = end
	}
	for _, id := range p.Removed[from:end] {
		it, ok, err := getIfExists(c.currentGetter(r.Context()), id)
		if err != nil {
			return err
		}
		if ok { // otherwise a user has removed it since
			out.List = append(out.List, api.PendingItem{ID: id, Label: store.FormatValue(it.Columns[label]),
				Path: it.Path})
		}
	}
	return writeJSON(w, http.StatusOK, api.PendingAnswer{Pending: &out})
}

// decidePending answers POST /v1/sync/pending.
func (s *Server) decidePending(w http.ResponseWriter, r *http.Request) error {
	c, _, err := s.writableCollection(r)
	if err != nil {
		return err
	}
	var body api.PendingDecision
	if err := readJSON(r, &body); err != nil {
		return err
	}
	if body.Decision != api.RemovePending && body.Decision != api.KeepPending {
		return invalid.newProblem(`Send {"id": "...", "decision": "remove"} or "keep".`, "the decision is %q", body.Decision)
	}
	if c.FolderSync == nil {
		return invalid.newProblem("Start the server so that the collection follows a folder.",
			"the collection %s follows no folder", c.Name)
	}
	err = c.FolderSync.decide(body.ID, body.Decision == api.RemovePending)
	if errors.Is(err, mirror.ErrOutdated) {
		return conflict.newProblem("GET /v1/sync/pending, look at its list, and decide about that.", "%v", err)
	}
	if err != nil {
		return err
	}
	s.log.Info("decided about missing photos", "collection", c.Name, "decision", body.Decision, "id", body.ID,
		"key", requestInfoOf(r).keyName)
	return writeJSON(w, http.StatusOK, api.State{Status: body.Decision})
}
