package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/store"
)

func newIndex(a *console.Console) *cobra.Command {
	cmd := &cobra.Command{Use: "index", Short: "Keep embedded items in a folder and search them",
		Long: `An index is a folder that holds items (an id, a path, any columns), their
embeddings, and the network that made them. Additions are on the disk when a command
ends. Several programs can search an index while one program changes it.
docs/indexes.md describes its files and the grammar of filters.`}
	cmd.AddCommand(newIndexCreate(a), newIndexAdd(a), newIndexSync(a), newIndexReembed(a), newIndexRemove(a),
		newIndexInfo(a), newIndexList(a), newIndexExport(a), newIndexCheck(a), newIndexCompact(a), newIndexSearch(a),
		newIndexPush(a))
	return cmd
}

func newIndexRemove(a *console.Console) *cobra.Command {
	var filter string
	cmd := &cobra.Command{
		Use:               "remove INDEX ID... | INDEX --filter TEXT",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Remove items by their ids or by a filter",
		Long: `remove removes the items with the given ids, or all that pass a filter, from an
index. It does not delete photos. The space of removed items is freed when segments are
merged, at the latest by kindred index compact.`,
		Example: `  kindred index remove photos.index cat/1.jpg cat/2.jpg
  kindred index remove photos.index --filter 'label = "cat" or path is missing'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("missing argument INDEX")
			case len(args) == 1 && filter == "":
				return cli.Usagef("missing ID, or --filter: the items to remove")
			case len(args) > 1 && filter != "":
				return cli.Usagef("give ids or --filter, not both")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return inputs.ChangeIndex(args[0], func(x *index.Index) error {
				return removeItems(cmd.Context(), a, x, args[1:], filter)
			})
		},
	}
	flags.New(cmd).Text(&filter, "filter", "", "remove all items that pass: "+filterHelp, complete.Nothing)
	return cmd
}

const filterHelp = `such as 'price < 20 and category = "shoe"'`

// parseFilter parses a flag's text. It returns nil for an empty text.
func parseFilter(text string) (*store.Filter, error) {
	if text == "" {
		return nil, nil
	}
	f, err := store.ParseFilter(text)
	if err != nil {
		err = cli.UsageError{Err: err}
	}
	return f, err
}

func removeItems(ctx context.Context, a *console.Console, x *index.Index, ids []string, where string) error {
	f, err := parseFilter(where)
	if err != nil {
		return err
	}
	var n int
	if f != nil {
		n, err = x.RemoveWhere(ctx, f)
	} else {
		n, err = x.Remove(ctx, ids...)
	}
	if err != nil {
		return err
	}
	left := x.Info().Items
	return a.PrintResultf(map[string]any{"index": x.Dir(), "removed": n, "items": left},
		"%s: removed %d items, %d are left\n", x.Dir(), n, left)
}

// indexInfo is the JSON of 'kindred index info'.
type indexInfo struct {
	Index string `json:"index"`
	index.Info
	Bytes int64 `json:"bytes"`
	// Fingerprints counts the items that record which file they were made of.
	Fingerprints int `json:"fingerprints"`
}

func newIndexInfo(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:               "info INDEX",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Show what an index holds",
		Args:              exactArgs("index"),
		RunE: func(_ *cobra.Command, args []string) error {
			x, err := inputs.ReadIndex(a, args[0])
			if err != nil {
				return err
			}
			defer x.Close()
			return printIndex(a, args[0], x)
		},
	}
}

// folderBytes adds up the files of a folder and its folders.
func folderBytes(dir string) (int64, error) {
	var n int64
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.IsDir() {
			more, err := folderBytes(dir + string(os.PathSeparator) + e.Name())
			if err != nil {
				return 0, err
			}
			n += more
		} else if info, err := e.Info(); err == nil { // an error means that the file was just removed
			n += info.Size()
		}
	}
	return n, nil
}

// printIndex prints what the index in a folder holds.
func printIndex(a *console.Console, dir string, x *index.Index) error {
	bytes, err := folderBytes(dir)
	if err != nil {
		return err
	}
	sizes, err := x.Counts(mirror.Size)
	if err != nil {
		return err
	}
	i := &indexInfo{dir, x.Info(), bytes, 0}
	for _, n := range sizes {
		i.Fingerprints += n
	}
	return a.PrintResult(i, func() error { return printIndexInfo(a, i) })
}

func printIndexInfo(a *console.Console, i *indexInfo) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "items\t%d\n", i.Items)
	fmt.Fprintf(w, "vectors\tof %d numbers, by %v distance\n", i.Dim, i.Distance)
	fmt.Fprintf(w, "network\t%s\n", cmp.Or(i.Network.Name, "unknown"))
	if i.Network.TextTower != "" {
		fmt.Fprintf(w, "words\t%s\n", i.Network.TextTower)
	}
	if i.Network.Preparation != "" {
		fmt.Fprintf(w, "pictures\t%s\n", i.Network.Preparation)
	}
	for _, c := range i.Columns {
		fmt.Fprintf(w, "column %s\t%v\n", c.Name, c.Kind)
	}
	if l := i.Lists; l != nil {
		fmt.Fprintf(w, "lists\t%d; a search reads %d of them\n", l.NumLists, l.Probes)
		fmt.Fprintf(w, "recall@10\t%.3f for %d items held out from making the lists", l.Recall, l.NumQueries)
		if l.RecallOutliers > 0 {
			fmt.Fprintf(w, ", %.3f for queries unlike the items", l.RecallOutliers)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "fingerprints\t%d of %d items; index sync compares them with the files\n", i.Fingerprints, i.Items)
	if i.Shortfall != nil {
		fmt.Fprintf(w, "missing\t%d additions and removals that were acknowledged\n", i.Shortfall.Changes)
	}
	fmt.Fprintf(w, "on disk\t%s in %d segments, %d items in the log, %d removed\n", budget.Format(i.Bytes),
		i.Segments, i.Logged, i.Removed)
	return w.Flush()
}

func newIndexCompact(a *console.Console) *cobra.Command {
	var opt index.CompactOptions
	var exact bool
	cmd := &cobra.Command{
		Use:               "compact INDEX",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Rewrite an index without removed items, optionally in lists",
		Long: `compact rewrites an index as one segment. --lists N divides it into lists of near
items by k-means, and measures how many of the lists a search must read to reach
--recall. With lists, searches among millions of items are many times faster, and
exact only with --exact. Other programs can search meanwhile.`,
		Example: `  kindred index compact photos.index
  kindred index compact photos.index --lists 4 --recall 0.99
  kindred index compact photos.index --no-lists`,
		Args: exactArgs("index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case opt.NumLists < 0 || exact && opt.NumLists > 0:
				return cli.Usagef("--lists %d: want at least 1, and no --no-lists", opt.NumLists)
			case exact:
				opt.NumLists = -1
			}
			if err := flags.CheckBetween("recall", opt.Recall, 0, 1); err != nil {
				return err
			}
			return inputs.ChangeIndex(args[0], func(x *index.Index) error {
				return compactIndex(cmd.Context(), a, x,
					opt)
			})
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&opt.NumLists, "lists", 0, "number of lists; a good choice is about the square root of the number of "+
		"items; 0: keep the number")
	fs.BoolVar(&exact, "no-lists", false, "remove the lists: searches are then always exact")
	fs.Float64Var(&opt.Recall, "recall", 0.95, "share of the true 10 nearest items that a search in lists must find")
	return cmd
}

func compactIndex(ctx context.Context, a *console.Console, x *index.Index, opt index.CompactOptions) error {
	m := a.NewMeter("compacting", func(n int64) string { return fmt.Sprintf("%d %%", n/10) })
	opt.Progress = func(stage string, done float64) { m.ShowStage(stage, int(1000*done), 1000) }
	opt.Seed = a.Seed
	err := x.Compact(ctx, opt)
	m.Close()
	if err != nil {
		return err
	}
	return printIndex(a, x.Dir(), x)
}

func newIndexCheck(a *console.Console) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:               "check INDEX",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Read all of an index and compare its checksums",
		Long: `check reads every file of an index, compares the checksums, and checks that every
item has a vector and is found by its id. It exits with status 1 if something is
wrong. Without --repair it changes nothing, and prints what would be lost. --repair
rebuilds what it can, and removes what is lost.`,
		Args: exactArgs("index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m := a.NewMeter("checking", console.Bytes)
			res, err := index.Check(cmd.Context(), args[0], index.CheckOptions{Repair: repair, Progress: m.Show})
			m.Close()
			if err != nil {
				return err
			}
			return printCheck(a, args[0], res, repair)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "repair what can be repaired, and remove what is lost")
	return cmd
}

func printCheck(a *console.Console, dir string, res *index.CheckResult, repair bool) error {
	bad := len(res.Problems) > 0
	if a.JSON {
		if err := a.PrintJSON(struct {
			Index string `json:"index"`
			*index.CheckResult
		}{dir, res}); err != nil {
			return err
		}
	} else {
		for _, p := range res.Problems {
			fmt.Fprintf(a.Out, "%s: %s; %s\n", p.File, p.Reason, p.Consequence)
		}
		if res.Unfinished > 0 {
			fmt.Fprintf(a.Out, "the log ends in %d bytes of an incomplete change, which was never acknowledged: "+
				"a process or the machine was stopped while it wrote\n", res.Unfinished)
		}
		if !bad {
			fmt.Fprintf(a.Out, "%s: %d items in %s, all intact\n", dir, res.Items,
				budget.Format(res.Bytes))
		}
	}
	switch {
	case bad && repair:
		fmt.Fprintf(a.Err, "%s is repaired: %d items\n", escape.Name(dir), res.Items)
	case bad:
		return fmt.Errorf("%s: %d problems; --repair repairs what can be repaired", dir, len(res.Problems))
	}
	return nil
}
