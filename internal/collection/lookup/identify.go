package lookup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
)

// Identifier identifies photos in a gallery by a calibration.
type Identifier struct {
	Queries []Query
	Gallery Gallery
	Says    *decide.Calibration
	File    string // file that the calibration was read from
	Source  embedding.Network

	// Basis and Decider are set by Run, for a page: what the decisions depend on, and their rule.
	Basis   Basis
	Decider *decide.Decider
}

// IdentifyOptions control an Identifier.
type IdentifyOptions struct {
	decide.IdentifyOptions
	DecideOptions
	ByClass bool                      // compute sets of a coverage from the class's own items
	Given   func(setting string) bool // reports whether an option is given; see Basis.Check
}

// Run decides about every photo, or about all photos together.
func (a *Identifier) Run(ctx context.Context, opt *IdentifyOptions) (*Decisions, error) {
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
	if err := a.Says.CheckNetwork(a.Source, in.Distance.String(), in.Dim); err != nil {
		return nil, fmt.Errorf("%s: %w", a.File, err)
	}
	known, err := a.Gallery.Labels(ctx)
	if err != nil {
		return nil, err
	}
	a.Basis = Basis{Calibration: a.Says, Known: &known, ByClass: opt.ByClass, IdentifyOptions: opt.IdentifyOptions}
	if err := a.makeDecider(ctx, opt); err != nil {
		return nil, err
	}
	res := &Decisions{}
	res.Head, res.Items, res.Calibration = in.AnswerHead(), known.Items, a.File
	res.Classes, res.FPIR, res.Coverage, res.ByClass = known.Classes, a.Basis.FPIR, opt.Coverage,
		a.Decider.NumOwnSpread()
	if res.Queries, err = Decide(ctx, a.Gallery, a.Decider, a.Queries, opt.DecideOptions); err != nil {
		return nil, err
	}
	res.Summary = summarize(a, res)
	return res, nil
}

// makeDecider sets the Decider.
func (a *Identifier) makeDecider(ctx context.Context, opt *IdentifyOptions) error {
	measured, err := a.Basis.Check(a.File, opt.Given)
	if err != nil {
		return err
	}
	if measured {
		if a.Basis.Measures, err = a.Gallery.Measures(ctx, a.Says, opt.Coverage); err != nil {
			return err
		}
	}
	a.Decider, err = a.Basis.Decider()
	var rate *decide.RateError
	if errors.As(err, &rate) {
		err = fmt.Errorf("%w; %s", err, a.adviseRates())
	}
	return err
}

// adviseRates returns advice about a rate that the calibration has too few classes for.
func (a *Identifier) adviseRates() string {
	var carried []string
	b := a.Basis
	for _, rate := range SummaryRates() {
		b.FPIR = rate
		if _, err := b.Decider(); err == nil {
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
