package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/report/sweepreport"
	"github.com/kindred-ml/kindred/internal/sweep"
)

func newTune(a *console.Console) *cobra.Command {
	var o paper.Options
	var dataDir string
	trials, allowFailed := 0, false
	cmd := &cobra.Command{
		Use:               "tune NAME",
		ValidArgsFunction: complete.One(complete.Tunable),
		Short:             "Choose an experiment's settings without its test",
		Long: `tune chooses the settings that an experiment's paper leaves open, separately for
every arm. It runs a sweep that trains on one part of the training data and is
scored on the rest; the test data are not used. Every arm has the same number of
trials and epochs, which are printed. In many experiments the first trial has the
settings that are used without a sweep.

The folder of --out has tune.yaml (the plan, as 'kindred sweep' reads it), the sweep
with its page (sweep/report.html), and chosen.json: the settings with their scores,
the budget and the command. Copy chosen.json to
internal/app/experiments/paper/chosen/NAME.json (or NAME-SCALE.json) in the sources, and
'kindred reproduce NAME' trains with these settings. The same command, given again,
goes on where it stopped. Trials that fail are listed at the end; the exit status is
then 1, or 0 with --allow-failed.`,
		Example: `  kindred reproduce tune mnist --trials 12
  kindred reproduce tune omniglot --scale small --set network.precision=bfloat16 --jobs 2`,
		Args: exactArgs("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e := paper.Find(args[0])
			if e == nil {
				return cli.Usagef("unknown experiment %q: want one of %s", args[0], strings.Join(paper.Names(), ", "))
			}
			err := cmp.Or(flags.CheckAtLeast("jobs", o.Jobs, 1), flags.CheckAtLeast("trials", trials, 1))
			if err != nil {
				return err
			}
			if e.Space != nil && o.Scale == "" {
				o.Scale = e.Space.Scale
			}
			o.Seed = a.Seed
			o.Dir = cmp.Or(o.Dir, filepath.Join("reports", e.Name+"-tune"))
			o.Home = inputs.DataFolder(dataDir)
			o.Weights = inputs.FindWeights(a, cli.WeightsFlags{})
			plan, err := e.TunePlan(o, trials)
			if err == nil {
				_, err = e.Config(o)
			}
			if err != nil {
				return cli.UsageError{Err: err}
			}
			p, err := sweep.ParsePlan("tune.yaml", []byte(plan))
			if err != nil {
				return cli.UsageError{Err: err}
			}
			if err := inputs.FetchData(cmd.Context(), a, e, o); err != nil {
				return err
			}
			began := time.Now()
			chosen, out, err := paper.Tune(cmd.Context(), e, o, p, plan, newSweepPrinter(a, p))
			if errors.Is(err, context.Canceled) {
				return cli.ResumableError{Err: err, Where: o.Dir + " keeps the finished trials",
					Command: escape.Command(os.Args...)}
			} else if err != nil {
				return err
			}
			if err := writeTuned(a, o.Dir, chosen, out, time.Since(began)); err != nil {
				return err
			}
			return failedTrials(a, out, allowFailed)
		},
	}
	fs := flags.New(cmd)
	fs.IntVar(&trials, "trials", 12, "number of trials of each arm")
	fs.Text(&o.Dir, "out", "", "folder of the results (default reports/NAME-tune)", complete.Folders)
	fs.Text(&o.Scale, "scale", "", "size of the experiment to choose settings for; default: the one that has ranges",
		complete.OfExperiment(complete.ScaleNames))
	fs.Jobs(&o.Jobs)
	fs.Repeated(&o.Set, "set", "change a setting of all trials, as in kindred train: section.key=value",
		complete.Setting)
	addAllowFailed(fs.FlagSet, &allowFailed)
	fs.DataDir(&dataDir)
	return cmd
}

// writeTuned writes the page of the sweep in dir and prints what it chose.
func writeTuned(a *console.Console, dir string, c *paper.TunedSettings, out *sweep.Outcome, took time.Duration) error {
	page := filepath.Join(dir, paper.TuneSweep, sweep.ReportFile)
	if err := sweepreport.Page(out, c.Command).WriteFile(page); err != nil {
		return err
	}
	if err := printChosen(a, c, filepath.Join(dir, paper.ChosenFile)); err != nil || a.JSON {
		return err
	}
	return printPage(a, page, took)
}

// printChosen prints the settings that a sweep chose, and their file.
func printChosen(a *console.Console, c *paper.TunedSettings, file string) error {
	if a.JSON {
		return a.PrintJSON(c)
	}
	tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "arm\ttrials\tepochs of %d\t%s, held out\tsettings\n", c.Budget, c.Metric)
	for _, arm := range c.Arms {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%.4f\t%s\n", arm.Name, arm.Trials, arm.Spent, arm.Score,
			strings.Join(arm.Set, " "))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "chosen: %s\n", file)
	return err
}
