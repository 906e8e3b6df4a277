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

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/cli/calibrate"
	"github.com/kindred-ml/kindred/internal/cli/progress"
	"github.com/kindred-ml/kindred/run"
)

// foldsEnd is what the name of the folder of the folds' networks has behind that of the calibration.
const foldsEnd = ".folds"

// crossFit calibrates a run with strangers, by networks of folds that are kept in a folder.
func (f *calibrateFlags) crossFit(ctx context.Context, a *app, arg, keep string) (*calibrate.Set, error) {
	fold := 0
	var meter *meter
	f.opt.Begin = func(folds *calibrate.Folds, embedding time.Duration) {
		a.sayFolds(folds, embedding)
		meter = a.newMeter("embedding", countUnit)
		folds.Dir, folds.Progress = keep, meter.count
		folds.Options = func(k int) run.Options {
			fold = k
			fmt.Fprintf(a.err, "fold %d of %d: training without its classes\n", k, folds.N)
			return run.Options{Home: dataHome(f.photos.dataDir), Weights: a.findWeights(cli.Weights{}),
				Observe: progress.New(a.err, fmt.Sprintf("fold %d/%d  ", k, folds.N)).Observe, Features: meter.count}
		}
	}
	s, err := calibrate.OfRun(ctx, arg, f.opt)
	if meter != nil {
		meter.close()
	}
	if stopped := (*run.Stopped)(nil); errors.As(err, &stopped) {
		return nil, resumable{error: err, command: f.again(arg), where: fmt.Sprintf("fold %d of %d, %s; what is "+
			"trained is kept in %s", fold, f.opt.Folds, stopped.Stopped.Where(), escape.Name(keep))}
	}
	return s, err
}

// sayFolds says before the first fold what is done and, where it is known, how long it takes. embedding is how long
// all photos of the run took once.
func (a *app) sayFolds(f *calibrate.Folds, embedding time.Duration) {
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
	f.cmd.Flags().Visit(func(flag *pflag.Flag) {
		words = append(words, "--"+flag.Name+"="+strings.Trim(flag.Value.String(), "[]"))
	})
	return commandLine(words...)
}
