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
	"github.com/kindred-ml/kindred/eval/diagnose"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

const (
	// around is the number of items around the query to diagnose. If these are all of one class, beyond is
	// the number of items of other classes to add.
	around, beyond = 200, 100
	// littleContrast is the contrast below which the order of neighbours means little.
	littleContrast = 0.1
)

// explain answers POST /v1/explain: the neighbours and why they are near.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) error {
	a, err := s.ask(r)
	if err != nil {
		return err
	}
	label := a.collection.label(&a.info)
	q := a.query(max(a.K, min(around, s.limits.K)))
	q.Vectors = true
	hits, itself, err := s.found(r.Context(), a, q)
	if err != nil {
		return err
	}
	e := api.Explanation{Found: api.Found{Head: a.head(), Answer: api.Answer{Query: cmp.Or(a.ID, a.Text),
		Itself: itself}}, Label: label, Notes: []string{}}
	if a.item != nil && label != "" {
		e.Class, _ = classOf(a.item, label)
	}
	e.Neighbours = a.shown(hits[:min(a.K, len(hits))])
	near := hits[:len(e.Neighbours)]
	e.Shares, e.Distances = shares(near, label), distances(near)
	e.Notes = append(e.Notes, notes(&e)...)
	e.Notes = append(e.Notes, likelihood(e.Neighbours, a.closed)...)
	if label != "" {
		e.Neighbourhood, err = s.neighbourhood(r.Context(), a, label, hits)
		if p := (*undiagnosed)(nil); err != nil && !errors.As(err, &p) {
			return err
		}
	}
	return reply(w, http.StatusOK, e)
}

// likelihood returns a sentence about how many neighbours show the same thing by the calibration. The estimate
// is for photos of new classes or, with a closed calibration, for new photos.
func likelihood(near []api.Neighbour, closed bool) []string {
	if len(near) == 0 || near[0].Same == nil {
		return nil
	}
	sum := 0.0
	for _, n := range near {
		sum += option.Or(n.Same, 0)
	}
	first, last := *near[0].Same, option.Or(near[len(near)-1].Same, 0)
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

// classOf returns the class of an item as text.
func classOf(it *store.Item, label string) (string, bool) {
	v, ok := it.Columns[label]
	if !ok {
		return "", false
	}
	return fmt.Sprint(v), true
}

// shares counts the hits by class.
func shares(hits []store.Hit, label string) []api.Share {
	by := map[string]*api.Share{}
	for i := range hits {
		class, ok := classOf(&hits[i].Item, label)
		if !ok {
			continue
		}
		d := hits[i].Distance
		sh := by[class]
		if sh == nil {
			sh = &api.Share{Class: class, Nearest: d}
			by[class] = sh
		}
		sh.Count++
		sh.Share = float64(sh.Count) / float64(len(hits))
		sh.Farthest = d // hits come nearest first
	}
	out := []api.Share{}
	for _, class := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[class])
	}
	slices.SortStableFunc(out, func(a, b api.Share) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

func distances(hits []store.Hit) api.Distances {
	n := len(hits)
	if n == 0 {
		return api.Distances{}
	}
	d := api.Distances{Nearest: hits[0].Distance, Median: (hits[(n-1)/2].Distance + hits[n/2].Distance) / 2,
		Farthest: hits[n-1].Distance}
	if d.Farthest > 0 {
		d.Contrast = (d.Farthest - d.Nearest) / d.Farthest
	}
	return d
}

// notes explains the numbers in sentences.
func notes(e *api.Explanation) []string {
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
	case d.Farthest > 0 && d.Contrast < littleContrast:
		out = append(out,
			fmt.Sprintf("The farthest neighbour is only %.0f %% farther than the nearest: their order says "+
				"little.", 100*(d.Farthest/max(d.Nearest, 1e-300)-1)))
	}
	return out
}

// undiagnosed is the reason for a missing diagnosis.
type undiagnosed struct{ error }

// neighbourhood diagnoses the items around the query. If they are of one class, it adds the
// nearest items of other classes, to compare the class's width with.
func (s *Server) neighbourhood(ctx context.Context, a *asked, label string, hits []store.Hit) (*api.Neighbourhood,
	error) {
	hits = hits[:min(around, len(hits))]
	if one, ok := single(hits, label); ok {
		q := a.query(min(beyond, s.limits.K))
		q.Vectors = true
		column, named := store.FilterName(label)
		if other := column + " != " + store.FilterValue(one); q.Filter == "" {
			q.Filter = other
		} else {
			q.Filter = "(" + q.Filter + ") and " + other
		}
		if _, text := one.(string); text && named {
			more, err := s.nearest(ctx, a, q)
			if err != nil {
				return nil, err
			}
			hits = slices.Concat(hits, more)
		}
	}
	in, names := labelled(a, label, hits)
	if len(in.Labels) == 0 {
		return nil, &undiagnosed{errors.New("no item around the query has a class")}
	}
	opt := diagnose.Options{MaxK: 16, Seed: 1}
	if a.info.Distance == "cosine" {
		opt.Distance = rank.Cosine
	}
	res, err := diagnose.Run(ctx, in, opt)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &undiagnosed{err}
	}
	out := &api.Neighbourhood{Rows: res.Rows, State: string(res.Verdict.State), Score: res.Verdict.Score,
		Text: res.Verdict.Text, Reasons: res.Verdict.Reasons, Spread: res.Spread, Compactness: res.Compactness,
		Recall: res.Recall, Classes: []api.LocalClass{}}
	if out.Reasons == nil {
		out.Reasons = []string{}
	}
	for _, c := range res.ByCompactness(len(res.Classes)) {
		out.Classes = append(out.Classes, api.LocalClass{Class: names[c.Label], Rows: c.Size, Intra: c.Intra,
			Other: c.Other, Nearest: names[c.Nearest], Compactness: c.Compactness, Modes: c.Kinds})
	}
	return out, nil
}

// single returns the one class of all hits that have one.
func single(hits []store.Hit, label string) (class any, ok bool) {
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

// labelled returns the vectors of the hits that have a class, and of the query item.
func labelled(a *asked, label string, hits []store.Hit) (diagnose.Input, map[int64]string) {
	ids, names := map[string]int64{}, map[int64]string{}
	var in diagnose.Input
	var rows [][]float32
	add := func(it *store.Item) {
		class, ok := classOf(it, label)
		if !ok {
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
	if a.item != nil {
		add(a.item)
	}
	for i := range hits {
		add(&hits[i].Item)
	}
	in.X, in.Names = mat.New(len(rows), len(a.Vector)), names
	for i, v := range rows {
		copy(in.X.Row(i), v)
	}
	return in, names
}
