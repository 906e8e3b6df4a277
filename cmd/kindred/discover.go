package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/review"
)

type discoverFlags struct {
	reviewFlags
	method             string
	level              float64
	draws, most, least int
}

// discovered is what kindred discover --json prints.
type discovered struct {
	Items int `json:"items"`
	// Verdict says by what the classes were judged. The classes come surest first.
	Verdict string            `json:"verdict"`
	Kinds   int               `json:"kinds"`
	Method  string            `json:"method"`
	Classes []discoveredClass `json:"classes"`
	Files   []string          `json:"files"`
	// Next trains on what was found, where the pictures are files.
	Next string `json:"next,omitempty"`
}

type discoveredClass struct {
	Label      string           `json:"label"`
	Items      int              `json:"items"`
	P          float64          `json:"p"`
	Silhouette float64          `json:"silhouette"`
	Stability  float64          `json:"stability"`
	Kinds      []discoveredKind `json:"kinds"`
}

type discoveredKind struct {
	Kind      string   `json:"kind"`
	Items     int      `json:"items"`
	Stability float64  `json:"stability"`
	Exemplar  string   `json:"exemplar"`
	Different []string `json:"different"`
}

func newDiscover(a *app) *cobra.Command {
	var f discoverFlags
	cmd := &cobra.Command{
		Use:   "discover RUN|EMBEDDINGS --out DIR",
		Short: "Find the kinds of things inside each class",
		Long: `discover looks for several kinds of things in each class of an embedding. What a class
of one kind looks like is learned from the set's own classes, from 24 on; classes with
more in them are divided, and listed surest first. kindred train and kindred diagnose
judge by the same. RUN is the folder of a
finished run, whose training and test samples are embedded and looked at with the
labels it was trained with; EMBEDDINGS a file of embeddings with labels.

It writes to DIR kinds.csv (id, path, label, kind), classes.csv (a line for each kind:
its size, its stability, the member in the middle and the most different ones),
manifest.csv, with which kindred train trains on classes and kinds, and review.html,
on which a person accepts, splits, relabels or drops the kinds by keys and saves a
corrected manifest. Pictures come from the run's data set or from --data.`,
		Example: `  kindred discover runs/photos --out kinds
  kindred discover E.parquet --label label --out kinds-of-labels`,
		Args: oneItems,
		RunE: func(cmd *cobra.Command, args []string) error { return runDiscover(cmd.Context(), a, &f, args[0]) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.method, "method", "ward", "how classes are divided: ward or density")
	fs.Float64Var(&f.level, "level", 0.05, "share of the classes of one kind that may be divided by mistake; "+
		"1 divides all")
	fs.IntVar(&f.draws, "draws", 39, "clouds that a class is compared with where too few classes can be "+
		"learned from")
	fs.IntVar(&f.most, "most", 150, "most kinds in a class")
	fs.IntVar(&f.least, "least", 0,
		"fewest items of a kind; default: 4, of density a fiftieth of the class and at least 5")
	f.add(cmd, "folder to write to; created if missing")
	return cmd
}

func runDiscover(ctx context.Context, a *app, f *discoverFlags, arg string) error {
	if f.dir == "" {
		return usagef("missing --out")
	}
	method, err := discover.ParseMethod(f.method)
	if err != nil {
		return usageError(err)
	}
	for _, err := range []error{between("level", f.level, 1e-9, 1), atLeast("draws", f.draws, 1),
		atLeast("most", f.most, 2), atLeast("least", f.least, 0)} {
		if err != nil {
			return err
		}
	}
	if err := f.settle("", "kinds.csv", "classes.csv", "manifest.csv", review.FileName, review.DataName); err != nil {
		return err
	}
	r, err := f.open(ctx, a, arg)
	if err != nil {
		return err
	}
	defer r.close()
	if err := f.begin(); err != nil {
		return err
	}
	meter := a.newMeter("classes", countUnit)
	res, err := discover.Find(ctx, r.x, r.Labels, discover.Options{Method: method, Level: f.level, Draws: f.draws,
		Most: f.most, Least: f.least, Seed: a.seed, Progress: func(done, total int) { meter.count(done, total) }})
	meter.close()
	if err != nil {
		return err
	}
	surestFirst(res)
	out := &discovered{Items: len(r.Labels), Method: method.String(), Verdict: res.Verdict.String()}
	names := kindNames(r, res)
	for _, c := range res.Classes {
		dc := discoveredClass{Label: r.ClassName(c.Label), P: c.P, Silhouette: c.Silhouette, Stability: c.Stability}
		for _, k := range c.Kinds {
			dk := discoveredKind{Kind: names[k.Rows[0]], Items: len(k.Rows), Stability: k.Stability,
				Exemplar: r.Name(k.Exemplar), Different: []string{}}
			for _, i := range k.Different {
				dk.Different = append(dk.Different, r.Name(i))
			}
			dc.Items += len(k.Rows)
			dc.Kinds = append(dc.Kinds, dk)
		}
		out.Kinds += len(c.Kinds)
		out.Classes = append(out.Classes, dc)
	}
	if err := f.write(ctx, r, res, names, out); err != nil {
		return err
	}
	if _, err := os.Stat(r.ManifestPath(0)); err == nil && out.Kinds > len(out.Classes) {
		out.Next = commandLine(os.Args[0], "train", "--data", filepath.Join(f.dir, "manifest.csv"), "--allow-outside",
			"--set", "sample.name=hierarchical")
	}
	if a.json {
		return a.printJSON(out)
	}
	return a.printDiscovered(out)
}

// surestFirst sorts the classes by P, and classes of equal P by the stability of their
// kinds.
func surestFirst(res *discover.Result) {
	slices.SortStableFunc(res.Classes, func(a, b discover.Class) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(b.Stability, a.Stability))
	})
}

// kindNames names the kind of every item: the class and a number, or only the class if it
// has one kind.
func kindNames(r *reviewed, res *discover.Result) []string {
	taken := map[string]bool{}
	for _, c := range res.Classes {
		taken[r.ClassName(c.Label)] = true
	}
	out := make([]string, len(r.Labels))
	for _, c := range res.Classes {
		for k, kind := range c.Kinds {
			name := r.ClassName(c.Label)
			if len(c.Kinds) > 1 {
				name += " " + strconv.Itoa(k+1)
				for taken[name] { // a class may be called so
					name += "'"
				}
				taken[name] = true
			}
			for _, i := range kind.Rows {
				out[i] = name
			}
		}
	}
	return out
}

// write writes the files.
func (f *discoverFlags) write(ctx context.Context, r *reviewed, res *discover.Result, names []string,
	out *discovered) error {
	kinds := [][]string{{"id", "path", "label", "kind"}}
	for i := range r.Labels {
		kinds = append(kinds, []string{strconv.Itoa(r.ID(i)), r.Name(i), r.Label(i), names[i]})
	}
	classes := [][]string{{"label", "kind", "items", "stability", "p", "exemplar", "different_1", "different_2",
		"different_3", "different_4"}}
	for _, c := range out.Classes {
		for _, k := range c.Kinds {
			row := []string{c.Label, k.Kind, strconv.Itoa(k.Items), fmt.Sprintf("%.3f", k.Stability),
				fmt.Sprintf("%.4g", c.P), k.Exemplar}
			classes = append(classes, append(row, slices.Concat(k.Different, make([]string, 4-len(k.Different)))...))
		}
	}
	var err error
	out.Files, err = f.writeAll([]csvFile{{"kinds.csv", kinds}, {"classes.csv", classes},
		{"manifest.csv", r.Manifest(func(i int) string { return names[i] }, r.Label, nil)}},
		func() (*review.Page, error) { return kindsPage(ctx, r, res, names) })
	return err
}

// kindsShown is how many kinds the page asks about, those of the most divided classes.
const kindsShown = 400

// kindsPage asks about every kind of the classes that are divided.
func kindsPage(ctx context.Context, r *reviewed, res *discover.Result, names []string) (*review.Page, error) {
	read, err := r.pictures(ctx)
	if err != nil {
		return nil, err
	}
	p := &review.Page{Title: "Kinds inside the classes", Items: r.Items()}
	divided, left := 0, 0
	for _, c := range res.Classes {
		if len(c.Kinds) < 2 {
			continue
		}
		divided++
		for k, kind := range c.Kinds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if len(p.Cards) == kindsShown {
				left++
				continue
			}
			card := review.Card{Items: kind.Rows, Group: true, Class: r.ClassName(c.Label),
				Suggested: names[kind.Rows[0]],
				Title:     fmt.Sprintf("%s: kind %d of %d", r.ClassName(c.Label), k+1, len(c.Kinds)),
				Reason: fmt.Sprintf("%s; comes back with %.0f %% when a fifth of the items is left out. First the one "+
					"in the middle, then those that differ most.", count(len(kind.Rows), "item"), 100*kind.Stability)}
			for _, i := range slices.Concat([]int{kind.Exemplar}, kind.Different) {
				card.Pictures = append(card.Pictures, shot(read, i, r.Name(i)))
			}
			p.Cards = append(p.Cards, card)
		}
	}
	p.Lead = fmt.Sprintf("%v; %d divided, the surest first. What is split off becomes a class of its own in the "+
		"column label of the manifest; the column coarse keeps the class. A and S decide about all kinds of a class "+
		"that are left to decide.", &res.Verdict, divided)
	if left > 0 {
		p.Lead += fmt.Sprintf(" In kinds.csv are more kinds: %d.", left)
	}
	return p, nil
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if thing == "class" {
		return strconv.Itoa(n) + " classes"
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

func (a *app) printDiscovered(d *discovered) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "class\titems\tkinds\tp\tstability")
	for _, c := range d.Classes {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2g\t%.2f\n", escape.Name(c.Label), c.Items, len(c.Kinds), c.P, c.Stability)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out, d.Verdict)
	page := d.Files[len(d.Files)-1]
	if _, err := fmt.Fprintf(a.out, "%s in %s; decide about them on %s, or with 'kindred serve --review %s'\n",
		count(d.Kinds, "kind"), count(len(d.Classes), "class"), escape.Name(page),
		escape.Name(filepath.Dir(page))); err != nil {
		return err
	}
	if d.Next == "" {
		return nil
	}
	_, err := fmt.Fprintf(a.out, "or train on classes and kinds as they are:\n  %s\n", d.Next)
	return err
}
