package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/cli/calibrations"
	"github.com/kindred-ml/kindred/internal/cli/identify"
)

type calibrateFlags struct {
	outFiles
	photos              photoFlags
	labels, column, out string
	distance, check     string
	seen                string
	fmr                 []float64
	allowSeen, strict   bool
	trials, folds       int
	given               func(flag string) bool  // on the command line
	visit               func(func(*pflag.Flag)) // those that are given
}

// calibrated is what kindred calibrate --json prints.
type calibrated struct {
	File       string             `json:"file,omitempty"`
	Mode       string             `json:"mode,omitempty"` // open or closed
	From       string             `json:"from,omitempty"`
	Closed     *closedSet         `json:"closed,omitempty"`
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

// closedSet is what is known of "which of the classes that training saw".
type closedSet struct {
	Photos  int     `json:"photos"`
	Items   int     `json:"items"`
	Classes int     `json:"classes"`
	Right   float64 `json:"right"`
	ECE     float64 `json:"ece"`
	Chance  float64 `json:"chance"`
	// Of its gate.
	Strangers       int             `json:"strangers,omitempty"`
	StrangerClasses int             `json:"stranger_classes,omitempty"`
	Rates           []identify.Rate `json:"rates,omitempty"`
}

func newCalibrate(a *app) *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:               "calibrate RUN|INDEX|EMBEDDINGS",
		ValidArgsFunction: one(runsOrFiles),
		Short:             "Learn what distances mean: thresholds with a stated error, probabilities, unknowns",
		Long: `calibrate learns what a distance means, from photos that training did not see. It says
which of two answers it has learned:

  closed  "which of my classes": a label with its probability for every photo. It is
          learned from photos of the classes that training saw, which the run kept for
          validation, looked up among those that it trained on.
  open    "which of them, or unknown": thresholds that keep a rate of false matches or of
          strangers, in 95 of 100 cases. It takes ten classes or more that training did
          not see.

RUN is the folder of a run. Its photos are divided again as training divided them. If it
kept ten classes or more apart (data.validation=classes:0.5, or a test on other classes),
it gets an open set, else a closed one. --data OTHER gives labelled photos of other classes,
from which an open set is learned. INDEX is an index and EMBEDDINGS a file of embeddings with labels;
both must be of classes that training did not see. The
calibration goes to calibration.json in the folder of a run or an index, beside E.parquet
to E.calibration.json, or to --out. 'kindred index create' takes it along with the network.

A run that saw all its classes gets an open set by --folds 3: it is trained three times more, each
time without a third of the classes, whose photos are then strangers. Ctrl-C keeps what is trained
beside the calibration, and the same command goes on. A run that ended with the untrained network is
not trained again.

Classes that training saw lie farther apart than new ones, so that thresholds learned from
them let more strangers in than they say. Items of such classes are refused; --allow-seen
takes them nevertheless, and the calibration says so.

A rate that the number of classes does not carry is refused: a false-match rate of 1e-3
takes 26 classes, of 1e-4 78, of 1e-5 246.

--trials N draws half of the classes N times, calibrates on them, and measures on the
other half what was promised, beside what is usually done: a distance chosen without a
bound, Platt scaling, and with --seen both on classes of the training; nothing is written
then. --check NEW compares the calibration that is there with photos or embeddings:
whether its promises hold, where these have labels; where they have none, whether they lie
as near to other classes as the photos that it was learnt from (those of RUN, INDEX or
EMBEDDINGS, or --data), by a test whose unit is the class. Both need an open set.`,
		Example: `  kindred calibrate runs/photos
  kindred calibrate runs/photos --data other-classes/ --fmr 1e-2,1e-3
  kindred calibrate E.parquet --distance cosine --trials 8
  kindred calibrate E.parquet --check new.parquet`,
		Args: exactArgs("RUN, INDEX or EMBEDDINGS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given, f.visit = cmd.Flags().Changed, cmd.Flags().Visit
			return runCalibrate(cmd.Context(), a, &f, args[0])
		},
	}
	fs := flagsOf(cmd)
	fs.labels(&f.labels, "labels of a file of embeddings")
	fs.column(&f.column, "column of labels; "+firstColumn)
	fs.distance(&f.distance, "", "the run's or the index's, of a file of embeddings euclidean", anyDistance...)
	fs.Float64SliceVar(&f.fmr, "fmr", []float64{1e-2, 1e-3}, "false-match rates to print thresholds for")
	fs.text(&f.out, "out", "", "file of the calibration; default: in the folder, or beside the embeddings", anyFile)
	f.outFiles.add(cmd, "a calibration")
	fs.BoolVar(&f.allowSeen, "allow-seen", false, "learn thresholds from classes that training saw: more strangers "+
		"get in than they say")
	fs.IntVar(&f.folds, "folds", 0, "train the run again so many times, each time without a part of the classes, and "+
		"learn strangers from these; 0: not")
	fs.IntVar(&f.trials, "trials", 0, "calibrate on half of the classes and measure on the others, so many times")
	fs.text(&f.seen, "seen", "", "for comparison in --trials and --check: embeddings of classes that the "+
		"network was trained on, with labels", anyFile)
	fs.text(&f.check, "check", "",
		"photos or embeddings, with or without labels, to compare with the calibration that is there", dataSets)
	f.photos.add(cmd)
	cli.AddStrict(fs.FlagSet, &f.strict)
	return cmd
}

func runCalibrate(ctx context.Context, a *app, f *calibrateFlags, arg string) error {
	for _, rate := range f.fmr {
		if !(rate > 0 && rate < 1) {
			return usagef("--fmr %g: want rates between 0 and 1", rate)
		}
	}
	if err := cmp.Or(atLeast("trials", f.trials, 0), atLeast("folds", f.folds, 0)); err != nil {
		return err
	}
	switch {
	case f.folds == 1:
		return usagef("--folds 1: want at least 2, or 0 for none")
	case f.folds > 0 && (f.allowSeen || f.photos.data != "" || f.check != "" || f.trials > 0 || f.given("fmr")):
		return usagef("--folds does not go with --allow-seen, --data, --check, --trials or --fmr")
	}
	if f.check != "" {
		return a.checkCalibration(ctx, f, arg)
	}
	file, err := f.file(arg)
	if err != nil {
		return err
	}
	if f.trials == 0 {
		if err := f.settle(file); err != nil {
			return err
		}
	}
	s, err := f.open(ctx, a, arg)
	if err != nil {
		return err
	}
	opt := decide.Options{Distance: s.distance, Source: s.source, Seed: a.seed}
	if s.x == nil {
		for _, flag := range []string{"fmr", "trials"} {
			if f.given(flag) {
				return usagef("--%s needs classes that training did not see: %s kept %s; give photos of other "+
					"classes with --data, or train with data.validation=classes:0.5", flag, arg, s.missing)
			}
		}
	}
	if f.trials > 0 {
		return a.tryCalibration(ctx, f, s, opt)
	}
	if err := atomic.Prepare(file); err != nil {
		return err
	}
	c, err := a.calibrate(ctx, s, opt)
	if err != nil {
		return err
	}
	if err := c.Save(file); err != nil {
		return err
	}
	if err := f.made(file); err != nil {
		return err
	}
	if s.folds != "" {
		if err := os.RemoveAll(s.folds); err != nil {
			return err
		}
	}
	res := newCalibrated(c, file)
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
	if a.json {
		return a.printJSON(res)
	}
	return a.printCalibration(c, res, arg)
}

// calibrate learns the open set, the closed one, or both.
func (a *app) calibrate(ctx context.Context, s *calibrationSet, opt decide.Options) (*decide.Calibration, error) {
	var closed *decide.Calibration
	var err error
	if s.known.X != nil {
		if closed, err = decide.CalibrateClosed(ctx, s.known, s.items, opt); err != nil {
			return nil, err
		}
		closed.From, closed.Closed.Names = s.from, s.names
		found := s.found
		if s.strangers.X != nil {
			if found, err = decide.LookUpStrangers(ctx, s.strangers, s.all, s.distance); err != nil {
				return nil, err
			}
		}
		if found != nil {
			if closed.Closed.Gate, err = decide.NewGate(closed.Closed, found, s.all.X.Rows); err != nil {
				return nil, err
			}
		}
		if s.x == nil {
			return closed, nil
		}
	}
	meter := a.newMeter("comparing", countUnit)
	opt.Progress = func(done float64) { meter.count(int(1000*done), 1000) }
	c, err := decide.Calibrate(ctx, s.x, s.labels, opt)
	meter.close()
	if err != nil {
		return nil, err
	}
	c.From = s.from
	if closed != nil {
		c.Closed = closed.Closed
	}
	return c, nil
}

func newCalibrated(c *decide.Calibration, file string) *calibrated {
	res := &calibrated{File: file, Mode: identify.Open, From: c.From, Classes: c.Classes, Photos: c.Photos,
		Copies: c.Copies, Distance: c.Distance, ECE: c.Reliability.ECE, VoteECE: c.Vote.Reliability.ECE,
		Thresholds: []decide.Threshold{}}
	k := c.Closed
	if c.IsClosed() && k.Gate == nil {
		res.Mode = identify.Closed
	}
	if k != nil {
		res.Closed = &closedSet{Photos: k.Photos, Items: k.Items, Classes: k.Classes, Right: k.Right,
			ECE: k.Vote.Reliability.ECE, Chance: k.Vote.Reliability.Chance}
		if k.Gate != nil {
			res.Closed.Strangers, res.Closed.StrangerClasses = k.Gate.Photos, k.Gate.Classes
			res.Closed.Rates = identify.GateRates(k.Gate)
		}
	}
	return res
}

func (a *app) printCalibration(c *decide.Calibration, res *calibrated, arg string) error {
	fmt.Fprintf(a.out, "%s: %s, %s distance\n", res.File, res.Mode, res.Distance)
	var err error
	if res.Closed != nil {
		err = a.printKnown(res, arg)
	}
	if c.IsClosed() || err != nil {
		return err
	}
	return a.printNew(c, res)
}

// printKnown says what is known of the classes that training saw.
func (a *app) printKnown(res *calibrated, arg string) error {
	k := res.Closed
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nwhich of the %d classes of the run\n", k.Classes)
	fmt.Fprintf(w, "  from\t%d photos that training did not see, looked up among %d of the run\n", k.Photos,
		k.Items)
	fmt.Fprintf(w, "  right label\t%.1f %% of these photos\n", 100*k.Right)
	fmt.Fprintf(w, "  probability of a label\toff by %.3f on classes that it was not fitted to (ECE); chance alone "+
		"makes %.3f\n", k.ECE, k.Chance)
	if k.Rates == nil {
		fmt.Fprintf(w, "\nEvery photo gets a label: a closed set knows no strangers. These ways tell them:\n"+
			"  kindred calibrate %[1]s --force --folds 3    # trains 3 times, without a third of the classes\n"+
			"  kindred calibrate %[1]s --force --data OTHER-CLASSES/    # photos of ten other classes or more\n"+
			"  kindred calibrate %[1]s --force --allow-seen    # at once, but lets more strangers in than it says\n",
			escape.Name(arg))
		return w.Flush()
	}
	fmt.Fprintf(w, "\nor it is unknown, from %d photos of %d classes%s\n", k.Strangers, k.StrangerClasses, from(res))
	if res.From == fromSeen {
		fmt.Fprintln(w, "  Such classes lie farther apart than new ones: more strangers get in than it says.")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "  strangers let in\tdistance\tknown photos named\tnamed without a bound\n")
	for _, r := range k.Rates {
		distance, known := "-", "-"
		if r.Refused == "" {
			distance, known = fmt.Sprintf("%.4g", r.Distance), fmt.Sprintf("%.1f %%", 100*r.Known)
		}
		fmt.Fprintf(w, "  %g %%\t%s\t%s\t%s\n", 100*r.FPIR, distance, known, r.AllowedText())
	}
	return w.Flush()
}

// from says where the classes of an open set come from, after their number.
func from(res *calibrated) string {
	if res.From == "" {
		return ""
	}
	return " " + res.From
}

// printNew says what is known of galleries of classes that training did not see.
func (a *app) printNew(c *decide.Calibration, res *calibrated) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	if res.Closed != nil {
		fmt.Fprintf(w, "\nin galleries of other classes, ")
	}
	fmt.Fprintf(w, "from %d photos of %d classes%s\n", res.Photos, res.Classes, from(res))
	if res.From == fromSeen {
		fmt.Fprintln(w, "These classes lie farther apart than new ones: more strangers get in than it says.")
	}
	if c.Groups > 0 {
		fmt.Fprintf(w, "The classes lie in %s of look-alikes: what they carry is that of so many groups.\n",
			spell.Count(c.Groups, "group"))
	}
	if c.Copies > 0 {
		fmt.Fprintf(w, "%d copies of photos within their class were left out\n", c.Copies)
	}
	fmt.Fprintf(w, "\nfalse matches\tdistance\tmeasured\tat 95 %%\tsame pairs matched\n")
	for _, t := range res.Thresholds {
		fmt.Fprintf(w, "%g\t%.4g\t%.2g\t%.2g\t%.1f %%\n", t.Rate, t.Distance, t.Measured, t.Bound, 100*t.TrueMatch)
	}
	fmt.Fprintf(w, "\nclasses of one gallery, drawn like these\tdistance that 5 %% of strangers reach at most\t"+
		"photos known by it\n")
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
	fmt.Fprintf(w, "probability of a label\tis off by %.3f at most, in galleries of %d classes or fewer\n", res.VoteECE,
		res.Classes)
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
	st, err := stat(arg, aRun, anIndex, someVectors)
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
