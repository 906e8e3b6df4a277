package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/remote/datasets"
)

func newData(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List, fetch and examine data sets",
		Long: `Data sets live in the data folder: --data-dir, else $KINDRED_DATA, else
kindred/data in the user's cache folder. Each set has a folder there, named after it.`,
	}
	var dir string
	newPersistentFlags(cmd).dataDir(&dir)
	cmd.AddCommand(newDataList(a, &dir), newDataGet(a, &dir), newDataInfo(a, &dir))
	return cmd
}

// listedSet is one line of 'kindred data list'.
type listedSet struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Present bool   `json:"present"`
	About   string `json:"about"`
	Home    string `json:"home"`
	Place   string `json:"place"`
}

func newDataList(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the data sets known by name and show which of them are here",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			home, err := data.Home(*dir)
			if err != nil {
				return err
			}
			sets := listSets(home)
			if a.json {
				return a.printJSON(map[string]any{"data_dir": home, "sets": sets})
			}
			fmt.Fprintf(a.out, "data folder: %s\n\n", home)
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
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
			_, err = io.WriteString(a.out,
				"\n'kindred data get NAME' fetches a set, or prints which files to put where.\n")
			return err
		},
	}
}

// listSets returns the known sets and the other sets in the data folder.
func listSets(home string) []listedSet {
	var sets []listedSet
	known := make(map[string]bool)
	for _, s := range datasets.Catalog() {
		known[s.Name] = true
		l := listedSet{Name: s.Name, About: s.About, Home: s.Home, Place: s.Place}
		for _, base := range []string{home, data.DebianHome} {
			path := filepath.Join(base, s.Name)
			if _, err := os.Stat(path); err == nil && !l.Present {
				l.Present, l.Path = true, path
			}
		}
		sets = append(sets, l)
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return sets // no folder yet: nothing more to list
	}
	for _, e := range entries {
		if e.IsDir() && !known[e.Name()] && e.Name()[0] != '.' {
			sets = append(sets, listedSet{Name: e.Name(), Path: filepath.Join(home, e.Name()), Present: true,
				About: "a folder of your own"})
		}
	}
	return sets
}

func newDataGet(a *app, dir *string) *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use:               "get NAME",
		ValidArgsFunction: completeOne(completeKnownSets),
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
			g := a.newFetcher(home)
			g.Offline = offline
			if _, err := datasets.Find(datasets.Catalog(), args[0]); err != nil {
				return usagef("unknown data set %q; 'kindred data list' shows the known ones", args[0])
			}
			r, err := g.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			fmt.Fprintf(a.out, "%s is at %s (%s)\n", r.Name, r.Path, r.Way)
			for _, f := range r.Files {
				fmt.Fprintf(a.out, "  %s  %d bytes  sha256 %s\n", filepath.Base(f.Path), f.Bytes, f.SHA256)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "use no network and no package client")
	return cmd
}

// newFetcher fetches known data sets and shows its progress.
func (a *app) newFetcher(home string) *datasets.Getter {
	bar := a.newMeter("", bytesUnit)
	return &datasets.Getter{Home: home, Bytes: bar.showPiece, Progress: func(line string) {
		bar.close()
		fmt.Fprintln(a.err, line)
	}}
}
