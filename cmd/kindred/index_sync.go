package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/foldersync"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/mirror/watch"
)

type syncFlags struct {
	foldersync.Sync
	index      string
	dry, watch bool
	every      time.Duration
	said       string // the last remark of --watch, which is not repeated
}

func newIndexSync(a *console.Console) *cobra.Command {
	var f syncFlags
	cmd := &cobra.Command{
		Use:               "sync PHOTOS --index INDEX",
		ValidArgsFunction: complete.One(complete.Datasets),
		Short:             "Make an index match a folder of photos",
		Long: `sync compares an index with a folder of photos, or another data set of image files.
It prints which photos were added, changed, moved, relabelled and removed, and then
changes the index in one step: completely, or not at all. --data means the same as the
argument. The default of --index is the folder PHOTOS.index.

Only new content is embedded, with the network of the index. A photo that was moved to
another place or class keeps its embedding and its columns. A class that was changed by
hand in a server stays until the file moves to another class. A file with the same size
and time as before is not opened; for any other file the content is compared. Items
from other sources stay as they are. Removing more than a tenth of the items needs --yes.

--watch repeats this until Ctrl-C, after each change in the folder and at least every
minute.`,
		Example: `  kindred index sync photos/ --index photos.index --dry-run
  kindred index sync photos/ --index photos.index
  kindred index sync photos/ --watch`,
		Args: func(_ *cobra.Command, args []string) error { return f.readArgs(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	fs := flags.New(cmd)
	f.Photos.Add(cmd)
	cli.AddStrict(fs.FlagSet, &f.Strict)
	fs.Text(&f.index, "index", "", "folder of the index; default: PHOTOS.index", complete.Folders)
	fs.Text(&f.Prefix, "prefix", "", "beginning of the photos' ids, before their names; items whose ids "+
		"begin otherwise stay as they are", complete.Nothing)
	fs.BoolVar(&f.dry, "dry-run", false, "print the changes, and make none")
	fs.BoolVar(&f.Yes, "yes", false, "allow removing more than a tenth of the items")
	fs.BoolVar(&f.watch, "watch", false, "repeat after each change in the folder, until Ctrl-C")
	fs.DurationVar(&f.every, "every", time.Minute, "with --watch: longest time between two comparisons, "+
		"even if no change was reported")
	return cmd
}

// readArgs reads the arguments.
func (f *syncFlags) readArgs(args []string) error {
	switch {
	case len(args) > 1:
		return cli.Usagef("unexpected argument %q: want PHOTOS alone", args[1])
	case len(args) == 1 && f.Photos.Data != "":
		return cli.Usagef("give PHOTOS as an argument or by --data, not both")
	case len(args) == 1:
		f.Photos.Data = args[0]
	case f.Photos.Data == "":
		return cli.Usagef("missing argument PHOTOS: the folder to follow")
	}
	f.index = cmp.Or(f.index, filepath.Clean(f.Photos.Data)+".index")
	switch {
	case f.dry && f.watch:
		return cli.Usagef("--dry-run compares once: leave out --watch")
	case f.every <= 0:
		return cli.Usagef("--every %v: want more than 0", f.every)
	case !inputs.IsIndex(f.index):
		return fmt.Errorf("%s is not an index: make one with 'kindred index create RUN %s --out %s', or name one "+
			"with --index",
			f.index, f.Photos.Data, f.index)
	}
	return nil
}

func (f *syncFlags) run(ctx context.Context, a *console.Console) error {
	if !f.watch {
		return f.syncOnce(ctx, a)
	}
	opt := watch.Options{Every: f.every, Except: f.index, OnChange: func(err error) {
		fmt.Fprintf(a.Err, "the folder is compared every %v: %s\n", f.every, escape.Text(err.Error()))
	}}
	return watch.Watch(ctx, f.Photos.Place(), opt, func(ctx context.Context) error {
		err := f.syncOnce(ctx, a)
		if err != nil && ctx.Err() == nil { // such as a folder that is missing for a while
			f.printOnce(a, err.Error())
		} else if err == nil {
			f.said = ""
		}
		return nil
	})
}

// printOnce prints a remark, unless it repeats the last one.
func (f *syncFlags) printOnce(a *console.Console, text string) {
	if f.said != text {
		fmt.Fprintln(a.Err, "kindred: "+escape.Text(text))
	}
	f.said = text
}

// syncOnce opens the index and makes it match the data set.
func (f *syncFlags) syncOnce(ctx context.Context, a *console.Console) error {
	if f.dry {
		x, err := inputs.ReadIndex(a, f.index)
		if err != nil {
			return err
		}
		defer x.Close()
		return f.syncIndex(ctx, a, x)
	}
	err := inputs.ChangeIndex(f.index, func(x *index.Index) error { return f.syncIndex(ctx, a, x) })
	var held *lock.HeldError
	if errors.As(err, &held) {
		err = fmt.Errorf("%w; --dry-run works meanwhile", err)
	}
	return err
}

// syncIndex compares the index with the set and, without --dry-run, changes it.
func (f *syncFlags) syncIndex(ctx context.Context, a *console.Console, x *index.Index) error {
	set, p, err := f.Compare(ctx, a, x)
	if err != nil {
		return err
	}
	defer set.Close()
	res := foldersync.NewResult(p, x, f.Photos.Data)
	defer func() {
		for _, note := range res.Notes {
			fmt.Fprintln(a.Err, "kindred: "+escape.Text(note.Error()))
		}
	}()
	if f.watch && p.IsEmpty() {
		return f.Apply(ctx, a, x, p, res) // it may note times
	}
	res.LeftOut = set.AllLeftOut()
	if !a.JSON {
		if !f.watch {
			inputs.PrintNotes(a, set)
		}
		if err := res.Print(a, p); err != nil {
			return err
		}
	}
	if !f.dry {
		if err := f.Apply(ctx, a, x, p, res); err != nil {
			return err
		}
	}
	if n := res.Counts[foldersync.NotDoneKey]; n > 0 && !a.JSON {
		if _, err := fmt.Fprintf(a.Out, "%8d  of these left out, see below\n", n); err != nil {
			return err
		}
	}
	inputs.PrintLeftOut(a, res.LeftOut)
	if n := len(res.Kept); n > 0 {
		fmt.Fprintf(a.Err, "%s could not be read, so the index keeps the older content: %s\n",
			enum.Count(n, "changed photo"), lookup.FormatFirstNames(res.Kept))
	}
	if a.JSON {
		return a.PrintJSON(res)
	}
	return nil
}
