package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/run"
)

type cleanFlags struct {
	reviewFlags
	apply      string
	least      float64
	folds      int
	neighbours int
	noPictures bool
}

// cleaned is what kindred clean --json prints.
type cleaned struct {
	Items int `json:"items"`
	// Wrong is the estimated share of wrong labels; Folds how often the run was
	// trained again, 0 if its own embedding judged.
	Wrong      float64       `json:"wrong"`
	Folds      int           `json:"folds"`
	Pictures   bool          `json:"pictures"` // were compared, for copies
	Labels     int           `json:"labels"`
	Duplicates int           `json:"duplicates"`
	Blank      int           `json:"blank"`
	Outliers   int           `json:"outliers"`
	Suspects   []suspect     `json:"suspects"`
	Overlaps   []overlapping `json:"overlaps"`
	Confused   []confusion   `json:"confused"`
	Files      []string      `json:"files"`
}

// suspect is a line of suspects.csv.
type suspect struct {
	ID        int     `json:"id"`
	Path      string  `json:"path"`
	Label     string  `json:"label"`
	Suggested string  `json:"suggested"`
	Score     float64 `json:"score"`
	Reason    string  `json:"reason"`

	item   int
	beside int  // of a copy, the other; -1 for none
	wrong  bool // its label is
}

type overlapping struct {
	A      string  `json:"a"`
	B      string  `json:"b"`
	Mixing float64 `json:"mixing"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// confusion is a label and a class: so many items with the label probably belong to the
// class.
type confusion struct {
	Label string  `json:"label"`
	Class string  `json:"class"`
	Items int     `json:"items"`
	Wrong float64 `json:"wrong"`
}

func newClean(a *app) *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:   "clean RUN|EMBEDDINGS --out DIR",
		Short: "Find wrong labels, copies, odd items and classes that overlap",
		Long: `clean lists the items whose label their neighbours deny, pictures that are copies of
others, items unlike anything, and classes that overlap so much that they look like
one. RUN is the folder of a finished run, whose training and test samples are embedded
and judged by the labels it was trained with; EMBEDDINGS a file of embeddings with
labels.

A network that was trained on a wrong label defends it. --folds 3 trains the run again
three times, each time without a third of the items, which are then judged in that
embedding. Embeddings by a network that the labels had no part in need no folds.

It writes to DIR suspects.csv (id, path, label, suggested, score, reason), overlaps.csv
and review.html, on which a person decides by keys and saves a corrected manifest.
--apply writes manifest.csv without asking: relabel gives the items whose score is at
least --least the label suggested, drop leaves them out.`,
		Example: `  kindred clean runs/photos --out suspects
  kindred clean runs/photos --folds 3 --out suspects-3
  kindred clean E.parquet --label label --apply drop --out dropped`,
		Args: oneItems,
		RunE: func(cmd *cobra.Command, args []string) error { return runClean(cmd.Context(), a, &f, args[0]) },
	}
	fs := cmd.Flags()
	fs.IntVar(&f.folds, "folds", 0, "train the run again so many times, each time without a part of the items; 0: not")
	fs.Float64Var(&f.least, "least", 0.5, "least score of a suspect")
	fs.IntVar(&f.neighbours, "neighbours", 15, "nearest items that vote on a label")
	fs.StringVar(&f.apply, "apply", "", "also write manifest.csv with suspected labels corrected: relabel or drop")
	fs.BoolVar(&f.noPictures, "no-pictures", false, "do not read the pictures: no copies, and a page of texts")
	f.add(cmd, "folder to write to; created if missing")
	return cmd
}

func runClean(ctx context.Context, a *app, f *cleanFlags, arg string) error {
	if f.dir == "" {
		return usagef("missing --out")
	}
	if f.apply != "" && f.apply != "relabel" && f.apply != "drop" {
		return usagef("--apply %q: want relabel or drop", f.apply)
	}
	if err := cmp.Or(between("least", f.least, 0, 1), atLeast("neighbours", f.neighbours, 1),
		atLeast("folds", f.folds, 0)); err != nil {
		return err
	}
	if f.folds == 1 {
		return usagef("--folds 1: want at least 2, or 0 for none")
	}
	files := []string{"suspects.csv", "overlaps.csv", review.FileName, review.DataName}
	if f.apply != "" {
		files = append(files, "manifest.csv")
	}
	if err := f.settle("", files...); err != nil {
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
	out := &cleaned{Items: len(r.Labels), Folds: f.folds, Suspects: []suspect{}, Overlaps: []overlapping{},
		Confused: []confusion{}, Pictures: !f.noPictures && r.set != nil && r.set.Source != nil}
	if !out.Pictures && !f.noPictures {
		fmt.Fprintf(a.err, "there are no pictures of %s, so copies are not searched for; --data says where the "+
			"pictures are\n", escape.Name(arg))
	}
	if err := f.find(ctx, a, r, out); err != nil {
		return err
	}
	if err := f.write(ctx, r, out); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(out)
	}
	return a.printCleaned(out)
}

// find looks for all that may be wrong.
func (f *cleanFlags) find(ctx context.Context, a *app, r *reviewed, out *cleaned) error {
	folds := []clean.Fold{{X: r.x}}
	if f.folds > 0 {
		var err error
		if folds, err = f.train(ctx, a, r); err != nil {
			return err
		}
	}
	j, err := clean.Labels(ctx, r.Labels, clean.Options{Neighbours: f.neighbours, Seed: a.seed}, folds...)
	if err != nil {
		return err
	}
	out.Wrong = j.Wrong
	for _, c := range j.Confused {
		out.Confused = append(out.Confused, confusion{r.ClassName(c.Label), r.ClassName(c.Class), c.Items, c.Wrong})
	}
	for _, i := range j.Suspects(f.least) {
		to := r.ClassName(j.Suggested[i])
		out.Suspects = append(out.Suspects, suspect{item: i, beside: -1, wrong: true, Suggested: to, Score: j.Score[i],
			Reason: fmt.Sprintf("label: of its %d nearest %d are %s and %d %s", j.Neighbours, j.Votes[i], to,
				j.Agree[i], r.Label(i))})
		out.Labels++
	}
	if err := f.copies(ctx, a, r, out); err != nil {
		return err
	}
	odd, err := clean.Outliers(ctx, r.x, 0, 0.05)
	if err != nil {
		return err
	}
	for _, o := range odd {
		out.Suspects = append(out.Suspects, suspect{item: o.Item, beside: -1, Score: o.Score,
			Reason: fmt.Sprintf("odd: %.1f times as far from its neighbours as these are from theirs",
				min(o.Times, 1e6))})
		out.Outliers++
	}
	for k := range out.Suspects {
		s := &out.Suspects[k]
		s.ID, s.Path, s.Label = r.ID(s.item), r.Name(s.item), r.Label(s.item)
	}
	pairs, err := clean.Overlaps(ctx, r.x, r.Labels, 0, 0.5)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		out.Overlaps = append(out.Overlaps, overlapping{r.ClassName(p.A), r.ClassName(p.B), p.Mixing, p.Low, p.High})
	}
	return nil
}

// copies compares the pictures.
func (f *cleanFlags) copies(ctx context.Context, a *app, r *reviewed, out *cleaned) error {
	read, err := r.pictures(ctx)
	if err != nil || read == nil || f.noPictures {
		return err
	}
	prints := make([]*clean.Print, len(r.Labels))
	meter := a.newMeter("pictures", countUnit)
	for i := range prints {
		if im, err := read(i); err == nil { // those that cannot be read have been named
			prints[i] = clean.NewPrint(im)
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
		meter.count(i+1, len(prints))
	}
	meter.close()
	meter = a.newMeter("pictures compared", countUnit)
	found, err := clean.Duplicates(ctx, prints, r.x, meter.count)
	meter.close()
	if err != nil {
		return err
	}
	likeness := map[int]clean.Copy{}
	for _, c := range found {
		if was, ok := likeness[c.B]; !ok || c.Likeness > was.Likeness {
			likeness[c.B] = c
		}
	}
	items := make([]int, 0, len(likeness))
	for i := range likeness {
		items = append(items, i)
	}
	slices.Sort(items)
	for _, i := range items {
		c := likeness[i]
		reason := "copy: the same picture as " + r.Name(c.A)
		suggested := ""
		if r.Labels[c.A] != r.Labels[i] {
			suggested = r.Label(c.A)
			reason += ", which is labelled " + suggested
		}
		if r.Split(c.A) != r.Split(i) {
			reason += fmt.Sprintf(", on the other side of the split (%s, %s)", r.Split(c.A), r.Split(i))
		}
		out.Suspects = append(out.Suspects, suspect{item: i, beside: c.A, Suggested: suggested,
			Score: c.Likeness, Reason: reason})
		out.Duplicates++
	}
	for i, p := range prints {
		if p != nil && p.Blank() {
			out.Suspects = append(out.Suspects, suspect{item: i, beside: -1, Score: 1,
				Reason: "blank: the picture is of one grey"})
			out.Blank++
		}
	}
	return nil
}

// train trains the run again without each fold, and embeds all items.
func (f *cleanFlags) train(ctx context.Context, a *app, r *reviewed) ([]clean.Fold, error) {
	if r.cfg == nil {
		return nil, usagef("--folds trains a run again: give the folder of a run, not a file of embeddings")
	}
	held := foldsOf(r.Labels, f.folds, a.seed)
	var out []clean.Fold
	for k := range f.folds {
		d := *r.set
		d.Splits, d.Disjoint = make([]data.Split, d.Len()), false
		for p, i := range r.Index {
			d.Splits[i] = data.Train
			if held[p] == k {
				d.Splits[i] = data.Test
			}
		}
		cfg := *r.cfg
		cfg.Data.Split, cfg.Data.TrainClasses, cfg.Data.TestClasses, cfg.Data.Validation = "official", "", "", "none"
		cfg.Train.Best, cfg.Eval.Every, cfg.Eval.Train, cfg.Eval.Keep = "none", cfg.Train.Epochs, 0, false
		fmt.Fprintf(a.err, "training fold %d of %d\n", k+1, f.folds)
		res, err := run.Train(ctx, cfg, run.Options{Dataset: &d, Home: r.home, Weights: a.findWeights(cli.Weights{})})
		if err != nil {
			return nil, fmt.Errorf("training without fold %d: %w", k+1, err)
		}
		m := &run.Model{Config: res.Config, Net: res.Net}
		part := &data.Part{Data: &d, Index: r.Index, Label: r.Labels, Fine: r.Labels}
		e, err := m.Embed(ctx, part)
		if err != nil {
			return nil, err
		}
		if len(e.Pos) != len(r.Index) {
			return nil, fmt.Errorf("%d of %d pictures could not be read again", len(r.Index)-len(e.Pos), len(r.Index))
		}
		fold := clean.Fold{X: e.X}
		for p, h := range held {
			if h == k {
				fold.Held = append(fold.Held, p)
			}
		}
		out = append(out, fold)
	}
	return out, nil
}

// foldsOf deals the items of every class into folds.
func foldsOf(labels []int64, folds int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0xf01d))
	next := map[int64]int{}
	out := make([]int, len(labels))
	for _, i := range rng.Perm(len(labels)) {
		y := labels[i]
		if _, ok := next[y]; !ok {
			next[y] = rng.IntN(folds)
		}
		out[i] = next[y] % folds
		next[y]++
	}
	return out
}

// write writes the files.
func (f *cleanFlags) write(ctx context.Context, r *reviewed, out *cleaned) error {
	rows := [][]string{{"id", "path", "label", "suggested", "score", "reason"}}
	for _, s := range out.Suspects {
		rows = append(rows, []string{strconv.Itoa(s.ID), s.Path, s.Label, s.Suggested, fmt.Sprintf("%.4f", s.Score),
			s.Reason})
	}
	overlaps := [][]string{{"a", "b", "mixing", "low", "high"}}
	for _, p := range out.Overlaps {
		overlaps = append(overlaps, []string{p.A, p.B, fmt.Sprintf("%.3f", p.Mixing), fmt.Sprintf("%.3f", p.Low),
			fmt.Sprintf("%.3f", p.High)})
	}
	tables := []csvFile{{"suspects.csv", rows}, {"overlaps.csv", overlaps}}
	if f.apply != "" {
		to := map[int]string{}
		for _, s := range out.Suspects {
			if s.wrong {
				to[s.item] = s.Suggested
			}
		}
		label := func(i int) string { return cmp.Or(to[i], r.Label(i)) }
		keep := func(i int) bool { return f.apply == "relabel" || to[i] == "" }
		tables = append(tables, csvFile{"manifest.csv", r.Manifest(label, nil, keep)})
	}
	var err error
	out.Files, err = f.writeAll(tables, func() (*review.Page, error) { return f.page(ctx, r, out) })
	return err
}

// suspectsShown is how many suspects the page asks about.
const suspectsShown = 600

// page asks about every suspect.
func (f *cleanFlags) page(ctx context.Context, r *reviewed, out *cleaned) (*review.Page, error) {
	read, err := r.pictures(ctx)
	if err != nil {
		return nil, err
	}
	if f.noPictures {
		read = nil
	}
	typical := map[string]int{} // an item of each class that nobody suspects
	suspected := map[int]bool{}
	for _, s := range out.Suspects {
		suspected[s.item] = true
	}
	for i := range r.Labels {
		if _, ok := typical[r.Label(i)]; !ok && !suspected[i] {
			typical[r.Label(i)] = i
		}
	}
	p := &review.Page{Title: "Suspects", Items: r.Items()}
	for _, s := range out.Suspects[:min(len(out.Suspects), suspectsShown)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		card := review.Card{Items: []int{s.item}, Title: s.Label + ": " + s.Path, Reason: s.Reason, Score: s.Score,
			Suggested: s.Suggested, Pictures: []review.Picture{shot(read, s.item, s.Path)}}
		if s.beside >= 0 {
			card.Pictures = append(card.Pictures, shot(read, s.beside, r.Name(s.beside)))
		}
		for _, class := range []string{s.Label, s.Suggested} {
			if i, ok := typical[class]; ok && s.wrong {
				card.Pictures = append(card.Pictures, shot(read, i, "a "+class))
			}
		}
		p.Cards = append(p.Cards, card)
	}
	p.Lead = fmt.Sprintf("Of %s %.1f %% are estimated to have a wrong label. Labels that are suspected: %d; pictures "+
		"that are copies: %s, of one grey: %d; items unlike anything: %d.", count(len(r.Labels), "item"),
		100*out.Wrong, out.Labels, out.copies(), out.Blank, out.Outliers)
	if n := len(out.Suspects) - suspectsShown; n > 0 {
		p.Lead += fmt.Sprintf(" In suspects.csv are more: %d.", n)
	}
	return p, nil
}

// copies is how many there are, where they were looked for.
func (c *cleaned) copies() string {
	if !c.Pictures {
		return "not looked for"
	}
	return strconv.Itoa(c.Duplicates)
}

// suspectsPrinted is how many lines the terminal gets.
const suspectsPrinted = 20

func (a *app) printCleaned(c *cleaned) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "score\tlabel\tsuggested\titem\treason")
	for _, s := range c.Suspects[:min(len(c.Suspects), suspectsPrinted)] {
		fmt.Fprintf(w, "%.2f\t%s\t%s\t%s\t%s\n", s.Score, escape.Name(s.Label), escape.Name(s.Suggested),
			escape.Name(s.Path), escape.Name(s.Reason))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if n := len(c.Suspects) - suspectsPrinted; n > 0 {
		fmt.Fprintf(a.out, "and %d more\n", n)
	}
	for _, p := range c.Confused[:min(len(c.Confused), suspectsPrinted)] {
		fmt.Fprintf(a.out, "about %.0f of the %d labelled %s are likely to be %s\n", p.Wrong, p.Items,
			escape.Name(p.Label), escape.Name(p.Class))
	}
	for _, p := range c.Overlaps {
		fmt.Fprintf(a.out, "%s and %s look like one class: neighbours are mixed by %.0f %% of what chance would give\n",
			escape.Name(p.A), escape.Name(p.B), 100*p.Mixing)
	}
	blank := ""
	if c.Blank > 0 {
		blank = fmt.Sprintf(", pictures of one grey: %d", c.Blank)
	}
	page := c.Files[len(c.Files)-1]
	_, err := fmt.Fprintf(a.out, "of %s %.1f %% are estimated to have a wrong label; labels suspected: %d, "+
		"copies: %s, odd "+
		"items: %d%s\ndecide about them on %s, or with 'kindred serve --review %s'\n", count(c.Items, "item"),
		100*c.Wrong,
		c.Labels, c.copies(), c.Outliers, blank, escape.Name(page), escape.Name(filepath.Dir(page)))
	return err
}
