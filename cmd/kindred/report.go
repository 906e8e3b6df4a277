package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/report"
	"github.com/kindred-ml/kindred/internal/report/maps"
	"github.com/kindred-ml/kindred/internal/report/runs"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/projection"
	"github.com/kindred-ml/kindred/run"
)

// mapRows is how many embeddings of a run the report draws.
const mapRows = 2000

func newReport(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "Compare training runs on one page",
		Long: `report reads the folders of training runs and writes DIR/report.html: scores,
curves over the epochs, maps of the test embeddings, and the settings in which
the runs differ. Runs that differ only in train.seed are shown as one, with mean
and standard deviation. The table of scores is also printed.`,
		Example: `  kindred report runs/eps runs/random --out report
  kindred report runs/eps-seed* runs/random-seed* --out report`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("missing argument RUN: the folder of a run")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, dirs []string) error { return runReport(cmd.Context(), a, dirs, out) },
	}
	cmd.Flags().StringVar(&out, "out", "report", "folder to write to; created if missing")
	return cmd
}

// reportResult is what kindred report --json prints.
type reportResult struct {
	Page   string        `json:"page"`
	Groups []reportGroup `json:"groups"`
	Differ []string      `json:"differ"`
}

type reportGroup struct {
	Name    string               `json:"name"`
	Runs    []string             `json:"runs"`
	Metrics map[string][]float64 `json:"metrics"` // a value per run that has one
}

// writeReport compares the runs in the given folders and writes the page to path.
func writeReport(ctx context.Context, dirs []string, path string) (*runs.Comparison, error) {
	var all []*runs.Run
	for _, d := range dirs {
		r, err := runs.Load(d)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	c := runs.Compare(all)
	maps, err := runMaps(ctx, c)
	if err != nil {
		return nil, err
	}
	return c, c.Page(maps...).WriteFile(path)
}

func runReport(ctx context.Context, a *app, dirs []string, out string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	path := filepath.Join(out, "report.html")
	c, err := writeReport(ctx, dirs, path)
	if err != nil {
		return err
	}
	if !a.json {
		for _, t := range c.Scores() {
			fmt.Fprintln(a.out, t)
		}
		_, err := fmt.Fprintln(a.out, "written", path)
		return err
	}
	res := reportResult{Page: path, Differ: c.Differ}
	for _, g := range c.Groups {
		rg := reportGroup{Name: g.Name, Metrics: map[string][]float64{}}
		for _, r := range g.Runs {
			rg.Runs = append(rg.Runs, r.Dir())
			for _, m := range r.Metrics() {
				if v, err := r.Last(m); err == nil && !math.IsInf(v, 0) {
					rg.Metrics[m] = append(rg.Metrics[m], v)
				}
			}
		}
		res.Groups = append(res.Groups, rg)
	}
	return a.printJSON(res)
}

// runSets are the sets of samples that are drawn, and what they are called.
var runSets = [...]struct {
	set   run.Set
	title string
}{
	{run.TestSet, "Test embeddings"},
	{run.SeenSet, "Embeddings of the training classes' test samples"},
	{run.TrainSet, "Training embeddings"},
}

// runMaps draws the embeddings of the first run of every group, where they were
// kept: as they are if they are two-dimensional, else by PCA.
func runMaps(ctx context.Context, c *runs.Comparison) ([]report.Section, error) {
	var out []report.Section
	for _, set := range runSets {
		var items []report.Captioned
		for _, g := range c.Groups {
			r := g.Runs[0]
			x, err := r.Embeddings(set.set)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return nil, err
			}
			if x, err = x.Select(); err != nil {
				return nil, fmt.Errorf("%s: %w", r.Dir(), err)
			}
			s, err := runScatter(ctx, x, g.Name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Dir(), err)
			}
			items = append(items, report.Captioned{Figure: s})
		}
		if len(items) > 0 {
			out = append(out, report.Section{Title: set.title, Blocks: []report.Block{report.Figures{Items: items}}})
		}
	}
	return out, nil
}

func runScatter(ctx context.Context, set *embedding.Table, title string) (report.Scatter, error) {
	rows := set.X.Rows
	step := max(1, (rows+mapRows-1)/mapRows)
	x := set.X
	s := report.Scatter{Axes: report.Axes{Title: title, Equal: true, Bare: true}, Label: true}
	if x.Cols != 2 {
		c, err := projection.PCA(ctx, x, 2)
		if err != nil {
			return s, err
		}
		x = c.Scores
		s.Axes.Title += fmt.Sprintf(" (PCA, %.0f %% of the variance)", 100*(c.Explained[0]+c.Explained[1]))
	}
	class, names := maps.Classes(&set.Columns[0])
	s.Names, s.Label = names, len(names) <= 12
	s.X, s.Y, s.Class = sampled(x, class, step)
	return s, nil
}

// sampled takes every step-th row.
func sampled(x *mat.Dense, class []int, step int) (xs, ys []float64, cs []int) {
	for i := 0; i < x.Rows; i += step {
		xs, ys, cs = append(xs, float64(x.At(i, 0))), append(ys, float64(x.At(i, 1))), append(cs, class[i])
	}
	return xs, ys, cs
}
