package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/itemsource"
	"github.com/kindred-ml/kindred/internal/app/cli/progress"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/app/quality"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/internal/page/review/suspects"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

type cleanFlags struct {
	itemsource.Flags
	apply      string
	least      float64
	folds      int
	neighbours int
	noPictures bool

	// The defects and bursts of the pictures; nil before judge.
	judged   *quality.Scores
	together *quality.Bursts
}

// cleanResult is what kindred clean --json prints.
type cleanResult struct {
	suspects.Report
	Files []string `json:"files"`
}

func newClean(a *console.Console) *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:               "clean RUN|EMBEDDINGS --out DIR",
		ValidArgsFunction: complete.One(complete.RunOrFile),
		Short:             "Find wrong labels, copies, odd items and classes that overlap",
		Long: `clean lists items whose label contradicts the labels of their neighbours, pictures that
are copies of others, items unlike all others, and classes that overlap so much that they
look like one. RUN is the folder of a finished run. Its training and test samples are
embedded and judged by the training labels. EMBEDDINGS is a file of embeddings with labels.

The score of a label is the probability that it is wrong. The score assumes that wrong
labels are random, or belong to a look-alike class that lies apart. Items in the tail of a
class or between two classes also look like wrong labels, and their score is low.
--least 0 ranks all items.

A network that was trained on a wrong label may have learned it. --folds 3 trains the run
three times, each time without a third of the items, and judges these items in that
embedding. If the network was trained without these labels, folds are not needed.

clean writes to DIR

  suspects.csv   id, path, label, suggested, score and reason
  overlaps.csv   pairs of classes that overlap
  quality.csv    defects of each picture (blurred, dark, blown out, tiny, odd shape,
                 like a screenshot) and its burst
  review.html    a page on which a person decides by keys and saves a corrected manifest

--apply relabel or drop also writes manifest.csv at once: items with a score of at least
--least get the suggested label, or are left out.`,
		Example: `  kindred clean runs/photos --out suspects
  kindred clean runs/photos --folds 3 --out suspects-3
  kindred clean E.parquet --label label --apply drop --out dropped`,
		Args: itemsource.CheckItemsArg,
		RunE: func(cmd *cobra.Command, args []string) error { return runClean(cmd.Context(), a, &f, args[0]) },
	}
	fs := flags.New(cmd)
	fs.IntVar(&f.folds, "folds", 0, "train the run this many times, each time without a part of the items; 0: do "+
		"not train")
	fs.Float64Var(&f.least, "least", 0.5, "least score of a suspect; the score of a label is the probability that "+
		"it is wrong")
	fs.IntVar(&f.neighbours, "neighbours", 15, "nearest items that vote on a label")
	fs.Text(&f.apply, "apply", "", "also write manifest.csv with suspected labels corrected: relabel or drop",
		complete.Words("relabel", "drop"))
	fs.BoolVar(&f.noPictures, "no-pictures", false, "do not read the pictures: copies are not found, and the page "+
		"shows texts")
	f.Add(cmd, "folder to write to; created if missing")
	return cmd
}

func runClean(ctx context.Context, a *console.Console, f *cleanFlags, arg string) error {
	if f.Dir == "" {
		return cli.Usagef("missing --out")
	}
	if f.apply != "" && f.apply != "relabel" && f.apply != "drop" {
		return cli.Usagef("--apply %q: want relabel or drop", f.apply)
	}
	if err := cmp.Or(flags.CheckBetween("least", f.least, 0, 1), flags.CheckAtLeast("neighbours", f.neighbours, 1),
		flags.CheckAtLeast("folds", f.folds, 0)); err != nil {
		return err
	}
	if f.folds == 1 {
		return cli.Usagef("--folds 1: want at least 2, or 0 for none")
	}
	files := []string{"suspects.csv", "overlaps.csv", "quality.csv", review.FileName, review.DataName}
	if f.apply != "" {
		files = append(files, "manifest.csv")
	}
	if err := f.Choose("", files...); err != nil {
		return err
	}
	r, err := f.Open(ctx, a, arg)
	if err != nil {
		return err
	}
	defer r.Close()
	// Each item needs its neighbours among all items and within its part, and its results.
	what := fmt.Sprintf("%d items with --neighbours %d", len(r.Labels), f.neighbours)
	if err := budget.CheckProduct(what, int64(len(r.Labels)), 1200+64*int64(f.neighbours)); err != nil {
		return err
	}
	if err := f.Make(); err != nil {
		return err
	}
	found, err := f.findSuspects(ctx, a, r, arg)
	if err != nil {
		return err
	}
	out := &cleanResult{Report: *found}
	tables := []results.Text{itemsource.NewTable("suspects.csv", found.Rows()),
		itemsource.NewTable("overlaps.csv", found.OverlapRows())}
	if f.judged != nil {
		tables = append(tables, itemsource.NewTable("quality.csv", f.judged.Rows(r.Paths(), f.together)))
	}
	if f.apply != "" {
		tables = append(tables, itemsource.NewTable("manifest.csv", found.Manifest(&r.Subjects, f.apply == "drop")))
	}
	out.Files, err = f.WriteAll(tables, func() (*review.Page, error) { return found.Page(ctx, &r.Subjects) })
	if err != nil {
		return err
	}
	return a.PrintResult(out, func() error { return printSuspects(a, out) })
}

// findSuspects looks for every sort of suspect.
func (f *cleanFlags) findSuspects(ctx context.Context, a *console.Console, r *itemsource.Items, arg string) (
	*suspects.Report, error) {
	o := suspects.Options{Least: f.least, Neighbours: f.neighbours, Seed: a.Seed}
	if f.folds > 0 {
		var bar *progress.Bar
		var err error
		o.Folds, err = suspects.CrossFit(ctx, &r.Subjects, r.Set, *r.Config, f.folds, a.Seed,
			run.Options{Home: r.Home, Weights: inputs.FindWeights(a, cli.WeightsFlags{}),
				Observe: func(e train.Event) { bar.Observe(e) }},
			func(k int) {
				fmt.Fprintf(a.Err, "training fold %d of %d\n", k, f.folds)
				bar = progress.New(a.Err, fmt.Sprintf("fold %d/%d  ", k, f.folds))
			})
		if err != nil {
			return nil, err
		}
	}
	switch {
	case f.noPictures:
		r.Picture = nil
	case r.Picture == nil:
		fmt.Fprintf(a.Err, "%s has no pictures, so copies are not searched for; give their folder with "+
			"--data\n", escape.Name(arg))
	default:
		var err error
		if o.Prints, err = takeFingerprints(ctx, a, r); err != nil {
			return nil, err
		}
		if err = f.findDefects(ctx, a, r); err != nil {
			return nil, err
		}
		o.Judged, o.Together = f.judged, f.together
	}
	meter := a.NewMeter("pictures compared", console.Count)
	defer meter.Close()
	o.Compared = meter.ShowCount
	return suspects.Find(ctx, &r.Subjects, r.X, o)
}

// judge looks for defects of the pictures, in their own resolution, and for bursts.

func (f *cleanFlags) findDefects(ctx context.Context, a *console.Console, r *itemsource.Items) error {
	part := &data.Part{Data: r.Set, Index: r.Index, Fine: r.Labels}
	meter := a.NewMeter("quality", console.Count)
	defer meter.Close()
	measures, err := quality.MeasurePart(ctx, part, meter.ShowCount)
	if err != nil {
		return err
	}
	f.judged = quality.ScorePhotos(measures)
	if r.Set.HasLocalFiles() {
		f.together, err = quality.FindBursts(ctx, part, func(i int) string { return r.Split(i) })
	}
	return err
}

// takeFingerprints returns the fingerprints of the items' pictures.
func takeFingerprints(ctx context.Context, a *console.Console, r *itemsource.Items) ([]*clean.Fingerprint, error) {
	out := make([]*clean.Fingerprint, len(r.Labels))
	meter := a.NewMeter("pictures", console.Count)
	defer meter.Close()
	for i := range out {
		if im, err := r.Picture(i); err == nil { // pictures that cannot be read have been reported
			out[i] = clean.NewFingerprint(im)
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		meter.ShowCount(i+1, len(out))
	}
	return out, nil
}

// maxPrintedSuspects is the most lines that the terminal shows.
const maxPrintedSuspects = 20

func printSuspects(a *console.Console, c *cleanResult) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "score\tlabel\tsuggested\titem\treason")
	for _, s := range c.Suspects[:min(len(c.Suspects), maxPrintedSuspects)] {
		fmt.Fprintf(w, "%.2f\t%s\t%s\t%s\t%s\n", s.Score, escape.Name(s.Label), escape.Name(s.Suggested),
			escape.Name(s.Path), escape.Name(s.Reason))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if n := len(c.Suspects) - maxPrintedSuspects; n > 0 {
		fmt.Fprintf(a.Out, "and %d more\n", n)
	}
	for _, p := range c.Confused[:min(len(c.Confused), maxPrintedSuspects)] {
		fmt.Fprintf(a.Out, "about %.0f of the %d labelled %s are likely to be %s\n", p.Wrong, p.Items,
			escape.Name(p.Label), escape.Name(p.Class))
	}
	for _, p := range c.Overlaps {
		fmt.Fprintf(a.Out, "%s and %s look like one class: their neighbours are mixed %.0f %% as much as by chance\n",
			escape.Name(p.A), escape.Name(p.B), 100*p.Mixing)
	}
	blank := ""
	if c.Blank > 0 {
		blank = fmt.Sprintf(", blank pictures: %d", c.Blank)
	}
	if c.Quality != nil {
		fmt.Fprint(a.Out, "pictures that are")
		for d := range quality.NumDefects {
			fmt.Fprintf(a.Out, " %s: %d,", d, c.Quality[d.String()])
		}
		fmt.Fprintf(a.Out, " in a burst on both sides of the split: %d\n", c.Leaks)
	}
	if c.Alone > 0 {
		fmt.Fprintf(a.Out, "items with a label that no other item has: %d; these labels cannot be judged\n",
			c.Alone)
	}
	page := c.Files[len(c.Files)-1]
	_, err := fmt.Fprintf(a.Out, "of %s, an estimated %.1f %% have a wrong label; suspected labels: %d, "+
		"copies: %s, odd "+
		"items: %d%s\ndecide about them on %s, or with 'kindred serve --review %s'\n", enum.Count(c.Items, "item"),
		100*c.Wrong,
		c.Labels, c.CopyCount(), c.Outliers, blank, escape.Name(page), escape.Name(filepath.Dir(page)))
	return err
}
