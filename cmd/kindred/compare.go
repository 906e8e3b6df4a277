package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/comparereport"
	"github.com/kindred-ml/kindred/internal/sweep"
)

func newCompare(a *console.Console) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:               "compare PLAN",
		ValidArgsFunction: complete.One(complete.YAML),
		Short:             "Compare methods over several seeds by a paired test",
		Long: `compare trains every arm of a plan (YAML) with the same seeds and tests the
differences between the arms. It searches nothing: a plan has the keys set, arms,
seeds (default 3), seed, metric and folds of 'kindred sweep' (docs/sweep.md).

The test is Student's paired t-test over the seeds, two-sided, of one metric, for
every two arms, corrected (Holm) for the number of tests. With folds, runs are
scored on each fold of the training part, and the score of a seed is the mean over
the folds; without folds, they are scored on the test part. A difference counts if
p is below 0.05 with three seeds or more. Otherwise it is undecided, and compare
says how many seeds would decide it.

The folder of --out has compare.json, report.html, compare.tex (booktabs),
compare.svg and compare.png, scores.csv, tests.csv, and the run folders. The same
command, given again, goes on where it stopped, to the same bits. More seeds in
the plan add runs.`,
		Example: `  kindred compare plan.yaml --out compared
  kindred compare plan.yaml --out compared --jobs 2 --json`,
		Args: exactArgs("plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, o, close, err := f.open(cmd.Context(), a, args[0], sweep.ParseComparison)
			if err != nil {
				return err
			}
			defer close()
			o.OnEvent = newComparisonPrinter(a, plan)
			began := time.Now()
			out, err := sweep.Compare(cmd.Context(), plan, o)
			if err != nil {
				return f.completeError(err)
			}
			again := escape.Command("kindred", "compare", args[0], "--out", f.dir)
			if err := comparereport.Write(out, f.dir, again); err != nil {
				return err
			}
			return a.PrintResult(out, func() error { return printComparison(a, out, &f, args[0], time.Since(began)) })
		},
	}
	f.add(cmd, "the comparison")
	return cmd
}

// newComparisonPrinter prints a line for every run.
func newComparisonPrinter(a *console.Console, p *sweep.Plan) func(sweep.Event) {
	all, done := len(p.Arms)*p.Seeds*max(1, p.NumScoredFolds()), 0
	return func(e sweep.Event) {
		if !e.Done {
			return
		}
		done++
		name := fmt.Sprintf("%s, seed %d", e.Arm, e.Seed)
		if e.Fold > 0 {
			name += fmt.Sprintf(", fold %d", e.Fold)
		}
		fmt.Fprintln(a.Err, escape.Text(fmt.Sprintf("%s: %s %.4f (%d of %d runs)", name, p.Metric, e.Score, done, all)))
	}
}

// printComparison prints the tables of a comparison, what would decide more, and the files.
func printComparison(a *console.Console, out *sweep.Comparison, f *planFlags, plan string, took time.Duration) error {
	fmt.Fprintf(a.Out, "%s\n%s\n", comparereport.ScoreTable(out).Narrow(), comparereport.TestTable(out))
	needed := 0
	for _, t := range out.Tests {
		needed = max(needed, t.SeedsNeeded)
	}
	if needed > 0 {
		fmt.Fprintf(a.Out, "To decide more, set \"seeds: %d\" in %s and give the same command again: it keeps the "+
			"finished runs.\n", needed, plan)
	}
	_, err := fmt.Fprintf(a.Out, "written to %s: %s (this call took %s)\n", f.dir,
		strings.Join(append([]string{sweep.ComparisonFile}, comparereport.Files...), ", "), report.FormatDuration(took))
	return err
}
