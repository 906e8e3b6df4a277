// Package identify decides about photos that are looked up in a gallery with labels, and sums up the decisions.
package identify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/app/cli"
	"github.com/kindred-ml/kindred/app/gallery"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
)

// Options control the decisions, in the terms of the command line.
type Options struct {
	decide.IdentifyOptions
	ByClass  bool                   // compute sets of a coverage from the class's own items
	Together bool                   // all photos are of one thing
	Voters   bool                   // keep the neighbours that voted, for pages
	Given    func(flag string) bool // reports whether a flag is on the command line
}

// Asked has the photos to identify, the gallery and the calibration.
type Asked struct {
	Queries []gallery.Query
	Gallery gallery.Gallery
	Says    *decide.Calibration
	File    string // file that the calibration was read from
	Source  embedding.Network

	// Known and Decider are set by Run, for a page: the gallery and the rule of the decisions.
	Known   decide.Gallery
	Decider *decide.Decider
}

// Run decides about every photo, or about all photos together.
func (a *Asked) Run(ctx context.Context, opt *Options) (*Result, error) {
	in, err := a.Gallery.Info(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range a.Queries {
		if len(q.Vector) != in.Dim {
			return nil, fmt.Errorf("queries have %d numbers and the gallery %d: another network made them",
				len(q.Vector), in.Dim)
		}
	}
	if err := a.Says.Fits(a.Source, in.Distance.String(), in.Dim); err != nil {
		return nil, fmt.Errorf("%s: %w", a.File, err)
	}
	if a.Known, err = a.Gallery.Labels(ctx); err != nil {
		return nil, err
	}
	if a.Decider, err = a.decider(ctx, opt); err != nil {
		return nil, err
	}
	res := &Result{Queries: []Query{}, Gallery: a.Known.Items, Classes: a.Known.Classes, Distance: in.Distance,
		FPIR: opt.FPIR, Coverage: opt.Coverage, ByClass: a.Decider.ByClass()}
	if err := res.decide(ctx, a, opt); err != nil {
		return nil, err
	}
	res.Summary = summarise(a, opt, res)
	return res, nil
}

// decider returns the Decider of the options. It refuses options that do not apply to the calibration and the gallery.
func (a *Asked) decider(ctx context.Context, opt *Options) (*decide.Decider, error) {
	by := a.Says.Basis(a.Known, opt.IdentifyOptions)
	for _, of := range []struct {
		flag    string
		applies bool
		why     string
	}{
		{"fpir", by != decide.ByClosed, "a closed calibration gives every photo a label; kindred calibrate with " +
			"--folds or --data makes an open one, which recognises unknown photos"},
		{"strangers", by == decide.ByNew, "the probability of a label is among the classes of the gallery"},
		{"by-class", by == decide.ByNew, "items that training saw lie closer to each other than new photos lie to " +
			"them, so sets use the photos of the calibration"},
	} {
		if opt.Given(of.flag) && !of.applies {
			return nil, cli.Usagef("--%s does not apply, as %s was learned from photos of the classes of the "+
				"gallery: %s", of.flag, a.File, of.why)
		}
	}
	if by == decide.ByClosed {
		opt.FPIR = 0
	}
	if by != decide.ByNew {
		opt.Strangers, opt.ByClass = 0, false
	} else {
		m, err := a.Gallery.Measures(ctx, opt.Coverage)
		if err != nil {
			return nil, err
		}
		if a.Known.Apart = m.Apart; opt.Coverage > 0 && opt.ByClass {
			a.Known.Spread = m.Spread
		}
	}
	d, err := a.Says.Decider(a.Known, opt.IdentifyOptions)
	var rate *decide.RateError
	if errors.As(err, &rate) {
		err = fmt.Errorf("%w; %s", err, a.otherRates(opt.IdentifyOptions))
	}
	return d, err
}

// otherRates returns advice about a rate that the calibration has too few classes for.
func (a *Asked) otherRates(opt decide.IdentifyOptions) string {
	var carried []string
	for _, rate := range AskedRates() {
		opt.FPIR = rate
		if _, err := a.Says.Decider(a.Known, opt); err == nil {
			carried = append(carried, fmt.Sprintf("--fpir %g", rate))
		}
	}
	switch {
	case len(carried) > 0:
		return "possible rates: " + strings.Join(carried, ", ")
	case a.Says.Closed != nil:
		return "--closed gives every photo a label"
	}
	return "calibrate on more classes that training did not see"
}

// decide decides about every query, or about all queries together.
func (res *Result) decide(ctx context.Context, a *Asked, opt *Options) error {
	n, d := len(a.Queries), a.Decider
	if opt.Together && n > 0 {
		return res.decideTogether(ctx, a, opt)
	}
	res.Queries = make([]Query, n)
	return a.reach(ctx, 0, func(i int, found *gallery.Answer) (err error) {
		near := found.Neighbours
		q := Query{Query: a.Queries[i].Name, Itself: found.Itself, Of: []int{i},
			Voters: [][]gallery.Neighbour{a.labelled(near, opt.Voters)}}
		if q.Decision, err = d.Decide([][]decide.Neighbour{Neighbours(near)}); err != nil {
			return fmt.Errorf("%s: %w", q.Query, err)
		}
		res.Queries[i] = q
		return nil
	})
}

// labelled gives neighbours without a class a label, and returns the voters among them if they are kept.
func (a *Asked) labelled(near []gallery.Neighbour, keep bool) []gallery.Neighbour {
	for k := range near {
		near[k].Label = cmp.Or(near[k].Label, decide.Unlabelled)
	}
	if !keep {
		return nil
	}
	return slices.Clone(near[:min(len(near), a.Decider.Voters())])
}

// decideTogether decides about all queries as photos of one thing. Items that are one of them have no vote about the
// others either.
func (res *Result) decideTogether(ctx context.Context, a *Asked, opt *Options) error {
	n, d := len(a.Queries), a.Decider
	answers := make([]gallery.Answer, n)
	q := Query{Query: a.Queries[0].Name, Voters: make([][]gallery.Neighbour, n)}
	const spare = 64 // items of the other photos are left out too; few things have more photos
	err := a.reach(ctx, min(n, spare), func(i int, answer *gallery.Answer) error {
		answers[i] = *answer
		return nil
	})
	if err != nil {
		return err
	}
	gallery.LeaveOutTogether(answers)
	photos := make([][]decide.Neighbour, n)
	for i := range answers {
		near := answers[i].Neighbours
		q.Itself = append(q.Itself, answers[i].Itself...)
		q.Voters[i] = a.labelled(near, opt.Voters)
		q.Of, q.Photos, photos[i] = append(q.Of, i), append(q.Photos, a.Queries[i].Name), Neighbours(near)
	}
	slices.Sort(q.Itself)
	q.Itself = slices.Compact(q.Itself)
	q.Decision, err = d.Decide(photos)
	res.Queries = append(res.Queries, q)
	return err
}

// Neighbours converts neighbours to those of a Decider.
func Neighbours(near []gallery.Neighbour) []decide.Neighbour {
	out := make([]decide.Neighbour, len(near))
	for i := range near {
		out[i] = decide.Neighbour{Label: near[i].Label, Distance: near[i].Distance}
	}
	return out
}

const (
	block = 256     // queries looked up together
	most  = 1 << 17 // most neighbours held at a time, some hundred bytes each
)

// reach calls found for each query, in any order, with all neighbours that decide about it, and spare ones more.
func (a *Asked) reach(ctx context.Context, spare int, found func(i int, answer *gallery.Answer) error) error {
	todo := make([]int, len(a.Queries))
	for i := range todo {
		todo[i] = i
	}
	for k := a.Decider.Voters(); len(todo) > 0; k *= 4 {
		var again []int
		for part := range slices.Chunk(todo, max(1, min(block, most/(k+spare)))) {
			queries := make([]gallery.Query, len(part))
			for j, i := range part {
				queries[j] = a.Queries[i]
			}
			answers, err := a.Gallery.Nearest(ctx, queries, gallery.Options{K: k + spare, Exact: true})
			if err != nil {
				return err
			}
			for j, i := range part {
				near := answers[j].Neighbours
				if len(near) == k+spare && near[k-1].Distance <= a.Decider.Reach() {
					again = append(again, i)
				} else if err := found(i, &answers[j]); err != nil {
					return err
				}
			}
		}
		todo = again
	}
	return nil
}
