package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/cli/calibrations"
	"github.com/kindred-ml/kindred/internal/cli/origin"
	"github.com/kindred-ml/kindred/internal/remote/remotedata"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

type calibrateFlags struct {
	photos              photoFlags
	labels, column, out string
	distance, check     string
	seen                string
	fmr                 []float64
	force               bool
	trials              int
}

// calibrated is what kindred calibrate --json prints.
type calibrated struct {
	File       string             `json:"file,omitempty"`
	Classes    int                `json:"classes"`
	Photos     int                `json:"photos"`
	Copies     int                `json:"copies"`
	Distance   rank.Distance      `json:"distance"`
	Thresholds []decide.Threshold `json:"thresholds"`
	Refused    []string           `json:"refused,omitempty"`
	ECE        float64            `json:"ece"`
	VoteECE    float64            `json:"vote_ece"`
	Trials     []*decide.Trial    `json:"trials,omitempty"`
	Drift      *decide.Drift      `json:"drift,omitempty"`
}

func newCalibrate(a *app) *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate RUN|INDEX|EMBEDDINGS",
		Short: "Learn what distances mean: thresholds with a stated error, probabilities, unknowns",
		Long: `calibrate learns from classes that training never saw what a distance means: which one
keeps a false-match rate, how likely two photos at a distance show the same thing, how
near strangers come as galleries grow, and how far photos lie from their own class. What
it says holds for new classes, in 95 of 100 cases; kindred identify decides by it
(docs/decisions.md).

RUN is the folder of a run that held classes back for validation
(data.validation=classes:0.2), or that is given other classes by --data; INDEX an index,
whose items must be of classes that training did not see, or --data; EMBEDDINGS a file of
embeddings with labels, of such classes as well. The calibration goes to calibration.json in the
folder of a run or an index, beside E.parquet to E.calibration.json, or to --out. 'kindred
index create' takes it along with the network.

A rate that the number of classes does not carry is refused: a false-match rate of 1e-3
takes 26 classes, of 1e-4 78, of 1e-5 246.

--trials N draws half of the classes N times, calibrates on them, and measures on the
other half what was promised, beside what is usually done: a distance chosen without a
bound, Platt scaling, and with --seen both on classes of the training; nothing is written
then. --check NEW compares the calibration that is there with photos or embeddings:
whether its promises hold, where these have labels; where they have none, whether they lie
as near to other classes as the photos that it was learnt from (those of RUN, INDEX or
EMBEDDINGS, or --data), by a test whose unit is the class.`,
		Example: `  kindred calibrate runs/photos
  kindred calibrate runs/photos --data other-classes/ --fmr 1e-2,1e-3
  kindred calibrate E.parquet --distance cosine --trials 8
  kindred calibrate E.parquet --check new.parquet`,
		Args: exactArgs("RUN, INDEX or EMBEDDINGS"),
		RunE: func(cmd *cobra.Command, args []string) error { return runCalibrate(cmd.Context(), a, &f, args[0]) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.labels, "labels", "", "labels of a file of embeddings; default: those in it or beside it")
	fs.StringVar(&f.column, "column", "",
		"column of labels; default: the first of label, fine and coarse that exists")
	fs.StringVar(&f.distance, "distance", "",
		"euclidean, cosine or dot; default: the run's or the index's, of a file of embeddings euclidean")
	fs.Float64SliceVar(&f.fmr, "fmr", []float64{1e-2, 1e-3}, "false-match rates to print thresholds for")
	fs.StringVar(&f.out, "out", "", "file of the calibration; default: in the folder, or beside the embeddings")
	fs.BoolVar(&f.force, "force", false, "replace a calibration that is there")
	fs.IntVar(&f.trials, "trials", 0, "calibrate on half of the classes and measure on the others, so many times")
	fs.StringVar(&f.seen, "seen", "", "for comparison in --trials and --check: embeddings of classes that the "+
		"network was trained on, with labels")
	fs.StringVar(&f.check, "check", "",
		"photos or embeddings, with or without labels, to compare with the calibration that is there")
	f.photos.add(cmd)
	return cmd
}

// calibrationSet is what is calibrated on.
type calibrationSet struct {
	x        *mat.Dense
	labels   []int64
	distance rank.Distance
	source   decide.Source
	file     string     // of the calibration
	model    *run.Model // nil of embeddings
}

func runCalibrate(ctx context.Context, a *app, f *calibrateFlags, arg string) error {
	for _, rate := range f.fmr {
		if !(rate > 0 && rate < 1) {
			return usagef("--fmr %g: want rates between 0 and 1", rate)
		}
	}
	if err := atLeast("trials", f.trials, 0); err != nil {
		return err
	}
	if f.check != "" {
		return a.checkCalibration(ctx, f, arg)
	}
	s, err := f.open(ctx, a, arg)
	if err != nil {
		return err
	}
	opt := decide.Options{Distance: s.distance, Source: s.source, Seed: a.seed}
	if f.trials > 0 {
		return a.tryCalibration(ctx, f, s, opt)
	}
	file := s.file
	if f.out != "" {
		file = f.out
	}
	if _, err := os.Stat(file); err == nil && !f.force {
		return fmt.Errorf("%s is there already: replace it with --force, or choose another file with --out", file)
	}
	if err := atomic.Prepare(file); err != nil {
		return err
	}
	meter := a.newMeter("comparing", countUnit)
	opt.Progress = func(done float64) { meter.count(int(1000*done), 1000) }
	c, err := decide.Calibrate(ctx, s.x, s.labels, opt)
	meter.close()
	if err != nil {
		return err
	}
	if err := c.Save(file); err != nil {
		return err
	}
	res := &calibrated{File: file, Classes: c.Classes, Photos: c.Photos, Copies: c.Copies, Distance: c.Distance,
		ECE: c.Reliability.ECE, VoteECE: c.Vote.Reliability.ECE, Thresholds: []decide.Threshold{}}
	for _, rate := range f.fmr {
		t, err := c.Threshold(rate)
		if err != nil {
			res.Refused = append(res.Refused, err.Error())
			continue
		}
		res.Thresholds = append(res.Thresholds, t)
	}
	if a.json {
		return a.printJSON(res)
	}
	return a.printCalibration(c, res)
}

func (a *app) printCalibration(c *decide.Calibration, res *calibrated) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s: %d photos of %d classes, %s distance\n", res.File, res.Photos, res.Classes, res.Distance)
	if c.Copies > 0 {
		fmt.Fprintf(w, "%d copies of photos within their class were left out\n", c.Copies)
	}
	fmt.Fprintf(w, "\nfalse matches\tdistance\tmeasured\tat 95 %%\tsame pairs matched\n")
	for _, t := range res.Thresholds {
		fmt.Fprintf(w, "%g\t%.4g\t%.2g\t%.2g\t%.1f %%\n", t.Rate, t.Distance, t.Measured, t.Bound, 100*t.TrueMatch)
	}
	fmt.Fprintf(w, "\ngallery of classes\tdistance that 5 %% of strangers reach at most\tphotos known by it\n")
	for _, n := range []int{10, 100, 1000, 10_000} {
		g := decide.Gallery{Classes: n, Items: int(float64(n)*c.PerClass + 0.5)}
		t, err := c.Unknown(0.05, g)
		if err != nil {
			fmt.Fprintf(w, "%d\t%s\n", n, escape.Text(err.Error()))
			continue
		}
		fmt.Fprintf(w, "%d\t%.4g\t%.1f %%\n", n, t.Distance, 100*t.TrueMatch)
	}
	fmt.Fprintf(w, "\nprobability \"same\"\tis off by %.3f on classes that it was not fitted to (ECE)\n", res.ECE)
	fmt.Fprintf(w, "probability of a label\tis off by %.3f\n", res.VoteECE)
	for _, r := range res.Refused {
		fmt.Fprintln(w, r)
	}
	return w.Flush()
}

// file is where the calibration of a run, an index or embeddings lies.
func (f *calibrateFlags) file(arg string) (string, error) {
	if f.out != "" {
		return f.out, nil
	}
	st, err := os.Stat(arg)
	if err != nil {
		return "", err
	}
	return calibrations.File(arg, st.IsDir()), nil
}

// carryCalibration puts the calibration of a network where what is made with the network looks for
// it. One for another network stays behind, and is said to.
func (a *app) carryCalibration(of *calibrations.Of, to string, as decide.Source) (*decide.Calibration, error) {
	c, err := of.Carry(to, as)
	var unfit *calibrations.UnfitError
	if errors.As(err, &unfit) {
		fmt.Fprintf(a.err, "%s is left behind: %s\n", escape.Name(unfit.File), escape.Text(unfit.Err.Error()))
		return nil, nil
	}
	return c, err
}

// open reads or embeds what is calibrated on.
func (f *calibrateFlags) open(ctx context.Context, a *app, arg string) (*calibrationSet, error) {
	st, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	s := &calibrationSet{file: calibrations.File(arg, st.IsDir())}
	switch {
	case !st.IsDir():
		if f.photos.data != "" {
			return nil, usagef("--data goes with a run or an index, whose network embeds it")
		}
		t, err := a.labelled(arg, f.labels, oneColumn(f.column))
		if err != nil {
			return nil, err
		}
		if err := s.table(t, arg); err != nil {
			return nil, err
		}
	case f.labels != "":
		return nil, usagef("--labels goes with a file of embeddings")
	case isIndex(arg):
		err = f.openIndex(ctx, a, s, arg)
	default:
		err = f.openRun(ctx, a, s, arg)
	}
	if err != nil {
		return nil, err
	}
	if f.distance != "" {
		if s.distance, err = rank.ParseDistance(f.distance); err != nil {
			return nil, usageError(err)
		}
	}
	return s, nil
}

// table takes embeddings with the first column of their labels.
func (s *calibrationSet) table(t *embedding.Table, name string) error {
	if t.X == nil || len(t.Columns) == 0 {
		return fmt.Errorf("%s holds no embeddings with labels", name)
	}
	s.x, s.labels = t.X, t.Labels()[0]
	return nil
}

// openRun takes the validation classes of a run, or embeds other ones.
func (f *calibrateFlags) openRun(ctx context.Context, a *app, s *calibrationSet, dir string) error {
	m, err := run.Load(dir)
	if err != nil {
		return err
	}
	s.model = m
	if s.source, err = origin.OfFolder(m, dir, dir); err != nil {
		return err
	}
	if s.distance, err = rank.ParseDistance(m.Config.Eval.Distance); err != nil {
		return err
	}
	if f.photos.data != "" {
		return f.embed(ctx, a, s)
	}
	folder, err := run.Open(dir)
	if err != nil {
		return err
	}
	const other = "train with data.validation=classes:0.2, or give labelled photos of other classes with --data"
	t, err := folder.Embeddings(run.ValidationSet)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s kept no classes for validation, and a calibration takes classes that training did not "+
			"see: %s", dir, other)
	}
	if err != nil {
		return err
	}
	if t, err = t.Select(oneColumn(f.column)...); err != nil {
		return err
	}
	if calibrations.TrainedOn(&m.Config, folder, t) {
		return fmt.Errorf("the validation photos of %s are of classes that training saw, and distances within these "+
			"are smaller than within others: %s", dir, other)
	}
	return s.table(t, dir)
}

// embed embeds labelled photos of --data.
func (f *calibrateFlags) embed(ctx context.Context, a *app, s *calibrationSet) error {
	d, err := remotedata.Open(ctx, f.photos.data, data.OpenOptions{Home: dataHome(f.photos.dataDir),
		Crop: s.model.Config.Data.Crop, Outside: f.photos.outside, Formats: formats()})
	if err != nil {
		return err
	}
	defer d.Close()
	a.sayNotes(d)
	e, err := a.embed(ctx, s.model, d.All())
	if err != nil {
		return err
	}
	a.sayLeftOut(e.LeftOut)
	t, err := e.Table().Select(oneColumn(f.column)...)
	if err != nil {
		return err
	}
	return s.table(t, f.photos.data)
}

// openIndex takes the items of an index, or embeds other photos with its network.
func (f *calibrateFlags) openIndex(ctx context.Context, a *app, s *calibrationSet, dir string) error {
	x, err := a.readIndex(dir)
	if err != nil {
		return err
	}
	defer x.Close()
	info := x.Info()
	s.distance = info.Distance
	s.source = origin.OfIndex(info)
	if f.photos.data != "" {
		if s.model, err = origin.Load(x); err != nil {
			return err
		}
		if s.model == nil {
			return fmt.Errorf("%s has no network, so that photos cannot be embedded", dir)
		}
		return f.embed(ctx, a, s)
	}
	column := f.column
	if column == "" {
		column = "label"
	}
	var rows []float32
	var labels []string
	for it, err := range x.All() {
		if err != nil {
			return err
		}
		if l := store.FormatValue(it.Columns[column]); l != "" {
			rows, labels = append(rows, it.Vector...), append(labels, l)
		}
	}
	if len(labels) == 0 {
		return fmt.Errorf("no item of %s has a %s: a calibration takes classes", dir, column)
	}
	of := embedding.NewColumn(column, labels)
	t := &embedding.Table{X: mat.Of(len(labels), info.Dim, rows), Columns: []embedding.Column{of}}
	fmt.Fprintf(a.err, "what is said of new classes takes that the network was trained on none of those in %s\n",
		escape.Name(dir))
	return s.table(t, dir)
}
