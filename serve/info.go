package serve

import (
	_ "embed"
	"errors"
	"net/http"

	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// openAPI describes all requests. It is served unchanged.
//
//go:embed openapi.json
var openAPI []byte

func (s *Server) serveOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(openAPI)
	return ignoreDisconnect(err)
}

// health answers GET /healthz: the process runs.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, api.State{Status: "ok"})
}

// readiness answers GET /readyz: the server accepts requests.
func (s *Server) readiness(w http.ResponseWriter, r *http.Request) error {
	if err := s.checkReady(r.Context()); err != nil {
		return notReady.newProblem("Send requests to another server, or try again.", "%v", err).withRetry(readyTimeout)
	}
	return writeJSON(w, http.StatusOK, api.State{Status: "ready"})
}

// serveMetrics answers GET /metrics.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	s.metrics.handler.ServeHTTP(w, r)
	return nil
}

// info answers GET /v1/info.
func (s *Server) info(w http.ResponseWriter, r *http.Request) error {
	may := requestInfoOf(r).permission
	out := api.Info{Version: s.opt.Version, Collections: []api.Collection{}, Permission: may.String(),
		Limits: api.Limits{Body: s.limits.Body, Pixels: s.limits.Pixels,
			Items: s.limits.Items, K: s.limits.K}}
	if s.review != nil {
		out.Review = s.review.page.Title
	}
	var errs []error
	all, release := s.holdCollections()
	defer release()
	for i, c := range all {
		info, err := c.Store.Info(r.Context())
		errs = append(errs, err)
		columns := info.Columns
		if columns == nil {
			columns = []store.Column{}
		}
		_, browse := c.Store.(store.Browser)
		out.Collections = append(out.Collections, api.Collection{Name: c.Name, Items: info.Items, Dim: info.Dim,
			Distance: info.Distance, Columns: columns, Label: c.classColumn(&info), Network: info.Network,
			Uploads: c.Embedder != nil, Words: c.TextEmbedder != nil,
			ReadOnly: info.ReadOnly || s.opt.ReadOnly, Version: info.Version,
			Side: pictureSide(c.Embedder), Browse: browse, Following: c.FolderSync.state(may)})
		if err == nil {
			out.Collections[i].Calibration, err = s.describeCalibration(r.Context(), c, &info)
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, out)
}

// classColumn returns the column of the items' classes; "" without such a column.
func (c *servedCollection) classColumn(info *store.Info) string {
	name := store.ClassColumn(info.Columns, c.Label)
	for _, have := range info.Columns {
		if have.Name == name {
			return name
		}
	}
	return ""
}
