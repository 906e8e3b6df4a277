package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/run"
)

// reviewFlags say which items kindred discover and kindred clean look at.
type reviewFlags struct {
	outDir
	labels, label string
	photos        photoFlags
	distance      string
	strict        bool
}

func (f *reviewFlags) add(cmd *cobra.Command, out string) {
	fs := cmd.Flags()
	fs.StringVar(&f.labels, "labels", "", "labels of a file of embeddings; default: those in it or beside it")
	fs.StringVar(&f.label, "label", "",
		"of a file of embeddings, the column of labels; default: coarse, else label")
	fs.StringVar(&f.distance, "distance", "",
		"euclidean or cosine; default: the run's, and of a file of embeddings euclidean")
	f.photos.add(cmd)
	cli.AddStrict(fs, &f.strict)
	f.outDir.add(cmd, out)
}

// oneItems is the argument of both commands.
func oneItems(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("want one argument, the folder of a run or a file of embeddings; got %d", len(args))
	}
	return nil
}

// reviewed are the items that are looked at, with all that is known of them.
type reviewed struct {
	review.Subjects
	x   *mat.Dense
	set *data.Dataset

	// Of a run, what it takes to train it again.
	cfg  *run.Config
	home string
}

func (r *reviewed) close() {
	if r.set != nil {
		r.set.Close()
	}
}

// open reads the items of a run or of a file of embeddings.
func (f *reviewFlags) open(ctx context.Context, a *app, arg string) (*reviewed, error) {
	st, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	var r *reviewed
	distance := rank.Euclidean
	if st.IsDir() {
		if f.labels+f.label != "" {
			return nil, usagef("--labels and --label go with a file of embeddings; a run has the labels it was " +
				"trained with")
		}
		r, distance, err = f.openRun(ctx, a, arg)
	} else {
		r, err = f.openTable(ctx, a, arg)
	}
	if err != nil {
		return nil, err
	}
	if f.distance != "" {
		if distance, err = rank.ParseDistance(f.distance); err != nil {
			return nil, usageError(err)
		}
	}
	switch distance {
	case rank.Euclidean:
	case rank.Cosine:
		r.x = rank.Normalized(r.x)
	default:
		return nil, usagef("--distance %v: want euclidean or cosine", distance)
	}
	if err := r.pictures(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// openRun embeds the samples that a run trains and tests on.
func (f *reviewFlags) openRun(ctx context.Context, a *app, dir string) (*reviewed, rank.Distance, error) {
	m, err := run.Load(dir)
	if err != nil {
		return nil, 0, err
	}
	m.Config.Data.Strict = f.strict
	cfg := m.Config
	if f.photos.data != "" {
		cfg.Data.Name, cfg.Data.Path = "", f.photos.data
	}
	distance, err := rank.ParseDistance(cfg.Eval.Distance)
	if err != nil {
		return nil, 0, err
	}
	home := dataHome(f.photos.dataDir)
	cfg.Data.Outside = cfg.Data.Outside || f.photos.outside
	d, err := cfg.Data.Open(ctx, home, formats()...)
	if err != nil && f.photos.data == "" {
		err = run.Moved(err, dir)
	}
	if err != nil {
		return nil, 0, err
	}
	a.sayNotes(d)
	r := &reviewed{set: d, cfg: &cfg, home: home}
	r.Root = photo.Root(what(&cfg), home)
	part, err := r.choose(ctx, d, &cfg)
	if err != nil {
		r.close()
		return nil, 0, err
	}
	e, err := a.embed(ctx, m, part)
	if err != nil {
		r.close()
		return nil, 0, err
	}
	a.sayLeftOut(e.LeftOut)
	r.take(e)
	return r, distance, nil
}

// what is the data set of a configuration.
func what(cfg *run.Config) string {
	if cfg.Data.Path != "" {
		return cfg.Data.Path
	}
	return cfg.Data.Name
}

// choose lists the samples that the run trains or tests on, with the split.
func (r *reviewed) choose(ctx context.Context, d *data.Dataset, cfg *run.Config) (*data.Part, error) {
	c := &cfg.Data
	sel, err := d.SelectContext(ctx, data.Selection{Label: c.Label, Fine: c.Fine, Split: c.Split,
		TrainClasses: c.TrainClasses, TestClasses: c.TestClasses, Validation: c.Validation, Group: c.Group,
		Seed: cfg.Train.Seed})
	if err != nil {
		return nil, err
	}
	label, err := d.Labels(c.Label)
	if err != nil {
		return nil, err
	}
	of := map[int]string{}
	for _, p := range []struct {
		part *data.Part
		name string
	}{{sel.Query, "test"}, {sel.Gallery, "test"}, {sel.Seen, "test"}, {sel.Validation, "train"}, {sel.Train, "train"}} {
		if p.part == nil {
			continue
		}
		for _, i := range p.part.Index {
			of[i] = p.name
		}
	}
	part := &data.Part{Data: d, LabelClasses: label.Classes, FineClasses: label.Classes}
	for i := range d.Len() {
		if of[i] == "" {
			continue
		}
		part.Index = append(part.Index, i)
		part.Label = append(part.Label, label.IDs[i])
		r.Splits = append(r.Splits, of[i])
	}
	part.Fine = part.Label
	return part, nil
}

// take keeps what was embedded.
func (r *reviewed) take(e *run.Embedded) {
	r.x, r.Names = e.X, map[int64]string{}
	for l, n := range e.Part.LabelClasses {
		r.Names[int64(l)] = n
	}
	splits := r.Splits
	r.Splits = nil
	for _, p := range e.Pos {
		i := e.Part.Index[p]
		r.Index = append(r.Index, i)
		r.Labels = append(r.Labels, e.Part.Label[p])
		r.Paths = append(r.Paths, e.Part.Data.Names[i])
		r.Splits = append(r.Splits, splits[p])
	}
}

// openTable reads a file of embeddings with its labels.
func (f *reviewFlags) openTable(ctx context.Context, a *app, path string) (*reviewed, error) {
	t, err := formats().Read(path)
	if err != nil {
		return nil, err
	}
	if t, err = a.label(t, f.labels); err != nil {
		return nil, err
	}
	split := slices.IndexFunc(t.Columns, func(c embedding.Column) bool { return c.Name == "split" })
	var splits []string
	if split >= 0 {
		for i := range t.Rows() {
			splits = append(splits, t.Columns[split].At(i))
		}
	}
	column := f.label
	if column == "" {
		column = "label"
		if slices.ContainsFunc(t.Columns, func(c embedding.Column) bool { return c.Name == "coarse" }) {
			column = "coarse"
		}
	}
	if t, err = t.Select(column); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	ids, names := t.NamedLabels()
	r := &reviewed{x: t.X, Subjects: review.Subjects{Labels: ids[0], Names: names[0], Paths: t.Files, Splits: splits,
		Root: f.photos.root()}}
	d, err := f.photos.open(ctx, t.Files, path)
	if d == nil || err != nil {
		return r, err
	}
	r.set = d
	at := make(map[string]int, d.Len())
	for i, n := range d.Names {
		at[n] = i
	}
	for _, n := range t.Files {
		i, ok := at[n]
		if !ok {
			r.close()
			return nil, fmt.Errorf("data set %s has no item called %q, which %s names", d.Name, n, path)
		}
		r.Index = append(r.Index, i)
	}
	return r, nil
}

// pictures has the items' pictures read from the data set, if that holds any.
func (r *reviewed) pictures(ctx context.Context) (err error) {
	if r.set != nil && r.set.Source != nil {
		r.Picture, err = photo.Of(ctx, r.set, r.Paths)
	}
	return err
}

// csvFile is a table to be written.
type csvFile struct {
	name string
	rows [][]string
}

// writeAll writes tables and the page, which is made before anything is written, into
// the folder of --out, and returns where they are.
func (f *reviewFlags) writeAll(tables []csvFile, page func() (*review.Page, error)) ([]string, error) {
	var texts []textFile
	for _, t := range tables {
		texts = append(texts, textFile{t.name, func(w io.Writer) error {
			out := csv.NewWriter(w)
			return errors.Join(out.WriteAll(t.rows), out.Error())
		}})
	}
	p, err := page()
	if err != nil {
		return nil, err
	}
	files, err := written(append(texts, textFile{review.DataName, bytesOf(p.JSON)},
		textFile{review.FileName, bytesOf(p.HTML)})...)
	if err != nil {
		return nil, err
	}
	return f.put(files...)
}
