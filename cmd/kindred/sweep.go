package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/format/yamltext"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/sweepreport"
	"github.com/kindred-ml/kindred/internal/sweep"
)

func newSweep(a *console.Console) *cobra.Command {
	var f planFlags
	var allowFailed bool
	cmd := &cobra.Command{
		Use:               "sweep PLAN",
		ValidArgsFunction: complete.One(complete.YAML),
		Short:             "Choose settings on validation classes, then test the winner once",
		Long: `sweep tries settings from the ranges of a plan (YAML; docs/sweep.md has the keys),
drawn at random or by TPE. The training classes are divided into folds. Each trial
is trained once for every fold, without the classes of that fold, and scored on
them. The test classes are not used. ASHA ends trials early and lets the best third
go on from their checkpoints. Every arm of the plan has the same budget, which is
printed in epochs.

The winner of each arm is then trained on all training classes, once for every
seed, and tested once.

The folder of --out has sweep.json, report.html, winners/ARM.yaml for kindred
train, and the run folders. The same command, given again, goes on where it
stopped. The results depend only on the plan and its seed, not on --jobs.

Trials that fail are listed at the end with their errors. The exit status is then
1, as a failed trial might have won, or 0 with --allow-failed.`,
		Example: `  kindred sweep plan.yaml --out sweeps/letters
  kindred sweep plan.yaml --out sweeps/letters --jobs 2 --json`,
		Args: exactArgs("plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, o, close, err := f.open(cmd.Context(), a, args[0], sweep.ParsePlan)
			if err != nil {
				return err
			}
			defer close()
			o.OnEvent = newSweepPrinter(a, plan)
			began := time.Now()
			out, err := sweep.Run(cmd.Context(), plan, o)
			if err != nil {
				return f.completeError(err)
			}
			if err := writeSweepPage(a, f.dir, args[0], out, time.Since(began)); err != nil {
				return err
			}
			return failedTrials(a, out, allowFailed)
		},
	}
	f.add(cmd, "the sweep")
	addAllowFailed(cmd.Flags(), &allowFailed)
	return cmd
}

// planFlags are the flags of commands that carry out a plan.
type planFlags struct {
	dir, dataDir string
	queued       queues.Flags
	jobs         int
	weights      cli.WeightsFlags
}

func (f *planFlags) add(cmd *cobra.Command, what string) {
	fs := flags.New(cmd)
	fs.Text(&f.dir, "out", "", "folder of the results; if it has results of the same plan, "+what+" goes on",
		complete.Folders)
	fs.Jobs(&f.jobs)
	fs.DataDir(&f.dataDir)
	fs.Weights(&f.weights)
	f.queued.AddLeader(cmd)
}

// open reads the plan and returns it with the options, without Tell. close ends the queue, if there is one.
func (f *planFlags) open(ctx context.Context, a *console.Console, path string, parse planParser) (
	p *sweep.Plan, o sweep.Options, close func(), err error) {
	if p, err = f.read(path, parse); err == nil {
		o, close, err = f.options(ctx, a)
	}
	return p, o, close, err
}

// planParser reads the text of a plan; file is its name in errors.
type planParser = func(file string, text []byte) (*sweep.Plan, error)

// read reads the plan.
func (f *planFlags) read(path string, parse planParser) (*sweep.Plan, error) {
	if f.dir == "" {
		return nil, cli.Usagef("missing --out: the folder of the results")
	}
	if err := flags.CheckAtLeast("jobs", f.jobs, 1); err != nil {
		return nil, err
	}
	text, err := yamltext.ReadFile(path)
	if err != nil {
		return nil, err
	}
	plan, err := parse(path, text)
	if err != nil {
		return nil, cli.UsageError{Err: err}
	}
	return plan, nil
}

// options returns the options and what ends the queue.
func (f *planFlags) options(ctx context.Context, a *console.Console) (o sweep.Options, close func(), err error) {
	o = sweep.Options{Dir: f.dir, Jobs: f.jobs,
		OnNote: func(text string) { fmt.Fprintln(a.Err, escape.Text("note: "+text)) }, Local: sweep.Local{
			Home: inputs.DataFolder(f.dataDir), Formats: cli.EmbeddingFormats(), Weights: inputs.FindWeights(a,
				f.weights)}}
	if f.queued.Queue == "" {
		return o, func() {}, nil
	}
	f.queued.DataDir = f.dataDir
	q, err := f.queued.OpenAsLeader(ctx, a, f.queued.NewKit(a))
	if err != nil {
		return o, nil, err
	}
	o.Runner = q
	return o, q.Close, nil
}

// completeError returns the error of a plan that was not carried out to the end.
func (f *planFlags) completeError(err error) error {
	if errors.Is(err, context.Canceled) {
		return cli.ResumableError{Err: err, Where: f.dir + " keeps the finished jobs",
			Command: escape.Command(os.Args...)}
	}
	return err
}

// newSweepPrinter prints a line for every trial.
func newSweepPrinter(a *console.Console, p *sweep.Plan) func(sweep.Event) {
	fmt.Fprintf(a.Err, "every arm may try %d settings and train them for %d epochs on each of %d folds; %s, stop %s\n",
		p.Trials, p.Budget, p.NumScoredFolds(), p.Search, p.Stop)
	return func(e sweep.Event) {
		name := fmt.Sprintf("%s: trial %d", e.Arm, e.Trial)
		if e.Trial == 0 {
			name = fmt.Sprintf("%s: winner, seed %d", e.Arm, e.Seed)
		}
		switch {
		case !e.Done:
			return
		case e.Failed != "":
			fmt.Fprintln(a.Err, escape.Text(fmt.Sprintf("%s failed: %s", name, e.Failed)))
		default:
			fmt.Fprintln(a.Err, escape.Text(fmt.Sprintf("%s, %d epochs: %s %.4f (%d of %d epochs spent)", name, e.Until,
				p.Metric, e.Score, e.Spent, p.Budget)))
		}
	}
}

func addAllowFailed(fs *pflag.FlagSet, allow *bool) {
	fs.BoolVar(allow, "allow-failed", false, "exit with status 0 even if trials failed")
}

// failedTrials prints the failed trials, and returns an error unless failures are allowed.
func failedTrials(a *console.Console, out *sweep.Outcome, allow bool) error {
	const most = 10
	for i, f := range out.Failed {
		if i == most {
			fmt.Fprintf(a.Err, "and %d more trials failed\n", len(out.Failed)-most)
			break
		}
		fmt.Fprintln(a.Err, escape.Text(f.String()))
	}
	if len(out.Failed) == 0 || allow {
		return nil
	}
	trials := 0
	for _, arm := range out.Arms {
		trials += len(arm.Trials)
	}
	return fmt.Errorf("%d of %d trials failed, and the winner is the best of the others; if some settings are "+
		"expected to fail, give --allow-failed", len(out.Failed), trials)
}

// writeSweepPage writes the page and prints the result.
func writeSweepPage(a *console.Console, dir, plan string, out *sweep.Outcome, took time.Duration) error {
	page := filepath.Join(dir, sweep.ReportFile)
	if err := sweepreport.Page(out, escape.Command("kindred", "sweep", plan, "--out",
		dir)).WriteFile(page); err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "arm\ttrials\tepochs of %d\tvalidation %s\ttest, %d seeds\twinner\n", out.Plan.Budget,
		out.Plan.Metric, out.Plan.Seeds)
	for i := range out.Arms {
		arm := &out.Arms[i]
		best := arm.BestTrial()
		set := cli.Map(best.Set, func(s sweep.Setting) string { return s.Key + "=" + s.Value })
		fmt.Fprintf(tw, "%s\t%d\t%d\t%.4f\t%s\t%s\n", arm.Name, len(arm.Trials), arm.Spent, best.Score,
			arm.TestText(out.Plan), strings.Join(set, " "))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return printPage(a, page, took)
}

// printPage prints where the page of a sweep is.
func printPage(a *console.Console, page string, took time.Duration) error {
	_, err := fmt.Fprintf(a.Out, "report: %s (this call took %s)\n", page, report.FormatDuration(took))
	return err
}
