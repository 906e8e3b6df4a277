package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/base/escape"
)

// recipeFlags are the flags that only the table of recipes has.
var recipeFlags = []string{"minutes", "peer", "python"}

// addRecipes adds these flags to a command.
func addRecipes(fs flags.Set, o *paper.Options) {
	fs.Float64Var(&o.Minutes, "minutes", paper.DefaultMinutes, "recipes: minutes to train each run")
	fs.Text(&o.Peer.Script, "peer", "", "recipes: script that trains by the recipes of other toolkits, "+
		"bench/recipes.py", complete.Files)
	fs.Text(&o.Peer.Python, "python", "/usr/bin/python3", "recipes: interpreter for --peer", complete.Files)
}

// checkRecipes refuses flags of the table of recipes if they do not apply. table is the
// table to run, or the table of the experiment.
func checkRecipes(cmd *cobra.Command, a *console.Console, table string, o *paper.Options, queued *queues.Flags) error {
	if table != paper.RecipesTable {
		for _, name := range recipeFlags {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s applies only to the experiments recipes and recipes-...", name)
			}
		}
		o.Minutes, o.Peer = 0, paper.Peer{}
		return nil
	}
	switch {
	case !(o.Minutes > 0) || o.Minutes > 1e5:
		return cli.Usagef("--minutes %v: want more than 0 and at most 100000", o.Minutes)
	case queued.Queue != "":
		return cli.Usagef("--queue does not apply to %s: its runs are timed on this machine", paper.RecipesTable)
	case o.Jobs > 1:
		return cli.Usagef("--jobs %d: want 1, as the runs of %s are timed", o.Jobs, paper.RecipesTable)
	}
	o.Peer.Log = a.Err
	return nil
}

// experimentFolder returns the default folder for the results of an experiment. The rows of a
// table share one folder.
func experimentFolder(e *paper.Experiment) string {
	if row := e.RowName(); row != "" {
		return filepath.Join("reports", e.Table(), row)
	}
	return filepath.Join("reports", e.Name)
}

// runTable runs the rows of the named table whose data sets were found, each in its folder
// below o.Dir, and prints the table.
func runTable(cmd *cobra.Command, a *console.Console, table string, o paper.Options, queued *queues.Flags) error {
	rows := paper.TableRows(table)
	options := func(e *paper.Experiment) paper.Options {
		row := o
		row.Dir, row.Set = filepath.Join(o.Dir, e.RowName()), e.ApplicableSettings(o.Set)
		return row
	}
	for _, e := range rows {
		if _, err := e.Config(options(e)); err != nil {
			return cli.UsageError{Err: err}
		}
	}
	var outcomes []*paper.Outcome
	for _, e := range rows {
		row := options(e)
		if err := checkPresent(cmd, e, row); err != nil {
			fmt.Fprintf(a.Err, "%s is left out: %s\n", e.Name, escape.Text(cli.Message(err)))
			continue
		}
		out, err := reproduce(cmd, a, e, row, queued)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "%s: %s\n", e.Name, filepath.Join(row.Dir, paper.ReportFile))
		outcomes = append(outcomes, out)
	}
	if len(outcomes) == 0 {
		return errors.New("none of the data sets was found: 'kindred data list' shows which can be fetched, and " +
			"--data-dir names their folder")
	}
	if a.JSON {
		return a.PrintJSON(outcomes)
	}
	text, err := paper.FormatTables(table, o.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Out, text)
	for _, out := range outcomes {
		fmt.Fprintf(a.Out, "%s\n%s", out.Title, out.Statements())
	}
	return nil
}

// checkPresent returns an error if the data set of an experiment cannot be opened.
func checkPresent(cmd *cobra.Command, e *paper.Experiment, o paper.Options) error {
	cfg, err := e.Config(o)
	if err != nil {
		return err
	}
	d, err := cfg.Data.Open(cmd.Context(), o.Home)
	if err != nil {
		return err
	}
	return d.Close()
}
