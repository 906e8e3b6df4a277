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

// maxPhotosTogether is how many photos of one thing a request may have.
const maxPhotosTogether = 16

// promisedRates lists the false-match rates that GET /v1/info has thresholds for.
var promisedRates = []float64{1e-2, 1e-3, 1e-4}

// noCalibrationError returns the problem of a request that needs a calibration.
func noCalibrationError(c *servedCollection) error {
	return invalid.newProblem("Run kindred calibrate on the index; kindred serve uses its calibration within a second.",
		"the collection %s has no calibration, which this request needs", c.Name)
}

// checkCalibrations checks that the calibrations fit the distances of their collections.
func checkCalibrations(collections []Collection) error {
	for _, c := range collections {
		says := c.calibration()
		if says == nil || c.Store == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
		info, err := c.Store.Info(ctx)
		cancel()
		if err == nil {
			err = says.CheckNetwork(embedding.Network{}, info.Distance, info.Dim)
		}
		if err != nil {
			return fmt.Errorf("collection %s: %w", c.Name, err)
		}
	}
	return nil
}

// identifyRequest has one or several photos of one thing, with the options of the request.
type identifyRequest struct {
	api.Identify
	queries []lookup.Query
}

// identify answers POST /v1/identify.
func (s *Server) identify(w http.ResponseWriter, r *http.Request) error {
	c, err := s.collectionOf(r)
	if err != nil {
		return err
	}
	a, err := s.readIdentify(r, c)
	if err != nil {
		return err
	}
	ctx := r.Context()
	info, err := c.Store.Info(ctx)
	if err != nil {
		return err
	}
	g := s.galleryOf(c, &info)
	in, err := g.Info(ctx)
	if err != nil {
		return err
	}
	for i := range a.queries {
		if n := len(a.queries[i].Vector); n != in.Dim {
			return &store.DimensionError{Have: n, Want: in.Dim}
		}
	}
	says := c.calibration()
	if says == nil {
		return noCalibrationError(c)
	}
	if c.classColumn(&info) == "" {
		return invalid.newProblem("Give the items a column of classes, or name their column when the server starts.",
			"the collection %s has no column of classes", c.Name)
	}
	known, err := s.countLabels(ctx, c, &info)
	if err != nil {
		return err
	}
	basis := lookup.Basis{Calibration: says, Known: &known.Gallery, ByClass: a.ByClass == nil || *a.ByClass,
		IdentifyOptions: decide.IdentifyOptions{FPIR: a.FPIR, Estimate: a.Estimate, Strangers: a.Strangers,
			Coverage: a.Coverage}}
	measured, err := basis.Check("the calibration of the collection "+c.Name, a.hasOption)
	if err != nil {
		return err
	}
	if measured {
		if basis.Measures, err = s.measureGallery(ctx, c, &info, says, known); err != nil {
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
	distances := s.metrics.nearestHistogram(c.Name, says)
	s.metrics.decided.WithLabelValues(c.Name, strconv.FormatBool(got.Unknown)).Inc()
	for _, v := range got.NearestOf {
		distances.Observe(v)
	}
	head := api.IdentificationHead{Head: in.AnswerHead(), Classes: known.Classes, FPIR: basis.FPIR,
		Coverage: a.Coverage,
		ByClass:  d.NumOwnSpread()}
	head.Items = known.Items
	return writeJSON(w, http.StatusOK, api.Identified{IdentificationHead: head, Identification: got.Identification})
}

// hasOption reports whether the request has an option.
func (a *identifyRequest) hasOption(setting string) bool {
	return map[string]bool{"fpir": a.FPIR != 0, "estimate": a.Estimate, "strangers": a.Strangers != 0,
		"by-class": a.ByClass != nil && *a.ByClass}[setting]
}

// decide looks up the photos and decides.
func (s *Server) decide(ctx context.Context, c *servedCollection, g lookup.Gallery, basis lookup.Basis,
	a *identifyRequest) (
	*decide.Decider, *lookup.Decision, error) {
	const way = "Ask for a larger rate or a smaller coverage; GET /v1/info has the promises."
	d, err := c.decider(basis)
	if err != nil {
		return nil, nil, invalid.newProblem(way, "%v", err)
	}
	got, err := lookup.Decide(ctx, g, d, a.queries, lookup.DecideOptions{Together: true})
	var none *lookup.NoItemsError
	var far *lookup.TooManyNeighboursError
	switch {
	case err == nil:
		return d, &got[0], nil
	case errors.As(err, &none):
		err = invalid.newProblem("Add items first.", "the collection %v", err)
	case errors.As(err, &far):
		err = &farProblem{invalid.newProblem("Ask for a smaller coverage, without by_class, or start the server "+
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

// readIdentify reads a request to identify: JSON, or a form with pictures.
func (s *Server) readIdentify(r *http.Request, c *servedCollection) (*identifyRequest, error) {
	ctx := r.Context()
	t, params, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	a := &identifyRequest{}
	if t == "multipart/form-data" {
		f, err := readForm(r, params["boundary"], maxPhotosTogether,
			map[string]any{"fpir": &a.FPIR, "estimate": &a.Estimate,
				"strangers": &a.Strangers, "coverage": &a.Coverage, "by_class": &a.ByClass})
		if err != nil {
			return nil, err
		}
		for _, picture := range f.pictures {
			if err := a.addPhoto(r, s, c, picture); err != nil {
				return nil, err
			}
		}
		return a, nil
	}
	if err := readJSON(r, &a.Identify); err != nil {
		return nil, err
	}
	switch n := len(a.Vectors) + len(a.IDs) + boolToInt(a.Picture != ""); {
	case n == 0:
		return nil, invalid.newProblem("GET /openapi.json describes the body.",
			"there are neither pictures, nor vectors, nor ids")
	case n > maxPhotosTogether:
		return nil, tooLarge.newProblem("Send fewer photos of one thing.", "%d photos: at most %d are allowed", n,
			maxPhotosTogether)
	}
	if a.Picture != "" {
		p, err := s.findKeptPicture(a.Picture)
		if err != nil {
			return nil, err
		}
		if err := a.addPhoto(r, s, c, p.file); err != nil {
			return nil, err
		}
	}
	for _, v := range a.Vectors {
		a.queries = append(a.queries, lookup.Query{Vector: v})
	}
	for _, id := range a.IDs {
		q, err := s.itemQuery(ctx, c, id)
		if err != nil {
			return nil, err
		}
		a.queries = append(a.queries, *q)
	}
	return a, nil
}

// addPhoto adds a photo of the thing.
func (a *identifyRequest) addPhoto(r *http.Request, s *Server, c *servedCollection, picture []byte) error {
	v, err := s.embed(r.Context(), c, picture, bodyOf(r).loan)
	a.queries = append(a.queries, lookup.Query{Content: picture, Vector: v})
	return err
}

// describeCalibration returns the promises for a collection as it is now; nil without a calibration.
func (s *Server) describeCalibration(ctx context.Context, c *servedCollection, info *store.Info) (*api.Calibration,
	error) {
	of := c.calibration()
	if of == nil {
		return nil, nil
	}
	out := &api.Calibration{Classes: of.Classes, Photos: of.Photos, ECE: of.Reliability.ECE,
		FalseMatches: []api.Threshold{}}
	for _, rate := range promisedRates {
		if t, err := of.Threshold(rate); err == nil {
			out.FalseMatches = append(out.FalseMatches, *apiThreshold(t))
		}
	}
	known, err := s.countLabels(ctx, c, info)
	if err != nil {
		return nil, err
	}
	basis := lookup.Basis{Calibration: of, Known: &known.Gallery} // 5 % of unknown photos, the default of requests
	by := of.Basis(known.Gallery, basis.IdentifyOptions)
	if by == decide.OpenSetBasis {
		out.LabelECE = of.Score.Reliability.ECE
	} else {
		out.LabelECE = of.Closed.Vote.Reliability.ECE
	}
	if by == decide.ClosedSetBasis || c.classColumn(info) == "" {
		return out, nil
	}
	measured, err := basis.Check("", func(string) bool { return false })
	if err == nil && measured {
		basis.Measures, err = s.measureGallery(ctx, c, info, of, known)
	}
	if err != nil {
		return nil, err
	}
	if d, err := c.decider(basis); err == nil {
		if t, err := d.UnknownThreshold(1); err == nil {
			out.Unknown = apiThreshold(t)
		}
	}
	return out, nil
}

// apiThreshold converts a threshold to that of an answer.
func apiThreshold(t decide.Threshold) *api.Threshold {
	return &api.Threshold{Rate: t.Rate, Distance: t.Distance, Needed: t.NeededProbability(), Measured: t.Measured,
		Bound:     t.Bound,
		TrueMatch: t.TrueMatch, Drift: t.Drift, Condition: t.Condition()}
}
