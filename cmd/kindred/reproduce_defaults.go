package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/repro/paper"
)

// defaultsTable is the name for all rows of the table of what the defaults give.
const defaultsTable = "defaults"

// experimentFolder is the default folder for the results of an experiment: the rows of a
// table share one folder.
func experimentFolder(e *paper.Experiment) string {
	if row := e.Row(); row != "" {
		return filepath.Join("reports", defaultsTable, row)
	}
	return filepath.Join("reports", e.Name)
}

// runDefaults runs the rows of the table whose data sets are there, each in its folder
// below o.Dir, and prints the table.
func runDefaults(cmd *cobra.Command, a *app, o paper.Options, queued *queueFlags) error {
	rows := paper.Defaults()
	options := func(e *paper.Experiment) paper.Options {
		row := o
		row.Dir, row.Set = filepath.Join(o.Dir, e.Row()), e.Fitting(o.Set)
		return row
	}
	for _, e := range rows {
		if _, err := e.Config(options(e)); err != nil {
			return usageError(err)
		}
	}
	var outcomes []*paper.Outcome
	for _, e := range rows {
		row := options(e)
		if err := present(cmd, e, row); err != nil {
			fmt.Fprintf(a.err, "%s is left out: %s\n", e.Name, escape.Text(cli.Message(err)))
			continue
		}
		out, err := reproduced(cmd, a, e, row, queued)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.err, "%s: %s\n", e.Name, filepath.Join(row.Dir, paper.ReportFile))
		outcomes = append(outcomes, out)
	}
	if len(outcomes) == 0 {
		return errors.New("none of the data sets is there: 'kindred data list' shows what can be fetched, and " +
			"--data-dir says where they are")
	}
	if a.json {
		return a.printJSON(outcomes)
	}
	text, err := paper.DefaultsTables(o.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.out, text)
	for _, out := range outcomes {
		fmt.Fprintf(a.out, "%s\n%s", out.Title, out.Statements())
	}
	return nil
}

// present checks that the data set of an experiment can be opened.
func present(cmd *cobra.Command, e *paper.Experiment, o paper.Options) error {
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
