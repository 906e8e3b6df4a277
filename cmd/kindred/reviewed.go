package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/itemsource"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/run"
)

// reviewFlags name the items that kindred discover and kindred clean examine.
type reviewFlags struct {
	outDir
	labels, label string
	photos        photoFlags
	distance      string
	strict        bool
}

func (f *reviewFlags) add(cmd *cobra.Command, out string) {
	fs := newFlags(cmd)
	fs.labels(&f.labels, "labels of a file of embeddings")
	fs.text(&f.label, "label", "",
		"column of labels; default: that of the run's training; in a file of embeddings coarse, else label",
		completeNothing)
	fs.distance(&f.distance, "", "that of the run; euclidean for a file of embeddings", "euclidean", "cosine")
	f.photos.add(cmd)
	cli.AddStrict(fs.FlagSet, &f.strict)
	f.outDir.add(cmd, out)
}

// checkItemsArg checks the argument of both commands.
func checkItemsArg(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%d arguments: want one, the folder of a run or a file of embeddings", len(args))
	}
	return nil
}

// open reads the items of a run or of a file of embeddings.
func (f *reviewFlags) open(ctx context.Context, a *app, arg string) (*itemsource.Items, error) {
	st, err := statArg(arg, wantRun, wantVectors)
	if err != nil {
		return nil, err
	}
	what, needs := "a run", ""
	if !st.IsDir() {
		what, needs = "a file of embeddings", "data"
	}
	if err := checkRules(f.cmd, what,
		flagRule{"labels", !st.IsDir(), "", "a run has its labels"},
		flagRule{"folds", st.IsDir(), "", reasonTrains},
		flagRule{"data-dir allow-outside", true, needs, reasonDataset}); err != nil {
		return nil, err
	}
	var r *itemsource.Items
	distance := eval.Euclidean
	if st.IsDir() {
		r, distance, err = f.openRun(ctx, a, arg)
	} else {
		r, err = f.openTable(ctx, a, arg)
	}
	if err != nil {
		return nil, err
	}
	if f.distance != "" {
		distance, err = eval.ParseDistance(f.distance)
	}
	if err == nil {
		err = r.Normalize(distance)
	}
	if err != nil {
		r.Close()
		return nil, usagef("--distance: %w", err)
	}
	if err := r.OpenPictures(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// openRun embeds the samples that a run trains and tests on.
func (f *reviewFlags) openRun(ctx context.Context, a *app, dir string) (*itemsource.Items, eval.Distance, error) {
	m, err := run.Load(dir)
	if err != nil {
		return nil, 0, err
	}
	m.Config.Data.Strict = f.strict
	cfg := m.Config
	cfg.Data.Label = cmp.Or(f.label, cfg.Data.Label)
	if f.photos.data != "" {
		cfg.Data.Name, cfg.Data.Path = "", f.photos.data
	}
	distance, err := eval.ParseDistance(cfg.Eval.Distance)
	if err != nil {
		return nil, 0, err
	}
	home := dataFolder(f.photos.dataDir)
	cfg.Data.Outside = cfg.Data.Outside || f.photos.outside
	d, err := openWhole(ctx, &cfg.Data, home)
	if err != nil && f.photos.data == "" {
		err = run.ExplainMissingData(err, dir)
	}
	if err != nil {
		return nil, 0, err
	}
	a.printNotes(d)
	if label, _ := cfg.Data.LabelColumns(d); d.Levels != nil && d.Levels.Explain(label, "") != "" {
		fmt.Fprintln(a.err, "labels: "+escape.Text(d.Levels.Explain(label, "--label ")))
	}
	r, err := itemsource.FromRun(ctx, d, &cfg, home, func(p *data.Part) (*run.Embeddings, error) {
		return a.embedAndReport(ctx, m, p)
	})
	if err != nil {
		d.Close()
	}
	return r, distance, err
}

// openTable reads a file of embeddings with its labels.
func (f *reviewFlags) openTable(ctx context.Context, a *app, path string) (*itemsource.Items, error) {
	t, err := a.readTable(path, f.labels)
	if err != nil {
		return nil, err
	}
	r, err := itemsource.FromTable(t, path, f.label, f.photos.root(), f.strict)
	if err != nil {
		return nil, err
	}
	a.printLeftOut(r.LeftOut)
	d, err := f.photos.open(ctx, t.Files, path)
	if d == nil || err != nil {
		return r, err
	}
	return r, r.SetDataset(d, path)
}

// csvFile is a table to write.
type csvFile struct {
	name string
	rows [][]string
}

// writeAll writes tables and the page into the folder of --out and returns their paths. It makes
// the page before it writes anything.
func (f *reviewFlags) writeAll(tables []csvFile, page func() (*review.Page, error)) ([]string, error) {
	var texts []results.Text
	for _, t := range tables {
		texts = append(texts, results.NewText(t.name, func(w io.Writer) error {
			out := csv.NewWriter(w)
			return errors.Join(out.WriteAll(t.rows), out.Error())
		}))
	}
	p, err := page()
	if err != nil {
		return nil, err
	}
	return f.writeResults(append(texts, results.NewText(review.DataName, bytesWriter(p.JSON)),
		results.NewText(review.FileName, bytesWriter(p.HTML)))...)
}
