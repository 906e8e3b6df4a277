package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/cli/calibrations"
	"github.com/kindred-ml/kindred/internal/cli/items"
	"github.com/kindred-ml/kindred/internal/cli/origin"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// indexQuery says what an index is asked for.
type indexQuery struct {
	photos  []string
	ids     []string
	vectors string
	filter  string
	k       int
	exact   bool
	strict  bool                       // about photos that cannot be read
	store   string                     // of a database, instead of an index
	run     string                     // whose network made what is in it
	loaded  func() (*run.Model, error) // run, read once
	same    sameFlags
}

func (f *indexQuery) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.ids, "id", nil, "look up an item of the index; may be repeated")
	fs.StringVar(&f.vectors, "vector", "", "look up the embeddings in a file, by the network of the index ("+
		strings.Join(formats().Extensions(), ", ")+")")
	fs.StringVar(&f.filter, "filter", "", "find only items that pass: "+filterHelp)
	fs.BoolVar(&f.exact, "exact", false, "look at all lists of an index that was cut into lists")
	fs.StringVar(&f.store, "store", "", "instead of an index: a store of a database: "+storeForm)
}

func newIndexSearch(a *app) *cobra.Command {
	var f indexQuery
	cmd := &cobra.Command{
		Use:               "search INDEX [PHOTO...] | --store URL [PHOTO...]",
		ValidArgsFunction: anyFile,
		Short:             "Find the items nearest to photos, to items or to embeddings",
		Long: `search prints the items of an index that are nearest to photos, which it embeds with
the index's own network, to items of the index (--id), or to embeddings (--vector). A
photo that is itself in the index, or a copy of which is, is left out of its own
answer, and so is the item of --id. --filter is applied before ranking. --store looks
into a store of a database instead, with the network of --run for photos.

Where the index has a calibration (kindred calibrate), each neighbour comes with the
probability that it shows the same thing, and --least 0.9 leaves out what is below.`,
		Example: `  kindred index search photos.index photo.jpg
  kindred index search photos.index --id cat/00.jpg --neighbours 5 --json
  kindred index search photos.index photo.jpg --filter 'label != "cat"'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && f.store == "":
				return usagef("missing argument INDEX, or --store: where to look")
			case f.run != "" && f.store == "":
				return usagef("--run goes with --store; an index has its network")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.store != "" {
				f.photos = args
				return a.searchStore(cmd.Context(), &f)
			}
			f.photos = args[1:]
			return a.searchIndex(cmd.Context(), args[0], &f)
		},
	}
	f.add(cmd)
	f.same.add(cmd)
	cli.AddStrict(cmd.Flags(), &f.strict)
	cmd.Flags().IntVar(&f.k, "neighbours", 10, "items to find for each")
	cmd.Flags().StringVar(&f.run, "run", "", "run whose network made the embeddings of --store, for photos")
	return cmd
}

// check refuses a query that asks for nothing.
func (f *indexQuery) check() error {
	if len(f.photos)+len(f.ids) == 0 && f.vectors == "" {
		return usagef("missing PHOTO, --id or --vector: what to look up")
	}
	return cmp.Or(atLeast("neighbours", f.k, 1), f.same.check())
}

func (a *app) searchIndex(ctx context.Context, dir string, f *indexQuery) error {
	if err := f.check(); err != nil {
		return err
	}
	if _, err := parseFilter(f.filter); err != nil {
		return err
	}
	x, err := a.readIndex(dir)
	if err != nil {
		return err
	}
	defer x.Close()
	return a.searchGallery(ctx, items.OfIndex(x), f)
}

// searchStore looks into a store of a database.
func (a *app) searchStore(ctx context.Context, f *indexQuery) error {
	if err := f.check(); err != nil {
		return err
	}
	s, err := openStore(ctx, f.store)
	if err != nil {
		return err
	}
	defer s.Close()
	f.loaded = sync.OnceValues(func() (*run.Model, error) {
		in, err := s.Info(ctx)
		if err != nil {
			return nil, err
		}
		return origin.LoadFor(f.run, s.name, in.Dim)
	})
	return a.searchGallery(ctx, &items.Gallery{Store: s, Name: s.name, Model: func() (*run.Model, error) {
		if f.run == "" {
			return nil, nil
		}
		return f.loaded()
	}}, f)
}

// searchGallery answers all that is asked.
func (a *app) searchGallery(ctx context.Context, to *items.Gallery, f *indexQuery) error {
	where, err := parseFilter(f.filter)
	if err != nil {
		return err
	}
	info, err := to.Info(ctx)
	if err != nil {
		return err
	}
	distance, err := rank.ParseDistance(info.Distance)
	if err != nil {
		return err
	}
	among, file, err := f.among(ctx, a, to, &info)
	if err != nil {
		return err
	}
	res := items.Answers{Index: to.Name, Items: info.Items, Distance: distance, Calibration: file, Least: f.same.least}
	list, left, err := f.collect(ctx, a, to, info.Dim)
	if err != nil {
		return err
	}
	res.LeftOut = left
	a.sayLeftOut(left)
	res.Queries, err = to.LookUpAll(ctx, list, items.Options{K: f.k, Exact: f.exact, Filter: where, Distance: distance})
	if err != nil {
		if wrong := (*store.FilterError)(nil); errors.As(err, &wrong) {
			err = usageError(err)
		}
		return err
	}
	if among != nil {
		for i := range res.Queries {
			res.Queries[i].Judge(among, f.same.least)
		}
	}
	if a.json {
		return a.printJSON(res)
	}
	return res.Write(a.out, info.Columns)
}

// among finds the calibration of an index, or of the run whose network a database's
// embeddings are by. The labels of a database are not counted: that would fetch all of it.
func (f *indexQuery) among(ctx context.Context, a *app, to *items.Gallery, info *store.Info) (*decide.Among, string,
	error) {
	of := calibrations.Of{Distance: info.Distance, Dim: info.Dim, Gallery: func() (decide.Gallery, error) {
		return decide.Gallery{Items: info.Items}, nil
	}}
	switch {
	case to.Index != nil:
		of.File, of.From, of.Source = calibrations.File(to.Name, true), to.Name, origin.OfIndex(to.Index.Info())
		of.Gallery = func() (decide.Gallery, error) {
			labels, err := to.Index.Counts("label")
			if err != nil || len(labels) == 0 {
				return decide.Gallery{Items: info.Items}, err
			}
			return decide.Counted(labels), nil
		}
	case f.run != "":
		m, err := f.loaded()
		if err != nil {
			return nil, "", err
		}
		of.File, of.From = calibrations.File(f.run, true), f.run
		if of.Source, err = origin.OfFolder(m, f.run, f.run); err != nil {
			return nil, "", err
		}
	}
	return f.same.among(a, &of)
}

// collect embeds and reads what is looked up.
func (f *indexQuery) collect(ctx context.Context, a *app, to *items.Gallery, dim int) (list []items.Query,
	left []data.LeftOut, err error) {
	if len(f.photos) > 0 {
		way := ": ask with --id or --vector"
		if f.store != "" {
			way += ", or say by --run what made its embeddings"
		}
		m, err := to.Network(way)
		if err != nil {
			return nil, nil, err
		}
		m.Config.Data.Strict = f.strict // else they are named, and the others answered
		photos, err := openQueries(ctx, a, m, f.photos)
		if err != nil {
			return nil, nil, err
		}
		defer photos.close()
		for i := range photos.table.Rows() {
			p := photos.path(i)
			list = append(list, items.Query{Name: p, Path: p, Vector: photos.table.X.Row(i)})
		}
		left = photos.left
	}
	more, err := to.ByID(ctx, f.ids)
	if err != nil {
		return nil, nil, err
	}
	list = append(list, more...)
	if f.vectors == "" {
		return list, left, nil
	}
	t, err := formats().Read(f.vectors)
	if err != nil {
		return nil, nil, err
	}
	more, err = items.ByVector(t, f.vectors, dim)
	return append(list, more...), left, err
}
