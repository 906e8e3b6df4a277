package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

const (
	// neighbourhoodItems is the number of items around the query to diagnose. If these are all of one class, beyond is
	// the number of items of other classes to add.
	neighbourhoodItems, otherClassItems = 200, 100
	// lowContrast is the contrast below which the order of neighbours means little.
	lowContrast = 0.1
)

// explain answers POST /v1/explain: the neighbours and why they are near.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) error {
	a, err := s.readSearch(r)
	if err != nil {
		return err
	}
	e := api.Explanation{Label: a.collection.classColumn(&a.store), Notes: []string{}}
	if it := a.query.Item; it != nil && e.Label != "" {
		e.Class = store.FormatValue(it.Columns[e.Label])
	}
	// One search brings the neighbours and the items around, unless fewer or others are shown than the nearest.
	k, arranged := a.opt.K, a.opt.Least > 0 || a.opt.IsArranged()
	if !arranged {
		a.opt.K, a.opt.Vectors = max(k, min(neighbourhoodItems, s.limits.K)), true
	}
	if e.Found, err = s.answerSearch(r.Context(), a); err != nil {
		return err
	}
	near := e.Neighbours
	e.Neighbours = near[:min(k, len(near))]
	e.Shares, e.Distances = countClasses(e.Neighbours), describeDistances(e.Neighbours)
	e.Notes = append(e.Notes, describeResult(&e)...)
	e.Notes = append(e.Notes, describeLikelihood(e.Neighbours, a.closed)...)
	if e.Label != "" {
		if arranged {
			near, err = s.itemsAround(r.Context(), a, neighbourhoodItems, "")
		}
		if err == nil {
			e.Neighbourhood, err = s.diagnoseNeighbourhood(r.Context(), a, e.Label,
				near[:min(neighbourhoodItems, len(near))])
		}
		if p := (*diagnosisError)(nil); err != nil && !errors.As(err, &p) {
			return err
		}
	}
	a.trimNeighbours(e.Neighbours)
	return writeJSON(w, http.StatusOK, e)
}

// describeLikelihood returns a sentence about how many neighbours show the same thing by the calibration. The estimate
// is for photos of new classes or, with a closed calibration, for new photos.
func describeLikelihood(near []api.Neighbour, closed bool) []string {
	near = slices.DeleteFunc(slices.Clone(near), func(n api.Neighbour) bool { return n.IsQuery })
	if len(near) == 0 || near[0].MatchProbability == nil {
		return nil
	}
	sum := 0.0
	for _, n := range near {
		sum += option.OrDefault(n.MatchProbability, 0)
	}
	first, last := *near[0].MatchProbability, option.OrDefault(near[len(near)-1].MatchProbability, 0)
	from := "classes that training never saw"
	if closed {
		from = "photos that training never saw"
	}
	return []string{fmt.Sprintf("Judged by distance alone, %.1f of %d neighbours are expected to show the same "+
		"thing: the "+
		"nearest with a probability of %s, the farthest with %s. This estimate is for %s, if half of the queries "+
		"are of no class here. It does not use labels, which tell more if there are any.", sum, len(near),
		decide.Percent(first), decide.Percent(last), from)}
}

// countClasses counts neighbours by class.
func countClasses(near []api.Neighbour) []api.Share {
	by := map[string]*api.Share{}
	for _, n := range near {
		if n.Label == "" {
			continue
		}
		sh := by[n.Label]
		if sh == nil {
			sh = &api.Share{Class: n.Label, Nearest: n.Distance, Farthest: n.Distance}
			by[n.Label] = sh
		}
		sh.Count++
		sh.Share = float64(sh.Count) / float64(len(near))
		sh.Nearest, sh.Farthest = min(sh.Nearest, n.Distance), max(sh.Farthest, n.Distance)
	}
	out := []api.Share{}
	for _, class := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[class])
	}
	slices.SortStableFunc(out, func(a, b api.Share) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

func describeDistances(near []api.Neighbour) api.Distances {
	n := len(near)
	if n == 0 {
		return api.Distances{}
	}
	sorted := make([]float64, n)
	for i := range near {
		sorted[i] = near[i].Distance
	}
	slices.Sort(sorted) // neighbours may be arranged
	d := api.Distances{Nearest: sorted[0], Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Farthest: sorted[n-1]}
	if d.Farthest > 0 {
		d.Contrast = (d.Farthest - d.Nearest) / d.Farthest
	}
	return d
}

// describeResult explains the numbers in sentences.
func describeResult(e *api.Explanation) []string {
	var out []string
	n := 0
	for _, s := range e.Shares {
		n += s.Count
	}
	switch {
	case len(e.Shares) == 0:
	case e.Class != "":
		same := 0
		if i := slices.IndexFunc(e.Shares, func(s api.Share) bool { return s.Class == e.Class }); i >= 0 {
			same = e.Shares[i].Count
		}
		out = append(out, fmt.Sprintf("%d of %d neighbours are of the class of the query item, %s.", same, n,
			e.Class))
	default:
		out = append(out, fmt.Sprintf("%d of %d neighbours are of one class, %s.", e.Shares[0].Count, n,
			e.Shares[0].Class))
	}
	switch d := e.Distances; {
	case n < 2 && d.Farthest == 0:
	case d.Farthest == 0:
		out = append(out, "All neighbours are at distance 0: their order has no meaning.")
	case d.Farthest > 0 && d.Contrast < lowContrast:
		out = append(out,
			fmt.Sprintf("The farthest neighbour is only %.0f %% farther than the nearest: their order says "+
				"little.", 100*(d.Farthest/max(d.Nearest, 1e-300)-1)))
	}
	return out
}

// diagnosisError is the reason for a missing diagnosis.
type diagnosisError struct{ error }

// diagnoseNeighbourhood diagnoses the items around the query. If they are of one class, it adds the
// nearest items of other classes, to compare the class's width with.
func (s *Server) diagnoseNeighbourhood(ctx context.Context, a *searchRequest, label string,
	hits []api.Neighbour) (*api.Neighbourhood,
	error) {
	if one, ok := singleClass(hits, label); ok {
		column, named := store.FilterName(label)
		if _, text := one.(string); text && named {
			more, err := s.itemsAround(ctx, a, otherClassItems, column+" != "+store.FilterValue(one))
			if err != nil {
				return nil, err
			}
			hits = slices.Concat(hits, more)
		}
	}
	in, names := diagnosisInput(a, label, hits)
	if len(in.Labels) == 0 {
		return nil, &diagnosisError{errors.New("no item around the query has a class")}
	}
	opt := eval.DiagnosisOptions{MaxK: 16, Seed: 1}
	if a.info.Distance == eval.Cosine {
		opt.Distance = eval.Cosine
	}
	res, err := eval.Diagnose(ctx, in, opt)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &diagnosisError{err}
	}
	out := &api.Neighbourhood{Rows: res.Rows, State: string(res.Verdict.State), Score: res.Verdict.Score,
		Text: res.Verdict.Text, Reasons: res.Verdict.Reasons, Spread: res.Spread, Compactness: res.Compactness,
		Recall: res.Recall, Classes: []api.LocalClass{}}
	if out.Reasons == nil {
		out.Reasons = []string{}
	}
	for _, c := range res.ByCompactness(len(res.Classes)) {
		out.Classes = append(out.Classes, api.LocalClass{Class: names[c.Label], Rows: c.Size, Intra: c.Intra,
			Other: c.NearestDistance, Nearest: names[c.NearestClass], Compactness: c.Compactness, Modes: c.SubClasses})
	}
	return out, nil
}

// itemsAround returns up to k items around the query that pass a filter too, with their vectors.
func (s *Server) itemsAround(ctx context.Context, a *searchRequest, k int, filter string) ([]api.Neighbour, error) {
	opt := lookup.Options{K: min(k, s.limits.K), WithItself: a.opt.WithItself, Vectors: true, Filter: a.opt.Filter}
	if filter != "" {
		if a.Filter != "" {
			filter = "(" + a.Filter + ") and " + filter
		}
		var err error
		if opt.Filter, err = store.ParseFilter(filter); err != nil {
			return nil, err
		}
	}
	answers, err := lookup.Nearest(ctx, s.galleryOf(a.collection, &a.store), []lookup.Query{a.query}, opt)
	if err != nil {
		return nil, err
	}
	return answers[0].Neighbours, nil
}

// singleClass returns the one class of all neighbours that have one.
func singleClass(hits []api.Neighbour, label string) (class any, ok bool) {
	for i := range hits {
		v, has := hits[i].Columns[label]
		switch {
		case !has:
		case !ok:
			class, ok = v, true
		case v != class:
			return nil, false
		}
	}
	return class, ok
}

// diagnosisInput returns the vectors of the neighbours that have a class, and of the query item.
func diagnosisInput(a *searchRequest, label string, hits []api.Neighbour) (eval.DiagnosisInput, map[int64]string) {
	ids, names := map[string]int64{}, map[int64]string{}
	var in eval.DiagnosisInput
	var rows [][]float32
	add := func(it *store.Item) {
		class := store.FormatValue(it.Columns[label])
		if class == "" {
			return
		}
		id, known := ids[class]
		if !known {
			id = int64(len(ids))
			ids[class], names[id] = id, class
		}
		in.Labels = append(in.Labels, id)
		rows = append(rows, it.Vector)
	}
	if a.query.Item != nil {
		add(a.query.Item)
	}
	for i := range hits {
		add(&hits[i].Item)
	}
	in.X, in.Names = matrix.New(len(rows), len(a.query.Vector)), names
	for i, v := range rows {
		copy(in.X.Row(i), v)
	}
	return in, names
}
