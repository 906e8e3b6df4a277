package main

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/remote/datasets"
)

func newData(a *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List, fetch and examine data sets",
		Long: `Data sets live in the data folder: --data-dir, else $KINDRED_DATA, else
kindred/data in the user's cache folder. Each set has a folder there, named after it.`,
	}
	var dir string
	flags.NewPersistent(cmd).DataDir(&dir)
	cmd.AddCommand(newDataList(a, &dir), newDataGet(a, &dir), newDataInfo(a, &dir))
	return cmd
}

func newDataList(a *console.Console, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the data sets known by name and show which of them are here",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			home, err := data.Home(*dir)
			if err != nil {
				return err
			}
			sets := datasets.List(home)
			if a.JSON {
				return a.PrintJSON(map[string]any{"data_dir": home, "sets": sets})
			}
			fmt.Fprintf(a.Out, "data folder: %s\n\n", home)
			w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			for _, l := range sets {
				here := "-"
				if l.Present {
					here = "here"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", l.Name, here, l.About)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			_, err = io.WriteString(a.Out,
				"\n'kindred data get NAME' fetches a set, or prints which files to put where.\n")
			return err
		},
	}
}

func newDataGet(a *console.Console, dir *string) *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use:               "get NAME",
		ValidArgsFunction: complete.One(complete.KnownSets),
		Short:             "Make a data set available and check its files",
		Long: `get looks for the set in the data folder, then where Debian's packages install their
files, then at the official address, then through the package clients of this machine.
All files are checked against known sums. If the set is not found, get prints which
files to put where.`,
		Args: exactArgs("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			home, err := data.Home(*dir)
			if err != nil {
				return err
			}
			g := inputs.NewFetcher(a, home)
			g.Offline = offline
			if _, err := datasets.Find(datasets.Catalog(), args[0]); err != nil {
				return cli.Usagef("unknown data set %q; 'kindred data list' shows the known ones", args[0])
			}
			r, err := g.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(r)
			}
			fmt.Fprintf(a.Out, "%s is at %s (%s)\n", r.Name, r.Path, r.Way)
			for _, f := range r.Files {
				fmt.Fprintf(a.Out, "  %s  %d bytes  sha256 %s\n", filepath.Base(f.Path), f.Bytes, f.SHA256)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "use no network and no package client")
	return cmd
}
