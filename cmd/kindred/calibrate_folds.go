package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/cli/calibrations"
	"github.com/kindred-ml/kindred/internal/cli/progress"
	"github.com/kindred-ml/kindred/run"
)

// foldsEnd is what the name of the folder of the folds' networks has behind that of the calibration.
const foldsEnd = ".folds"

// crossFit meets strangers: it embeds the photos of the run by networks that did not see some of its classes.
func (f *calibrateFlags) crossFit(ctx context.Context, a *app, s *calibrationSet, p *calibrations.Divided,
	dir string) error {
	if p.New != nil || p.Known == nil {
		return usagef("--folds: %s needs photos of its classes that training did not see, and no classes kept "+
			"apart", dir)
	}
	folds, err := p.Folds(s.model, dir, f.folds, a.seed)
	if err != nil {
		return usagef("--folds %d: %w", f.folds, err)
	}
	file, err := f.file(dir)
	if err != nil {
		return err
	}
	if err := atomic.Prepare(file); err != nil {
		return err
	}
	begun := time.Now()
	if err := f.takeAll(ctx, a, s, p); err != nil {
		return err
	}
	a.sayFolds(folds, time.Since(begun))
	folds.Dir = file + foldsEnd
	meter := a.newMeter("embedding", countUnit)
	defer meter.close()
	folds.Progress = meter.count
	fold := 0
	folds.Options = func(k int) run.Options {
		fold = k
		fmt.Fprintf(a.err, "fold %d of %d: training without its classes\n", k, folds.N)
		return run.Options{Home: dataHome(f.photos.dataDir), Weights: a.findWeights(cli.Weights{}),
			Observe: progress.New(a.err, fmt.Sprintf("fold %d/%d  ", k, folds.N)).Observe, Features: meter.count}
	}
	s.found, err = folds.Strangers(ctx, s.distance)
	if stopped := (*run.Stopped)(nil); errors.As(err, &stopped) {
		return resumable{error: err, command: f.again(dir), where: fmt.Sprintf("fold %d of %d, %s; what is trained is "+
			"kept in %s", fold, folds.N, stopped.Stopped.Where(), escape.Name(folds.Dir))}
	}
	if err != nil {
		return err
	}
	s.folds = folds.Dir
	s.from = fmt.Sprintf("of the run, each left out of the training of one of %d networks", folds.N)
	switch {
	case folds.Computed:
		s.from = fmt.Sprintf("of the run, each left out of one of %d computed layers", folds.N)
	case !folds.Trains():
		s.from = "of the run, which its untrained network did not see"
	}
	return nil
}

// sayFolds says before the first fold what is done and, where it is known, how long it takes. embedding is how long
// all photos of the run took once.
func (a *app) sayFolds(f *calibrations.Folds, embedding time.Duration) {
	switch {
	case f.Computed:
		fmt.Fprintf(a.err, "the run kept the untrained network, with a layer computed from its photos: each of %d "+
			"folds of the %d classes computes the layer again without its classes, and nothing is trained\n", f.N,
			f.Classes)
		return
	case !f.Trains():
		fmt.Fprintf(a.err, "the run kept the untrained network, which saw none of the %d classes: nothing is trained\n",
			f.Classes)
		return
	}
	time := "how long that takes is not known: the run has no timing.csv"
	if f.Took > 0 {
		left := float64(f.N - 1) // folds' worth of photos in all trainings, of which the run had N
		all := f.Took.Seconds()*left + float64(f.N)*embedding.Seconds()
		time = fmt.Sprintf("about %s, by what the run's training took",
			spell.Count(max(1, int(math.Round(all/60))), "minute"))
	}
	fmt.Fprintf(a.err, "%d networks are trained for %d epochs each, without the classes of one of %d folds of the %d "+
		"classes: %s; Ctrl-C stops it, and the same command goes on\n", f.N, f.Epochs, f.N, f.Classes, time)
}

// again is the command as it was given.
func (f *calibrateFlags) again(arg string) string {
	words := []string{os.Args[0], "calibrate", dashed(arg)}
	f.visit(func(flag *pflag.Flag) {
		words = append(words, "--"+flag.Name+"="+strings.Trim(flag.Value.String(), "[]"))
	})
	return commandLine(words...)
}
