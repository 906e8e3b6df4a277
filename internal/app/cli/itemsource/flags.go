package itemsource

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
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/run"
)

// Flags name the items that kindred discover and kindred clean examine.
type Flags struct {
	outputs.Folder
	labels, label string
	Photos        inputs.PhotoFlags
	distance      string
	strict        bool
}

// Add adds the flags; out is the help of --out.
func (f *Flags) Add(cmd *cobra.Command, out string) {
	fs := flags.New(cmd)
	fs.Labels(&f.labels, "labels of a file of embeddings")
	fs.Text(&f.label, "label", "",
		"column of labels; default: that of the run's training; in a file of embeddings coarse, else label",
		complete.Nothing)
	fs.Distance(&f.distance, "", "that of the run; euclidean for a file of embeddings", "euclidean", "cosine")
	f.Photos.Add(cmd)
	cli.AddStrict(fs.FlagSet, &f.strict)
	f.Folder.Add(cmd, out)
}

// CheckItemsArg checks the argument of both commands.
func CheckItemsArg(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("%d arguments: want one, the folder of a run or a file of embeddings", len(args))
	}
	return nil
}

// Open reads the items of a run or of a file of embeddings.
func (f *Flags) Open(ctx context.Context, a *console.Console, arg string) (*Items, error) {
	st, err := inputs.StatArg(arg, inputs.WantRun, inputs.WantVectors)
	if err != nil {
		return nil, err
	}
	what, needs := "a run", ""
	if !st.IsDir() {
		what, needs = "a file of embeddings", "data"
	}
	if err := flags.Check(f.Cmd, what,
		flags.When("labels", !st.IsDir(), "", "a run has its labels"),
		flags.When("folds", st.IsDir(), "", flags.ReasonTrains),
		flags.When("data-dir allow-outside", true, needs, flags.ReasonDataset)); err != nil {
		return nil, err
	}
	var r *Items
	distance := eval.Euclidean
	if st.IsDir() {
		r, distance, err = f.openRun(ctx, a, arg)
	} else {
		r, err = f.OpenTable(ctx, a, arg)
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
		return nil, cli.Usagef("--distance: %w", err)
	}
	if err := r.OpenPictures(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// openRun embeds the samples that a run trains and tests on.
func (f *Flags) openRun(ctx context.Context, a *console.Console, dir string) (*Items, eval.Distance,
	error) {
	m, err := run.Load(dir)
	if err != nil {
		return nil, 0, err
	}
	m.Config.Data.Strict = f.strict
	cfg := m.Config
	cfg.Data.Label = cmp.Or(f.label, cfg.Data.Label)
	if f.Photos.Data != "" {
		cfg.Data.Name, cfg.Data.Path = "", f.Photos.Data
	}
	distance, err := eval.ParseDistance(cfg.Eval.Distance)
	if err != nil {
		return nil, 0, err
	}
	home := inputs.DataFolder(f.Photos.DataDir)
	cfg.Data.Outside = cfg.Data.Outside || f.Photos.Outside
	d, err := inputs.OpenWithColumns(ctx, &cfg.Data, home)
	if err != nil && f.Photos.Data == "" {
		err = run.ExplainMissingData(err, dir)
	}
	if err != nil {
		return nil, 0, err
	}
	inputs.PrintNotes(a, d)
	if label, _ := cfg.Data.LabelColumns(d); d.Levels != nil && d.Levels.Explain(label, "") != "" {
		fmt.Fprintln(a.Err, "labels: "+escape.Text(d.Levels.Explain(label, "--label ")))
	}
	r, err := FromRun(ctx, d, &cfg, home, func(p *data.Part) (*run.Embeddings, error) {
		return inputs.EmbedAndReport(ctx, a, m, p)
	})
	if err != nil {
		d.Close()
	}
	return r, distance, err
}

// OpenTable reads a file of embeddings with its labels.
func (f *Flags) OpenTable(ctx context.Context, a *console.Console, path string) (*Items, error) {
	t, err := inputs.ReadTable(a, path, f.labels)
	if err != nil {
		return nil, err
	}
	r, err := FromTable(t, path, f.label, f.Photos.Root(), f.strict)
	if err != nil {
		return nil, err
	}
	inputs.PrintLeftOut(a, r.LeftOut)
	d, err := f.Photos.Open(ctx, t.Files, path)
	if d == nil || err != nil {
		return r, err
	}
	return r, r.SetDataset(d, path)
}

// NewTable returns a file of CSV.
func NewTable(name string, rows [][]string) results.Text {
	return results.NewText(name, func(w io.Writer) error {
		out := csv.NewWriter(w)
		return errors.Join(out.WriteAll(rows), out.Error())
	})
}

// WriteAll writes tables and the page into the folder of --out and returns their paths. It makes
// the page before it writes anything.
func (f *Flags) WriteAll(tables []results.Text, page func() (*review.Page, error)) ([]string, error) {
	p, err := page()
	if err != nil {
		return nil, err
	}
	return f.WriteResults(append(tables, results.NewText(review.DataName, outputs.BytesWriter(p.JSON)),
		results.NewText(review.FileName, outputs.BytesWriter(p.HTML)))...)
}
