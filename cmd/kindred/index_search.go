package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/page/report/retrieval"
	"github.com/kindred-ml/kindred/mat"
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
		Use:   "search INDEX [PHOTO...] | --store URL [PHOTO...]",
		Short: "Find the items nearest to photos, to items or to embeddings",
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

// indexAnswers is the JSON of 'kindred index search'.
type indexAnswers struct {
	Index    string         `json:"index"`
	Queries  []indexAnswer  `json:"queries"`
	Items    int            `json:"items"`
	Distance rank.Distance  `json:"distance"`
	LeftOut  []data.LeftOut `json:"left_out,omitempty"`
	// Calibration is the file that probabilities come from, Least the least of them that
	// is shown.
	Calibration string  `json:"calibration,omitempty"`
	Least       float64 `json:"least,omitempty"`
}

type indexAnswer struct {
	Query string `json:"query"`
	// Itself are the items that are the query, and left out.
	Itself     []string    `json:"itself,omitempty"`
	Passed     int         `json:"passed"` // the filter; -1 where a database does not count
	Exact      bool        `json:"exact"`
	Neighbours []indexItem `json:"neighbours"`
}

type indexItem struct {
	ID       string         `json:"id"`
	Path     string         `json:"path,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"`
	Label    string         `json:"label"` // "" if it is not known
	Distance float64        `json:"distance"`
	// Same is the probability that it shows the same thing; nil without a calibration.
	Same *float64 `json:"same,omitempty"`
}

// asked is one thing to look up: a photo, if it has a path, an item, if it has an
// id, or a vector.
type asked struct {
	name, path, id string
	vector         []float32
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
	return a.searchGallery(ctx, newIndexGallery(x), f)
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
	f.loaded = sync.OnceValues(func() (*run.Model, error) { return run.Load(f.run) })
	return a.searchGallery(ctx, &gallery{Store: s, name: s.name, model: func() (*run.Model, error) {
		if f.run == "" {
			return nil, nil
		}
		m, err := f.loaded()
		if err != nil {
			return nil, err
		}
		in, err := s.Info(ctx)
		if err == nil && m.Net.Spec().OutDim() != in.Dim {
			err = fmt.Errorf("%s makes vectors of %d numbers, and %s holds some of %d: it is another network", f.run,
				m.Net.Spec().OutDim(), s.name, in.Dim)
		}
		return m, err
	}}, f)
}

// searchGallery answers all that is asked.
func (a *app) searchGallery(ctx context.Context, to *gallery, f *indexQuery) error {
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
	res := indexAnswers{Index: to.name, Items: info.Items, Distance: distance, Calibration: file, Least: f.same.least}
	list, left, err := f.collect(ctx, a, to, info.Dim)
	if err != nil {
		return err
	}
	res.LeftOut = left
	a.sayLeftOut(left)
	res.Queries = make([]indexAnswer, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(64) // what is asked together is answered together
	for i := range list {
		g.Go(func() (err error) {
			res.Queries[i], err = lookUp(ctx, to, distance, &list[i], f, where)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		if wrong := (*store.FilterError)(nil); errors.As(err, &wrong) {
			err = usageError(err)
		}
		return err
	}
	if among != nil {
		for i := range res.Queries {
			res.Queries[i].judge(among, f.same.least)
		}
	}
	if a.json {
		return a.printJSON(res)
	}
	return a.printAnswers(&res, info.Columns)
}

// judge says of each neighbour how likely it is the same, and leaves out what is less
// likely than least.
func (q *indexAnswer) judge(among *decide.Among, least float64) {
	for k := range q.Neighbours {
		p := among.Same(q.Neighbours[k].Distance)
		if p < least { // and so are those that are farther
			q.Neighbours = q.Neighbours[:k]
			return
		}
		q.Neighbours[k].Same = &p
	}
}

// among finds the calibration of an index, or of the run whose network a database's
// embeddings are by. The labels of a database are not counted: that would fetch all of it.
func (f *indexQuery) among(ctx context.Context, a *app, to *gallery, info *store.Info) (*decide.Among, string, error) {
	of := compared{distance: info.Distance, dim: info.Dim, gallery: func() (decide.Gallery, error) {
		return decide.Gallery{Items: info.Items}, nil
	}}
	switch {
	case to.x != nil:
		of.file, of.from, of.source = calibrationFile(to.name, true), to.name, indexSource(to.x.Info())
		of.gallery = func() (decide.Gallery, error) {
			labels, err := to.x.Counts("label")
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
		of.file, of.from = calibrationFile(f.run, true), f.run
		if of.source, err = networkSource(m, f.run, f.run); err != nil {
			return nil, "", err
		}
	}
	return f.same.among(a, &of)
}

// collect embeds and reads what is looked up.
func (f *indexQuery) collect(ctx context.Context, a *app, to *gallery, dim int) (list []asked, left []data.LeftOut,
	err error) {
	if len(f.photos) > 0 {
		m, err := to.model()
		if err == nil && m == nil {
			err = fmt.Errorf("%s has no network, so that photos cannot be embedded: ask with --id or --vector",
				to.name)
			if f.store != "" {
				err = fmt.Errorf("%w, or say by --run what made its embeddings", err)
			}
		}
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
			list = append(list, asked{name: p, path: p, vector: photos.table.X.Row(i)})
		}
		left = photos.left
	}
	for _, id := range f.ids {
		e, ok, err := to.find(ctx, id)
		if err == nil && !ok {
			err = fmt.Errorf("%s has no item %q", to.name, id)
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, asked{name: id, id: id, vector: e.Vector})
	}
	if f.vectors == "" {
		return list, left, nil
	}
	t, err := formats().Read(f.vectors)
	if err == nil && (t.X == nil || t.X.Cols != dim) {
		err = fmt.Errorf("%s holds no embeddings of %d numbers, as the index does", f.vectors, dim)
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range t.X.Rows {
		list = append(list, asked{name: fmt.Sprintf("%s, row %d", f.vectors, i+1), vector: t.X.Row(i)})
	}
	return list, left, nil
}

// spareItems is how many more items than wanted are asked for at first, because some may
// turn out to be the photo itself.
const spareItems = 8

// lookUp answers one query.
func lookUp(ctx context.Context, to *gallery, by rank.Distance, q *asked, f *indexQuery,
	where *store.Filter) (indexAnswer, error) {
	out := indexAnswer{Query: q.name, Neighbours: []indexItem{}}
	iq := index.Query{Vector: q.vector, K: f.k, Filter: where, Exact: f.exact}
	if q.id != "" {
		iq.Exclude = []string{q.id}
		out.Itself = iq.Exclude
	}
	if q.path == "" {
		res, err := to.search(ctx, iq)
		if err != nil {
			return out, err
		}
		out.Passed, out.Exact = res.Passed, res.Exact
		for _, h := range res.Hits {
			out.Neighbours = append(out.Neighbours, newIndexItem(h))
		}
		return out, nil
	}
	// Where many items are the photo itself, more of them are asked for.
	for wide := spareItems; ; wide *= 8 {
		iq.K, iq.Vectors = f.k+wide, true
		res, err := to.search(ctx, iq)
		if err != nil {
			return out, err
		}
		out.Passed, out.Exact = res.Passed, res.Exact
		kept, itself, err := withoutItself(ctx, q, res.Hits, f.k, by)
		if err != nil {
			return out, err
		}
		if len(kept) < f.k && len(res.Hits) == iq.K {
			continue
		}
		for _, k := range itself {
			out.Itself = append(out.Itself, res.Hits[k].ID)
		}
		for _, k := range kept {
			out.Neighbours = append(out.Neighbours, newIndexItem(res.Hits[k]))
		}
		return out, nil
	}
}

// withoutItself tells which hits are not the photo that was asked with, and which
// are.
func withoutItself(ctx context.Context, q *asked, hits []store.Hit, k int, d rank.Distance) (kept []int32,
	itself []int, err error) {
	if len(hits) == 0 {
		return nil, nil, nil
	}
	gallery := mat.New(len(hits), len(q.vector))
	for i, h := range hits {
		copy(gallery.Row(i), h.Vector)
	}
	found, err := rank.NearestPhotos(ctx,
		rank.Photos{X: mat.Of(1, len(q.vector), q.vector), Path: func(int) string { return q.path }},
		rank.Photos{X: gallery, Path: func(i int) string { return hits[i].Path }}, k, rank.Options{Distance: d})
	if err != nil {
		return nil, nil, err
	}
	return found[0].Row, found[0].Self, nil
}

func newIndexItem(h store.Hit) indexItem {
	return indexItem{ID: h.ID, Path: h.Path, Fields: h.Columns, Label: store.FormatValue(h.Columns["label"]),
		Distance: h.Distance}
}

// printAnswers writes the answers for a terminal.
func (a *app) printAnswers(res *indexAnswers, columns []store.Column) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for i, q := range res.Queries {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, q.Query)
		if len(q.Itself) > 0 {
			fmt.Fprintf(w, "itself in the index, and left out: %s\n", strings.Join(q.Itself, ", "))
		}
		for k, n := range q.Neighbours {
			fmt.Fprintf(w, "%3d\t%.4g", k+1, n.Distance)
			if n.Same != nil {
				fmt.Fprintf(w, "\t%s", retrieval.Same(*n.Same))
			}
			fmt.Fprintf(w, "\t%s\t%s\n", cmp.Or(n.Path, n.ID), fieldsText(columns, n.Fields))
		}
		if len(q.Neighbours) == 0 && res.Least > 0 {
			fmt.Fprintf(w, "nothing is the same with a probability of %g or more\n", res.Least)
		}
	}
	return w.Flush()
}
