// Package itemsource reads the items that kindred discover and kindred clean examine, from a run or from
// a file of embeddings.
package itemsource

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// Items has the items with their embeddings.
type Items struct {
	review.Subjects
	X   *matrix.Dense
	Set *data.Dataset // data set of the items; nil if a file has none
	// LeftOut lists the rows of a file that have no label.
	LeftOut []data.LeftOut

	// For a run, its settings, to train it again.
	Config *run.Config
	Home   string
}

// Close closes the data set.
func (r *Items) Close() {
	if r.Set != nil {
		r.Set.Close()
	}
}

// Normalize prepares the rows so that Euclidean distances are those of d: Euclidean, or Cosine, for which
// it scales rows to length 1.
func (r *Items) Normalize(d eval.Distance) error {
	switch d {
	case eval.Euclidean:
	case eval.Cosine:
		r.X = eval.NormalizeRows(r.X)
	default:
		return fmt.Errorf("distance %v: want euclidean or cosine", d)
	}
	return nil
}

// OpenPictures makes the items' pictures readable from the data set, if it has any.
func (r *Items) OpenPictures(ctx context.Context) (err error) {
	if r.Set != nil && r.Set.Source != nil {
		r.Picture, err = photo.NewReader(ctx, r.Set, r.Paths())
	}
	return err
}

// FromRun returns the samples that a run trains and tests on, from the data set of its configuration. The
// result keeps the data set open. embed embeds the samples.
func FromRun(ctx context.Context, d *data.Dataset, cfg *run.Config, home string,
	embed func(*data.Part) (*run.Embeddings, error)) (*Items, error) {
	r := &Items{Set: d, Config: cfg, Home: home}
	r.Root = photo.RootFolder(cmp.Or(cfg.Data.Path, cfg.Data.Name), home)
	part, splits, err := chooseSamples(ctx, d, cfg)
	if err != nil {
		return nil, err
	}
	e, err := embed(part)
	if err != nil {
		return nil, err
	}
	r.X, r.Names = e.X, map[int64]string{}
	finer, err := d.Column("fine")
	if err != nil {
		return nil, err
	}
	judged := trainingColumn(cfg, d)
	finest := d.Levels != nil && d.Levels.Scored == judged // finer folders are no classes
	differs := false
	others := manifestColumns(d, judged)
	for k := range others {
		r.Others = append(r.Others, embedding.Column{Name: others[k].Name})
	}
	for l, n := range e.Part.LabelClasses {
		r.Names[int64(l)] = n
	}
	for _, p := range e.Pos { // all samples that could be read
		i := e.Part.Index[p]
		r.Index = append(r.Index, i)
		r.Labels = append(r.Labels, e.Part.Label[p])
		r.Items = append(r.Items, e.Part.Data.Item(i))
		r.Splits = append(r.Splits, splits[p])
		r.Finer = append(r.Finer, finer.Classes[finer.IDs[i]])
		differs = differs || r.Finer[len(r.Finer)-1] != r.Label(len(r.Labels)-1)
		for k := range others {
			r.Others[k].Text = append(r.Others[k].Text, others[k].Text[i])
		}
	}
	if finest || !differs {
		r.Finer = nil
	}
	return r, nil
}

// trainingColumn returns the column that a run trains on.
func trainingColumn(cfg *run.Config, d *data.Dataset) string {
	of, _ := cfg.Data.LabelColumns(d)
	if c, err := d.Column(of); err == nil {
		return c.Name
	}
	return of // a rule
}

// manifestColumns returns the columns that a manifest of the set keeps beside path, label, split and boxes. judged is
// the column that becomes its label.
func manifestColumns(d *data.Dataset, judged string) []embedding.Column {
	var out []embedding.Column
	// Names of folders of two levels begin with the coarse class, and a manifest with the column is trained by it.
	named := d.Levels != nil && judged == d.Fine
	if c, err := d.Column("coarse"); err == nil && c.Name != judged && c.Name != d.Fine && !named {
		coarse := embedding.Column{Name: "coarse"}
		for _, id := range c.IDs {
			coarse.Text = append(coarse.Text, c.Classes[id])
		}
		out = append(out, coarse)
	}
	if d.MultiLabel != nil {
		all := embedding.Column{Name: "labels"}
		for i := range d.Len() {
			all.Text = append(all.Text, d.MultiLabel.Text(i))
		}
		out = append(out, all)
	}
	return append(out, d.OtherColumns...)
}

// chooseSamples returns the samples that a run trains or tests on, with the split of each.
func chooseSamples(ctx context.Context, d *data.Dataset, cfg *run.Config) (
	part *data.Part, splits []string, err error) {
	c := &cfg.Data
	label, fine := c.LabelColumns(d)
	sel, err := split.Select(ctx, d, split.Selection{Label: label, Fine: fine, Split: c.Split,
		TrainClasses: c.TrainClasses, TestClasses: c.TestClasses, Validation: c.Validation, Group: c.Group,
		Seed: cfg.Train.Seed})
	if err != nil {
		return nil, nil, err
	}
	judged, err := d.Labels(label)
	if err != nil {
		return nil, nil, err
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
	part = &data.Part{Data: d, LabelClasses: judged.Classes, FineClasses: judged.Classes}
	for i := range d.Len() {
		if of[i] == "" {
			continue
		}
		part.Index = append(part.Index, i)
		part.Label = append(part.Label, judged.IDs[i])
		splits = append(splits, of[i])
	}
	part.Fine = part.Label
	return part, splits, nil
}

// FromTable returns the items of a file of embeddings with labels. column is the column of labels; "" is
// coarse, or else label. A column split, if there is one, has the split of each item. Rows without a
// label are left out; with strict they are an error.
func FromTable(t *embedding.Table, file, column, root string, strict bool) (*Items, error) {
	if column == "" {
		column = "label"
		if t.Column("coarse") != nil {
			column = "coarse"
		}
	}
	of, err := t.Select(column)
	var out []int
	var left []data.LeftOut
	if err == nil {
		of, out, left, err = items.KeepLabelled(of, strict)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	column = of.Columns[0].Name
	ids, names := of.NamedLabels()
	r := &Items{X: of.X, LeftOut: left, Subjects: review.Subjects{Labels: ids[0], Names: names[0], Root: root}}
	t = t.WithoutRows(out)
	for i := range t.Rows() {
		r.IDs, r.Rows = append(r.IDs, t.ItemID(i)), append(r.Rows, t.Row(i))
		if t.Files != nil {
			r.Items = append(r.Items, t.Item(i))
		}
	}
	for _, c := range t.Columns {
		switch {
		case c.Name == column:
		case c.Name == "split":
			r.Splits = columnTexts(&c)
		case c.Name == "label" && column == "coarse":
			r.Finer = columnTexts(&c)
		default:
			r.Others = append(r.Others, c)
		}
	}
	return r, nil
}

// columnTexts returns the values of a column.
func columnTexts(c *embedding.Column) []string {
	out := make([]string, c.Len())
	for i := range out {
		out[i] = c.At(i)
	}
	return out
}

// SetDataset sets the data set with the pictures of a file's items, found by their names. It closes the data set
// if an item is missing there.
func (r *Items) SetDataset(d *data.Dataset, file string) error {
	at := d.Rows()
	for _, n := range r.Paths() {
		i, ok := at[n]
		if !ok {
			err := fmt.Errorf("data set %s has no item called %q, which %s names", d.Name, n, file)
			if slices.Contains(d.Names, n) {
				err = fmt.Errorf("%w: it has parts of that picture, and the file does not say which (a column "+
					"region): embed the data set again", err)
			}
			d.Close()
			return err
		}
		r.Index = append(r.Index, i)
	}
	r.Set = d
	return nil
}
