package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/cli/calibrations"
	"github.com/kindred-ml/kindred/internal/cli/trials"
)

// ask are the questions of --trials and --check.
func (f *calibrateFlags) ask(ctx context.Context, a *app, opt decide.Options) (decide.Ask, error) {
	ask := decide.Ask{FMR: f.fmr, FPIR: []float64{0.05}, Galleries: []int{20, 200, 658}, Coverage: []float64{0.9, 0.95}}
	if f.seen == "" {
		return ask, nil
	}
	t, err := a.labelled(f.seen, "", oneColumn(f.column), f.strict)
	if err != nil {
		return ask, err
	}
	s := &calibrationSet{}
	if err := s.table(t, f.seen); err != nil {
		return ask, err
	}
	if ask.Seen, err = decide.Calibrate(ctx, s.x, s.labels, opt); err != nil {
		return ask, fmt.Errorf("%s: %w", f.seen, err)
	}
	return ask, nil
}

// tryCalibration calibrates on halves of the classes.
func (a *app) tryCalibration(ctx context.Context, f *calibrateFlags, s *calibrationSet, opt decide.Options) error {
	ask, err := f.ask(ctx, a, opt)
	if err != nil {
		return err
	}
	res := &calibrated{Distance: s.distance, Thresholds: []decide.Threshold{}}
	for i := range f.trials {
		opt.Seed = a.seed + uint64(i)
		t, err := decide.Try(ctx, s.x, s.labels, ask, opt)
		if err != nil {
			return err
		}
		res.Trials = append(res.Trials, t)
		fmt.Fprintf(a.err, "trial %d of %d\n", i+1, f.trials)
	}
	if a.json {
		return a.printJSON(res)
	}
	return trials.Write(a.out, res.Trials)
}

// checkCalibration compares the calibration that is there with new photos.
func (a *app) checkCalibration(ctx context.Context, f *calibrateFlags, arg string) error {
	file, err := f.file(arg)
	if err != nil {
		return err
	}
	c, err := calibrations.Load(file, arg)
	if err != nil {
		return err
	}
	if c.IsClosed() {
		return usagef("--check compares photos of classes that training did not see, and the calibration is closed: "+
			"%s knows only the classes of the run; make an open one with --data", file)
	}
	s, err := f.openNew(ctx, a, arg)
	if err != nil {
		return err
	}
	if err := c.Fits(s.source, "", s.x.Cols); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	res := &calibrated{File: file, Classes: c.Classes, Photos: c.Photos, Distance: c.Distance,
		Thresholds: []decide.Threshold{}}
	if s.labels == nil {
		if res.Drift, err = f.drift(ctx, a, c, arg, s); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(res)
		}
		return trials.WriteDrift(a.out, res.Drift)
	}
	ask, err := f.ask(ctx, a, decide.Options{Distance: c.Distance, Seed: a.seed})
	if err != nil {
		return err
	}
	t, err := c.Measure(ctx, s.x, s.labels, ask)
	if err != nil {
		return err
	}
	res.Trials = []*decide.Trial{t}
	if a.json {
		return a.printJSON(res)
	}
	return trials.Write(a.out, res.Trials)
}

// openNew reads or embeds what is compared with a calibration; it has no labels if there
// are none.
func (f *calibrateFlags) openNew(ctx context.Context, a *app, arg string) (*calibrationSet, error) {
	st, err := stat(arg, aRun, anIndex, someVectors)
	if err != nil {
		return nil, err
	}
	look, of := lookupFlags{labels: f.labels, column: f.column, dataDir: f.photos.dataDir, outside: f.photos.outside,
		strict: f.strict}, inPhotos
	switch {
	case !st.IsDir() || slices.Contains(formats().Extensions(), strings.ToLower(filepath.Ext(f.check))):
		look.embeddings, of = f.check, inVectors
	case isIndex(arg):
		look.in, look.index, of = f.check, arg, inIndex
	default:
		look.in, look.run = f.check, arg
	}
	at, err := look.open(ctx, a, of)
	if err != nil {
		return nil, err
	}
	defer at.close()
	t, err := look.table(ctx, a, at, true)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	s := &calibrationSet{source: at.of.Source, x: t.Table.X}
	if len(t.Table.Columns) > 0 {
		s.labels = t.Table.Labels()[0]
	}
	return s, nil
}

// drift compares photos without labels with those that the calibration was learnt from.
func (f *calibrateFlags) drift(ctx context.Context, a *app, c *decide.Calibration, arg string,
	s *calibrationSet) (*decide.Drift, error) {
	from, err := f.open(ctx, a, arg)
	if err != nil {
		return nil, err
	}
	if from.x.Rows != c.Given {
		return nil, fmt.Errorf("the calibration was learnt from %d photos, and %s has %d: photos without labels are "+
			"compared with those that it was learnt from; name them with --data", c.Given, arg, from.x.Rows)
	}
	return c.Drift(ctx, from.x, from.labels, s.x, f.fmr)
}
