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
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/report/sweepreport"
	"github.com/kindred-ml/kindred/internal/sweep"
)

func newTune(a *app) *cobra.Command {
	var o paper.Options
	var dataDir string
	var trials int
	var allowFailed bool
	cmd := &cobra.Command{
		Use:               "tune NAME",
		ValidArgsFunction: completeOne(completeTunable),
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
				return usagef("unknown experiment %q: want one of %s", args[0], strings.Join(paper.Names(), ", "))
			}
			if err := cmp.Or(checkAtLeast("jobs", o.Jobs, 1), checkAtLeast("trials", trials, 1)); err != nil {
				return err
			}
			if e.Space != nil && o.Scale == "" {
				o.Scale = e.Space.Scale
			}
			o.Seed = a.seed
			o.Dir = cmp.Or(o.Dir, filepath.Join("reports", e.Name+"-tune"))
			o.Home = dataFolder(dataDir)
			o.Weights = a.findWeights(cli.WeightsFlags{})
			plan, err := e.TunePlan(o, trials)
			if err != nil {
				return usageError(err)
			}
			if _, err := e.Config(o); err != nil {
				return usageError(err)
			}
			p, err := sweep.ParsePlan("tune.yaml", []byte(plan))
			if err != nil {
				return usageError(err)
			}
			if err := fetchData(cmd.Context(), a, e, o); err != nil {
				return err
			}
			began := time.Now()
			chosen, out, err := paper.Tune(cmd.Context(), e, o, p, plan, a.newSweepPrinter(p))
			if errors.Is(err, context.Canceled) {
				return resumableError{error: err, where: o.Dir + " keeps the finished trials",
					command: escape.Command(os.Args...)}
			} else if err != nil {
				return err
			}
			if err := a.tuned(o.Dir, chosen, out, time.Since(began)); err != nil {
				return err
			}
			return a.failedTrials(out, allowFailed)
		},
	}
	fs := newFlags(cmd)
	fs.IntVar(&trials, "trials", 12, "number of trials of each arm")
	fs.text(&o.Dir, "out", "", "folder of the results (default reports/NAME-tune)", completeFolders)
	fs.text(&o.Scale, "scale", "", "size of the experiment to choose settings for; default: the one that has ranges",
		completeOfExperiment(scaleNames))
	fs.jobs(&o.Jobs)
	fs.repeated(&o.Set, "set", "change a setting of all trials, as in kindred train: section.key=value",
		completeSetting)
	addAllowFailed(fs.FlagSet, &allowFailed)
	fs.dataDir(&dataDir)
	return cmd
}

// tuned writes the page of the sweep in dir and prints what it chose.
func (a *app) tuned(dir string, c *paper.TunedSettings, out *sweep.Outcome, took time.Duration) error {
	page := filepath.Join(dir, paper.TuneSweep, sweep.ReportFile)
	if err := sweepreport.Page(out, c.Command).WriteFile(page); err != nil {
		return err
	}
	if err := a.printChosen(c, filepath.Join(dir, paper.ChosenFile)); err != nil || a.json {
		return err
	}
	return a.printPage(page, took)
}

// printChosen prints the settings that a sweep chose, and their file.
func (a *app) printChosen(c *paper.TunedSettings, file string) error {
	if a.json {
		return a.printJSON(c)
	}
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "arm\ttrials\tepochs of %d\t%s, held out\tsettings\n", c.Budget, c.Metric)
	for _, arm := range c.Arms {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%.4f\t%s\n", arm.Name, arm.Trials, arm.Spent, arm.Score,
			strings.Join(arm.Set, " "))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "chosen: %s\n", file)
	return err
}
