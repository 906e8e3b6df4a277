package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/itemsource"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/internal/page/review/subclasses"
)

type discoverFlags struct {
	itemsource.Flags
	method             string
	level              float64
	draws, most, least int
}

// discoverResult is what kindred discover --json prints.
type discoverResult struct {
	subclasses.Report
	Files []string `json:"files"`
	// Next is the command that trains on the sub-classes; "" if the pictures are not files.
	Next string `json:"next,omitempty"`
}

func newDiscover(a *console.Console) *cobra.Command {
	var f discoverFlags
	cmd := &cobra.Command{
		Use:               "discover RUN|EMBEDDINGS --out DIR",
		ValidArgsFunction: complete.One(complete.RunOrFile),
		Short:             "Find sub-classes inside each class",
		Long: `discover looks for sub-classes in each class of an embedding. It divides a class if
held-out samples lie less often between its groups than inside them; a single cloud of
any shape would not show that. Divided classes are listed surest first. In sets of 24
classes or more, it learns from the set how much an undivided class varies, to choose
the number of sub-classes. kindred train and kindred diagnose use the same test.

RUN is the folder of a finished run. Its training and test samples are embedded and
judged with the training labels. EMBEDDINGS is a file of embeddings with labels.

discover writes to DIR

  kinds.csv      id, path, label and sub-class (kind) of each item
  classes.csv    a line for each sub-class: its size, its stability, the member in the
                 middle and the most different members
  manifest.csv   a data set with classes and sub-classes for kindred train
  review.html    a page on which a person accepts, splits, relabels or drops sub-classes
                 by keys and saves a corrected manifest

Pictures come from the run's data set or from --data.`,
		Example: `  kindred discover runs/photos --out kinds
  kindred discover E.parquet --label label --out kinds-of-labels`,
		Args: itemsource.CheckItemsArg,
		RunE: func(cmd *cobra.Command, args []string) error { return runDiscover(cmd.Context(), a, &f, args[0]) },
	}
	fs := flags.New(cmd)
	fs.Text(&f.method, "method", "ward", "method that divides classes: ward or density",
		complete.Words("ward", "density"))
	fs.Float64Var(&f.level, "level", 0.05, "share of the classes without sub-classes that may be divided by mistake; "+
		"1 divides every class")
	fs.IntVar(&f.draws, "draws", 39, "simulated clouds that a class is compared with for its number of sub-classes, "+
		"if the set has too few classes to learn from")
	fs.IntVar(&f.most, "most", 150, "most sub-classes in a class")
	fs.IntVar(&f.least, "least", 0,
		"fewest items of a sub-class; default 4; for density a fiftieth of the class, at least 5")
	f.Add(cmd, "folder to write to; created if missing")
	return cmd
}

func runDiscover(ctx context.Context, a *console.Console, f *discoverFlags, arg string) error {
	if f.Dir == "" {
		return cli.Usagef("missing --out")
	}
	method, err := discover.ParseMethod(f.method)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	for _, err := range []error{flags.CheckBetween("level", f.level, 1e-9, 1), flags.CheckAtLeast("draws", f.draws, 1),
		flags.CheckAtLeast("most", f.most, 2), flags.CheckAtLeast("least", f.least, 0)} {
		if err != nil {
			return err
		}
	}
	if err := f.Choose("", "kinds.csv", "classes.csv", "manifest.csv", review.FileName,
		review.DataName); err != nil {
		return err
	}
	r, err := f.Open(ctx, a, arg)
	if err != nil {
		return err
	}
	defer r.Close()
	// Each item and each class needs its lines in the tables and on the page.
	what := fmt.Sprintf("%d items of %d classes", len(r.Labels), len(r.Names))
	if err := budget.CheckProduct(what, budget.Sum(budget.Product(int64(500+8*r.X.Cols), int64(len(r.Labels))),
		budget.Product(1200, int64(len(r.Names))))); err != nil {
		return err
	}
	if err := f.Make(); err != nil {
		return err
	}
	meter := a.NewMeter("classes", console.Count)
	res, err := discover.Find(ctx, r.X, r.Labels, discover.Options{Method: method, Level: f.level, Draws: f.draws,
		MaxSubClasses: f.most, MinRows: f.least, Seed: a.Seed,
		Progress: func(done, total int) { meter.ShowCount(done, total) }})
	meter.Close()
	if err != nil {
		return err
	}
	found := subclasses.New(&r.Subjects, method, res)
	out := &discoverResult{Report: *found}
	out.Files, err = f.WriteAll([]results.Text{itemsource.NewTable("kinds.csv", found.Rows(&r.Subjects)),
		itemsource.NewTable("classes.csv", found.ClassRows()),
		itemsource.NewTable("manifest.csv", found.Manifest(&r.Subjects))},
		func() (*review.Page, error) { return found.Page(ctx, &r.Subjects) })
	if err != nil {
		return err
	}
	if _, err := os.Stat(r.ManifestPath(0)); err == nil && out.Kinds > len(out.Classes) {
		out.Next = escape.Command(os.Args[0], "train", "--data", filepath.Join(f.Dir, "manifest.csv"),
			"--allow-outside", "--set", "sample.name=hierarchical")
	}
	return a.PrintResult(out, func() error { return printDiscovered(a, out) })
}

func printDiscovered(a *console.Console, d *discoverResult) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "class\titems\tkinds\tp\tstability")
	for _, c := range d.Classes {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2g\t%.2f\n", escape.Name(c.Label), c.Items, len(c.Kinds), c.P, c.Stability)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if nothing := d.UndividedMessage(); nothing != "" {
		_, err := fmt.Fprintln(a.Out, nothing)
		return err
	}
	fmt.Fprintln(a.Out, d.Verdict)
	page := d.Files[len(d.Files)-1]
	if _, err := fmt.Fprintf(a.Out, "%s in %s; decide about them on %s, or with 'kindred serve --review %s'\n",
		enum.Count(d.Kinds, "kind"), enum.Count(len(d.Classes), "class"), escape.Name(page),
		escape.Name(filepath.Dir(page))); err != nil {
		return err
	}
	if d.Next == "" {
		return nil
	}
	_, err := fmt.Fprintf(a.Out, "or train on classes and sub-classes as they are:\n  %s\n", d.Next)
	return err
}
