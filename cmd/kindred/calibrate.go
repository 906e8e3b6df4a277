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
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
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
	outputs.Files
	opt         calibrate.Options
	photos      inputs.PhotoFlags
	labels, out string
	check, seen string
	fmr         []float64
	trials      int

	forceNetwork bool
}

// newCalibrate returns the command calibrate. Long: its help and its flags are most of it.
func newCalibrate(a *console.Console) *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:               "calibrate RUN|INDEX|EMBEDDINGS",
		ValidArgsFunction: complete.One(complete.RunOrFile),
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
	fs := flags.New(cmd)
	fs.Labels(&f.labels, "labels of a file of embeddings")
	fs.Column(&f.opt.Column, "column of labels; "+flags.FirstColumn)
	fs.Distance(&f.opt.Distance, "", "that of the run or the index; euclidean for a file of embeddings",
		flags.AnyDistance...)
	fs.Float64SliceVar(&f.fmr, "fmr", []float64{1e-2, 1e-3}, "false-match rates to print thresholds for")
	fs.Text(&f.out, "out", "", "file to write; default: in the folder of RUN or INDEX, or beside EMBEDDINGS",
		complete.Files)
	f.Files.Add(cmd, "a calibration")
	fs.BoolVar(&f.opt.AllowSeen, "allow-seen", false, "accept classes that training saw; the thresholds "+
		"then admit more unknown photos than promised")
	fs.BoolVar(&f.opt.KeepFailed, "keep-failed", false, "keep photos that are nearly the same in several classes")
	fs.IntVar(&f.opt.Folds, "folds", 0, "train the run this many times, each time without a part of the classes, "+
		"whose photos serve as unknown photos; 0: do not train")
	fs.IntVar(&f.trials, "trials", 0, "calibrate this many times on half of the classes and measure on the others")
	fs.Text(&f.seen, "seen", "", "embeddings with labels of classes that the network was "+
		"trained on, for comparison in --trials and --check", complete.Files)
	fs.Text(&f.check, "check", "",
		"new photos or embeddings, with or without labels, to compare with the calibration", complete.Datasets)
	fs.ForceNetwork(&f.forceNetwork)
	f.photos.Add(cmd)
	cli.AddStrict(fs.FlagSet, &f.opt.Strict)
	return cmd
}

func runCalibrate(ctx context.Context, a *console.Console, f *calibrateFlags, arg string) error {
	of, err := f.checkFlags(arg)
	if err != nil {
		return err
	}
	file := cmp.Or(f.out, calibrations.Path(arg, of != fileSource))
	if f.check != "" {
		return checkCalibration(ctx, a, f, of, arg, file)
	}
	if f.trials == 0 {
		if err := f.Prepare(file); err != nil {
			return err
		}
	}
	s, err := f.open(ctx, a, of, arg, file)
	if err != nil {
		return err
	}
	if s.New.X == nil {
		for _, flag := range []string{"fmr", "trials", "keep-failed"} {
			if f.Cmd.Flags().Changed(flag) {
				return cli.Usagef("--%s needs classes that training did not see: %s kept %s; give photos of other "+
					"classes with --data, or train with data.validation=classes:0.5", flag, arg, s.Missing)
			}
		}
	}
	opt := decide.Options{Distance: s.Distance, Source: s.Source, Seed: a.Seed}
	if f.trials > 0 {
		return validateCalibration(ctx, a, f, s, arg, opt)
	}
	meter := sync.OnceValue(func() *console.Meter { return a.NewMeter("comparing", console.Count) })
	opt.Progress = func(done float64) { meter().ShowCount(int(1000*done), 1000) }
	c, err := s.Calibrate(ctx, opt)
	meter().Close()
	if err == nil && of == fileSource {
		c.Content, err = fileinfo.Digest(arg)
	}
	if err != nil {
		return err
	}
	if err := c.Save(file); err != nil {
		return err
	}
	if err := f.RecordMade(file); err != nil {
		return err
	}
	if f.opt.Folds > 0 {
		if err := os.RemoveAll(file + foldsSuffix); err != nil {
			return err
		}
	}
	res := calibrate.NewResult(c, file)
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
	return a.PrintResult(res, func() error { return calibrate.Print(a, c, res, arg) })
}

// checkFlags returns the basis, or a usage error for flags that have wrong values or do not apply to it.
func (f *calibrateFlags) checkFlags(arg string) (of calibrationSource, err error) {
	for _, rate := range f.fmr {
		if !(rate > 0 && rate < 1) {
			return "", cli.Usagef("--fmr %g: want rates between 0 and 1", rate)
		}
	}
	if err := cmp.Or(flags.CheckAtLeast("trials", f.trials, 0), flags.CheckAtLeast("folds", f.opt.Folds,
		0)); err != nil {
		return "", err
	}
	if f.opt.Folds == 1 {
		return "", cli.Usagef("--folds 1: want at least 2, or 0 for none")
	}
	st, err := inputs.StatArg(arg, inputs.WantRun, inputs.WantIndex, inputs.WantVectors)
	if err != nil {
		return "", err
	}
	of = runSource
	switch {
	case !st.IsDir():
		of = fileSource
	case inputs.IsIndex(arg):
		of = indexSource
	}
	withFile := of == fileSource || inputs.HasEmbeddingsName(f.check)
	if err := cmp.Or(flags.Check(f.Cmd, string(of),
		flags.When("folds", of == runSource, "", flags.ReasonTrains),
		flags.When("labels", withFile, "", flags.ReasonOwnLabels),
		flags.When("data allow-seen", of != fileSource, "",
			"it has no network, and does not record which classes training saw"),
		flags.When("data-dir allow-outside", of != fileSource, "", flags.ReasonDataset),
		flags.When(provenance.ForceFlag, true, "check seen", flags.ReasonFile),
	), flags.Check(f.Cmd, "--check "+f.check, flags.When(provenance.ForceFlag, withFile || f.seen != "", "",
		flags.ReasonFile))); err != nil {
		return "", err
	}
	if f.opt.AllowSeen && f.photos.Data != "" {
		return "", cli.Usagef("--allow-seen applies to photos of a run and to items of an index; photos of --data " +
			"must " +
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
	return flags.Check(f.Cmd, act,
		flags.When("folds", writes, "", "it makes a new calibration"),
		flags.When("trials", act == actLearn || act == actTry, "",
			"they split the classes that a new calibration is learned from"),
		flags.When("fmr", act != actCrossFit, "", "unknown photos have their own rate (--fpir of kindred identify)"),
		flags.When("data", act != actCrossFit, "", "its unknown photos are photos of the run"),
		flags.When("allow-seen", act != actCrossFit, "",
			"its unknown photos are photos that a fold's training did not see"),
		flags.When("keep-failed", act != actCrossFit, "", "failed photos are left out of photos of other classes only"),
		flags.When("data allow-seen keep-failed", act != actCheckLabelled, "",
			"labelled photos are compared with the calibration's promises"),
		flags.When("distance", writes || act == actTry, "", "the calibration has its own distance"),
		flags.When("seen", !writes && act != actCheckUnlabelled, "",
			"only --trials and --check of labelled photos compare with it"),
		flags.When("out", act != actTry, "", "nothing is written"),
		flags.When("force", writes, "", "nothing is written"))
}

// open reads or embeds the photos to calibrate on, and leaves out failed ones.
func (f *calibrateFlags) open(ctx context.Context, a *console.Console, of calibrationSource,
	arg, file string) (*calibrate.Photos, error) {
	f.setOptions(a)
	s, err := f.openSet(ctx, a, of, arg, file)
	if err != nil {
		return nil, err
	}
	return s, s.LeaveOutFailed(ctx)
}

// openSet reads or embeds the photos to calibrate on.
func (f *calibrateFlags) openSet(ctx context.Context, a *console.Console, of calibrationSource,
	arg, file string) (*calibrate.Photos, error) {
	switch of {
	case fileSource:
		t, err := inputs.ReadLabelled(a, arg, f.labels, inputs.ColumnList(f.opt.Column), f.opt.Strict)
		if err != nil {
			return nil, err
		}
		return calibrate.FromTable(t, arg, f.opt)
	case indexSource:
		x, err := inputs.ReadIndex(a, arg)
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
func (f *calibrateFlags) crossFit(ctx context.Context, a *console.Console, arg, keep string) (*calibrate.Photos,
	error) {
	fold := 0
	var meter *console.Meter
	f.opt.OnFold = func(folds *calibrate.Folds, embedding time.Duration) {
		printFolds(a, folds, embedding)
		meter = a.NewMeter("embedding", console.Count)
		folds.Dir, folds.Progress = keep, meter.ShowCount
		folds.Options = func(k int) run.Options {
			fold = k
			fmt.Fprintf(a.Err, "fold %d of %d: training without the classes of this fold\n", k, folds.N)
			return run.Options{Home: inputs.DataFolder(f.photos.DataDir),
				Weights:         inputs.FindWeights(a, cli.WeightsFlags{}),
				Observe:         progress.New(a.Err, fmt.Sprintf("fold %d/%d  ", k, folds.N)).Observe,
				FeatureProgress: meter.ShowCount}
		}
	}
	s, err := calibrate.FromRun(ctx, arg, f.opt)
	if meter != nil {
		meter.Close()
	}
	if stopped := (*run.StoppedError)(nil); errors.As(err, &stopped) {
		return nil, cli.ResumableError{Err: err, Command: f.commandLine(arg),
			Where: fmt.Sprintf("fold %d of %d, %s; what is trained is kept in %s",
				fold, f.opt.Folds, stopped.StoppedError.Where(), escape.Name(keep))}
	}
	return s, err
}

// printFolds prints before the first fold what will be done and, if it is known, how long it takes.
// embedding is the time that embedding all photos of the run took once.
func printFolds(a *console.Console, f *calibrate.Folds, embedding time.Duration) {
	switch {
	case f.Computed:
		fmt.Fprintf(a.Err, "the run kept the untrained network, with a layer computed from its photos: each of %d "+
			"folds of the %d classes computes the layer again without its classes, and nothing is trained\n", f.N,
			f.Classes)
		return
	case !f.NeedsTraining():
		fmt.Fprintf(a.Err, "the run kept the untrained network, which saw none of the %d classes: nothing is trained\n",
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
	fmt.Fprintf(a.Err, "%d networks are trained for %d epochs each, every one without one of %d folds of the %d "+
		"classes: %s; Ctrl-C stops it, and the same command goes on\n", f.N, f.Epochs, f.N, f.Classes, time)
}

// commandLine returns the command line as it was given.
func (f *calibrateFlags) commandLine(arg string) string {
	words := []string{os.Args[0], "calibrate", escapeDash(arg)}
	f.Cmd.Flags().Visit(func(flag *pflag.Flag) {
		words = append(words, "--"+flag.Name+"="+strings.Trim(flag.Value.String(), "[]"))
	})
	return escape.Command(words...)
}

// setOptions sets the options that no flag sets.
func (f *calibrateFlags) setOptions(a *console.Console) {
	home := inputs.DataFolder(f.photos.DataDir)
	tell := func(d *data.Dataset, err error) (*data.Dataset, error) {
		if err == nil {
			inputs.PrintNotes(a, d)
		}
		return d, err
	}
	f.opt.Seed, f.opt.Data, f.opt.Remarks = a.Seed, f.photos.Data, a.Err
	f.opt.Embed = func(ctx context.Context, m *run.Model, p *data.Part) (*run.Embeddings, error) {
		return inputs.EmbedAndReport(ctx, a, m, p)
	}
	f.opt.Labelled = func(t *embedding.Table, name string, strict bool) (*embedding.Table, []int, error) {
		return inputs.KeepLabelled(a, t, name, strict)
	}
	f.opt.Trained = func(ctx context.Context, c *run.DataConfig) (*data.Dataset, error) {
		c.Outside = c.Outside || f.photos.Outside
		return tell(inputs.OpenData(ctx, c, home))
	}
	f.opt.Others = func(ctx context.Context, crop bool) (*data.Dataset, error) {
		return tell(remotedata.Open(ctx, f.photos.Data, data.OpenOptions{Home: home, Crop: crop,
			Outside: f.photos.Outside, Formats: cli.EmbeddingFormats(), Strict: f.opt.Strict}))
	}
}

// copyCalibration copies a network's calibration to where the network's export or index looks for it. A calibration
// of another network is not copied, and a remark says so.
func copyCalibration(a *console.Console, of *calibrations.Distances, to string, as embedding.Network) (
	*decide.Calibration, error) {
	c, err := of.CopyTo(to, as)
	var unfit *calibrations.UnfitError
	if errors.As(err, &unfit) {
		fmt.Fprintf(a.Err, "%s is not copied: %s\n", escape.Name(unfit.File), escape.Text(unfit.Err.Error()))
		return nil, nil
	}
	return c, err
}
