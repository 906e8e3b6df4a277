package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/store"
)

func newIndex(a *app) *cobra.Command {
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

// changeIndex opens an index for writing, calls f and closes it.
func changeIndex(dir string, f func(*index.Index) error) (err error) {
	x, err := index.Open(dir, index.Options{})
	var held *lock.HeldError
	if errors.As(err, &held) {
		return explainInUse(held)
	}
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, x.Close()) }()
	return f(x)
}

// explainInUse adds to the error how an index can be changed while another program has it open.
func explainInUse(e *lock.HeldError) error {
	if e.Holder != nil && slices.Contains(e.Holder.Command, "serve") {
		return fmt.Errorf("%w; change the index through that server (POST, PUT and DELETE /v1/items, "+
			"docs/serve.md), or let "+
			"the server follow a folder with 'kindred serve --sync DIR', or stop it; with --read-only it leaves the "+
			"index free and serves the state at its start", e)
	}
	return fmt.Errorf("%w; wait for that program, or stop it", e)
}

// isIndex reports whether a folder holds an index.
func isIndex(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "MANIFEST"))
	return err == nil
}

// readIndex opens an index for reading, and prints a warning if acknowledged changes are
// missing from it.
func (a *app) readIndex(dir string) (*index.Index, error) {
	x, err := index.Open(dir, index.Options{ReadOnly: true})
	if err == nil {
		a.warnShortfall(x)
	}
	return x, err
}

func (a *app) warnShortfall(x *index.Index) {
	if s := x.Info().Shortfall; s != nil {
		dir := escape.Name(x.Dir())
		fmt.Fprintf(a.err, "kindred: %s: %s; restore the file from a backup, or accept the loss: "+
			"'kindred index check %s --repair'\n", dir, escape.Text(s.String()), dir)
	}
}

func newIndexRemove(a *app) *cobra.Command {
	var filter string
	cmd := &cobra.Command{
		Use:               "remove INDEX ID... | INDEX --filter TEXT",
		ValidArgsFunction: completeOne(completeFolders),
		Short:             "Remove items by their ids or by a filter",
		Long: `remove removes the items with the given ids, or all that pass a filter, from an
index. It does not delete photos. The space of removed items is freed when segments are
merged, at the latest by kindred index compact.`,
		Example: `  kindred index remove photos.index cat/1.jpg cat/2.jpg
  kindred index remove photos.index --filter 'label = "cat" or path is missing'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("missing argument INDEX")
			case len(args) == 1 && filter == "":
				return usagef("missing ID, or --filter: the items to remove")
			case len(args) > 1 && filter != "":
				return usagef("give ids or --filter, not both")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeIndex(args[0], func(x *index.Index) error {
				return a.removeItems(cmd.Context(), x, args[1:], filter)
			})
		},
	}
	newFlags(cmd).text(&filter, "filter", "", "remove all items that pass: "+filterHelp, completeNothing)
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
		err = usageError(err)
	}
	return f, err
}

func (a *app) removeItems(ctx context.Context, x *index.Index, ids []string, where string) error {
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
	return a.printResultf(map[string]any{"index": x.Dir(), "removed": n, "items": left},
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

func newIndexInfo(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "info INDEX",
		ValidArgsFunction: completeOne(completeFolders),
		Short:             "Show what an index holds",
		Args:              exactArgs("index"),
		RunE: func(_ *cobra.Command, args []string) error {
			x, err := a.readIndex(args[0])
			if err != nil {
				return err
			}
			defer x.Close()
			return a.printIndex(args[0], x)
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
func (a *app) printIndex(dir string, x *index.Index) error {
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
	return a.printResult(i, func() error { return a.printIndexInfo(i) })
}

func (a *app) printIndexInfo(i *indexInfo) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
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

func newIndexCompact(a *app) *cobra.Command {
	var opt index.CompactOptions
	var exact bool
	cmd := &cobra.Command{
		Use:               "compact INDEX",
		ValidArgsFunction: completeOne(completeFolders),
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
				return usagef("--lists %d: want at least 1, and no --no-lists", opt.NumLists)
			case exact:
				opt.NumLists = -1
			}
			if err := checkBetween("recall", opt.Recall, 0, 1); err != nil {
				return err
			}
			return changeIndex(args[0], func(x *index.Index) error { return a.compact(cmd.Context(), x, opt) })
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&opt.NumLists, "lists", 0, "number of lists; a good choice is about the square root of the number of "+
		"items; 0: keep the number")
	fs.BoolVar(&exact, "no-lists", false, "remove the lists: searches are then always exact")
	fs.Float64Var(&opt.Recall, "recall", 0.95, "share of the true 10 nearest items that a search in lists must find")
	return cmd
}

func (a *app) compact(ctx context.Context, x *index.Index, opt index.CompactOptions) error {
	m := a.newMeter("compacting", func(n int64) string { return fmt.Sprintf("%d %%", n/10) })
	opt.Progress = func(stage string, done float64) { m.showStage(stage, int(1000*done), 1000) }
	opt.Seed = a.seed
	err := x.Compact(ctx, opt)
	m.close()
	if err != nil {
		return err
	}
	return a.printIndex(x.Dir(), x)
}

func newIndexCheck(a *app) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:               "check INDEX",
		ValidArgsFunction: completeOne(completeFolders),
		Short:             "Read all of an index and compare its checksums",
		Long: `check reads every file of an index, compares the checksums, and checks that every
item has a vector and is found by its id. It exits with status 1 if something is
wrong. Without --repair it changes nothing, and prints what would be lost. --repair
rebuilds what it can, and removes what is lost.`,
		Args: exactArgs("index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m := a.newMeter("checking", bytesUnit)
			res, err := index.Check(cmd.Context(), args[0], index.CheckOptions{Repair: repair, Progress: m.show})
			m.close()
			if err != nil {
				return err
			}
			return a.printCheck(args[0], res, repair)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "repair what can be repaired, and remove what is lost")
	return cmd
}

func (a *app) printCheck(dir string, res *index.CheckResult, repair bool) error {
	bad := len(res.Problems) > 0
	if a.json {
		if err := a.printJSON(struct {
			Index string `json:"index"`
			*index.CheckResult
		}{dir, res}); err != nil {
			return err
		}
	} else {
		for _, p := range res.Problems {
			fmt.Fprintf(a.out, "%s: %s; %s\n", p.File, p.Reason, p.Consequence)
		}
		if res.Unfinished > 0 {
			fmt.Fprintf(a.out, "the log ends in %d bytes of an incomplete change, which was never acknowledged: "+
				"a process or the machine was stopped while it wrote\n", res.Unfinished)
		}
		if !bad {
			fmt.Fprintf(a.out, "%s: %d items in %s, all intact\n", dir, res.Items,
				budget.Format(res.Bytes))
		}
	}
	switch {
	case bad && repair:
		fmt.Fprintf(a.err, "%s is repaired: %d items\n", escape.Name(dir), res.Items)
	case bad:
		return fmt.Errorf("%s: %d problems; --repair repairs what can be repaired", dir, len(res.Problems))
	}
	return nil
}
