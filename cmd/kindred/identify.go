package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/cli/calibrations"
	"github.com/kindred-ml/kindred/internal/cli/items"
	"github.com/kindred-ml/kindred/internal/cli/origin"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/retrieval"
	"github.com/kindred-ml/kindred/internal/remote/remotedata"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

type identifyFlags struct {
	searchFlags
	vectors, calibration, data, table string
	opt                               decide.IdentifyOptions
	together, byClass                 bool
	shown, voters                     int                    // photos, and neighbours of each, on the pages
	given                             func(flag string) bool // on the command line
}

// identified is what kindred identify --json prints.
type identified struct {
	Queries  []identifiedQuery `json:"queries"`
	Gallery  int               `json:"gallery"`
	Classes  int               `json:"classes"`
	Distance rank.Distance     `json:"distance"`
	FPIR     float64           `json:"fpir"` // 0: every photo gets a label
	Coverage float64           `json:"coverage,omitempty"`
	ByClass  int               `json:"by_class,omitempty"` // classes whose sets go by their own items
	LeftOut  []data.LeftOut    `json:"left_out,omitempty"`
	Files    []string          `json:"files,omitempty"` // of --out
	Summary  *identifySummary  `json:"summary"`
}

type identifiedQuery struct {
	Query  string   `json:"query"`
	Photos []string `json:"photos,omitempty"` // of one thing
	decide.Decision
	of     []int        // its photos, by their numbers
	voters [][]nearItem // of each, nearest first; nil without a page
}

func newIdentify(a *app) *cobra.Command {
	var f identifyFlags
	cmd := &cobra.Command{
		Use:               "identify PHOTO... --index INDEX | --run DIR --in PATH | --embeddings FILE",
		ValidArgsFunction: anyFile,
		Short:             "Say what is on photos, with a probability, or that it is unknown",
		Long: `identify looks photos up in a gallery with labels and decides: the likeliest label with
its probability and the runner-up, and whether it is unknown, by the calibration that
kindred calibrate has made for the network. With an open calibration, of photos whose class
is not in the gallery, at most the share --fpir is given a label, in 95 of 100 cases, at the
size of this gallery. With a closed one, or with --closed, every photo gets the likeliest
class of those that training saw, and the probability is that among these. At the end stands how
many have a label, why the others have none, and what another --fpir would give.
--coverage 0.95 adds the set of labels that holds the right one with that probability
where it is in the gallery: for every class with enough items in the gallery, and on average
over the others.

The gallery is an index (--index), or what --in names, with the network of --run, or a file
of embeddings with labels. Photos that are in the gallery are left out of their own
answers. Folders of photos and, by --data, data sets are taken whole; --table FILE.csv
writes path, label, probability, runner_up, unknown and set of each, the undecided
first. With --together all photos are of one thing.

--out DIR writes why: identify.html shows each photo with its decision, the distance and the
bound that stand behind it, and the neighbours that voted; the undecided first, and more pages
beside it for many.`,
		Example: `  kindred identify photo.jpg --index photos.index
  kindred identify photo.jpg --run runs/photos --in photos/ --coverage 0.95 --json
  kindred identify front.jpg back.jpg --together --index photos.index --out why
  kindred identify --data new-photos/ --index photos.index --table decisions.csv`,
		Args: func(_ *cobra.Command, photos []string) error {
			if len(photos) == 0 && f.vectors+f.data == "" {
				return usagef("missing argument PHOTO, --data or --vector: what to identify")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, photos []string) error {
			f.given = cmd.Flags().Changed
			return runIdentify(cmd.Context(), a, &f, photos)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.index, "index", "", "the gallery and the network: an index")
	fs.StringVar(&f.in, "in", "", "the gallery: a folder of classes, a manifest, an archive or a data set by name")
	fs.StringVar(&f.embeddings, "embeddings", "",
		"the gallery: embeddings with labels ("+strings.Join(formats().Extensions(), ", ")+")")
	fs.StringVar(&f.labels, "labels", "", "labels of --embeddings; default: those in the file or beside it")
	fs.StringVar(&f.column, "column", "",
		"column of labels; default: the first of label, fine and coarse that exists, of an index label")
	fs.StringVar(&f.vectors, "vector", "", "instead of photos: embeddings by the same network ("+
		strings.Join(formats().Extensions(), ", ")+")")
	fs.StringVar(&f.data, "data", "", "instead of photos: a data set, by name or path")
	fs.StringVar(&f.dataDir, "data-dir", "",
		"folder with the data sets known by name; default $"+data.EnvHome+", else one in the user's cache")
	fs.StringVar(&f.calibration, "calibration", "", "file of the calibration; default: in the folder of the index or "+
		"the run, or beside --embeddings")
	fs.Float64Var(&f.opt.FPIR, "fpir", 0.05, "share of strangers that may be given a label")
	fs.Float64Var(&f.opt.Strangers, "strangers", 0.5,
		"share of photos that are expected to be of no class of the gallery")
	fs.Float64Var(&f.opt.Coverage, "coverage", 0,
		"also the set of labels that holds the right one with this probability")
	fs.BoolVar(&f.opt.Closed, "closed", false, "give every photo a label: the likeliest of the classes of the run")
	fs.BoolVar(&f.byClass, "by-class", true, "sets of --coverage by the class's own items, where it has enough (0.95 "+
		"takes 19); else by the classes of the calibration")
	fs.BoolVar(&f.together, "together", false, "all photos are of one thing")
	fs.StringVar(&f.table, "table", "", "file to write the decisions to, the undecided first (.csv)")
	f.outDir.add(cmd, "folder for identify.html, which shows why; created if missing", "table")
	fs.IntVar(&f.shown, "queries", 200, "decisions to show on the pages of --out, the undecided first")
	fs.IntVar(&f.voters, "neighbours", 12, "neighbours to show of each photo on the pages of --out")
	flagsOf(cmd).outside(&f.outside)
	cli.AddStrict(fs, &f.strict)
	f.modelFlags.add(cmd)
	return cmd
}

// looker finds the neighbours of what is identified in a gallery with labels.
type looker struct {
	names    []string // of the queries
	left     []data.LeftOut
	gallery  decide.Gallery
	distance rank.Distance
	dim      int
	source   decide.Source
	says     *decide.Calibration
	file     string // that it was read from
	near     func(ctx context.Context, query, k int) ([]nearItem, error)
	measures func(ctx context.Context) (*decide.Measures, error) // of the gallery
	// pictures opens the pictures of queries and of items, for a page at a path.
	pictures func(ctx context.Context, page string) (*identifyPictures, error)
	close    func()
}

// nearItem is a neighbour, and which item of the gallery it is.
type nearItem struct {
	decide.Neighbour
	row  int    // in a gallery of files
	name string // in an index: the path, or else the id
}

func neighboursOf(near []nearItem) []decide.Neighbour {
	out := make([]decide.Neighbour, len(near))
	for i := range near {
		out[i] = near[i].Neighbour
	}
	return out
}

func runIdentify(ctx context.Context, a *app, f *identifyFlags, photos []string) error {
	if f.index+f.in+f.embeddings == "" {
		return usagef("missing --index, --in or --embeddings: the gallery")
	}
	if f.index != "" && f.by()+f.in+f.embeddings != "" {
		return usagef("--index says all of network and gallery: --run, --network, --in and --embeddings go without it")
	}
	if f.vectors != "" && len(photos) > 0 || f.data != "" && len(photos) > 0 || f.vectors != "" && f.data != "" {
		return usagef("give photos, --data or --vector")
	}
	if err := cmp.Or(atLeast("queries", f.shown, 1), atLeast("neighbours", f.voters, 1), f.checkShares()); err != nil {
		return err
	}
	table := outFiles{f.output}
	if err := table.prepare(f.table); err != nil {
		return err
	}
	if f.dir != "" {
		if err := cmp.Or(f.settle("", identifyPage(0)), f.begin()); err != nil {
			return err
		}
	}
	l := &looker{close: func() {}}
	defer func() { l.close() }()
	open := f.inFiles
	if f.index != "" {
		open = f.inIndex
	}
	if err := open(ctx, a, l, photos); err != nil {
		return err
	}
	a.sayLeftOut(l.left)
	if err := l.says.Fits(l.source, l.distance.String(), l.dim); err != nil {
		return fmt.Errorf("%s: %w", l.file, err)
	}
	d, err := f.decider(ctx, l)
	if err != nil {
		return err
	}
	g := l.gallery
	res := &identified{Queries: []identifiedQuery{}, Gallery: g.Items, Classes: g.Classes, Distance: l.distance,
		FPIR: f.opt.FPIR, Coverage: f.opt.Coverage, ByClass: d.ByClass(), LeftOut: l.left}
	if err := res.decide(ctx, d, l, f); err != nil {
		return err
	}
	res.Summary = f.summary(d, l, res)
	if f.dir != "" {
		s := identifySheet{f: f, l: l, d: d, res: res}
		if s.same, err = l.says.Among(g, f.opt.Strangers); err != nil {
			return err
		}
		if res.Files, err = s.write(ctx); err != nil {
			return err
		}
	}
	if f.table != "" {
		if err := atomic.WriteFile(f.table, res.write); err != nil {
			return err
		}
		if err := table.made(f.table); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(res)
	}
	if err := a.printIdentified(res); err != nil {
		return err
	}
	return a.printSummary(res)
}

// checkShares refuses shares that are none, before photos are embedded. The library's zero value is the default.
func (f *identifyFlags) checkShares() error {
	for _, of := range []struct {
		flag  string
		value float64
		way   string
	}{
		{"fpir", f.opt.FPIR, "; --closed gives every photo a label"},
		{"strangers", f.opt.Strangers, ""},
		{"coverage", f.opt.Coverage, "; leave it out for no sets"},
	} {
		if f.given(of.flag) && !(of.value > 0 && of.value < 1) {
			return usagef("--%s %g: must be above 0 and below 1%s", of.flag, of.value, of.way)
		}
	}
	return nil
}

// decider takes the flags that apply to the calibration and the gallery, and refuses those that do not.
func (f *identifyFlags) decider(ctx context.Context, l *looker) (*decide.Decider, error) {
	by := l.says.Basis(l.gallery, f.opt)
	for _, of := range []struct {
		flag    string
		applies bool
		why     string
	}{
		{"fpir", by != decide.ByClosed, "every photo gets a label; kindred calibrate with --folds " +
			"or --data makes a calibration that tells strangers"},
		{"strangers", by == decide.ByNew, "the probability of a label is that among the classes of the gallery"},
		{"by-class", by == decide.ByNew, "items that training saw lie closer to each other than photos to them, so " +
			"that sets use the photos of the calibration"},
	} {
		if f.given(of.flag) && !of.applies {
			return nil, usagef("--%s does not apply, as %s was learned from photos of the classes of the gallery: %s",
				of.flag, l.file, of.why)
		}
	}
	if by == decide.ByClosed {
		f.opt.FPIR = 0
	}
	if by != decide.ByNew {
		f.opt.Strangers, f.byClass = 0, false
	} else {
		m, err := l.measures(ctx)
		if err != nil {
			return nil, err
		}
		if l.gallery.Apart = m.Apart; f.opt.Coverage > 0 && f.byClass {
			l.gallery.Spread = m.Spread
		}
	}
	d, err := l.says.Decider(l.gallery, f.opt)
	var rate *decide.RateError
	if errors.As(err, &rate) {
		err = fmt.Errorf("%w; %s", err, otherRates(l, f.opt))
	}
	return d, err
}

// otherRates says which rates the calibration does carry.
func otherRates(l *looker, opt decide.IdentifyOptions) string {
	var carried []string
	for _, rate := range askedRates {
		opt.FPIR = rate
		if _, err := l.says.Decider(l.gallery, opt); err == nil {
			carried = append(carried, fmt.Sprintf("--fpir %g", rate))
		}
	}
	switch {
	case len(carried) > 0:
		return "what it carries: " + strings.Join(carried, ", ")
	case l.says.Closed != nil:
		return "--closed gives every photo a label"
	}
	return "calibrate on more classes that training did not see"
}

// decide decides about every query, or about all together.
func (res *identified) decide(ctx context.Context, d *decide.Decider, l *looker, f *identifyFlags) error {
	together := identifiedQuery{}
	var photos [][]decide.Neighbour // of together
	for i, name := range l.names {
		near, err := l.reached(ctx, d, i)
		if err != nil {
			return err
		}
		var voters []nearItem
		if f.dir != "" {
			voters = slices.Clone(near[:min(len(near), d.Voters())])
		}
		if f.together {
			together.of, together.voters = append(together.of, i), append(together.voters, voters)
			photos = append(photos, neighboursOf(near))
			continue
		}
		got, err := d.Decide([][]decide.Neighbour{neighboursOf(near)})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		res.Queries = append(res.Queries, identifiedQuery{name, nil, got, []int{i}, [][]nearItem{voters}})
	}
	if len(photos) == 0 {
		return nil
	}
	var err error
	if together.Decision, err = d.Decide(photos); err != nil {
		return err
	}
	together.Query, together.Photos = l.names[0], l.names
	res.Queries = append(res.Queries, together)
	return nil
}

// reached finds the neighbours of a query until no class of a set can lie beyond.
func (l *looker) reached(ctx context.Context, d *decide.Decider, i int) ([]nearItem, error) {
	for k := d.Voters(); ; k *= 4 {
		near, err := l.near(ctx, i, k)
		if err != nil || len(near) < k || near[len(near)-1].Distance > d.Reach() {
			return near, err
		}
	}
}

// undecidedFirst are the decisions in the order in which a person looks at them: the unknown,
// then the least likely.
func (res *identified) undecidedFirst() []identifiedQuery {
	rows := slices.Clone(res.Queries)
	slices.SortStableFunc(rows, func(a, b identifiedQuery) int {
		if a.Unknown != b.Unknown {
			if a.Unknown {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Probability, b.Probability)
	})
	return rows
}

// write writes the table.
func (res *identified) write(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"path", "label", "probability", "runner_up", "unknown", "set"}); err != nil {
		return err
	}
	for _, q := range res.undecidedFirst() {
		if err := out.Write([]string{q.Query, q.Label, strconv.FormatFloat(q.Probability, 'f', 4, 64), q.RunnerUp,
			strconv.FormatBool(q.Unknown), strings.Join(q.Set, "|")}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (a *app) printIdentified(res *identified) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, q := range res.Queries {
		said := fmt.Sprintf("%s\t%.1f %%", q.Label, 100*q.Probability)
		if q.Unknown {
			said = fmt.Sprintf("unknown\t(%s: %.1f %%)", q.Label, 100*q.Probability)
		}
		fmt.Fprintf(w, "%s\t%s", q.Query, said)
		if q.RunnerUp != "" {
			fmt.Fprintf(w, "\tthen %s %.1f %%", q.RunnerUp, 100*q.RunnerUpProbability)
		}
		if res.Coverage > 0 {
			fmt.Fprintf(w, "\t{%s}", strings.Join(q.Set, ", "))
		}
		fmt.Fprintln(w)
	}
	if len(res.Files) > 0 {
		fmt.Fprintf(w, "\nwritten %s\n", strings.Join(res.Files, " "))
	}
	return w.Flush()
}

// learn reads the calibration that a file holds, unless the flags name another, and which is
// made from what of names.
func (l *looker) learn(f *identifyFlags, file, of string) (err error) {
	if l.file = cmp.Or(f.calibration, file); l.file == "" {
		return usagef("missing --calibration: kindred calibrate makes one")
	}
	l.says, err = calibrations.Load(l.file, of)
	if f.calibration != "" {
		return regular.Want(err, l.file, "a file of a calibration, as kindred calibrate writes it")
	}
	return err
}

// inIndex looks into an index.
func (f *identifyFlags) inIndex(ctx context.Context, a *app, l *looker, photos []string) error {
	x, err := a.readIndex(f.index)
	if err != nil {
		return err
	}
	info := x.Info()
	l.distance, l.dim, l.source, l.close = info.Distance, info.Dim, origin.OfIndex(info), func() { x.Close() }
	if err := l.learn(f, calibrations.File(f.index, true), f.index); err != nil {
		if missing := (*calibrations.MissingError)(nil); errors.As(err, &missing) {
			return fmt.Errorf("%w; of an index of the photos that a run was trained on, --calibration names that of "+
				"the run (RUN/%s)", err, decide.FileName)
		}
		return err
	}
	column := cmp.Or(f.column, "label")
	labels, err := x.Counts(column)
	if err != nil {
		return err
	}
	if l.gallery = decide.Counted(labels); len(labels) == 0 {
		return fmt.Errorf("no item of %s has a %s: identify tells by the labels of the gallery", f.index, column)
	}
	l.measures = func(ctx context.Context) (*decide.Measures, error) {
		return indexMeasures(ctx, a, x, column, labels)
	}
	to := items.OfIndex(x)
	q := &indexQuery{photos: photos, vectors: f.vectors}
	if f.data != "" {
		q.photos = []string{f.data}
	}
	list, left, err := q.collect(ctx, a, to, info.Dim)
	if err != nil {
		return err
	}
	l.left = left
	for i := range list {
		l.names = append(l.names, list[i].Name)
	}
	l.near = func(ctx context.Context, i, k int) (near []nearItem, err error) {
		got, err := to.LookUp(ctx, &list[i], items.Options{K: k, Exact: true, Distance: info.Distance})
		for _, n := range got.Neighbours {
			label := cmp.Or(store.FormatValue(n.Fields[column]), decide.Unlabelled)
			near = append(near, nearItem{decide.Neighbour{Label: label, Distance: n.Distance}, 0, cmp.Or(n.Path, n.ID)})
		}
		return near, err
	}
	l.pictures = func(ctx context.Context, page string) (*identifyPictures, error) {
		file := retrieval.ShownFiles(ctx, page, a.sayUnread)
		return &identifyPictures{query: func(i int) (report.Picture, error) { return file(list[i].Name) },
			item: func(n nearItem) (report.Picture, error) { return file(n.name) }}, nil
	}
	return nil
}

// indexMeasures measures the classes of an index. What it finds is kept in the folder of the index
// until items change.
func indexMeasures(ctx context.Context, a *app, x *index.Index, column string,
	labels map[string]int) (*decide.Measures, error) {
	file, of := filepath.Join(x.Dir(), decide.MeasuresFileName), x.State()+" "+column
	if m, err := decide.LoadMeasures(file, of); err == nil {
		return m, nil
	}
	info := x.Info()
	sampler := decide.NewSampler(labels, info.Dim)
	for it, err := range x.All() {
		if err = cmp.Or(err, ctx.Err()); err == nil {
			err = sampler.Add(store.FormatValue(it.Columns[column]), it.Vector)
		}
		if err != nil {
			return nil, err
		}
	}
	m, err := sampler.Measure(ctx, info.Distance)
	if err != nil {
		return nil, err
	}
	if err := m.Save(file, of); err != nil {
		fmt.Fprintf(a.err, "the next call measures again how far items lie from each other: %s\n",
			escape.Text(err.Error()))
	}
	return m, nil
}

// galleryMeasures measures the classes of a gallery, for sets of a coverage if that is above 0.
func galleryMeasures(ctx context.Context, x *mat.Dense, labels []string, by rank.Distance,
	coverage float64) (m *decide.Measures, err error) {
	m = &decide.Measures{}
	if m.Apart, err = decide.NewApart(ctx, x, labels, by); err == nil && coverage > 0 {
		m.Spread, err = decide.NewSpread(ctx, x, labels, by, coverage)
	}
	return m, err
}

// inFiles looks among photos or embeddings with labels.
func (f *identifyFlags) inFiles(ctx context.Context, a *app, l *looker, photos []string) error {
	if f.by()+f.embeddings+f.calibration == "" {
		return usagef("missing --calibration: kindred calibrate makes one")
	}
	var m *run.Model
	var err error
	if f.by() != "" || f.embeddings == "" || f.vectors == "" {
		if m, err = f.model(ctx, a); err != nil {
			return err
		}
	}
	of := &calibrations.Of{}
	if m != nil {
		if of, err = f.compared(m); err != nil {
			return err
		}
	}
	if of.File == "" && f.embeddings != "" {
		of.File, of.From = calibrations.File(f.embeddings, false), f.embeddings
	}
	l.source = of.Source
	if err := l.learn(f, of.File, of.From); err != nil {
		return err
	}
	f.k, f.scratch, f.distance = 1, 256, l.says.Distance.String()
	opt, err := f.options()
	if err != nil {
		return err
	}
	l.distance = opt.Distance
	var gallery *photoSet
	if m == nil {
		gallery, err = f.readGallery(ctx, a)
	} else {
		gallery, err = f.openGallery(ctx, a, m)
	}
	if err != nil {
		return err
	}
	l.close = gallery.close
	if gallery.table.X == nil || len(gallery.table.Columns) == 0 {
		return fmt.Errorf("%s has no labels: identify tells by the labels of the gallery",
			cmp.Or(f.embeddings, f.in))
	}
	var labels []string
	for i := range gallery.table.Rows() {
		labels = append(labels, gallery.label(i))
	}
	l.gallery = decide.NewGallery(labels)
	l.measures = func(ctx context.Context) (*decide.Measures, error) {
		return galleryMeasures(ctx, gallery.table.X, labels, l.distance, f.opt.Coverage)
	}
	l.dim = gallery.table.X.Cols
	queries, err := f.queries(ctx, a, m, photos)
	if err != nil {
		return err
	}
	l.close = func() { gallery.close(); queries.close() }
	if queries.table.X.Cols != l.dim {
		return fmt.Errorf("embeddings of %d numbers are looked up among some of %d: another network made them",
			queries.table.X.Cols, l.dim)
	}
	l.left = queries.left
	for i := range queries.table.Rows() {
		l.names = append(l.names, cmp.Or(queries.path(i), fmt.Sprintf("%s, row %d", f.vectors, i+1)))
	}
	l.near = nearIn(queries.set(), gallery, opt)
	l.pictures = func(ctx context.Context, page string) (*identifyPictures, error) {
		query, err := a.pictures(ctx, queries, page)
		if err != nil {
			return nil, err
		}
		item, err := a.pictures(ctx, gallery, page)
		return &identifyPictures{query, func(n nearItem) (report.Picture, error) { return item(n.row) }}, err
	}
	return nil
}

// readGallery reads the embeddings of a gallery, and opens its photos, which --in names, for
// the page.
func (f *identifyFlags) readGallery(ctx context.Context, a *app) (*photoSet, error) {
	t, err := a.labelled(f.embeddings, f.labels, oneColumn(f.column), f.strict)
	if err != nil || f.in == "" {
		return &photoSet{table: t}, err
	}
	photos := photoFlags{data: f.in, dataDir: f.dataDir}
	d, err := remotedata.Open(ctx, f.in, data.OpenOptions{Home: dataHome(f.dataDir), Unlabelled: true,
		Outside: f.outside})
	return &photoSet{table: t, data: d, root: photos.root()}, err
}

// queries embeds or reads what is identified.
func (f *identifyFlags) queries(ctx context.Context, a *app, m *run.Model, photos []string) (*photoSet, error) {
	if m != nil {
		m.Config.Data.Strict = f.strict // else they are named
	}
	switch {
	case f.vectors != "":
		t, err := formats().Read(f.vectors)
		if err == nil && t.X == nil {
			err = t.NoEmbeddings()
		}
		return &photoSet{table: t}, err
	case f.data != "":
		d, err := remotedata.Open(ctx, f.data, data.OpenOptions{Home: dataHome(f.dataDir), Unlabelled: true,
			Crop: m.Config.Data.Crop, Outside: f.outside, Formats: formats(), Strict: f.strict})
		if err != nil {
			return nil, err
		}
		root := photoFlags{data: f.data, dataDir: f.dataDir}
		return a.embedPhotos(ctx, m, d, root.root())
	}
	return openQueries(ctx, a, m, photos)
}

// nearIn ranks a block of queries at a time, and keeps what it found.
func nearIn(queries rank.Photos, gallery *photoSet, opt rank.Options) func(context.Context, int, int) (
	[]nearItem, error) {
	const block = 256
	kept, of := map[int][]rank.Found{}, 0
	return func(ctx context.Context, i, k int) (near []nearItem, err error) {
		if i/block != of {
			clear(kept)
			of = i / block
		}
		found, ok := kept[k]
		if !ok {
			lo, hi := of*block, min((of+1)*block, queries.X.Rows)
			part := rank.Photos{X: mat.Of(hi-lo, queries.X.Cols, queries.X.Data[lo*queries.X.Cols:hi*queries.X.Cols]),
				Path: func(i int) string { return queries.Path(lo + i) }}
			if found, err = rank.NearestPhotos(ctx, part, gallery.set(), k, opt); err != nil {
				return nil, err
			}
			kept[k] = found
		}
		n := found[i%block]
		for e, j := range n.Row {
			d := opt.Distance.From(n.Value[e])
			near = append(near, nearItem{decide.Neighbour{Label: gallery.label(int(j)), Distance: d}, int(j), ""})
		}
		return near, nil
	}
}
