package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report/retrieval"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// searchFlags say what to look up, in what, and which neighbours to show.
type searchFlags struct {
	lookup      inputs.LookupFlags
	opt         lookup.Options
	to          outputs.Folder
	ids, texts  []string
	filter      string
	scratch     int
	calibration string
	strangers   float64
	explain     bool
	phrases     []lookup.Phrase
}

func newSearch(a *console.Console) *cobra.Command {
	f := searchFlags{lookup: inputs.LookupFlags{Console: a}}
	f.lookup.Spec.Way = ": use --id or --vector of kindred index search"
	cmd := &cobra.Command{
		Use:               "search PHOTO|WORDS... [--run DIR] --in PATH | --embeddings FILE",
		ValidArgsFunction: complete.Files,
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

` + queryHelp + `

If there is a calibration (kindred calibrate), each neighbour has the probability that
it shows the same thing, and --least 0.9 leaves out neighbours below it.

` + arrangeHelp + `

--out DIR writes the photos with their neighbours as search.html and search.png.`,
		Example: `  kindred search photo.jpg --run runs/photos --in photos/
  kindred search photo.jpg --in photos/
  kindred search more/ --run runs/photos --in photos/ --neighbours 5 --out found
  kindred search photo.jpg --index photos.index --least 0.9
  kindred search photo.jpg --index photos.index --group-by label --diverse 0.3
  kindred search "a red boot" --index photos.index
  kindred embed --run runs/photos --data photos/ --out photos.parquet
  kindred search photo.jpg --run runs/photos --embeddings photos.parquet --in photos/ --json`,
		Args: func(_ *cobra.Command, photos []string) error {
			if len(photos)+len(f.texts) == 0 {
				return cli.Usagef("missing argument PHOTO: a photo to look up, a folder of them, or words")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, photos []string) error {
			if f.lookup.Spec.Kind() == lookup.None {
				return cli.Usagef("missing --in, or --embeddings: the gallery to search")
			}
			return f.search(cmd, photos)
		},
	}
	fs, spec := flags.New(cmd), &f.lookup.Spec
	fs.Text(&spec.Index, "index", "", "index, instead of a network and a gallery (kindred index search)",
		complete.Folders)
	fs.Text(&spec.Store, "store", "", "store of a database, instead of a gallery: "+inputs.StoreForm, complete.Nothing)
	fs.Text(&spec.In, "in", "", "gallery: a folder of photos, a manifest, an archive or a data set by name",
		complete.Datasets)
	fs.Embeddings(&spec.Embeddings, "embeddings of the gallery, by the same network")
	fs.ForceNetwork(&spec.ForceNetwork)
	fs.Labels(&spec.Labels, "labels of --embeddings")
	fs.Column(&spec.Column, "column of labels to show; "+flags.FirstColumn+"; label for an index")
	fs.DataDir(&f.lookup.DataDir)
	fs.Distance(&spec.Distance, "", "that of the run's scores; cosine for a network that was not trained here",
		flags.AnyDistance...)
	fs.Scratch(&f.scratch)
	f.to.Add(cmd, "folder for search.html and search.png; created if missing")
	f.lookup.Network.Add(cmd)
	fs.BoolVar(&f.lookup.Network.Offline, "offline", false,
		"do not fetch the default network, used without --run and --network")
	fs.Outside(&f.lookup.Outside)
	f.add(cmd, "photos")
	return cmd
}

func newIndexSearch(a *console.Console) *cobra.Command {
	f := searchFlags{lookup: inputs.LookupFlags{Console: a}, scratch: 1}
	f.lookup.Spec.Way = ": use --id or --vector"
	cmd := &cobra.Command{
		Use:               "search INDEX [PHOTO|WORDS...] | --store URL [PHOTO|WORDS...]",
		ValidArgsFunction: complete.Files,
		Short:             "Find the items nearest to photos, words, items or embeddings",
		Long: `search prints the items of an index that are nearest to photos, to items of the index
(--id), or to embeddings (--vector). It embeds photos with the index's own network. A
photo or an item of --id that is in the index, as the same file or as a copy, is left out
of its own answer; so are the items with the very embedding of --vector.
--filter is applied before ranking. --store searches a store of a database instead, with
the network of --run for photos.

` + queryHelp + `

If the index has a calibration (kindred calibrate), each neighbour has the probability
that it shows the same thing, and --least 0.9 leaves out neighbours below it.

` + arrangeHelp,
		Example: `  kindred index search photos.index photo.jpg
  kindred index search photos.index --id cat/00.jpg --neighbours 5 --json
  kindred index search photos.index photo.jpg --filter 'label != "cat"'
  kindred index search photos.index photo.jpg --collapse 0.02 --others 3`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && f.lookup.Spec.Store == "" {
				return cli.Usagef("missing argument INDEX, or --store: the gallery to search")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.lookup.Spec.Store == "" {
				f.lookup.Spec.Index, args = args[0], args[1:]
			}
			return f.search(cmd, args)
		},
	}
	fs, spec := flags.New(cmd), &f.lookup.Spec
	fs.Repeated(&f.ids, "id", "look up an item of the index; may be repeated", complete.Nothing)
	fs.Vector(&spec.Vector, "look up the embeddings in a file, made by the network of the index")
	fs.ForceNetwork(&spec.ForceNetwork)
	fs.Text(&f.filter, "filter", "", "find only items that pass this filter: "+filterHelp, complete.Nothing)
	fs.BoolVar(&f.opt.Exact, "exact", false, "search all lists of an index with lists, for exact results")
	fs.Text(&spec.Store, "store", "", "store of a database, instead of an index: "+inputs.StoreForm, complete.Nothing)
	fs.Text(&f.lookup.Network.Run, "run", "", "run whose network made the embeddings of --store, for photos",
		complete.Runs)
	f.add(cmd, "items")
	return cmd
}

// arrangeHelp describes the flags that choose among more than the nearest neighbours.
const arrangeHelp = `--group-by COLUMN shows only the first neighbour with each value, and --collapse DISTANCE
only the first of near copies, both with the number of the others; --others N lists them
too. --diverse W prefers neighbours that are unlike those before them. --rerank orders the
200 nearest anew (or twice --neighbours): alpha-qe adds the nearest to the query,
k-reciprocal prefers items that find each other. The order is re-rank, collapse, group,
diversify. Printed distances are those from the query.`

// add adds the flags that both commands have; what names the neighbours.
func (f *searchFlags) add(cmd *cobra.Command, what string) {
	fs := flags.New(cmd)
	fs.IntVar(&f.opt.K, "neighbours", 10, what+" to find for each query")
	cli.AddStrict(fs.FlagSet, &f.lookup.Spec.Strict)
	fs.Float64Var(&f.opt.Least, "least", 0,
		"show only neighbours that are the same thing with at least this probability, by the calibration")
	fs.Float64Var(&f.strangers, "strangers", 0.5,
		"expected share of queries whose class is not in the gallery; probabilities depend on it")
	fs.Text(&f.calibration, "calibration", "",
		"file of the calibration; default: in the folder of the index or the run, or beside the network",
		complete.Files)
	fs.Repeated(&f.texts, "text", "words to look up, also if a file has this name; may be repeated", complete.Nothing)
	inputs.AddTower(cmd, &f.lookup.Spec.Words, inputs.TowerHelp)
	fs.Text(&f.opt.GroupBy, "group-by", "", "column: show only the first neighbour with each value", complete.Nothing)
	fs.Float64Var(&f.opt.Collapse, "collapse", 0,
		"distance up to which a neighbour counts as a copy of an earlier one and is not shown; 0: show all")
	fs.IntVar(&f.opt.Others, "others", 0, "further members to list of each group of --group-by or --collapse")
	fs.Float64Var(&f.opt.Diverse, "diverse", 0, "weight, above 0 and below 1, of being unlike the neighbours before "+
		"(maximal marginal relevance); 0: order by distance")
	fs.Text(&f.opt.Rerank, "rerank", "", "order the nearest anew by alpha-qe or k-reciprocal; default: by distance",
		complete.Words(lookup.AlphaQE, lookup.KReciprocal))
	fs.BoolVar(&f.explain, "explain", false,
		"also print from which files, network, distance and calibration the numbers come")
}

// check refuses flags with wrong values or that do not apply, and reads the queries.
func (f *searchFlags) check(cmd *cobra.Command, args []string) (err error) {
	given, spec := flags.Given(cmd), &f.lookup.Spec
	if err := cmp.Or(f.lookup.Check(cmd),
		flags.Check(cmd, "", flags.When("force", true, "out", "it replaces results of --out"))); err != nil {
		return err
	}
	if len(args)+len(f.ids)+len(f.texts) == 0 && spec.Vector == "" {
		return cli.Usagef("missing PHOTO, words, --id or --vector: the queries")
	}
	if f.phrases, err = lookup.ParsePhrases(args, f.texts); err != nil {
		return cli.UsageError{Err: err}
	}
	plain := len(lookup.SinglePhotos(f.phrases)) == len(f.phrases)
	switch {
	case lookup.ListWords(f.phrases) == nil && spec.Words != "":
		return cli.Usagef("--words %s applies to words, and every query is a photo", spec.Words)
	case !plain && f.to.Dir != "":
		return cli.Usagef("--out %s applies to photos alone: leave it out to look up words or sums", f.to.Dir)
	case !plain && (f.opt.Least > 0 || f.calibration != "" || given("strangers")):
		return cli.Usagef("--least, --strangers and --calibration apply to photos alone: the distances of words and " +
			"sums " +
			"have no calibration")
	}
	spec.GroupBy, spec.Memory = f.opt.GroupBy, int64(f.scratch)<<20
	if err := cmp.Or(flags.CheckAtLeast("neighbours", f.opt.K, 1), flags.CheckMebibytes("scratch",
		f.scratch)); err != nil {
		return err
	}
	if !(f.strangers > 0 && f.strangers < 1) {
		return cli.Usagef("--strangers %g: want a share between 0 and 1", f.strangers)
	}
	if err := f.opt.Validate(); err != nil {
		return err
	}
	if spec.Distance != "" {
		if _, err := eval.ParseDistance(spec.Distance); err != nil {
			return cli.UsageError{Err: err}
		}
	}
	f.opt.Filter, err = parseFilter(f.filter)
	return err
}

// search answers the queries and prints the answers.
func (f *searchFlags) search(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if err := f.check(cmd, args); err != nil {
		return err
	}
	if err := f.to.Choose("", "search.html", "search.png"); err != nil {
		return err
	}
	source, err := lookup.Open(ctx, &f.lookup.Spec, &f.lookup)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := f.to.Make(); err != nil {
		return err
	}
	photos, queries, err := f.newQueries(ctx, source)
	if err != nil {
		return err
	}
	defer photos.Close()
	by, err := source.Metric(ctx)
	if err != nil {
		return err
	}
	g, err := source.Gallery(ctx, by, false)
	if err != nil {
		return err
	}
	in, err := g.Info(ctx)
	if err != nil {
		return err
	}
	file, err := source.UseCalibration(ctx, g, &f.opt, f.calibration, f.strangers, f.calibrationFlag(cmd))
	if err != nil {
		return err
	}
	if len(queries) > 0 && queries[0].Summed { // as all are
		file = ""
	}
	if f.explain {
		f.opt.Explain = source.Explain(&in, &f.opt, file)
	}
	answers, err := lookup.Nearest(ctx, g, queries, f.opt)
	if err != nil {
		if wrong := (*store.FilterError)(nil); errors.As(err, &wrong) {
			err = cli.UsageError{Err: err}
		}
		return err
	}
	f.noteOlder(answers, in.Name)
	res := lookup.Results{Head: in.AnswerHead(), Queries: answers, LeftOut: photos.LeftOut}
	res.Calibration, res.MinProbability = file, f.opt.Least
	if t, ok := g.(*lookup.Table); ok {
		res.GalleryLeftOut = t.LeftOut
		f.noteForeign(t, queries, answers)
	}
	if f.to.Dir != "" {
		if res.Files, err = f.writePage(ctx, photos, g, &in, answers); err != nil {
			return err
		}
	}
	return f.lookup.Console.PrintResult(res, func() error { return res.Print(f.lookup.Console.Out, g, &in) })
}

// calibrationFlag returns the flag that needs a calibration; "" without one.
func (f *searchFlags) calibrationFlag(cmd *cobra.Command) string {
	given := flags.Given(cmd)
	switch {
	case f.opt.Least > 0:
		return "least"
	case given("strangers"):
		return "strangers"
	case f.calibration != "":
		return "calibration"
	}
	return ""
}

// newQueries returns the queries, with the photos among them, which the caller closes. Photos come first, as
// the page has them.
func (f *searchFlags) newQueries(ctx context.Context, source *lookup.Source) (
	photos *lookup.Set, list []lookup.Query, err error) {
	photos = &lookup.Set{}
	if paths := lookup.SinglePhotos(f.phrases); len(paths) > 0 {
		if photos, list, err = source.EmbedPhotos(ctx, paths, ""); err != nil {
			return nil, nil, err
		}
	}
	more := func(l []lookup.Query, e error) {
		list, err = append(list, l...), cmp.Or(err, e)
	}
	if len(f.ids) > 0 {
		more(source.Items.QueriesByID(ctx, f.ids))
	}
	if f.lookup.Spec.Vector != "" && err == nil {
		set, rows, e := source.ReadVectors()
		if e == nil {
			e = source.CheckVectors(set.Table, source.Party(source.Items.Name))
		}
		more(rows, e)
	}
	if err == nil {
		more(source.EmbedSums(ctx, f.phrases))
	}
	if err != nil {
		photos.Close()
	}
	return photos, list, err
}

// noteForeign prints a remark if another network made the embeddings.
func (f *searchFlags) noteForeign(t *lookup.Table, queries []lookup.Query, answers []api.Answer) {
	if file := f.lookup.Spec.Embeddings; file != "" {
		if i, ok := t.FindForeignQuery(queries, answers); ok {
			fmt.Fprintf(f.lookup.Console.Err, "%s has another embedding in %s: was it made by another network than "+
				"%s?\n",
				escape.Name(queries[i].Path), escape.Name(file), escape.Name(f.lookup.Network.NetworkText()))
		}
	}
}

// noteOlder prints remarks about items of older contents of the queries' files.
func (f *searchFlags) noteOlder(answers []api.Answer, name string) {
	way := ""
	if f.lookup.Spec.Store == "" {
		way = fmt.Sprintf(": '%s' updates it", escape.Command("kindred", "index", "sync", "PHOTOS", "--index", name))
	}
	for _, q := range answers {
		if n := len(q.OutdatedIDs); n > 0 {
			fmt.Fprintf(f.lookup.Console.Err,
				"%s: the index has an older content of this file, which is not left out, under "+
					"%s%s\n",
				escape.Name(q.Query), lookup.FormatFirstNames(q.OutdatedIDs), way)
		}
	}
}

// writePage writes the page and the picture and returns their paths.
func (f *searchFlags) writePage(ctx context.Context, photos *lookup.Set, g lookup.Gallery, in *lookup.Info,
	answers []api.Answer) (files []string, err error) {
	// Every picture of the page is held until the page is written.
	const pictureBytes = 1 << 20
	what := fmt.Sprintf("--neighbours %d of %d photos", f.opt.K, len(answers))
	if err := budget.CheckProduct(what, int64(len(answers)), int64(min(f.opt.K, in.Items))+1,
		pictureBytes); err != nil {
		return nil, err
	}
	file, by := filepath.Join(f.to.Dir, "search.html"), f.lookup.Network.NetworkText()
	if f.lookup.Spec.Index != "" {
		by = f.lookup.Spec.Index
	}
	out := retrieval.Results{Queries: photos, Gallery: g, Info: in, Judged: f.opt.Same != nil, Least: f.opt.Least,
		By:    by,
		Query: retrieval.PictureReader(ctx, file, inputs.NoteUnread(f.lookup.Console)),
		Item:  retrieval.PictureReader(ctx, file, inputs.NoteUnread(f.lookup.Console))}
	page, rows, err := out.Page(answers)
	if err != nil {
		return nil, err
	}
	return f.to.WriteResults(results.NewText("search.html", outputs.HTMLWriter(page)),
		outputs.NewFigureFile("search.png", figure.PNG, firstRows(rows)))
}

// queryHelp describes the queries of a search.
var queryHelp = strings.TrimSpace(`
An argument that names no file or folder, has no path separator and does not end like a
photo's name is words, and so is the value of --text. Words need the text tower that was
trained together with the network (--words), as CLIP and SigLIP have it. + and - between
arguments add and subtract photos and words: a.jpg + b.jpg + "with laces" - red is the sum
of vectors of unit length, itself of unit length. Its photos are left out of the answer.`)
