package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/kindred-ml/kindred/app/lookup"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/escape"
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

// among returns the probabilities of a calibration for a collection.
func (s *Server) among(ctx context.Context, c *collection, says *decide.Calibration, info *store.Info) (*decide.Among,
	error) {
	g, err := s.gallery(ctx, c, info)
	if err != nil {
		return nil, err
	}
	return says.Among(g.Gallery, 0)
}

// together has one or several photos of one thing, with the options of the request.
type together struct {
	api.Identify
	photos []*asked
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
	info, err := c.Store.Info(r.Context())
	if err != nil {
		return err
	}
	if err := s.look(r.Context(), c, a, &info); err != nil {
		return err
	}
	says := c.says()
	if says == nil {
		return uncalibrated(c)
	}
	label := c.label(&info)
	if label == "" {
		return invalid.is("Give the items a column of classes, or name their column when the server starts.",
			"the collection %s has no column of classes", c.Name)
	}
	g, err := s.gallery(r.Context(), c, &info)
	if err != nil {
		return err
	}
	on := basis{says: says, labels: g, opt: decide.IdentifyOptions{FPIR: a.FPIR, Strangers: a.Strangers,
		Coverage: a.Coverage}}
	byNew := says.Basis(g.Gallery, on.opt) == decide.ByNew
	if !byNew && a.ByClass != nil && *a.ByClass {
		return invalid.is("Leave by_class out.", "the calibration of the collection %s is closed, and its sets "+
			"use its photos of all classes", c.Name)
	}
	on.byItem = byNew && a.Coverage > 0 && (a.ByClass == nil || *a.ByClass)
	if on.byItem || byNew && g.Items <= mostMeasured {
		if on.items, err = s.measures(r.Context(), c, &info, g); err != nil {
			return err
		}
	}
	got, err := s.decide(r.Context(), c, on, a, label)
	var far *farError
	if errors.As(err, &far) && on.byItem && a.ByClass == nil {
		on.byItem = false
		got, err = s.decide(r.Context(), c, on, a, label)
	}
	if err != nil {
		return err
	}
	distances := s.metrics.nearest(c.Name, says)
	s.metrics.decided.WithLabelValues(c.Name, strconv.FormatBool(got.Unknown)).Inc()
	for _, v := range got.nearest {
		distances.Observe(v)
	}
	return reply(w, http.StatusOK, api.Identified{
		IdentificationHead: api.IdentificationHead{Head: api.Head{Schema: api.Schema, Gallery: c.Name, Items: g.Items,
			Distance: info.Distance}, Classes: g.Classes, FPIR: a.FPIR, Coverage: a.Coverage, ByClass: got.byClass},
		Identification: api.Identification{Photos: len(got.nearest), Label: got.Label, Probability: got.Probability,
			RunnerUp: got.RunnerUp, RunnerUpProbability: got.RunnerUpProbability, Unknown: got.Unknown,
			Nearest: got.Nearest, Within: got.Within, Set: got.Set, Itself: got.itself}})
}

// recognition is a decision with the distance of each photo's nearest item, and the number of classes in
// its set that use their own items.
type recognition struct {
	decide.Decision
	nearest []float64
	itself  []string // ids of the items that are the photos and have no vote
	byClass int
}

// decide looks up the photos and decides.
func (s *Server) decide(ctx context.Context, c *collection, on basis, a *together, label string) (*recognition, error) {
	const way = "Ask for a larger rate or a smaller coverage; GET /v1/info has the promises."
	d, err := c.decider(on)
	var closed *decide.ClosedError
	if errors.As(err, &closed) {
		return nil, invalid.is("Leave fpir and strangers out, or make an open calibration.", "%v", err)
	}
	if err != nil {
		return nil, invalid.is(way, "%v", err)
	}
	out := &recognition{byClass: d.ByClass()}
	var photos [][]decide.Neighbour
	for _, p := range a.photos {
		near, same, err := s.voters(ctx, c, d, p, a, label)
		if err != nil {
			return nil, err
		}
		for _, id := range same {
			if !slices.Contains(out.itself, id) {
				out.itself = append(out.itself, id)
			}
		}
		photos, out.nearest = append(photos, near), append(out.nearest, near[0].Distance)
	}
	if out.Decision, err = d.Decide(photos); err != nil {
		return nil, invalid.is(way, "%v", err)
	}
	return out, nil
}

// askTogether reads a request to identify: JSON, or a form with pictures.
func (s *Server) askTogether(r *http.Request, c *collection) (*together, error) {
	t, params, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	a := &together{}
	if t != "multipart/form-data" {
		if err := readJSON(r, &a.Identify); err != nil {
			return nil, err
		}
		switch n := len(a.Vectors) + len(a.IDs); {
		case n == 0:
			return nil, invalid.is("GET /openapi.json describes the body.",
				"there are neither pictures, nor vectors, nor ids")
		case n > mostTogether:
			return nil, tooLarge.is("Send fewer photos of one thing.", "%d photos, and %d are allowed", n, mostTogether)
		}
		for _, v := range a.Vectors {
			a.photos = append(a.photos, &asked{collection: c, Search: api.Search{Vector: v}})
		}
		return a, nil
	}
	f, err := readForm(r, params["boundary"], mostTogether, "fpir", "strangers", "coverage", "by_class")
	if err != nil {
		return nil, err
	}
	for name, to := range map[string]*float64{"fpir": &a.FPIR, "strangers": &a.Strangers, "coverage": &a.Coverage} {
		if *to, err = f.number(name); err != nil {
			return nil, err
		}
	}
	if text, ok := f.values["by_class"]; ok {
		byClass, err := strconv.ParseBool(text)
		if err != nil {
			return nil, badRequest.is("Send true or false.", "by_class is %q", escape.Within(text, 32))
		}
		a.ByClass = &byClass
	}
	for _, picture := range f.pictures {
		v, err := s.embed(r.Context(), c, picture, receivedOf(r).loan)
		if err != nil {
			return nil, err
		}
		a.photos = append(a.photos, &asked{collection: c, picture: picture, Search: api.Search{Vector: v}})
	}
	return a, nil
}

// look gets the vectors of items, and checks the lengths of all vectors.
func (s *Server) look(ctx context.Context, c *collection, a *together, info *store.Info) error {
	for _, id := range a.IDs {
		it, err := c.Store.Get(ctx, id)
		if err != nil {
			return err
		}
		a.photos = append(a.photos, &asked{collection: c, item: &it, Search: api.Search{Vector: it.Vector}})
	}
	for _, p := range a.photos {
		if len(p.Vector) != info.Dim {
			return &store.DimensionError{Have: len(p.Vector), Want: info.Dim}
		}
	}
	return nil
}

// voters finds the neighbours that decide about a photo: those that vote, and, for a set, all neighbours that
// may belong to a class in it. Items that are one of the photos themselves have no vote, and their ids are returned.
func (s *Server) voters(ctx context.Context, c *collection, d *decide.Decider, photo *asked, all *together,
	label string) ([]decide.Neighbour, []string, error) {
	same := func(h *store.Hit) bool {
		return slices.ContainsFunc(all.photos, func(p *asked) bool { return p.is(h) })
	}
	for k := min(d.Voters(), s.limits.K); ; k = min(4*k, s.limits.K) {
		hits, itself, err := lookup.Others(ctx, k, s.limits.K, func(k int) ([]store.Hit, error) {
			defer s.metrics.searching()()
			return c.Store.Search(ctx, store.Query{Vector: photo.Vector, K: k, Vectors: true})
		}, same)
		if err != nil {
			return nil, nil, err
		}
		enough := len(hits) < k || hits[len(hits)-1].Distance > d.Reach()
		switch {
		case len(hits) == 0:
			return nil, nil, invalid.is("Add items first.", "the collection %s has no items besides the photos", c.Name)
		case !enough && k < s.limits.K:
			continue
		case !enough:
			return nil, nil, &farError{invalid.is("Ask for a smaller coverage, without by_class, or start the server "+
				"with more neighbours allowed.", "a set of this coverage needs more than %d neighbours, which is the "+
				"limit", k)}
		}
		near := make([]decide.Neighbour, len(hits))
		for i := range hits {
			class := cmp.Or(store.FormatValue(hits[i].Columns[label]), decide.Unlabelled)
			near[i] = decide.Neighbour{Label: class, Distance: hits[i].Distance}
		}
		return near, itself, nil
	}
}

// farError is the problem that classes of a set may lie farther than the allowed neighbours.
type farError struct{ *problem }

func (e *farError) Unwrap() error { return e.problem }

// calibration returns the promises for a collection as it is now; nil without a calibration.
func (s *Server) calibration(ctx context.Context, c *collection, info *store.Info) (*api.Calibration, error) {
	of := c.says()
	if of == nil {
		return nil, nil
	}
	out := &api.Calibration{Classes: of.Classes, Photos: of.Photos, ECE: of.Reliability.ECE,
		LabelECE: of.Vote.Reliability.ECE, FalseMatches: []api.Threshold{}}
	for _, rate := range promised {
		if t, err := of.Threshold(rate); err == nil {
			out.FalseMatches = append(out.FalseMatches, *threshold(t))
		}
	}
	g, err := s.gallery(ctx, c, info)
	if err != nil {
		return nil, err
	}
	var opt decide.IdentifyOptions // 5 % of unknown photos, the default of requests
	by := of.Basis(g.Gallery, opt)
	if by == decide.ByGate {
		out.LabelECE = of.Closed.Vote.Reliability.ECE
	}
	if by == decide.ByClosed || c.label(info) == "" {
		return out, nil
	}
	on := basis{says: of, labels: g, opt: opt}
	if by == decide.ByNew && g.Items <= mostMeasured {
		if on.items, err = s.measures(ctx, c, info, g); err != nil {
			return nil, err
		}
	}
	if d, err := c.decider(on); err == nil {
		if t, err := d.Unknown(1); err == nil {
			out.Unknown = threshold(t)
		}
	}
	return out, nil
}

// threshold converts a threshold to that of an answer.
func threshold(t decide.Threshold) *api.Threshold {
	return &api.Threshold{Rate: t.Rate, Distance: t.Distance, Measured: t.Measured, Bound: t.Bound,
		TrueMatch: t.TrueMatch, Drift: t.Drift, Condition: t.Condition()}
}
