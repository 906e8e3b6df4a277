package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/app/cli"
	"github.com/kindred-ml/kindred/app/cli/items"
	"github.com/kindred-ml/kindred/app/origin"
	"github.com/kindred-ml/kindred/app/cli/results"
	"github.com/kindred-ml/kindred/app/lookup"
	"github.com/kindred-ml/kindred/app/page/report"
	"github.com/kindred-ml/kindred/app/page/report/retrieval"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/store"
)

type searchFlags struct {
	lookupFlags
	outDir
	ids        []string // items of an index or a store to look up
	filter     string
	exact      bool
	distance   string // distance in a table
	k, scratch int
	same       sameFlags
	phrases
}

// searchResult is what kindred search --json prints.
type searchResult struct {
	Queries  []searchedQuery `json:"queries"`
	Gallery  int             `json:"gallery"`
	Distance rank.Distance   `json:"distance"`
	// LeftOut lists queries, and GalleryLeftOut photos of the gallery, without an
	// embedding.
	LeftOut        []data.LeftOut `json:"left_out,omitempty"`
	GalleryLeftOut []data.LeftOut `json:"gallery_left_out,omitempty"`
	// Calibration is the file that probabilities come from. Neighbours with a probability below Least
	// are not shown.
	Calibration string   `json:"calibration,omitempty"`
	Least       float64  `json:"least,omitempty"`
	Files       []string `json:"files,omitempty"`
}

type searchedQuery struct {
	Query string `json:"query"`
	// Itself lists the photos of the gallery that are the query; they are left out.
	Itself     []string       `json:"itself,omitempty"`
	Neighbours []searchedItem `json:"neighbours"`
}

type searchedItem struct {
	Path     string  `json:"path"`
	Region   string  `json:"region,omitempty"`
	Row      int     `json:"row"`
	Label    string  `json:"label"` // "" if it is not known
	Distance float64 `json:"distance"`
	// Same is the probability that it shows the same thing; nil without a calibration.
	Same *float64 `json:"same,omitempty"`
}

func newSearch(a *app) *cobra.Command {
	var f searchFlags
	f.way = ": use --id or --vector of kindred index search"
	cmd := &cobra.Command{
		Use:               "search PHOTO|WORDS... [--run DIR] --in PATH | --embeddings FILE",
		ValidArgsFunction: anyFile,
		Short:             "Find the photos that look most like others, or like words",
		Long: `search prints the photos of a gallery that are nearest to each given photo. It embeds
photos with the network of a run (--run) or a network that was not trained here
(--network). The default is the pretrained network that kindred train starts from.

The gallery is a folder of photos (--in), with or without folders for classes, or a
manifest, an archive or a data set by name. --embeddings is a file that kindred embed
wrote with the same network. The gallery is then not embedded again, and --in only
names the folder of its photos. --index INDEX searches like kindred index search, and
--store URL with --run searches a store of a database.

A photo that is in the gallery, as the same file or as a copy, is left out of its own
answer. Photos that cannot be read are listed, and the others are answered; with
--strict they are an error.

` + wordsHelp + `

If there is a calibration (kindred calibrate), each neighbour has the probability that
it shows the same thing, and --least 0.9 leaves out neighbours below it.

--out DIR writes the photos with their neighbours as search.html and search.png.`,
		Example: `  kindred search photo.jpg --run runs/photos --in photos/
  kindred search photo.jpg --in photos/
  kindred search more/ --run runs/photos --in photos/ --neighbours 5 --out found
  kindred search photo.jpg --index photos.index --least 0.9
  kindred search "a red boot" --index photos.index
  kindred embed --run runs/photos --data photos/ --out photos.parquet
  kindred search photo.jpg --run runs/photos --embeddings photos.parquet --in photos/ --json`,
		Args: func(_ *cobra.Command, photos []string) error {
			if len(photos)+len(f.texts) == 0 {
				return usagef("missing argument PHOTO: a photo to look up, a folder of them, or words")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, photos []string) error {
			if f.source() == 0 {
				return usagef("missing --in, or --embeddings: the gallery to search")
			}
			return f.search(cmd, a, photos, []sourceRule{
				{"in embeddings", inTable, "", oneGallery},
				{"index", inIndex, "", oneGallery},
				{"run", byNetwork | inStore, "", ownNetwork},
				{"network offline " + networkFlagNames, byNetwork, "", ownNetwork},
				{"distance", byNetwork, "", ownDistance},
				{"labels column", inEmbeddings, "", ownLabels},
				{"scratch", byNetwork, "", "the index or the database ranks it, not this command"},
				{"out", byNetwork, "", "pages show only results among photos or embeddings"},
				{"force", byNetwork, "out", "it replaces results of --out"},
				{"data-dir allow-outside", byNetwork, "in", forASet},
				{origin.ForceFlag, byNetwork, "embeddings", forAFile},
			})
		},
	}
	fs := flagsOf(cmd)
	f.addGallery(fs)
	fs.IntVar(&f.k, "neighbours", 10, "photos to find for each query")
	fs.distance(&f.distance, "", "that of the run's scores; cosine for a network that was not trained here",
		anyDistance...)
	fs.scratch(&f.scratch)
	f.outDir.add(cmd, "folder for search.html and search.png; created if missing")
	f.modelFlags.add(cmd)
	fs.BoolVar(&f.offline, "offline", false, "do not fetch the default network, used without --run and --network")
	fs.outside(&f.outside)
	cli.AddStrict(fs.FlagSet, &f.strict)
	f.same.add(cmd)
	f.phrases.add(cmd)
	return cmd
}

// addGallery adds the flags that name the lookup.
func (f *searchFlags) addGallery(fs flags) {
	fs.text(&f.index, "index", "", "index, instead of a network and a gallery (kindred index search)", folders)
	fs.text(&f.store, "store", "", "store of a database, instead of a gallery: "+storeForm, nothing)
	fs.text(&f.in, "in", "", "gallery: a folder of photos, a manifest, an archive or a data set by name",
		dataSets)
	fs.embeddings(&f.embeddings, "embeddings of the gallery, by the same network")
	fs.forceNetwork(&f.forceNetwork)
	fs.labels(&f.labels, "labels of --embeddings")
	fs.column(&f.column, "column of labels of --embeddings to show; "+firstColumn)
	fs.dataDir(&f.dataDir)
}

// check refuses flags with wrong values or that do not apply, and parses the filter.
func (f *searchFlags) check(cmd *cobra.Command, photos []string, rules []sourceRule) (*store.Filter, error) {
	if err := refuseOf(cmd, f.source(), rules); err != nil {
		return nil, err
	}
	if len(photos)+len(f.ids)+len(f.texts) == 0 && f.vectors == "" {
		return nil, usagef("missing PHOTO, words, --id or --vector: the queries")
	}
	if err := cmp.Or(f.parse(photos, &f.outDir, &f.same), atLeast("neighbours", f.k, 1),
		mebibytes("scratch", f.scratch), f.same.check()); err != nil {
		return nil, err
	}
	f.joint = f.tower.dir != ""
	if f.distance != "" {
		if _, err := rank.ParseDistance(f.distance); err != nil {
			return nil, usageError(err)
		}
	}
	return parseFilter(f.filter)
}

// search answers the queries and prints the answers.
func (f *searchFlags) search(cmd *cobra.Command, a *app, photos []string, rules []sourceRule) error {
	ctx := cmd.Context()
	where, err := f.check(cmd, photos, rules)
	if err != nil {
		return err
	}
	if err := f.settle("", "search.html", "search.png"); err != nil {
		return err
	}
	at, err := f.open(ctx, a, f.source())
	if err != nil {
		return err
	}
	defer at.close()
	if err := f.begin(); err != nil {
		return err
	}
	queries, list, err := f.asked(ctx, a, at)
	if err != nil {
		return err
	}
	defer queries.Close()
	judged := len(list)
	by, err := f.metric(ctx, at)
	if err != nil {
		return err
	}
	more, err := f.phrases.queries(ctx, a, &f.lookupFlags, at, by)
	if err != nil {
		return err
	}
	list = append(list, more...)
	g, err := f.gallery(ctx, a, at, by)
	if err != nil {
		return err
	}
	in, err := g.Info(ctx)
	if err != nil {
		return err
	}
	among, file, err := f.same.among(ctx, a, at.of, g, &in)
	if err != nil {
		return err
	}
	if judged == 0 {
		file = ""
	}
	answers, err := g.Nearest(ctx, list, lookup.Options{K: f.k, Exact: f.exact, Filter: where})
	if err != nil {
		if wrong := (*store.FilterError)(nil); errors.As(err, &wrong) {
			err = usageError(err)
		}
		return err
	}
	f.sayOlder(a, answers, in.Name)
	for i := range answers[:judged] { // the distances of words have no calibration
		answers[i].Judge(among, f.same.least)
	}
	table, ok := g.(*lookup.Table)
	if !ok {
		res := items.Answers{Index: in.Name, Queries: answers, Items: in.Items, Distance: in.Distance,
			LeftOut: queries.LeftOut, Calibration: file, Least: f.same.least}
		return a.answer(res, func() error { return res.Write(a.out, in.Columns) })
	}
	if i, ok := table.Foreign(list[:judged], answers[:judged]); ok && f.embeddings != "" {
		fmt.Fprintf(a.err, "%s has another embedding in %s: was it made by another network than %s?\n",
			escape.Name(list[i].Path), escape.Name(f.embeddings), escape.Name(f.by()))
	}
	res := newSearchResult(table, answers)
	res.LeftOut, res.Calibration, res.Least = queries.LeftOut, file, f.same.least
	if f.dir != "" {
		if res.Files, err = f.writePage(ctx, a, queries, table, among != nil, answers); err != nil {
			return err
		}
	}
	return a.printSearch(res, answers)
}

// printSearch prints the answers of a table.
func (a *app) printSearch(res *searchResult, answers []lookup.Answer) error {
	if a.json {
		return a.printJSON(res)
	}
	err := items.Write(a.out, "gallery", answers, res.Least, func(n *lookup.Neighbour) (distance, name, about string) {
		return retrieval.Distance(res.Distance, n.Value), n.Name(), n.Label
	})
	if err == nil && len(res.Files) > 0 {
		_, err = fmt.Fprintf(a.out, "\nwritten %s\n", strings.Join(res.Files, " "))
	}
	return err
}

// asked embeds the photos to look up, and reads the items and vectors to look up.
func (f *searchFlags) asked(ctx context.Context, a *app, at *place) (*lookup.Set, []lookup.Query, error) {
	s := &lookup.Set{}
	var list []lookup.Query
	if photos := f.phrases.alone(); len(photos) > 0 {
		var err error
		if s, err = f.photos(ctx, a, at, photos, ""); err != nil {
			return nil, nil, err
		}
		a.sayLeftOut(s.LeftOut)
		list = s.Queries()
	}
	if len(f.ids) == 0 && f.vectors == "" {
		return s, list, nil
	}
	more, err := at.items.ByID(ctx, f.ids)
	if err == nil && f.vectors != "" {
		var t *embedding.Table
		if t, err = formats().Read(f.vectors); err == nil {
			list = append(list, more...)
			more, err = lookup.ByVector(t, f.vectors, at.of.Dim)
		}
		if err == nil {
			err = origin.Meet(origin.OfTable(t, f.vectors), at.party(at.items.Name), f.forceNetwork, a.err)
		}
	}
	if err != nil {
		s.Close()
	}
	return s, append(list, more...), err
}

// metric returns the distance of a gallery, before it is made.
func (f *searchFlags) metric(ctx context.Context, at *place) (rank.Distance, error) {
	if at.items != nil {
		in, err := at.items.Info(ctx)
		return in.Distance, err
	}
	if f.distance != "" {
		return rank.ParseDistance(f.distance)
	}
	m, err := at.model()
	if err != nil {
		return 0, err
	}
	return m.Distance()
}

// gallery returns the open index or store, or a table.
func (f *searchFlags) gallery(ctx context.Context, a *app, at *place, by rank.Distance) (lookup.Gallery, error) {
	if at.items != nil {
		return at.items, nil
	}
	t, err := f.table(ctx, a, at, false)
	if err != nil {
		return nil, err
	}
	t.Memory, t.Distance = int64(f.scratch)<<20, by
	return t, nil
}

// newSearchResult returns the result of a search in a table.
func newSearchResult(g *lookup.Table, answers []lookup.Answer) *searchResult {
	res := &searchResult{Gallery: g.Table.Rows(), Distance: g.Distance, GalleryLeftOut: g.LeftOut}
	for _, a := range answers {
		q := searchedQuery{Query: a.Query, Itself: a.Itself, Neighbours: []searchedItem{}}
		for _, n := range a.Neighbours {
			q.Neighbours = append(q.Neighbours, searchedItem{n.Path, n.Region, n.Row, n.Label, n.Distance, n.Same})
		}
		res.Queries = append(res.Queries, q)
	}
	return res
}

// sayOlder prints remarks about items of older contents of the queries' files.
func (f *searchFlags) sayOlder(a *app, answers []lookup.Answer, name string) {
	way := ""
	if f.store == "" {
		way = fmt.Sprintf(": '%s' updates it", commandLine("kindred", "index", "sync", "PHOTOS", "--index", name))
	}
	for _, q := range answers {
		if n := len(q.Older); n > 0 {
			fmt.Fprintf(a.err, "%s: the index has an older content of this file, which is not left out, under %s%s\n",
				escape.Name(q.Query), firstNames(q.Older), way)
		}
	}
}

func (a *app) sayUnread(name string, err error) {
	fmt.Fprintf(a.err, "no picture of %s: %s\n", escape.Name(name), escape.Text(cli.Message(err)))
}

// writePage writes the page and the picture and returns their paths.
func (f *searchFlags) writePage(ctx context.Context, a *app, queries *lookup.Set, g *lookup.Table,
	judged bool, answers []lookup.Answer) (files []string, err error) {
	// Every picture of the page is held until the page is written.
	const pictureBytes = 1 << 20
	what := fmt.Sprintf("--neighbours %d of %d photos", f.k, len(answers))
	shown := int64(min(f.k, g.Table.Rows())) + 1
	if err := planned(what, int64(len(answers)), shown, pictureBytes); err != nil {
		return nil, err
	}
	file := filepath.Join(f.dir, "search.html")
	out := retrieval.Found{Queries: queries, Gallery: g, Judged: judged, Least: f.same.least, By: f.by(),
		Query: retrieval.Shown(ctx, file, a.sayUnread), Item: retrieval.Shown(ctx, file, a.sayUnread)}
	page, rows, err := out.Page(answers)
	if err != nil {
		return nil, err
	}
	return f.put(results.Of("search.html", htmlOf(page)), drawing("search.png", report.PNG, sheet(rows)))
}
