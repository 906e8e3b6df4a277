package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/report/runs"
	"github.com/kindred-ml/kindred/run"
)

type reportFlags struct {
	outputs.Folder
	data, dataDir string
	names         []string
}

func newReport(a *console.Console) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:               "report RUN...",
		ValidArgsFunction: complete.Runs,
		Short:             "Compare training runs on one page",
		Long: `report reads the folders of training runs and writes DIR/report.html. The page has
scores, curves over the epochs with the best epoch marked, a map of the embeddings to
explore, neighbours of a few test images before and after training, and the settings
in which the runs differ from each other and from the defaults. Neighbours need runs
trained with --set eval.keep=true, and their data set. Runs that differ only in
train.seed are shown as one row, with mean and standard deviation. The tables of
scores are also printed.

A row is named after its folder or, with several seeds, after the settings that tell
it from the others. --name RUN=NAME gives it another name; one run of a row suffices.`,
		Example: `  kindred report runs/eps runs/random --out report
  kindred report runs/eps-seed* runs/random-seed* --out seeds
  kindred report runs/eps-seed* runs/random-seed* --out seeds --name runs/eps-seed1="Easy positives"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("missing argument RUN: the folder of a run")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, dirs []string) error { return runReport(cmd.Context(), a, dirs, &f) },
	}
	f.Add(cmd, "folder to write to; default: report, in the folder of the run if there is only one")
	flags.New(cmd).Text(&f.data, "data", "", "data set of the runs, if it was moved since training", complete.Datasets)
	flags.New(cmd).Repeated(&f.names, "name", "name of a row, as RUN=NAME with the folder of one of its runs; may be "+
		"repeated", complete.Runs)
	flags.New(cmd).DataDir(&f.dataDir)
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
	Metrics map[string][]float64 `json:"metrics"` // a value for each run that has the metric
}

func runReport(ctx context.Context, a *console.Console, dirs []string, f *reportFlags) error {
	usual := "report"
	if len(dirs) == 1 {
		usual = filepath.Join(dirs[0], "report")
		if _, err := run.Open(dirs[0]); err != nil { // check before making a folder in it
			return err
		}
	}
	if err := cmp.Or(f.Choose(usual, "report.html"), f.Make()); err != nil {
		return err
	}
	path := filepath.Join(f.Dir, "report.html")
	c, err := runs.Write(ctx, dirs, runs.PageOptions{Home: inputs.DataFolder(f.dataDir), Data: f.data, Page: path,
		Seed: a.Seed, Names: f.names})
	if err != nil {
		return err
	}
	if err := f.RecordMade("report.html"); err != nil {
		return err
	}
	for _, err := range c.Unseen {
		fmt.Fprintf(a.Err, "the page has no photos: %s\n", escape.Text(cli.Message(err)))
	}
	if !a.JSON {
		for _, t := range c.Scores() {
			fmt.Fprintln(a.Out, t)
		}
		_, err := fmt.Fprintln(a.Out, "written", path)
		return err
	}
	res := reportResult{Page: path, Differ: c.Differ}
	for _, g := range c.Groups {
		rg := reportGroup{Name: g.Name, Metrics: map[string][]float64{}}
		for _, r := range g.Runs {
			rg.Runs = append(rg.Runs, r.Dir())
			for _, m := range r.Metrics() {
				if v, err := r.Score(m); err == nil && !math.IsInf(v, 0) {
					rg.Metrics[m] = append(rg.Metrics[m], v)
				}
			}
		}
		res.Groups = append(res.Groups, rg)
	}
	return a.PrintJSON(res)
}
