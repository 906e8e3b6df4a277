package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/doctor"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/enum"
)

func newCache(a *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show and remove the caches of training",
		Long: `Training keeps decoded images (data.cache) and the features of frozen networks
(network.freeze=body) in the user's cache folder. All of it can be removed at any
time and is made again when it is needed.`,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "Show the caches, their folders and sizes",
		Args:  exactArgs(),
		RunE:  func(*cobra.Command, []string) error { return printCaches(a) },
	}, &cobra.Command{
		Use:       "drop features|images",
		Short:     "Remove a cache",
		Args:      exactArgs("features or images"),
		ValidArgs: []string{"features", "images"},
		RunE:      func(_ *cobra.Command, args []string) error { return dropCache(a, args[0]) },
	})
	return cmd
}

func printCaches(a *console.Console) error {
	all, err := doctor.Caches()
	if err != nil {
		return err
	}
	for i := range all {
		if _, err := all[i].List(); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"caches": all})
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tFILES\tSIZE\tFOLDER")
	for _, c := range all {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", c.Name, c.Files, budget.Format(c.Bytes), c.Dir)
	}
	return w.Flush()
}

func dropCache(a *console.Console, name string) error {
	all, err := doctor.Caches()
	if err != nil {
		return err
	}
	at, err := enum.Index("cache", name, cli.Map(all, func(c doctor.Cache) string { return c.Name }))
	if err != nil {
		return cli.UsageError{Err: err}
	}
	c := all[at]
	files, err := c.List()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return a.PrintResultf(c, "%s: %d files, %s, removed from %s\n", c.Name, c.Files, budget.Format(c.Bytes), c.Dir)
}
