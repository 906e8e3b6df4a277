package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// mostTogether is how many photos of one thing a request may have.
const mostTogether = 16

// promised lists the false-match rates that GET /v1/info has thresholds for.
var promised = []float64{1e-2, 1e-3, 1e-4}

// uncalibrated returns the problem of a request that needs a calibration.
func uncalibrated(c *collection) error {
	return invalid.is("Run kindred calibrate on the index; kindred serve uses its calibration within a second.",
		"the collection %s has no calibration, which this request needs", c.Name)
}

// fitting checks that the calibrations fit the distances of their collections.
func fitting(collections []Collection) error {
	for _, c := range collections {
		says := c.says()
		if says == nil || c.Store == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
		info, err := c.Store.Info(ctx)
		cancel()
		if err == nil {
			err = says.Fits(embedding.Network{}, info.Distance, info.Dim)
		}
		if err != nil {
			return fmt.Errorf("collection %s: %w", c.Name, err)
		}
	}
	return nil
}

// together has one or several photos of one thing, with the options of the request.
type together struct {
	api.Identify
	queries []lookup.Query
}

// recognise answers POST /v1/identify.
func (s *Server) recognise(w http.ResponseWriter, r *http.Request) error {
	c, err := s.named(r)
	if err != nil {
		return err
	}
	a, err := s.askTogether(r, c)
	if err != nil {
		return err
	}
	ctx := r.Context()
	info, err := c.Store.Info(ctx)
	if err != nil {
		return err
	}
	g := s.gallery(c, &info)
	in, err := g.Info(ctx)
	if err != nil {
		return err
	}
	for i := range a.queries {
		if n := len(a.queries[i].Vector); n != in.Dim {
			return &store.DimensionError{Have: n, Want: in.Dim}
		}
	}
	says := c.says()
	if says == nil {
		return uncalibrated(c)
	}
	if c.label(&info) == "" {
		return invalid.is("Give the items a column of classes, or name their column when the server starts.",
			"the collection %s has no column of classes", c.Name)
	}
	known, err := s.labels(ctx, c, &info)
	if err != nil {
		return err
	}
	basis := lookup.Basis{Calibration: says, Known: &known.Gallery, ByClass: a.ByClass == nil || *a.ByClass,
		IdentifyOptions: decide.IdentifyOptions{FPIR: a.FPIR, Estimate: a.Estimate, Strangers: a.Strangers,
			Coverage: a.Coverage}}
	measured, err := basis.Check("the calibration of the collection "+c.Name, a.given)
	if err != nil {
		return err
	}
	if measured {
		if basis.Measures, err = s.measures(ctx, c, &info, says, known); err != nil {
			return err
		}
	}
	d, got, err := s.decide(ctx, c, g, basis, a)
	var far *lookup.TooManyNeighboursError
	if errors.As(err, &far) && basis.ByClass && a.ByClass == nil {
		basis.ByClass = false
		d, got, err = s.decide(ctx, c, g, basis, a)
	}
	if err != nil {
		return err
	}
	distances := s.metrics.nearest(c.Name, says)
	s.metrics.decided.WithLabelValues(c.Name, strconv.FormatBool(got.Unknown)).Inc()
	for _, v := range got.NearestOf {
		distances.Observe(v)
	}
	head := api.IdentificationHead{Head: in.AnswerHead(), Classes: known.Classes, FPIR: basis.FPIR,
		Coverage: a.Coverage,
		ByClass:  d.ByClass()}
	head.Items = known.Items
	return reply(w, http.StatusOK, api.Identified{IdentificationHead: head, Identification: got.Identification})
}

// given reports whether the request has an option.
func (a *together) given(setting string) bool {
	return map[string]bool{"fpir": a.FPIR != 0, "estimate": a.Estimate, "strangers": a.Strangers != 0,
		"by-class": a.ByClass != nil && *a.ByClass}[setting]
}

// decide looks up the photos and decides.
func (s *Server) decide(ctx context.Context, c *collection, g lookup.Gallery, basis lookup.Basis, a *together) (
	*decide.Decider, *lookup.Decision, error) {
	const way = "Ask for a larger rate or a smaller coverage; GET /v1/info has the promises."
	d, err := c.decider(basis)
	if err != nil {
		return nil, nil, invalid.is(way, "%v", err)
	}
	got, err := lookup.Decide(ctx, g, d, a.queries, lookup.DecideOptions{Together: true})
	var none *lookup.NoItemsError
	var far *lookup.TooManyNeighboursError
	switch {
	case err == nil:
		return d, &got[0], nil
	case errors.As(err, &none):
		err = invalid.is("Add items first.", "the collection %v", err)
	case errors.As(err, &far):
		err = &farProblem{invalid.is("Ask for a smaller coverage, without by_class, or start the server "+
			"with more neighbours allowed.", "%v", err), far}
	}
	return nil, nil, err
}

// farProblem is the problem of a *lookup.TooManyNeighboursError.
type farProblem struct {
	*problem
	far *lookup.TooManyNeighboursError
}

func (e *farProblem) Unwrap() []error { return []error{e.problem, e.far} }

// askTogether reads a request to identify: JSON, or a form with pictures.
func (s *Server) askTogether(r *http.Request, c *collection) (*together, error) {
	ctx := r.Context()
	t, params, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	a := &together{}
	if t == "multipart/form-data" {
		f, err := readForm(r, params["boundary"], mostTogether, map[string]any{"fpir": &a.FPIR, "estimate": &a.Estimate,
			"strangers": &a.Strangers, "coverage": &a.Coverage, "by_class": &a.ByClass})
		if err != nil {
			return nil, err
		}
		for _, picture := range f.pictures {
			if err := a.add(r, s, c, picture); err != nil {
				return nil, err
			}
		}
		return a, nil
	}
	if err := readJSON(r, &a.Identify); err != nil {
		return nil, err
	}
	switch n := len(a.Vectors) + len(a.IDs) + b2i(a.Picture != ""); {
	case n == 0:
		return nil, invalid.is("GET /openapi.json describes the body.",
			"there are neither pictures, nor vectors, nor ids")
	case n > mostTogether:
		return nil, tooLarge.is("Send fewer photos of one thing.", "%d photos, and %d are allowed", n, mostTogether)
	}
	if a.Picture != "" {
		p, err := s.kept(a.Picture)
		if err != nil {
			return nil, err
		}
		if err := a.add(r, s, c, p.file); err != nil {
			return nil, err
		}
	}
	for _, v := range a.Vectors {
		a.queries = append(a.queries, lookup.Query{Vector: v})
	}
	for _, id := range a.IDs {
		q, err := s.item(ctx, c, id)
		if err != nil {
			return nil, err
		}
		a.queries = append(a.queries, *q)
	}
	return a, nil
}

// add adds a photo of the thing.
func (a *together) add(r *http.Request, s *Server, c *collection, picture []byte) error {
	v, err := s.embed(r.Context(), c, picture, receivedOf(r).loan)
	a.queries = append(a.queries, lookup.Query{Content: picture, Vector: v})
	return err
}

// calibration returns the promises for a collection as it is now; nil without a calibration.
func (s *Server) calibration(ctx context.Context, c *collection, info *store.Info) (*api.Calibration, error) {
	of := c.says()
	if of == nil {
		return nil, nil
	}
	out := &api.Calibration{Classes: of.Classes, Photos: of.Photos, ECE: of.Reliability.ECE,
		FalseMatches: []api.Threshold{}}
	for _, rate := range promised {
		if t, err := of.Threshold(rate); err == nil {
			out.FalseMatches = append(out.FalseMatches, *threshold(t))
		}
	}
	known, err := s.labels(ctx, c, info)
	if err != nil {
		return nil, err
	}
	basis := lookup.Basis{Calibration: of, Known: &known.Gallery} // 5 % of unknown photos, the default of requests
	by := of.Basis(known.Gallery, basis.IdentifyOptions)
	if by == decide.ByNew {
		out.LabelECE = of.Score.Reliability.ECE
	} else {
		out.LabelECE = of.Closed.Vote.Reliability.ECE
	}
	if by == decide.ByClosed || c.label(info) == "" {
		return out, nil
	}
	measured, err := basis.Check("", func(string) bool { return false })
	if err == nil && measured {
		basis.Measures, err = s.measures(ctx, c, info, of, known)
	}
	if err != nil {
		return nil, err
	}
	if d, err := c.decider(basis); err == nil {
		if t, err := d.Unknown(1); err == nil {
			out.Unknown = threshold(t)
		}
	}
	return out, nil
}

// threshold converts a threshold to that of an answer.
func threshold(t decide.Threshold) *api.Threshold {
	return &api.Threshold{Rate: t.Rate, Distance: t.Distance, Needed: t.Needed(), Measured: t.Measured, Bound: t.Bound,
		TrueMatch: t.TrueMatch, Drift: t.Drift, Condition: t.Condition()}
}
