package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/cli/origin"
	"github.com/kindred-ml/kindred/internal/cli/results"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/internal/page/report/retrieval"
	"github.com/kindred-ml/kindred/internal/remote/remotedata"
	"github.com/kindred-ml/kindred/run"
)

type searchFlags struct {
	modelFlags
	outDir
	in, embeddings, labels, column string
	index                          string
	query                          indexQuery // of index
	dataDir, distance              string
	k, scratch                     int
	outside, strict                bool
	same                           sameFlags
}

// by is the run or the network that makes the embeddings, for messages.
func (f *searchFlags) by() string { return cmp.Or(f.run, f.network) }

// searchResult is what kindred search --json prints.
type searchResult struct {
	Queries  []searchedQuery `json:"queries"`
	Gallery  int             `json:"gallery"`
	Distance rank.Distance   `json:"distance"`
	// LeftOut are queries, GalleryLeftOut photos of the gallery, that have no
	// embedding.
	LeftOut        []data.LeftOut `json:"left_out,omitempty"`
	GalleryLeftOut []data.LeftOut `json:"gallery_left_out,omitempty"`
	// Calibration is the file that probabilities come from, Least the least of them that
	// is shown.
	Calibration string   `json:"calibration,omitempty"`
	Least       float64  `json:"least,omitempty"`
	Files       []string `json:"files,omitempty"`
}

type searchedQuery struct {
	Query string `json:"query"`
	// Itself are the photos of the gallery that are the query, and left out.
	Itself     []string       `json:"itself,omitempty"`
	Neighbours []searchedItem `json:"neighbours"`
}

type searchedItem struct {
	Path     string  `json:"path"`
	Row      int     `json:"row"`
	Label    string  `json:"label"` // "" if it is not known
	Distance float64 `json:"distance"`
	// Same is the probability that it shows the same thing; nil without a calibration.
	Same *float64 `json:"same,omitempty"`
}

func newSearch(a *app) *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:               "search PHOTO... [--run DIR] --in PATH | --embeddings FILE",
		ValidArgsFunction: anyFile,
		Short:             "Find the photos that look most like others",
		Long: `search embeds the photos it is given with the network of a run, or with one that
was not trained here (--network; without either, the pretrained one that kindred
train starts from), and prints the photos of a gallery that are nearest to each. The
gallery is what --in names: a folder of photos, with or without
folders for classes, a manifest, an archive or a data set by name. --embeddings is a
file that kindred embed wrote with the same network: then the gallery is not embedded
again, and --in only says where its photos are. --index INDEX does what kindred index
search does, and --store URL, with --run, what it does with a store of a database.

A photo that is itself in the gallery, or a copy of which is, is left out of its own
answer. Photos that cannot be read are named and the others answered, unless
--strict.

Where kindred calibrate has learnt what distances mean, each neighbour comes with the
probability that it shows the same thing, and --least 0.9 leaves out what is below.

--out DIR writes the photos with their neighbours as search.html and search.png.`,
		Example: `  kindred search photo.jpg --run runs/photos --in photos/
  kindred search photo.jpg --in photos/
  kindred search more/ --run runs/photos --in photos/ --neighbours 5 --out found
  kindred search photo.jpg --index photos.index --least 0.9
  kindred embed --run runs/photos --data photos/ --out photos.parquet
  kindred search photo.jpg --run runs/photos --embeddings photos.parquet --in photos/ --json`,
		Args: func(_ *cobra.Command, photos []string) error {
			if len(photos) == 0 {
				return usagef("missing argument PHOTO: a photo to look up, or a folder of them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, photos []string) error {
			if f.query.store != "" {
				if f.index+f.network+f.in+f.embeddings+f.dir != "" {
					return usagef("--store says what the gallery is: --index, --network, --in, --embeddings and " +
						"--out go without it")
				}
				f.query.photos, f.query.k, f.query.run, f.query.strict = photos, f.k, f.run, f.strict
				f.query.same = f.same
				return a.searchStore(cmd.Context(), &f.query)
			}
			if f.index == "" {
				return runSearch(cmd.Context(), a, &f, photos)
			}
			if f.by()+f.in+f.embeddings+f.dir != "" {
				return usagef("--index says all of network and gallery: --run, --network, --in, --embeddings and " +
					"--out go without it")
			}
			f.query.photos, f.query.k, f.query.strict, f.query.same = photos, f.k, f.strict, f.same
			return a.searchIndex(cmd.Context(), f.index, &f.query)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.index, "index", "", "instead of a network and a gallery: an index (kindred index search)")
	fs.StringVar(&f.query.store, "store", "", "instead of a gallery: a store of a database: "+storeForm)
	fs.StringVar(&f.in, "in", "", "where to look: a folder of photos, a manifest, an archive or a data set by name")
	fs.StringVar(&f.embeddings, "embeddings", "",
		"embeddings of the gallery by the same network ("+strings.Join(formats().Extensions(), ", ")+")")
	fs.StringVar(&f.labels, "labels", "", "labels of --embeddings; default: those in the file or beside it, if any")
	fs.StringVar(&f.column, "column", "",
		"column of labels of --embeddings to show; default: the first of label, fine and coarse that exists")
	fs.StringVar(&f.dataDir, "data-dir", "",
		"folder with the data sets known by name; default $"+data.EnvHome+", else one in the user's cache")
	fs.IntVar(&f.k, "neighbours", 10, "photos to find for each")
	fs.StringVar(&f.distance, "distance", "",
		"euclidean, cosine or dot; default: as the run was scored, cosine for a network that was trained elsewhere")
	fs.IntVar(&f.scratch, "scratch", 256, "working memory in MiB, besides the embeddings")
	f.outDir.add(cmd, "folder for search.html and search.png; created if missing")
	f.modelFlags.add(cmd)
	fs.BoolVar(&f.offline, "offline", false, "do not fetch the network that is taken without --run and --network")
	flagsOf(cmd).outside(&f.outside)
	cli.AddStrict(fs, &f.strict)
	f.same.add(cmd)
	return cmd
}

// options checks the flags and returns how to rank.
func (f *searchFlags) options() (opt rank.Options, err error) {
	switch {
	case f.in == "" && f.embeddings == "":
		return opt, usagef("missing --in, or --embeddings: where to look")
	case f.embeddings == "" && (f.labels != "" || f.column != ""):
		return opt, usagef("--labels and --column go with --embeddings")
	}
	if err := cmp.Or(atLeast("neighbours", f.k, 1), mebibytes("scratch", f.scratch)); err != nil {
		return opt, err
	}
	opt.Memory = int64(f.scratch) << 20
	if f.distance != "" {
		if opt.Distance, err = rank.ParseDistance(f.distance); err != nil {
			err = usageError(err)
		}
	}
	return opt, err
}

func runSearch(ctx context.Context, a *app, f *searchFlags, paths []string) error {
	opt, err := f.options()
	if err = cmp.Or(err, f.same.check()); err != nil {
		return err
	}
	if f.dir != "" {
		if err := f.settle("", "search.html", "search.png"); err != nil {
			return err
		}
	}
	m, err := f.model(ctx, a)
	if err != nil {
		return err
	}
	if f.distance == "" {
		if opt.Distance, err = m.Distance(); err != nil {
			return err
		}
	}
	if f.dir != "" {
		if err := f.begin(); err != nil {
			return err
		}
	}
	m.Config.Data.Strict = f.strict // else they are named, and the others answered
	queries, err := openQueries(ctx, a, m, paths)
	if err != nil {
		return err
	}
	defer queries.close()
	a.sayLeftOut(queries.left)
	gallery, err := f.openGallery(ctx, a, m)
	if err != nil {
		return err
	}
	defer gallery.close()
	a.sayLeftOut(gallery.left)
	found, err := rank.NearestPhotos(ctx, queries.set(), gallery.set(), f.k, opt)
	if err != nil {
		return err
	}
	if f.embeddings != "" {
		a.sayStrangers(f, queries, gallery, found)
	}
	among, file, err := f.among(a, m, gallery, opt.Distance)
	if err != nil {
		return err
	}
	res := searchResult{Gallery: gallery.table.Rows(), Distance: opt.Distance, LeftOut: queries.left,
		GalleryLeftOut: gallery.left, Calibration: file, Least: f.same.least}
	for i, n := range found {
		q := searched(queries.path(i), n, gallery, opt.Distance, among)
		for k, n := range q.Neighbours { // of which the nearest are the likeliest
			if n.Same != nil && *n.Same < f.same.least {
				q.Neighbours = q.Neighbours[:k]
				break
			}
		}
		found[i].Row, found[i].Value = n.Row[:len(q.Neighbours)], n.Value[:len(q.Neighbours)]
		res.Queries = append(res.Queries, q)
	}
	if f.dir != "" {
		if res.Files, err = f.writePage(ctx, a, queries, gallery, opt.Distance, among, found); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(res)
	}
	return a.printSearch(&res, found, opt.Distance)
}

// among finds the calibration of the network that is used.
func (f *searchFlags) among(a *app, m *run.Model, gallery *photoSet, d rank.Distance) (*decide.Among, string, error) {
	of, err := f.compared(m)
	if err != nil {
		return nil, "", err
	}
	of.Distance = d.String()
	of.Gallery = func() (decide.Gallery, error) {
		if len(gallery.table.Columns) == 0 {
			return decide.Gallery{Items: gallery.table.Rows()}, nil
		}
		var labels []string
		for i := range gallery.table.Rows() {
			labels = append(labels, gallery.label(i))
		}
		return decide.NewGallery(labels), nil
	}
	return f.same.among(a, of)
}

// searched is the answer to one query.
func searched(query string, n rank.Found, g *photoSet, d rank.Distance, among *decide.Among) searchedQuery {
	out := searchedQuery{Query: query, Neighbours: []searchedItem{}}
	for _, j := range n.Self {
		out.Itself = append(out.Itself, g.path(j))
	}
	for e, j := range n.Row {
		it := searchedItem{Path: g.path(int(j)), Row: int(j), Label: g.label(int(j)), Distance: d.From(n.Value[e])}
		if among != nil {
			p := among.Same(it.Distance)
			it.Same = &p
		}
		out.Neighbours = append(out.Neighbours, it)
	}
	return out
}

// printSearch writes the answers for a terminal.
func (a *app) printSearch(res *searchResult, found []rank.Found, d rank.Distance) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for i, q := range res.Queries {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, q.Query)
		if len(q.Itself) > 0 {
			fmt.Fprintf(w, "itself in the gallery, and left out: %s\n", strings.Join(q.Itself, ", "))
		}
		for k, n := range q.Neighbours {
			name := cmp.Or(n.Path, fmt.Sprintf("row %d", n.Row))
			fmt.Fprintf(w, "%3d\t%s", k+1, retrieval.Distance(d, found[i].Value[k]))
			if n.Same != nil {
				fmt.Fprintf(w, "\t%s", retrieval.Same(*n.Same))
			}
			fmt.Fprintf(w, "\t%s\t%s\n", name, n.Label)
		}
		if len(q.Neighbours) == 0 && res.Least > 0 {
			fmt.Fprintf(w, "nothing is the same with a probability of %g or more\n", res.Least)
		}
	}
	if len(res.Files) > 0 {
		fmt.Fprintf(w, "\nwritten %s\n", strings.Join(res.Files, " "))
	}
	return w.Flush()
}

// photoSet is photos with their embeddings.
type photoSet struct {
	table *embedding.Table
	data  *data.Dataset // nil of embeddings whose photos are not known
	root  string        // of the names
	left  []data.LeftOut
}

func (s *photoSet) close() {
	if s.data != nil {
		s.data.Close() // what was read from it is there
	}
}

func (s *photoSet) set() rank.Photos { return rank.Photos{X: s.table.X, Path: s.path} }

// path is the file of photo i: its name below the folder of the set, "" if it has
// none.
func (s *photoSet) path(i int) string {
	if s.table.Files == nil {
		return ""
	}
	name := filepath.FromSlash(s.table.Files[i])
	if s.root == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.root, name)
}

// label is the class of photo i, "" if it is not known.
func (s *photoSet) label(i int) string {
	if len(s.table.Columns) == 0 {
		return ""
	}
	return s.table.Columns[0].At(i)
}

// openQueries embeds the photos at the given paths.
func openQueries(ctx context.Context, a *app, m *run.Model, paths []string) (*photoSet, error) {
	d, err := data.OpenFiles(ctx, paths)
	if err != nil {
		return nil, err
	}
	return a.embedPhotos(ctx, m, d, "")
}

// embedPhotos embeds all photos of a set, whose names are paths below root.
func (a *app) embedPhotos(ctx context.Context, m *run.Model, d *data.Dataset, root string) (*photoSet, error) {
	e, err := a.embed(ctx, m, d.All())
	if err != nil {
		d.Close()
		return nil, err
	}
	return &photoSet{table: e.Table(), data: d, root: root, left: e.LeftOut}, nil
}

// openGallery embeds the gallery, or reads its embeddings.
func (f *searchFlags) openGallery(ctx context.Context, a *app, m *run.Model) (*photoSet, error) {
	var t *embedding.Table
	var err error
	if f.embeddings != "" {
		if t, err = f.read(a, m); err != nil {
			return nil, err
		}
		if f.in == "" {
			return &photoSet{table: t}, nil
		}
	}
	photos := photoFlags{data: f.in, dataDir: f.dataDir, outside: f.outside}
	d, err := remotedata.Open(ctx, f.in, data.OpenOptions{Home: dataHome(f.dataDir), Unlabelled: true,
		Crop: m.Config.Data.Crop, Outside: f.outside, Strict: f.strict})
	if err != nil {
		return nil, err
	}
	root := photos.root()
	if d.Len() == 1 && d.Names[0] == filepath.ToSlash(f.in) {
		root = "" // --in is the photo
	}
	if t != nil {
		return &photoSet{table: t, data: d, root: root}, nil
	}
	a.sayNotes(d)
	fmt.Fprintf(a.err, "embedding %d photos of %s\n", d.Len(), escape.Name(f.in))
	return a.embedPhotos(ctx, m, d, root)
}

// read reads the embeddings of the gallery with one column of labels, if there is
// one.
func (f *searchFlags) read(a *app, m *run.Model) (*embedding.Table, error) {
	t, err := formats().Read(f.embeddings)
	if err != nil {
		return nil, err
	}
	if err := origin.Check(t, f.embeddings, m, "the network "+f.by()); err != nil {
		return nil, err
	}
	labelled, err := a.label(t, f.labels)
	switch {
	case f.labels == "" && f.column == "" && errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return nil, err
	case f.column != "":
		return labelled.Select(f.column)
	}
	return labelled.Select()
}

// sayStrangers warns of queries whose embedding in the gallery is another one.
func (a *app) sayStrangers(f *searchFlags, queries, gallery *photoSet, found []rank.Found) {
	if i, ok := retrieval.Foreign(queries.table.X, gallery.table.X, found); ok {
		fmt.Fprintf(a.err, "%s is in %s with another embedding: was it made by another network than %s?\n",
			escape.Name(queries.path(i)), escape.Name(f.embeddings), escape.Name(f.by()))
	}
}

// photos returns what the page shows of the photos.
func (s *photoSet) photos(ctx context.Context) (p retrieval.Photos, err error) {
	p = retrieval.Photos{N: s.table.Rows(), Path: s.path, Label: s.label}
	if s.data != nil && s.table.Files != nil {
		p.Picture, err = photo.Of(ctx, s.data, s.table.Files)
	}
	return p, err
}

// pictures returns what a page shows of the photos of a set.
func (a *app) pictures(ctx context.Context, of *photoSet, page string) (func(i int) (report.Picture, error), error) {
	p, err := of.photos(ctx)
	return p.Shown(ctx, page, a.sayUnread), err
}

func (a *app) sayUnread(name string, err error) {
	fmt.Fprintf(a.err, "no picture of %s: %s\n", escape.Name(name), escape.Text(cli.Message(err)))
}

// writePage writes the page and the picture and returns their paths.
func (f *searchFlags) writePage(ctx context.Context, a *app, queries, gallery *photoSet, d rank.Distance,
	among *decide.Among, found []rank.Found) (files []string, err error) {
	// Every picture of the page is held until the page is written.
	const pictureBytes = 1 << 20
	what := fmt.Sprintf("--neighbours %d of %d photos", f.k, len(found))
	shown := int64(min(f.k, gallery.table.Rows())) + 1
	if err := planned(what, int64(len(found)), shown, pictureBytes); err != nil {
		return nil, err
	}
	out := retrieval.Found{Distance: d, Among: among, Least: f.same.least, By: f.by(),
		File: filepath.Join(f.dir, "search.html"), Unread: a.sayUnread}
	if out.Queries, err = queries.photos(ctx); err != nil {
		return nil, err
	}
	if out.Gallery, err = gallery.photos(ctx); err != nil {
		return nil, err
	}
	page, rows, err := out.Page(ctx, found)
	if err != nil {
		return nil, err
	}
	texts, err := results.Made(results.Of("search.html", htmlOf(page)), drawing("search.png", report.PNG, sheet(rows)))
	if err != nil {
		return nil, err
	}
	return f.put(texts...)
}
