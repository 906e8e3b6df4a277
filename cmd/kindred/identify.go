package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/app/cli"
	"github.com/kindred-ml/kindred/app/cli/calibrate"
	"github.com/kindred-ml/kindred/app/calibrations"
	"github.com/kindred-ml/kindred/app/cli/identify"
	"github.com/kindred-ml/kindred/app/origin"
	"github.com/kindred-ml/kindred/app/lookup"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/base/spell"
)

type identifyFlags struct {
	lookupFlags
	outDir
	choiceFlags
	calibration, data, table string
	opt                      identify.Options
	shown, voters            int // photos, and neighbours of each, on the pages
}

func newIdentify(a *app) *cobra.Command {
	var f identifyFlags
	f.way = ": use --vector"
	cmd := &cobra.Command{
		Use:               "identify PHOTO... --index INDEX | --run DIR --in PATH | --embeddings FILE | --choices A,B",
		ValidArgsFunction: anyFile,
		Short:             "Give photos a label with its probability, or call them unknown",
		Long: `identify looks photos up in a gallery with labels. It prints for each photo the likeliest
label with its probability and the runner-up, or that the photo is unknown. It decides by the
calibration that kindred calibrate made for the network.

With an open calibration, at most the share --fpir of the photos whose class is not in the
gallery gets a label, in 95 of 100 cases, for a gallery of this size. With a closed
calibration, or with --closed, every photo gets the likeliest class that training saw, and its
probability is among these classes. A summary says how many photos have a label, why the
others have none, and how many would have one at another --fpir.

--coverage 0.95 adds a set of labels that contains the right one with this probability, if its
class is in the gallery: for every class with enough items there, and on average over the other
classes.

The gallery is an index (--index), the photos of --in with the network of --run, or a file of
embeddings with labels. A photo or an embedding that is in the gallery itself is left out of
its own answer, which names it. PHOTO may
be a folder, and --data a data set: all their photos are identified. --table FILE.csv writes
path, label, probability, runner_up, unknown and set of each photo, the undecided first.
--together decides once for all photos, as photos of one thing.

--choices gives the labels as words instead, with --words for the text tower that was trained
together with --network, or that --index remembers. There is no gallery and no calibration then.

--out DIR explains the decisions: identify.html shows each photo with its decision, the distance
and the bound that decided, and the neighbours that voted. The undecided come first; many photos
fill more pages.`,
		Example: `  kindred identify photo.jpg --index photos.index
  kindred identify photo.jpg --run runs/photos --in photos/ --coverage 0.95 --json
  kindred identify photo.jpg --index photos.index --choices boot,sandal,sneaker
  kindred identify front.jpg back.jpg --together --index photos.index --out why
  kindred identify --data new-photos/ --index photos.index --table decisions.csv`,
		Args: func(_ *cobra.Command, photos []string) error {
			if len(photos) == 0 && f.vectors+f.data == "" {
				return usagef("missing argument PHOTO, --data or --vector: the photos to identify")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, photos []string) error {
			f.opt.Given = cmd.Flags().Changed
			if err := f.check(cmd, photos); err != nil {
				return err
			}
			if f.choices != nil {
				return f.choose(cmd.Context(), a, photos)
			}
			return f.identify(cmd.Context(), a, photos)
		},
	}
	f.add(cmd)
	return cmd
}

// add adds the flags.
func (f *identifyFlags) add(cmd *cobra.Command) {
	fs := flagsOf(cmd)
	fs.text(&f.index, "index", "", "gallery and network: an index", folders)
	fs.text(&f.in, "in", "", "gallery: a folder of classes, a manifest, an archive or a data set by name", dataSets)
	fs.embeddings(&f.embeddings, "gallery: embeddings with labels")
	fs.labels(&f.labels, "labels of --embeddings")
	fs.column(&f.column, "column of labels; "+firstColumn+"; label for an index")
	fs.vector(&f.vectors, "embeddings by the same network, instead of photos")
	fs.forceNetwork(&f.forceNetwork)
	fs.text(&f.data, "data", "", "data set by name or path, instead of photos", dataSets)
	fs.dataDir(&f.dataDir)
	fs.text(&f.calibration, "calibration", "", "file of the calibration; default: in the folder of the index or "+
		"the run, or beside --embeddings", anyFile)
	fs.Float64Var(&f.opt.FPIR, "fpir", 0.05, "share of unknown photos that may get a label")
	fs.Float64Var(&f.opt.Strangers, "strangers", 0.5,
		"expected share of photos whose class is not in the gallery")
	fs.Float64Var(&f.opt.Coverage, "coverage", 0,
		"also print a set of labels that contains the right one with this probability")
	fs.BoolVar(&f.opt.Closed, "closed", false, "give every photo a label: the likeliest class of the run")
	fs.BoolVar(&f.opt.ByClass, "by-class", true, "compute sets of --coverage from the class's own items if it has "+
		"enough (19 for 0.95), else from the classes of the calibration")
	fs.BoolVar(&f.opt.Together, "together", false, "all photos are of one thing")
	fs.text(&f.table, "table", "", "file to write the decisions to, the undecided first (.csv)", anyFile)
	f.outDir.add(cmd, "folder for identify.html, which shows why; created if missing", "table")
	fs.IntVar(&f.shown, "queries", 200, "decisions to show on the pages of --out, the undecided first")
	fs.IntVar(&f.voters, "neighbours", 12, "neighbours to show of each photo on the pages of --out")
	fs.outside(&f.outside)
	cli.AddStrict(fs.FlagSet, &f.strict)
	f.choiceFlags.add(fs)
	f.modelFlags.add(cmd)
}

// from returns the lookup. Embeddings need no network if the queries are embeddings too.
func (f *identifyFlags) from() source {
	if f.choices != nil {
		return byChoice
	}
	if of := f.source(); of != inEmbeddings || f.by() != "" || f.vectors == "" {
		return of
	}
	return inVectors
}

// check refuses flags with wrong values and flags that do not apply.
func (f *identifyFlags) check(cmd *cobra.Command, photos []string) error {
	if f.from() == 0 {
		return usagef("missing --index, --in, --embeddings or --choices: the gallery or the labels")
	}
	if err := refuseOf(cmd, f.from(), []sourceRule{
		{"in embeddings", inTable, "", oneGallery},
		{"run network", byNetwork | byChoice, "", ownNetwork},
		{networkFlagNames, byNetwork | byChoice, "",
			"photos are not embedded by a network of --network"},
		{"vector calibration fpir strangers coverage closed together table out", anywhere, "",
			"the network decides, without a gallery and a calibration"},
		{"words template", byChoice, "", "labels are those of a gallery; --choices gives words"},
		{"labels", inEmbeddings | inVectors, "", ownLabels},
		{"column", inEmbeddings | inVectors | inIndex, "", ownLabels},
		{"data-dir allow-outside", anywhere | byChoice, "in data", forASet},
		{"by-class", anywhere, "coverage", "it needs the sets of labels"},
		{"queries neighbours", anywhere, "out", "it applies to the pages"},
		{"force", anywhere, "out table", "it replaces results of --out"},
		{origin.ForceFlag, anywhere, "embeddings vector", forAFile},
	}); err != nil {
		return err
	}
	if f.choices != nil {
		if f.data != "" && len(photos) > 0 {
			return usagef("give photos or --data")
		}
		if f.index != "" && f.by() != "" {
			return usagef("--run and --network do not apply to an index: %s", ownNetwork)
		}
		return f.choiceFlags.check(&f.lookupFlags)
	}
	if f.source() == inPhotos && f.by()+f.calibration == "" { // before a network is fetched
		return usagef("missing --calibration: kindred calibrate makes one")
	}
	if f.vectors != "" && len(photos) > 0 || f.data != "" && len(photos) > 0 || f.vectors != "" && f.data != "" {
		return usagef("give photos, --data or --vector")
	}
	return cmp.Or(atLeast("queries", f.shown, 1), atLeast("neighbours", f.voters, 1), f.checkShares())
}

func (f *identifyFlags) identify(ctx context.Context, a *app, photos []string) error {
	table := outFiles{f.output}
	if err := table.prepare(f.table); err != nil {
		return err
	}
	if err := cmp.Or(f.settle("", identifyPage(0)), f.begin()); err != nil {
		return err
	}
	at, err := f.open(ctx, a, f.from())
	if err != nil {
		return err
	}
	defer at.close()
	asked := &identify.Asked{}
	if err := f.learn(at, asked); err != nil {
		return err
	}
	queries, err := f.queries(ctx, a, at, photos, asked)
	if err != nil {
		return err
	}
	defer queries.Close()
	a.sayLeftOut(queries.LeftOut)
	if asked.Gallery, err = f.gallery(ctx, a, at, asked.Says.Distance); err != nil {
		return err
	}
	if err := f.compare(a, at, asked, queries); err != nil {
		return err
	}
	f.opt.Voters = f.dir != ""
	res, err := asked.Run(ctx, &f.opt)
	if err != nil {
		return err
	}
	res.LeftOut = queries.LeftOut
	if f.dir != "" {
		s := identifySheet{f: f, Asked: asked, queries: queries, res: res}
		if s.same, err = asked.Says.Among(asked.Known, f.opt.Strangers); err != nil {
			return err
		}
		if res.Files, err = s.write(ctx, a); err != nil {
			return err
		}
	}
	if f.table != "" {
		if err := atomic.WriteFile(f.table, res.Write); err != nil {
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

// learn reads the calibration of the gallery, or the file of --calibration.
func (f *identifyFlags) learn(at *place, to *identify.Asked) (err error) {
	of := at.of
	if of.File == "" && f.embeddings != "" {
		of.File, of.From = calibrations.File(f.embeddings, false), f.embeddings
	}
	if to.File = cmp.Or(f.calibration, of.File); to.File == "" {
		return usagef("missing --calibration: kindred calibrate makes one")
	}
	to.Says, err = calibrations.Load(to.File, of.From)
	switch missing := (*calibrations.MissingError)(nil); {
	case f.calibration != "":
		return regular.Want(err, to.File, "a file of a calibration, as kindred calibrate writes it")
	case f.index != "" && errors.As(err, &missing):
		return fmt.Errorf("%w; for an index of photos that a run was trained on, --calibration names the file of "+
			"the run (RUN/%s)", err, decide.FileName)
	}
	return err
}

// compare checks that the network of --vector and that of the calibration are the network of the lookup.
func (f *identifyFlags) compare(a *app, at *place, asked *identify.Asked, queries *lookup.Set) (err error) {
	all := at.party(cmp.Or(f.index, f.in))
	if t, ok := asked.Gallery.(*lookup.Table); ok && f.embeddings != "" {
		all = origin.OfTable(t.Table, f.embeddings)
		if at.model == nil { // nothing else names the network
			at.of.Source = all.Network
		}
	}
	if f.vectors != "" {
		if err := origin.Meet(origin.OfTable(queries.Table, f.vectors), all, f.forceNetwork, a.err); err != nil {
			return err
		}
	}
	if f.calibration == "" && at.of.From == f.embeddings {
		if err := at.of.CheckContent(asked.Says); err != nil {
			return fmt.Errorf("%w with --calibration", err)
		}
	}
	asked.Source, err = at.of.SourceFor(asked.Says, asked.File)
	return err
}

// queries embeds the photos to identify, or reads their embeddings.
func (f *identifyFlags) queries(ctx context.Context, a *app, at *place, photos []string, to *identify.Asked) (
	s *lookup.Set, err error) {
	if f.vectors == "" {
		if s, err = f.photos(ctx, a, at, photos, f.data); err == nil {
			to.Queries = s.Queries()
		}
		return s, err
	}
	s = &lookup.Set{}
	if s.Table, err = formats().Read(f.vectors); err != nil {
		return nil, err
	}
	if s.Table.X == nil {
		return nil, s.Table.NoEmbeddings()
	}
	to.Queries = s.Queries()
	if at.items != nil { // items of an index are not compared with photos
		to.Queries, err = lookup.ByVector(s.Table, f.vectors, at.of.Dim)
	}
	return s, err
}

// gallery returns the open index or store, or a table. It compares by the calibration's distance.
func (f *identifyFlags) gallery(ctx context.Context, a *app, at *place, by rank.Distance) (lookup.Gallery, error) {
	const noLabels = "identify needs a gallery with labels"
	if at.items != nil {
		count, err := at.items.Counts(ctx)
		if err == nil && len(count) == 0 {
			err = fmt.Errorf("no item of %s has a value of %s: %s", f.index, cmp.Or(f.column, "label"), noLabels)
		}
		return at.items, err
	}
	t, err := f.lookupFlags.table(ctx, a, at, true)
	if err != nil {
		return nil, err
	}
	if len(t.Table.Columns) == 0 {
		return nil, fmt.Errorf("%s has no labels: %s", cmp.Or(f.embeddings, f.in), noLabels)
	}
	t.Distance, t.Memory = by, 256<<20
	return t, nil
}

// checkShares refuses shares outside (0, 1) before photos are embedded. The library's zero value is the default.
func (f *identifyFlags) checkShares() error {
	for _, of := range []struct {
		flag  string
		value float64
		way   string
	}{
		{"fpir", f.opt.FPIR, "; --closed gives every photo a label"},
		{"strangers", f.opt.Strangers, ""},
		{"coverage", f.opt.Coverage, "; leave it out to print no sets"},
	} {
		if f.opt.Given(of.flag) && !(of.value > 0 && of.value < 1) {
			return usagef("--%s %g: must be above 0 and below 1%s", of.flag, of.value, of.way)
		}
	}
	return nil
}

func (a *app) printIdentified(res *identify.Result) error {
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
		if len(q.Itself) > 0 {
			fmt.Fprintf(w, "\tthis very picture: %s", firstNames(q.Itself))
		}
		fmt.Fprintln(w)
	}
	if len(res.Files) > 0 {
		fmt.Fprintf(w, "\nwritten %s\n", strings.Join(res.Files, " "))
	}
	return w.Flush()
}

// printSummary prints how many photos have a label and what other rates would give, to standard error.
func (a *app) printSummary(res *identify.Result) error {
	s := res.Summary
	n := len(res.Queries)
	fmt.Fprintf(a.err, "\n%d of %s named, %d unknown (%s); %s\n", s.Named, spell.Count(n, "decision"), s.Unknown,
		s.Mode, escape.Text(s.Why))
	if itself := res.Itself(); itself > 0 {
		fmt.Fprintf(a.err, "%d of %s are also items of the gallery: each is left out of its own answer\n", itself,
			spell.Count(n, "decision"))
	}
	if s.Mode == identify.Closed {
		_, err := fmt.Fprintf(a.err, "%d have a probability of %g or more\n", s.Sure, identify.Sure)
		return err
	}
	if s.From == calibrate.FromSeen {
		fmt.Fprintln(a.err, "the calibration was learned from classes that training saw: more unknown photos are "+
			"admitted than it says")
	}
	w := tabwriter.NewWriter(a.err, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "--fpir\tdistance\tknown named\twithout a bound\tnamed of these %d\n", n)
	for _, r := range s.Rates {
		if r.Refused != "" {
			fmt.Fprintf(w, "%g\t-\t-\t%s\t- (too few classes)\n", r.FPIR, r.AllowedText())
			continue
		}
		fmt.Fprintf(w, "%g\t%.4g\t%.1f %%\t%s\t%d\n", r.FPIR, r.Distance, 100*r.Known, r.AllowedText(), *r.Named)
	}
	return w.Flush()
}
