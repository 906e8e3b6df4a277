package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/run"
)

// ask are the questions of --trials and --check.
func (f *calibrateFlags) ask(ctx context.Context, a *app, opt decide.Options) (decide.Ask, error) {
	ask := decide.Ask{FMR: f.fmr, FPIR: []float64{0.05}, Galleries: []int{20, 200, 658}, Coverage: []float64{0.9, 0.95}}
	if f.seen == "" {
		return ask, nil
	}
	t, err := a.labelled(f.seen, "", oneColumn(f.column))
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
	return a.printTrials(res.Trials)
}

// spread is a value over trials.
type spread struct {
	sum, most, least float64
	n, broken        int
	refused          string
}

// over measures a value of every trial; one above rate breaks the promise.
func over(trials []*decide.Trial, rate float64, value func(t *decide.Trial) (float64, string)) spread {
	m := spread{most: math.Inf(-1), least: math.Inf(1)}
	for _, t := range trials {
		v, refused := value(t)
		if refused != "" {
			m.refused = refused
			continue
		}
		m.sum, m.most, m.least, m.n = m.sum+v, max(m.most, v), min(m.least, v), m.n+1
		if v > rate {
			m.broken++
		}
	}
	return m
}

func (m *spread) mean() float64 { return m.sum / float64(max(1, m.n)) }

// printTrials writes the table of what was promised and what was measured.
func (a *app) printTrials(trials []*decide.Trial) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	first := trials[0]
	fmt.Fprintf(w, "%d trials, each on %d photos of %d other classes\n\n", len(trials), first.Photos, first.Classes)
	fmt.Fprintf(w, "promised\tmeasured, mean\tmost\tbroken\tthe right ones\twithout a bound\tbroken\tof seen classes\n")
	for k, m := range first.Matches {
		ours := over(trials, m.Rate, func(t *decide.Trial) (float64, string) {
			return t.Matches[k].FMR, t.Matches[k].Refused
		})
		right := over(trials, 1, func(t *decide.Trial) (float64, string) { return t.Matches[k].TMR, "" })
		plain := over(trials, m.Rate, func(t *decide.Trial) (float64, string) { return t.Matches[k].Plain, "" })
		fmt.Fprintf(w, "false matches %g\t", m.Rate)
		if ours.refused != "" {
			fmt.Fprintf(w, "refused\t\t\t\t%.2g\t%d", plain.mean(), plain.broken)
		} else {
			fmt.Fprintf(w, "%.2g\t%.2g\t%d\t%.3f\t%.2g\t%d", ours.mean(), ours.most, ours.broken, right.mean(),
				plain.mean(), plain.broken)
		}
		if m.Seen != nil {
			seen := over(trials, m.Rate, func(t *decide.Trial) (float64, string) { return *t.Matches[k].Seen, "" })
			fmt.Fprintf(w, "\t%.2g", seen.mean())
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\t\t\t\t\tone distance for all galleries\n")
	for k, o := range first.Opens {
		ours := over(trials, o.Rate, func(t *decide.Trial) (float64, string) {
			return t.Opens[k].FPIR, t.Opens[k].Refused
		})
		right := over(trials, 1, func(t *decide.Trial) (float64, string) { return t.Opens[k].TPIR, "" })
		one := over(trials, o.Rate, func(t *decide.Trial) (float64, string) { return t.Opens[k].Constant, "" })
		fmt.Fprintf(w, "strangers %g among %d\t", o.Rate, o.Gallery)
		if ours.refused != "" {
			fmt.Fprintf(w, "refused\t\t\t\t%.3f\t%d\n", one.mean(), one.broken)
			continue
		}
		fmt.Fprintf(w, "%.3f\t%.3f\t%d\t%.3f\t%.3f\t%d\n", ours.mean(), ours.most, ours.broken, right.mean(),
			one.mean(), one.broken)
	}
	for k, c := range first.Covers {
		got := over(trials, 1, func(t *decide.Trial) (float64, string) {
			return t.Covers[k].Measured, t.Covers[k].Refused
		})
		size := over(trials, 1, func(t *decide.Trial) (float64, string) { return t.Covers[k].Size, "" })
		if got.refused != "" {
			fmt.Fprintf(w, "coverage %g\t%s\n", c.Coverage, escape.Text(got.refused))
			continue
		}
		fmt.Fprintf(w, "coverage %g\t%.3f\tleast %.3f\t\t%.1f classes in a set\n", c.Coverage, got.mean(), got.least,
			size.mean())
	}
	printByClass(w, trials)
	printErrors(w, trials)
	refused := first.Refusals()
	slices.Sort(refused)
	for _, text := range slices.Compact(refused) {
		fmt.Fprintln(w, escape.Text(text))
	}
	return w.Flush()
}

// printByClass writes what sets come to by one distance for all classes, and where classes with
// enough photos go by their own.
func printByClass(w io.Writer, trials []*decide.Trial) {
	fmt.Fprintf(w, "\ncoverage\ton average\tof nine classes in ten at least\tclasses in a set\tby their own photos\n")
	for k, c := range trials[0].Covers {
		mean := func(of func(c *decide.Cover) float64) float64 {
			m := over(trials, math.Inf(1), func(t *decide.Trial) (float64, string) {
				if t.Covers[k].ByClass == nil {
					return 0, "refused"
				}
				return of(&t.Covers[k]), ""
			})
			return m.mean()
		}
		if c.ByClass == nil {
			continue
		}
		fmt.Fprintf(w, "%g, one distance\t%.3f\t%.3f\t%.1f\t\n", c.Coverage,
			mean(func(c *decide.Cover) float64 { return c.Measured }),
			mean(func(c *decide.Cover) float64 { return c.Low }), mean(func(c *decide.Cover) float64 { return c.Size }))
		fmt.Fprintf(w, "%g, by class\t%.3f\t%.3f\t%.1f\t%s of classes\n", c.Coverage,
			mean(func(c *decide.Cover) float64 { return c.ByClass.Measured }),
			mean(func(c *decide.Cover) float64 { return c.ByClass.Low }),
			mean(func(c *decide.Cover) float64 { return c.ByClass.Size }),
			decide.Percent(mean(func(c *decide.Cover) float64 { return c.ByClass.Own })))
	}
}

// printErrors writes how far probabilities are off.
func printErrors(w io.Writer, trials []*decide.Trial) {
	fmt.Fprintf(w, "\nerror of \"same\" (ECE)\tmean\tof which chance\tmost\tall trials together\n")
	for _, of := range []struct {
		name string
		says func(t *decide.Trial) *decide.Reliability
	}{
		{"the calibration", func(t *decide.Trial) *decide.Reliability { return &t.Same }},
		{"Platt scaling", func(t *decide.Trial) *decide.Reliability { return &t.Platt }},
		{"Platt scaling on seen classes", func(t *decide.Trial) *decide.Reliability { return t.SeenPlatt }},
	} {
		if of.says(trials[0]) == nil {
			continue
		}
		var all []decide.Reliability
		m := over(trials, 1, func(t *decide.Trial) (float64, string) {
			all = append(all, *of.says(t))
			return of.says(t).ECE, ""
		})
		chance := ""
		if r := of.says(trials[0]); r.Chance > 0 {
			c := over(trials, 1, func(t *decide.Trial) (float64, string) { return of.says(t).Chance, "" })
			chance = fmt.Sprintf("%.3f", c.mean())
		}
		fmt.Fprintf(w, "%s\t%.3f\t%s\t%.3f\t%.3f\n", of.name, m.mean(), chance, m.most, decide.Pooled(all))
	}
}

// checkCalibration compares the calibration that is there with new photos.
func (a *app) checkCalibration(ctx context.Context, f *calibrateFlags, arg string) error {
	file, err := f.file(arg)
	if err != nil {
		return err
	}
	c, err := loadCalibration(file, arg)
	if err != nil {
		return err
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
		return a.printDrift(res.Drift)
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
	return a.printTrials(res.Trials)
}

// openNew reads or embeds what is compared with a calibration; it has no labels if there
// are none.
func (f *calibrateFlags) openNew(ctx context.Context, a *app, arg string) (*calibrationSet, error) {
	s := &calibrationSet{}
	st, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() || slices.Contains(formats().Extensions(), strings.ToLower(filepath.Ext(f.check))) {
		t, err := formats().Read(f.check)
		if err == nil && t.X == nil {
			err = fmt.Errorf("%s holds labels but no embeddings", f.check)
		}
		if err != nil {
			return nil, err
		}
		s.x = t.X
		of, err := a.label(t, f.labels)
		if f.labels == "" && f.column == "" && errors.Is(err, fs.ErrNotExist) {
			return s, nil
		}
		if err == nil {
			of, err = of.Select(oneColumn(f.column)...)
		}
		if err != nil {
			return nil, err
		}
		return s, s.table(of, f.check)
	}
	if isIndex(arg) {
		x, err := a.readIndex(arg)
		if err != nil {
			return nil, err
		}
		defer x.Close()
		s.source = indexSource(x.Info())
		if s.model, err = indexModel(x); err == nil && s.model == nil {
			err = fmt.Errorf("%s has no network, so that photos cannot be embedded", arg)
		}
		if err != nil {
			return nil, err
		}
	} else {
		if s.model, err = run.Load(arg); err != nil {
			return nil, err
		}
		if s.source, err = networkSource(s.model, arg, arg); err != nil {
			return nil, err
		}
	}
	d, err := data.Open(ctx, f.check, data.OpenOptions{Home: dataHome(f.photos.dataDir), Unlabelled: true,
		Crop: s.model.Config.Data.Crop, Outside: f.photos.outside, Formats: formats()})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	a.sayNotes(d)
	e, err := a.embed(ctx, s.model, d.All())
	if err != nil {
		return nil, err
	}
	a.sayLeftOut(e.LeftOut)
	t := e.Table()
	s.x = t.X
	if len(t.Columns) > 0 {
		if t, err = t.Select(oneColumn(f.column)...); err != nil {
			return nil, err
		}
		s.labels = t.Labels()[0]
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

func (a *app) printDrift(d *decide.Drift) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d photos without labels, taken to be of %d classes, beside %d classes of the calibration; "+
		"distances are to the nearest of %d others\n\n", d.Photos, d.Classes, d.Known, d.Reference)
	fmt.Fprintf(w, "\tnew photos\tcalibration\n")
	fmt.Fprintf(w, "median distance\t%.4g\t%.4g\n", d.Nearest, d.KnownNearest)
	for _, m := range d.Matches {
		if m.Refused != "" {
			fmt.Fprintf(w, "false matches %g\t%s\n", m.Rate, escape.Text(m.Refused))
			continue
		}
		fmt.Fprintf(w, "false matches %g\t%.2g\t%.2g\n", m.Rate, m.New, m.Known)
	}
	fmt.Fprintf(w, "\nlargest difference of shares (Kolmogorov and Smirnov)\t%.3f\tp %.3f, over classes\n", d.Statistic,
		d.P)
	verdict := "no difference was found: that says nothing of the distances within a class"
	if d.P < 0.05 {
		verdict = "the photos are not drawn like those of the calibration: calibrate on some of them, with labels"
	}
	fmt.Fprintln(w, verdict)
	return w.Flush()
}
