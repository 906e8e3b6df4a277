package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/store"
)

// pushFlags are the flags of kindred index push.
type pushFlags struct {
	inputs.StoreFlags
	to    string
	batch int
}

func newIndexPush(a *console.Console) *cobra.Command {
	var f pushFlags
	cmd := &cobra.Command{
		Use:               "push INDEX --to URL",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Copy an index into a store of a database",
		Long: `push copies all items of an index, with their columns and vectors, into a store of
PostgreSQL with pgvector, Weaviate or Qdrant. 'kindred serve --store URL' and 'kindred
index search --store URL' search the store.

push makes the store if it does not exist. A store with another length of vectors or
another distance is an error before the first item. push prints what precision of
vectors the engine loses. If no machine of the database answers, a write is tried again
for two minutes. An interrupted push can be started again: it writes all items again.
Items that only the store has stay there. The network is not copied. docs/stores.md has
the options of addresses.`,
		Example: `  kindred index push photos.index --to 'postgres://me@127.0.0.1/shop#photos' --hnsw
  kindred index push photos.index --to 'weaviate://a.example,b.example?replication=2#photos'`,
		Args: exactArgs("index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.to == "" {
				return cli.Usagef("missing --to: want %s", inputs.StoreForm)
			}
			if err := cmp.Or(flags.CheckAtLeast("batch", f.batch, 1), flags.Check(cmd, "",
				f.Rules(true)...)); err != nil {
				return err
			}
			return pushIndex(cmd.Context(), a, args[0], &f)
		},
	}
	fs := flags.New(cmd)
	fs.Text(&f.to, "to", "", "store to copy into: "+inputs.StoreForm, complete.Nothing)
	fs.IntVar(&f.batch, "batch", 500, "number of items in one write")
	f.StoreFlags.Add(cmd)
	return cmd
}

func pushIndex(ctx context.Context, a *console.Console, dir string, f *pushFlags) (err error) {
	if _, _, err := inputs.SplitStore(f.to); err != nil {
		return err
	}
	x, err := inputs.ReadIndex(a, dir)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, x.Close()) }()
	in := x.Info()
	to, err := f.Ensure(ctx, a, f.to, in.Dim, in.Distance.String(), in.Network.Name)
	if err != nil {
		return err
	}
	defer to.Close()
	there, err := to.Info(ctx)
	if err != nil {
		return err
	}
	m := a.NewMeter("pushing", func(n int64) string { return fmt.Sprint(n) })
	defer m.Close()
	done := 0
	var batch []store.Item
	write := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := to.Put(ctx, batch, store.Replace); err != nil {
			return fmt.Errorf("%w; %d items are in the store: the same command goes on", err, done)
		}
		done += len(batch)
		batch = batch[:0]
		m.Show(int64(done), int64(in.Items))
		return nil
	}
	for it, err := range x.Store(true).All(ctx) {
		if err != nil {
			return err
		}
		if err := store.ConvertClasses(&it, there.Columns); err != nil {
			return err
		}
		if batch = append(batch, it); len(batch) == f.batch {
			if err := write(); err != nil {
				return err
			}
		}
	}
	if err := write(); err != nil {
		return err
	}
	m.Close()
	return a.PrintResultf(map[string]any{"index": dir, "store": to.Name, "pushed": done},
		"%s: %d items are in %s\n", escape.Name(dir), done, to.Name)
}
