package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/calibrate"
	"github.com/kindred-ml/kindred/internal/app/cli/progress"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/run"
)

type calibrateFlags struct {
	outFiles
	opt         calibrate.Options
	photos      photoFlags
	labels, out string
	check, seen string
	fmr         []float64
	trials      int

	forceNetwork bool
}

// newCalibrate returns the command calibrate. Long: its help and its flags are most of it.
func newCalibrate(a *app) *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:               "calibrate RUN|INDEX|EMBEDDINGS",
		ValidArgsFunction: completeOne(completeRunOrFile),
		Short:             "Learn what distances mean: thresholds with a stated error, probabilities, unknowns",
		Long: `calibrate learns what a distance means, from photos that training did not see. It makes
one of two sorts of calibration, and prints which:

  closed  answers "which of my classes": every photo gets a label and its probability.
          It is learned from the photos that the run kept for validation, of classes that
          training saw. They are looked up among the photos that the run trained on.
  open    answers "which of them, or unknown". Its thresholds keep a rate of false matches
          or of unknown photos admitted (given a label), in 95 of 100 cases. It needs ten
          classes or more that training did not see.

RUN is the folder of a run. Its photos are split again as training split them. If the run
kept ten classes or more apart (data.validation=classes:0.5, or a test on other classes),
the calibration is open, else closed. --data OTHER names labelled photos of other classes,
from which an open calibration is learned. INDEX is an index, and EMBEDDINGS is a file of
embeddings with labels. Their classes must be classes that training did not see.

The calibration is written to calibration.json in the folder of the run or the index, to
E.calibration.json beside E.parquet, or to --out. 'kindred index create' copies it with the
network.

--folds 3 makes an open calibration of a run that saw all its classes. The run is trained
three times more, each time without a third of the classes, and the photos of that third
serve as unknown photos. Ctrl-C keeps the trained networks beside the calibration, and the
same command goes on. A run that ended with the untrained network is not trained again.

Classes that training saw lie farther apart than new ones. Thresholds learned from them
admit more unknown photos than promised, so items of such classes are refused.
--allow-seen accepts them, and the calibration records it.

An open calibration leaves out failed photos (of a lens cap, black frames), which are nearly the
same in three classes or more, and names them. --keep-failed keeps them.

A rate is refused if there are too few classes for it: a false-match rate of 1e-3 needs 26
classes, 1e-4 needs 78, and 1e-5 needs 246.

--trials N calibrates N times on a random half of the classes and measures on the other half
whether the promises hold. It prints usual methods beside them: a distance chosen without a
bound, Platt scaling, and with --seen both of these on classes of the training. It writes
nothing.

--check NEW compares an existing calibration with new photos or embeddings. If they have
labels, it checks whether the promises hold. If not, it tests whether they lie as near to
other classes as the photos that the calibration was learned from (those of RUN, INDEX or
EMBEDDINGS, or --data); the unit of the test is the class. --trials and --check need an open
calibration.`,
		Example: `  kindred calibrate runs/photos
  kindred calibrate runs/photos --data other-classes/ --fmr 1e-2,1e-3
  kindred calibrate E.parquet --distance cosine --trials 8
  kindred calibrate E.parquet --check new.parquet`,
		Args: exactArgs("RUN, INDEX or EMBEDDINGS"),
		RunE: func(cmd *cobra.Command, args []string) error { return runCalibrate(cmd.Context(), a, &f, args[0]) },
	}
	fs := newFlags(cmd)
	fs.labels(&f.labels, "labels of a file of embeddings")
	fs.column(&f.opt.Column, "column of labels; "+firstColumn)
	fs.distance(&f.opt.Distance, "", "that of the run or the index; euclidean for a file of embeddings", anyDistance...)
	fs.Float64SliceVar(&f.fmr, "fmr", []float64{1e-2, 1e-3}, "false-match rates to print thresholds for")
	fs.text(&f.out, "out", "", "file to write; default: in the folder of RUN or INDEX, or beside EMBEDDINGS",
		completeFiles)
	f.outFiles.add(cmd, "a calibration")
	fs.BoolVar(&f.opt.AllowSeen, "allow-seen", false, "accept classes that training saw; the thresholds "+
		"then admit more unknown photos than promised")
	fs.BoolVar(&f.opt.KeepFailed, "keep-failed", false, "keep photos that are nearly the same in several classes")
	fs.IntVar(&f.opt.Folds, "folds", 0, "train the run this many times, each time without a part of the classes, "+
		"whose photos serve as unknown photos; 0: do not train")
	fs.IntVar(&f.trials, "trials", 0, "calibrate this many times on half of the classes and measure on the others")
	fs.text(&f.seen, "seen", "", "embeddings with labels of classes that the network was "+
		"trained on, for comparison in --trials and --check", completeFiles)
	fs.text(&f.check, "check", "",
		"new photos or embeddings, with or without labels, to compare with the calibration", completeDatasets)
	fs.forceNetwork(&f.forceNetwork)
	f.photos.add(cmd)
	cli.AddStrict(fs.FlagSet, &f.opt.Strict)
	return cmd
}

func runCalibrate(ctx context.Context, a *app, f *calibrateFlags, arg string) error {
	of, err := f.checkFlags(arg)
	if err != nil {
		return err
	}
	file := cmp.Or(f.out, calibrations.Path(arg, of != fileSource))
	if f.check != "" {
		return a.checkCalibration(ctx, f, of, arg, file)
	}
	if f.trials == 0 {
		if err := f.prepare(file); err != nil {
			return err
		}
	}
	s, err := f.open(ctx, a, of, arg, file)
	if err != nil {
		return err
	}
	if s.New.X == nil {
		for _, flag := range []string{"fmr", "trials", "keep-failed"} {
			if f.cmd.Flags().Changed(flag) {
				return usagef("--%s needs classes that training did not see: %s kept %s; give photos of other "+
					"classes with --data, or train with data.validation=classes:0.5", flag, arg, s.Missing)
			}
		}
	}
	opt := decide.Options{Distance: s.Distance, Source: s.Source, Seed: a.seed}
	if f.trials > 0 {
		return a.validateCalibration(ctx, f, s, arg, opt)
	}
	meter := sync.OnceValue(func() *meter { return a.newMeter("comparing", countUnit) })
	opt.Progress = func(done float64) { meter().showCount(int(1000*done), 1000) }
	c, err := s.Calibrate(ctx, opt)
	meter().close()
	if err == nil && of == fileSource {
		c.Content, err = fileinfo.Digest(arg)
	}
	if err != nil {
		return err
	}
	if err := c.Save(file); err != nil {
		return err
	}
	if err := f.recordMade(file); err != nil {
		return err
	}
	if f.opt.Folds > 0 {
		if err := os.RemoveAll(file + foldsSuffix); err != nil {
			return err
		}
	}
	res := newCalibrationResult(c, file)
	res.Failed = s.Failed
	if !c.IsClosed() {
		for _, rate := range f.fmr {
			t, err := c.Threshold(rate)
			if err != nil {
				res.Refused = append(res.Refused, err.Error())
				continue
			}
			res.Thresholds = append(res.Thresholds, t)
		}
	}
	return a.printResult(res, func() error { return a.printCalibration(c, res, arg) })
}

// checkFlags returns the basis, or a usage error for flags that have wrong values or do not apply to it.
func (f *calibrateFlags) checkFlags(arg string) (of calibrationSource, err error) {
	for _, rate := range f.fmr {
		if !(rate > 0 && rate < 1) {
			return "", usagef("--fmr %g: want rates between 0 and 1", rate)
		}
	}
	if err := cmp.Or(checkAtLeast("trials", f.trials, 0), checkAtLeast("folds", f.opt.Folds, 0)); err != nil {
		return "", err
	}
	if f.opt.Folds == 1 {
		return "", usagef("--folds 1: want at least 2, or 0 for none")
	}
	st, err := statArg(arg, wantRun, wantIndex, wantVectors)
	if err != nil {
		return "", err
	}
	of = runSource
	switch {
	case !st.IsDir():
		of = fileSource
	case isIndex(arg):
		of = indexSource
	}
	withFile := of == fileSource || hasEmbeddingsName(f.check)
	if err := cmp.Or(checkRules(f.cmd, string(of),
		flagRule{"folds", of == runSource, "", reasonTrains},
		flagRule{"labels", withFile, "", reasonOwnLabels},
		flagRule{"data allow-seen", of != fileSource, "",
			"it has no network, and does not record which classes training saw"},
		flagRule{"data-dir allow-outside", of != fileSource, "", reasonDataset},
		flagRule{provenance.ForceFlag, true, "check seen", reasonFile},
	), checkRules(f.cmd, "--check "+f.check, flagRule{provenance.ForceFlag, withFile || f.seen != "", "",
		reasonFile})); err != nil {
		return "", err
	}
	if f.opt.AllowSeen && f.photos.data != "" {
		return "", usagef("--allow-seen applies to photos of a run and to items of an index; photos of --data must " +
			"be of other classes")
	}
	act := actLearn
	switch {
	case f.check != "":
		act = actCheck
	case f.trials > 0:
		act = actTry
	case f.opt.Folds > 0:
		act = actCrossFit
	}
	return of, f.checkAct(act)
}

// calibrationSource is what a calibration is learned from, as messages name it.
type calibrationSource string

const (
	runSource   calibrationSource = "a run"
	indexSource calibrationSource = "an index"
	fileSource  calibrationSource = "a file of embeddings"
)

// What kindred calibrate does, as messages name it.
const (
	actLearn           = "a new calibration"
	actCrossFit        = "--folds"
	actTry             = "--trials"
	actCheck           = "--check" // before the photos are open
	actCheckLabelled   = "--check of photos with labels"
	actCheckUnlabelled = "--check of photos without labels"
)

// checkAct refuses flags that do not apply to what the command does.
func (f *calibrateFlags) checkAct(act string) error {
	writes := act == actLearn || act == actCrossFit
	return checkRules(f.cmd, act,
		flagRule{"folds", writes, "", "it makes a new calibration"},
		flagRule{"trials", act == actLearn || act == actTry, "",
			"they split the classes that a new calibration is learned from"},
		flagRule{"fmr", act != actCrossFit, "", "unknown photos have their own rate (--fpir of kindred identify)"},
		flagRule{"data", act != actCrossFit, "", "its unknown photos are photos of the run"},
		flagRule{"allow-seen", act != actCrossFit, "",
			"its unknown photos are photos that a fold's training did not see"},
		flagRule{"keep-failed", act != actCrossFit, "", "failed photos are left out of photos of other classes only"},
		flagRule{"data allow-seen keep-failed", act != actCheckLabelled, "",
			"labelled photos are compared with the calibration's promises"},
		flagRule{"distance", writes || act == actTry, "", "the calibration has its own distance"},
		flagRule{"seen", !writes && act != actCheckUnlabelled, "",
			"only --trials and --check of labelled photos compare with it"},
		flagRule{"out", act != actTry, "", "nothing is written"},
		flagRule{"force", writes, "", "nothing is written"})
}

// open reads or embeds the photos to calibrate on, and leaves out failed ones.
func (f *calibrateFlags) open(ctx context.Context, a *app, of calibrationSource,
	arg, file string) (*calibrate.Photos, error) {
	f.setOptions(a)
	s, err := f.openSet(ctx, a, of, arg, file)
	if err != nil {
		return nil, err
	}
	return s, s.LeaveOutFailed(ctx)
}

// openSet reads or embeds the photos to calibrate on.
func (f *calibrateFlags) openSet(ctx context.Context, a *app, of calibrationSource,
	arg, file string) (*calibrate.Photos, error) {
	switch of {
	case fileSource:
		t, err := a.readLabelled(arg, f.labels, columnList(f.opt.Column), f.opt.Strict)
		if err != nil {
			return nil, err
		}
		return calibrate.FromTable(t, arg, f.opt)
	case indexSource:
		x, err := a.readIndex(arg)
		if err != nil {
			return nil, err
		}
		defer x.Close()
		return calibrate.FromIndex(ctx, x, arg, f.opt)
	}
	if f.opt.Folds > 0 {
		return f.crossFit(ctx, a, arg, file+foldsSuffix)
	}
	return calibrate.FromRun(ctx, arg, f.opt)
}

// foldsSuffix is appended to the calibration's name to name the folder of the folds' networks.
const foldsSuffix = ".folds"

// crossFit makes an open calibration of a run by networks of folds, which are kept in a folder.
func (f *calibrateFlags) crossFit(ctx context.Context, a *app, arg, keep string) (*calibrate.Photos, error) {
	fold := 0
	var meter *meter
	f.opt.OnFold = func(folds *calibrate.Folds, embedding time.Duration) {
		a.printFolds(folds, embedding)
		meter = a.newMeter("embedding", countUnit)
		folds.Dir, folds.Progress = keep, meter.showCount
		folds.Options = func(k int) run.Options {
			fold = k
			fmt.Fprintf(a.err, "fold %d of %d: training without the classes of this fold\n", k, folds.N)
			return run.Options{Home: dataFolder(f.photos.dataDir), Weights: a.findWeights(cli.WeightsFlags{}),
				Observe:         progress.New(a.err, fmt.Sprintf("fold %d/%d  ", k, folds.N)).Observe,
				FeatureProgress: meter.showCount}
		}
	}
	s, err := calibrate.FromRun(ctx, arg, f.opt)
	if meter != nil {
		meter.close()
	}
	if stopped := (*run.StoppedError)(nil); errors.As(err, &stopped) {
		return nil, resumableError{error: err, command: f.commandLine(arg),
			where: fmt.Sprintf("fold %d of %d, %s; what is trained is kept in %s",
				fold, f.opt.Folds, stopped.StoppedError.Where(), escape.Name(keep))}
	}
	return s, err
}

// printFolds prints before the first fold what will be done and, if it is known, how long it takes.
// embedding is the time that embedding all photos of the run took once.
func (a *app) printFolds(f *calibrate.Folds, embedding time.Duration) {
	switch {
	case f.Computed:
		fmt.Fprintf(a.err, "the run kept the untrained network, with a layer computed from its photos: each of %d "+
			"folds of the %d classes computes the layer again without its classes, and nothing is trained\n", f.N,
			f.Classes)
		return
	case !f.NeedsTraining():
		fmt.Fprintf(a.err, "the run kept the untrained network, which saw none of the %d classes: nothing is trained\n",
			f.Classes)
		return
	}
	time := "the time is not known, as the run has no timing.csv"
	if f.Duration > 0 {
		left := float64(f.N - 1) // folds' worth of photos in all trainings; the run's own training had N
		all := f.Duration.Seconds()*left + float64(f.N)*embedding.Seconds()
		time = fmt.Sprintf("about %s, judged by the run's own training",
			enum.Count(max(1, int(math.Round(all/60))), "minute"))
	}
	fmt.Fprintf(a.err, "%d networks are trained for %d epochs each, every one without one of %d folds of the %d "+
		"classes: %s; Ctrl-C stops it, and the same command goes on\n", f.N, f.Epochs, f.N, f.Classes, time)
}

// commandLine returns the command line as it was given.
func (f *calibrateFlags) commandLine(arg string) string {
	words := []string{os.Args[0], "calibrate", escapeDash(arg)}
	f.cmd.Flags().Visit(func(flag *pflag.Flag) {
		words = append(words, "--"+flag.Name+"="+strings.Trim(flag.Value.String(), "[]"))
	})
	return escape.Command(words...)
}

// setOptions sets the options that no flag sets.
func (f *calibrateFlags) setOptions(a *app) {
	home := dataFolder(f.photos.dataDir)
	tell := func(d *data.Dataset, err error) (*data.Dataset, error) {
		if err == nil {
			a.printNotes(d)
		}
		return d, err
	}
	f.opt.Seed, f.opt.Data, f.opt.Remarks = a.seed, f.photos.data, a.err
	f.opt.Embed, f.opt.Labelled = a.embedAndReport, a.keepLabelled
	f.opt.Trained = func(ctx context.Context, c *run.DataConfig) (*data.Dataset, error) {
		c.Outside = c.Outside || f.photos.outside
		return tell(openData(ctx, c, home))
	}
	f.opt.Others = func(ctx context.Context, crop bool) (*data.Dataset, error) {
		return tell(remotedata.Open(ctx, f.photos.data, data.OpenOptions{Home: home, Crop: crop,
			Outside: f.photos.outside, Formats: embeddingFormats(), Strict: f.opt.Strict}))
	}
}

// copyCalibration copies a network's calibration to where the network's export or index looks for it. A calibration
// of another network is not copied, and a remark says so.
func (a *app) copyCalibration(of *calibrations.Distances, to string, as embedding.Network) (
	*decide.Calibration, error) {
	c, err := of.CopyTo(to, as)
	var unfit *calibrations.UnfitError
	if errors.As(err, &unfit) {
		fmt.Fprintf(a.err, "%s is not copied: %s\n", escape.Name(unfit.File), escape.Text(unfit.Err.Error()))
		return nil, nil
	}
	return c, err
}
