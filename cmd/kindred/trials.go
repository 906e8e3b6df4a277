package main

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/calibrate"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/validations"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
)

// newValidation answers --trials and --check of the calibration of arg.
func (f *calibrateFlags) newValidation(ctx context.Context, a *console.Console, arg string, opt decide.Options) (
	decide.ValidationOptions, error) {
	ask := decide.ValidationOptions{FMR: f.fmr, FPIR: []float64{0.05}, Galleries: []int{20, 200, 658},
		Coverage: []float64{0.9, 0.95}}
	if f.seen == "" {
		return ask, nil
	}
	t, err := inputs.ReadLabelled(a, f.seen, "", inputs.ColumnList(f.opt.Column), f.opt.Strict)
	if err != nil {
		return ask, err
	}
	err = provenance.CheckSameNetwork(provenance.SourceOfTable(t, f.seen),
		provenance.EmbeddingSource{Name: arg, Network: opt.Source},
		f.forceNetwork, a.Err)
	if err != nil {
		return ask, err
	}
	s, err := calibrate.FromTable(t, f.seen, f.opt)
	if err != nil {
		return ask, err
	}
	if ask.Seen, err = s.Calibrate(ctx, opt); err != nil {
		return ask, fmt.Errorf("%s: %w", f.seen, err)
	}
	return ask, nil
}

// validateCalibration calibrates on halves of the classes.
func validateCalibration(ctx context.Context, a *console.Console, f *calibrateFlags, s *calibrate.Photos, arg string,
	opt decide.Options) error {
	ask, err := f.newValidation(ctx, a, arg, opt)
	if err != nil {
		return err
	}
	res := &calibrate.Result{Distance: s.Distance, Thresholds: []decide.Threshold{}}
	for i := range f.trials {
		opt.Seed = a.Seed + uint64(i)
		t, err := decide.Validate(ctx, s.New.X, s.New.Labels, ask, opt)
		if err != nil {
			return err
		}
		res.Trials = append(res.Trials, t)
		fmt.Fprintf(a.Err, "trial %d of %d\n", i+1, f.trials)
	}
	return a.PrintResult(res, func() error { return validations.Write(a.Out, res.Trials) })
}

// checkCalibration compares the calibration in a file with new photos.
func checkCalibration(ctx context.Context, a *console.Console, f *calibrateFlags, of calibrationSource, arg,
	file string) error {
	c, err := calibrations.Load(file, arg)
	if err != nil {
		return err
	}
	if c.IsClosed() {
		return cli.Usagef("--check needs an open calibration, as it compares classes that training did not see: "+
			"%s is closed; make an open one with --data", file)
	}
	if of == fileSource && f.out == "" {
		if err := f.checkContent(c, arg); err != nil {
			return err
		}
	}
	t, from, err := f.openNew(ctx, a, of, arg)
	if err != nil {
		return err
	}
	if err := f.fits(a, c, file, t, from); err != nil {
		return err
	}
	res := &calibrate.Result{File: file, Classes: c.Classes, Photos: c.Photos, Distance: c.Distance,
		Thresholds: []decide.Threshold{}}
	if len(t.Columns) == 0 {
		if err := f.checkAct(actCheckUnlabelled); err != nil {
			return err
		}
		from, err := f.open(ctx, a, of, arg, file)
		if err != nil {
			return err
		}
		if res.Drift, err = from.MeasureDrift(ctx, c, arg, t.X, f.fmr); err != nil {
			return err
		}
		return a.PrintResult(res, func() error { return validations.WriteDrift(a.Out, res.Drift) })
	}
	if err := f.checkAct(actCheckLabelled); err != nil {
		return err
	}
	ask, err := f.newValidation(ctx, a, arg, decide.Options{Distance: c.Distance, Source: c.Source, Seed: a.Seed})
	if err != nil {
		return err
	}
	trial, err := c.Validate(ctx, t.X, t.Labels()[0], ask)
	if err != nil {
		return err
	}
	res.Trials = []*decide.Validation{trial}
	return a.PrintResult(res, func() error { return validations.Write(a.Out, res.Trials) })
}

// checkContent checks that the calibration beside a file of embeddings is that of its content.
func (f *calibrateFlags) checkContent(c *decide.Calibration, arg string) error {
	t, err := cli.EmbeddingFormats().Read(arg)
	if err == nil {
		err = calibrations.FromTable(t, arg).CheckContent(c)
	}
	if err != nil {
		return fmt.Errorf("%w with --out", err)
	}
	return nil
}

// fits checks that the calibration in a file is for the network of the new photos, which is that of from unless they
// were read from a file of embeddings.
func (f *calibrateFlags) fits(a *console.Console, c *decide.Calibration, file string, t *embedding.Table,
	from *calibrations.Distances) error {
	source, dim := embedding.Network{}, t.X.Cols
	if from.From == "" {
		err := provenance.CheckSameNetwork(provenance.SourceOfTable(t, f.check),
			provenance.EmbeddingSource{Name: file, Network: c.Source, Dim: c.Dim},
			f.forceNetwork, a.Err)
		if err != nil {
			return err
		}
	} else {
		var err error
		if source, err = from.SourceFor(c, file); err != nil {
			return err
		}
	}
	if err := c.CheckNetwork(source, "", dim); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// openNew reads or embeds the photos to compare with a calibration. The table has no columns if there are no labels.
func (f *calibrateFlags) openNew(ctx context.Context, a *console.Console, of calibrationSource, arg string) (
	*embedding.Table, *calibrations.Distances, error) {
	look := inputs.LookupFlags{Console: a, DataDir: f.photos.DataDir, Outside: f.photos.Outside,
		Spec: lookup.Spec{Labels: f.labels,
			Column: f.opt.Column, Strict: f.opt.Strict}}
	switch {
	case of == fileSource || inputs.HasEmbeddingsName(f.check):
		look.Spec.Embeddings, look.Spec.Vector = f.check, f.check
	case of == indexSource:
		look.Spec.In, look.Spec.Index = f.check, arg
	default:
		look.Spec.In, look.Spec.Run, look.Network.Run = f.check, arg, arg
	}
	source, err := lookup.Open(ctx, &look.Spec, &look)
	if err != nil {
		return nil, nil, err
	}
	defer source.Close()
	t, err := source.Table(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	defer t.Close()
	return t.Table, source.Calibration, nil
}
