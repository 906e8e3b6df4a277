package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/calibrate"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/decisions"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/serve/api"
)

type identifyFlags struct {
	lookup            inputs.LookupFlags
	to                outputs.Folder
	choices           choiceFlags
	calibration       string
	data, table       string
	opt               lookup.IdentifyOptions
	shown, neighbours int // photos, and neighbours of each, on the pages
}

func newIdentify(a *console.Console) *cobra.Command {
	f := identifyFlags{lookup: inputs.LookupFlags{Console: a}}
	f.lookup.Spec.Way = ": use --vector"
	cmd := &cobra.Command{
		Use:               "identify PHOTO... --index INDEX | --run DIR --in PATH | --embeddings FILE | --choices A,B",
		ValidArgsFunction: complete.Files,
		Short:             "Give photos a label with its probability, or call them unknown",
		Long: `identify looks photos up in a gallery with labels. It prints for each photo the likeliest
label with its probability and the runner-up, or that the photo is unknown. It decides by the
calibration that kindred calibrate made for the network.

With an open calibration, at most the share --fpir of the photos whose class is not in the
gallery gets a label, in 95 of 100 cases, in this gallery: photos of the calibration are
tried in it. --estimate admits about this share instead, without a bound. With a closed
calibration, or with --closed, every photo gets the likeliest class that training saw, and its
probability is among these classes. A summary says how many photos have a label, why the
others have none, and how many would have one at another --fpir.

--coverage 0.95 adds a set of labels that contains the right one with this probability, if its
class is in the gallery: for every class with enough items there, and on average over the other
classes.

The gallery is an index (--index), the photos of --in with the network of --run, or a file of
embeddings with labels. A photo that is in the gallery, as the same file or as a copy, is
answered with "this very picture", the label and the item. Such an item has no vote: the line
below says what the other items say, and the summary counts that. PHOTO may be a folder, and
--data a data set: all their photos are identified. --table FILE.csv writes a row for each
photo, the undecided first: path, label, probability, runner_up, unknown, set, answer (picture,
label or unknown), itself (the items that are the photo) and the others' vote.
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
			if len(photos) == 0 && f.lookup.Spec.Vector+f.data == "" {
				return cli.Usagef("missing argument PHOTO, --data or --vector: the photos to identify")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, photos []string) error {
			f.opt.Given = cmd.Flags().Changed
			if err := f.check(cmd, photos); err != nil {
				return err
			}
			if f.lookup.Spec.Choices {
				return f.identifyByWords(cmd.Context(), photos)
			}
			return f.identify(cmd.Context(), photos)
		},
	}
	f.add(cmd)
	return cmd
}

// add adds the flags.
func (f *identifyFlags) add(cmd *cobra.Command) {
	fs, spec := flags.New(cmd), &f.lookup.Spec
	fs.Text(&spec.Index, "index", "", "gallery and network: an index", complete.Folders)
	fs.Text(&spec.In, "in", "", "gallery: a folder of classes, a manifest, an archive or a data set by name",
		complete.Datasets)
	fs.Embeddings(&spec.Embeddings, "gallery: embeddings with labels")
	fs.Labels(&spec.Labels, "labels of --embeddings")
	fs.Column(&spec.Column, "column of labels; "+flags.FirstColumn+"; label for an index")
	fs.Vector(&spec.Vector, "embeddings by the same network, instead of photos")
	fs.ForceNetwork(&spec.ForceNetwork)
	fs.Text(&f.data, "data", "", "data set by name or path, instead of photos", complete.Datasets)
	fs.DataDir(&f.lookup.DataDir)
	fs.Text(&f.calibration, "calibration", "", "file of the calibration; default: in the folder of the index or "+
		"the run, or beside --embeddings", complete.Files)
	fs.Float64Var(&f.opt.FPIR, "fpir", decide.DefaultFPIR, "share of unknown photos that may get a label")
	fs.BoolVar(&f.opt.Estimate, "estimate", false, "admit about the share --fpir of unknown photos, without a bound: "+
		"more photos get a label, and about every second time more unknown ones than --fpir")
	fs.Float64Var(&f.opt.Strangers, "strangers", decide.DefaultStrangers,
		"expected share of photos whose class is not in the gallery")
	fs.Float64Var(&f.opt.Coverage, "coverage", 0,
		"also print a set of labels that contains the right one with this probability")
	fs.BoolVar(&f.opt.Closed, "closed", false, "give every photo a label: the likeliest class of the run")
	fs.BoolVar(&f.opt.ByClass, "by-class", true, "compute sets of --coverage from the class's own items if it has "+
		"enough (19 for 0.95), else from the classes of the calibration")
	fs.BoolVar(&f.opt.Together, "together", false, "all photos are of one thing")
	fs.Text(&f.table, "table", "", "file to write the decisions to, the undecided first (.csv)", complete.Files)
	f.to.Add(cmd, "folder for identify.html, which shows why; created if missing", "table")
	fs.IntVar(&f.shown, "queries", 200, "decisions to show on the pages of --out, the undecided first")
	fs.IntVar(&f.neighbours, "neighbours", 12, "neighbours to show of each photo on the pages of --out")
	fs.Outside(&f.lookup.Outside)
	cli.AddStrict(fs.FlagSet, &spec.Strict)
	f.choices.add(fs)
	inputs.AddTower(cmd, &spec.Words, inputs.TowerHelp+" of --index")
	f.lookup.Network.Add(cmd)
}

// check refuses flags with wrong values and flags that do not apply.
func (f *identifyFlags) check(cmd *cobra.Command, photos []string) error {
	spec := &f.lookup.Spec
	spec.Choices, spec.Memory = f.choices.labels != nil, 256<<20
	kind := spec.Kind()
	if kind == lookup.None {
		return cli.Usagef("missing --index, --in, --embeddings or --choices: the gallery or the labels")
	}
	if err := cmp.Or(f.lookup.Check(cmd), flags.Check(cmd, kind.String(),
		flags.When("words template", spec.Choices, "", "labels are those of a gallery; --choices gives words"),
		flags.When("by-class", !spec.Choices, "coverage", "it needs the sets of labels"),
		flags.When("queries neighbours", !spec.Choices, "out", "it applies to the pages"),
		flags.When("force", !spec.Choices, "out table", "it replaces results of --out"))); err != nil {
		return err
	}
	if f.data != "" && len(photos) > 0 || spec.Vector != "" && (len(photos) > 0 || f.data != "") {
		return cli.Usagef("give photos, --data or --vector")
	}
	if spec.Choices {
		if spec.Index != "" && f.lookup.Network.NetworkText() != "" {
			return cli.Usagef("--run and --network do not apply to an index: it contains its network")
		}
		return f.choices.check(spec)
	}
	if kind == lookup.Photos && f.lookup.Network.NetworkText()+f.calibration == "" { // before a network is fetched
		return cli.Usagef("missing --calibration: kindred calibrate makes one")
	}
	return cmp.Or(flags.CheckAtLeast("queries", f.shown, 1), flags.CheckAtLeast("neighbours", f.neighbours, 1),
		f.checkShares())
}

func (f *identifyFlags) identify(ctx context.Context, photos []string) error {
	a, table := f.lookup.Console, outputs.Files{Flags: f.to.Flags}
	if err := table.Prepare(f.table); err != nil {
		return err
	}
	if err := cmp.Or(f.to.Choose("", decisions.PageName(0)), f.to.Make()); err != nil {
		return err
	}
	source, err := lookup.Open(ctx, &f.lookup.Spec, &f.lookup)
	if err != nil {
		return err
	}
	defer source.Close()
	says, path, err := source.LoadCalibration(f.calibration)
	if err != nil {
		return err
	}
	set, queries, err := f.embedQueries(ctx, source, photos)
	if err != nil {
		return err
	}
	defer set.Close()
	by, err := source.NewIdentifier(ctx, set, queries, says, f.calibration, path)
	if err != nil {
		return err
	}
	f.opt.Voters = f.to.Dir != ""
	res, err := by.Run(ctx, &f.opt)
	if err != nil {
		return err
	}
	res.LeftOut = set.LeftOut
	if f.to.Dir != "" {
		pages := decisions.Pages{Identifier: by, Queries: set, Results: res, Strangers: f.opt.Strangers, Shown: f.shown,
			Neighbours: f.neighbours}
		if pages.Same, err = says.GalleryRates(*by.Basis.Known, f.opt.Strangers); err != nil {
			return err
		}
		if res.Files, err = pages.Write(ctx, &f.to, inputs.NoteUnread(a)); err != nil {
			return err
		}
	}
	if f.table != "" {
		if err := atomic.WriteFile(f.table, res.Write); err != nil {
			return err
		}
		if err := table.RecordMade(f.table); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.PrintJSON(res)
	}
	if err := printIdentified(a, res); err != nil {
		return err
	}
	return printSummary(a, res)
}

// embedQueries embeds the photos to identify, or reads their embeddings.
func (f *identifyFlags) embedQueries(ctx context.Context, source *lookup.Source, photos []string) (*lookup.Set,
	[]lookup.Query,
	error) {
	if f.lookup.Spec.Vector != "" {
		return source.ReadVectors()
	}
	return source.EmbedPhotos(ctx, photos, f.data)
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
			return cli.Usagef("--%s %g: must be above 0 and below 1%s", of.flag, of.value, of.way)
		}
	}
	return nil
}

func printIdentified(a *console.Console, res *lookup.Decisions) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, q := range res.Queries {
		if q.Answer == api.AnswerPicture {
			fmt.Fprintf(w, "%s\tthis very picture: %s\n\tthe other items:", q.Query,
				lookup.FormatSelf(q.PhotoIDs, q.PhotoLabels))
		} else {
			fmt.Fprint(w, q.Query)
		}
		v := q.EvaluatedVote()
		said := fmt.Sprintf("%s\t%.1f %%", v.Label, 100*v.Probability)
		if v.Unknown {
			said = fmt.Sprintf("unknown\t(%s: %.1f %%)", v.Label, 100*v.Probability)
		}
		fmt.Fprintf(w, "\t%s", said)
		if v.RunnerUp != "" {
			fmt.Fprintf(w, "\tthen %s %.1f %%", v.RunnerUp, 100*v.RunnerUpProbability)
		}
		if res.Coverage > 0 {
			fmt.Fprintf(w, "\t{%s}", strings.Join(v.Set, ", "))
		}
		fmt.Fprintln(w)
	}
	if len(res.Files) > 0 {
		fmt.Fprintf(w, "\nwritten %s\n", strings.Join(res.Files, " "))
	}
	return w.Flush()
}

// printSummary prints how many photos have a label and what other rates would give, to standard error.
func printSummary(a *console.Console, res *lookup.Decisions) error {
	s := res.Summary
	n := len(res.Queries)
	fmt.Fprintf(a.Err, "\n%d of %s with a label, %d unknown (%s); %s\n", s.Named, enum.Count(n, "decision"), s.Unknown,
		s.Mode, escape.Text(s.Why))
	if s.Pictures > 0 {
		fmt.Fprintf(a.Err, "%d of %s are items of the gallery: each is known, and the summary counts the votes of the "+
			"other items\n", s.Pictures, enum.Count(n, "decision"))
	}
	if s.Mode == lookup.ModeClosed {
		_, err := fmt.Fprintf(a.Err, "%d have a probability of %g or more\n", s.Sure, lookup.SureProbability)
		return err
	}
	if s.From == calibrate.FromSeen {
		fmt.Fprintln(a.Err, "the calibration was learned from classes that training saw: more unknown photos are "+
			"admitted than it says")
	}
	w := tabwriter.NewWriter(a.Err, 0, 0, 2, ' ', 0)
	needed := "distance"
	if s.Within == 0 {
		needed = "probability"
	}
	fmt.Fprintf(w, "--fpir\t"+needed+"\tknown named\twithout a bound\tnamed of these %d\n", n)
	for _, r := range s.Rates {
		if r.Refused != "" {
			fmt.Fprintf(w, "%g\t-\t-\t%s\t- (too few classes)\n", r.FPIR, r.AllowedText())
			continue
		}
		fmt.Fprintf(w, "%g\t%.4g\t%.1f %%\t%s\t%d\n", r.FPIR, cmp.Or(r.Needed, r.Distance), 100*r.Known,
			r.AllowedText(), *r.Named)
	}
	return w.Flush()
}
