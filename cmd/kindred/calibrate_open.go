package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/cli/calibrations"
	"github.com/kindred-ml/kindred/internal/cli/origin"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// calibrationSet is what is calibrated on.
type calibrationSet struct {
	x        *mat.Dense // for an open set; nil without
	labels   []int64
	from     string // where their classes come from
	distance rank.Distance
	source   decide.Source
	model    *run.Model // nil of embeddings
	// For a closed set: photos of classes that training saw, and what it saw of them.
	known, items decide.Labelled
	names        []string
	missing      string // what an open set lacks
	// For its gate: strangers, and all photos of the run, among which they are looked up.
	strangers, all decide.Labelled
	found          []decide.Stranger // in place of strangers
	folds          string            // folder of the networks of --folds, to be removed; "" without
}

// open reads or embeds what is calibrated on.
func (f *calibrateFlags) open(ctx context.Context, a *app, arg string) (*calibrationSet, error) {
	st, err := stat(arg, aRun, anIndex, someVectors)
	if err != nil {
		return nil, err
	}
	if f.folds > 0 && (!st.IsDir() || isIndex(arg)) {
		return nil, usagef("--folds trains a run again: give the folder of a run")
	}
	s := &calibrationSet{}
	if s.distance, err = f.distanceOr(rank.Euclidean); err != nil {
		return nil, err
	}
	switch {
	case !st.IsDir():
		if f.photos.data != "" {
			return nil, usagef("--data goes with a run or an index, whose network embeds it")
		}
		if f.allowSeen {
			return nil, usagef("--allow-seen applies to a run or an index: of a file of embeddings it is not known " +
				"which classes training saw")
		}
		t, err := a.labelled(arg, f.labels, oneColumn(f.column), f.strict)
		if err != nil {
			return nil, err
		}
		if err := s.table(t, arg); err != nil {
			return nil, err
		}
	case f.allowSeen && f.photos.data != "":
		return nil, usagef("--allow-seen applies to the photos of a run and to the items of an index: photos of " +
			"--data must be of other classes")
	case f.labels != "":
		return nil, usagef("--labels goes with a file of embeddings")
	case isIndex(arg):
		err = f.openIndex(ctx, a, s, arg)
	default:
		err = f.openRun(ctx, a, s, arg)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// distanceOr is the distance that is asked for, else the one given.
func (f *calibrateFlags) distanceOr(own rank.Distance) (rank.Distance, error) {
	if f.distance == "" {
		return own, nil
	}
	d, err := rank.ParseDistance(f.distance)
	if err != nil {
		return d, usagef("--distance: %w", err)
	}
	return d, nil
}

// table takes embeddings with the first column of their labels.
func (s *calibrationSet) table(t *embedding.Table, name string) error {
	if t.X == nil || len(t.Columns) == 0 {
		return fmt.Errorf("%s holds no embeddings with labels", name)
	}
	s.x, s.labels = t.X, t.Labels()[0]
	return nil
}

// openRun takes what a run kept apart, or embeds other photos.
func (f *calibrateFlags) openRun(ctx context.Context, a *app, s *calibrationSet, dir string) error {
	m, err := run.Load(dir)
	if err != nil {
		return err
	}
	m.Config.Data.Strict = f.strict
	s.model = m
	if s.source, err = origin.OfFolder(m, dir, dir); err != nil {
		return err
	}
	if s.distance, err = m.Distance(); err != nil {
		return err
	}
	if s.distance, err = f.distanceOr(s.distance); err != nil {
		return err
	}
	d, p, err := f.divide(ctx, a, m)
	if err != nil && (f.photos.data != "" || strings.HasPrefix(m.Config.Data.Validation, "classes:")) &&
		errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(a.err, "the photos of %s are not there, so that classes are not compared with those that training "+
			"saw: %s\n", escape.Name(dir), escape.Text(err.Error()))
		return f.withoutPhotos(ctx, a, s, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the run %s was trained on this data set, and is calibrated on what it kept of it; call "+
			"kindred where it was trained, or write where the data set is to data.path in %s", err, dir,
			filepath.Join(dir, "config.yaml"))
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if f.photos.data != "" {
		return f.embed(ctx, a, s, p)
	}
	return f.takeKept(ctx, a, s, p, dir)
}

// divide opens the photos that a network was trained on, and divides them as training did.
func (f *calibrateFlags) divide(ctx context.Context, a *app, m *run.Model) (*data.Dataset, *calibrations.Divided,
	error) {
	c := m.Config.Data
	c.Outside = c.Outside || f.photos.outside
	d, err := openData(ctx, &c, dataHome(f.photos.dataDir))
	if err != nil {
		return nil, nil, err
	}
	a.sayNotes(d)
	sel, err := m.Divide(ctx, d)
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	return d, calibrations.Divide(sel, f.column), nil
}

// withoutPhotos calibrates a run whose photos are gone: on --data, or on the embeddings of the classes that it kept.
func (f *calibrateFlags) withoutPhotos(ctx context.Context, a *app, s *calibrationSet, dir string) error {
	if f.photos.data != "" {
		return f.embed(ctx, a, s, nil)
	}
	folder, err := run.Open(dir)
	if err != nil {
		return err
	}
	t, err := folder.Embeddings(run.ValidationSet)
	if err != nil {
		return err
	}
	if t, err = t.Select(oneColumn(f.column)...); err != nil {
		return err
	}
	s.from = "kept for validation"
	return s.table(t, dir)
}

// fromSeen is where thresholds come from with --allow-seen.
const fromSeen = "that training saw"

// takeKept embeds what a run kept apart: photos of classes that training did not see, for an open set, and other
// photos of the classes that it saw, for a closed one.
func (f *calibrateFlags) takeKept(ctx context.Context, a *app, s *calibrationSet, p *calibrations.Divided,
	dir string) error {
	if p.New == nil && p.Known == nil {
		return fmt.Errorf("%s kept too few photos apart to calibrate on: %s; train with data.validation=as-test:0.3, "+
			"or give labelled photos of other classes with --data", dir, p.Missing)
	}
	if f.allowSeen && (p.New != nil || p.Known == nil) {
		return usagef("--allow-seen: %s kept classes apart that training did not see, which are taken without it", dir)
	}
	s.missing = p.Missing
	if f.folds > 0 {
		return f.crossFit(ctx, a, s, p, dir)
	}
	if p.Known != nil {
		if err := f.takeAll(ctx, a, s, p); err != nil || p.New == nil {
			return err
		}
		s.x, s.labels, s.from = s.strangers.X, s.strangers.Labels, p.From
		return nil
	}
	got, labels, err := a.embedLabelled(ctx, s.model, p.New, p.Labels(p.New))
	if err != nil {
		return err
	}
	s.x, s.labels, s.from = got.X, labels, p.From
	return nil
}

// takeAll embeds all photos of a run, for a closed set of its classes. Photos of classes that training did not see are
// looked up among each other too.
func (f *calibrateFlags) takeAll(ctx context.Context, a *app, s *calibrationSet, p *calibrations.Divided) error {
	if p == nil || p.Known == nil {
		return nil
	}
	e, labels, err := a.embedLabelled(ctx, s.model, p.All, p.Labels(p.All))
	if err != nil {
		return err
	}
	s.all = decide.Labelled{X: e.X, Labels: labels}
	items, photos := []*data.Part{p.Train}, []*data.Part{p.Known}
	if p.New != nil {
		items, photos = append(items, p.New), append(photos, p.New)
		s.strangers, _ = rowsOf(e, labels, p.New)
	}
	var at map[int]int
	s.items, at = rowsOf(e, labels, items...)
	var of map[int]int
	s.known, of = rowsOf(e, labels, photos...)
	s.known.Itself = make([]int, len(s.known.Labels))
	for sample, row := range of {
		s.known.Itself[row] = -1
		if item, ok := at[sample]; ok {
			s.known.Itself[row] = item
		}
	}
	s.names = p.Names(p.All)
	if f.allowSeen {
		s.strangers, s.from = decide.Labelled{X: s.known.X, Labels: s.known.Labels}, fromSeen
	}
	return nil
}

// rowsOf are the rows of embeddings whose photos are in parts, and the row of each sample.
func rowsOf(e *run.Embedded, labels []int64, parts ...*data.Part) (out decide.Labelled, at map[int]int) {
	in := make(map[int]bool)
	for _, p := range parts {
		for _, i := range p.Index {
			in[i] = true
		}
	}
	at = make(map[int]int)
	var rows []float32
	for row, k := range e.Pos {
		if i := e.Part.Index[k]; in[i] {
			at[i] = len(out.Labels)
			rows, out.Labels = append(rows, e.X.Row(row)...), append(out.Labels, labels[row])
		}
	}
	out.X = mat.Of(len(out.Labels), e.X.Cols, rows)
	return out, at
}

// embedLabelled embeds a part, whose photos have the given labels, and returns those of the rows.
func (a *app) embedLabelled(ctx context.Context, m *run.Model, p *data.Part, labels []int64) (*run.Embedded, []int64,
	error) {
	e, err := a.embed(ctx, m, p)
	if err != nil {
		return nil, nil, err
	}
	a.sayLeftOut(e.LeftOut)
	var of []int64
	for _, k := range e.Pos {
		of = append(of, labels[k])
	}
	return e, of, nil
}

// embed embeds labelled photos of --data, whose classes training must not have seen. p is how the photos of training
// were divided; nil: it is not known.
func (f *calibrateFlags) embed(ctx context.Context, a *app, s *calibrationSet, p *calibrations.Divided) error {
	look := lookupFlags{in: f.photos.data, column: f.column, dataDir: f.photos.dataDir, outside: f.photos.outside,
		strict: f.strict}
	g, err := look.table(ctx, a, &place{model: func() (*run.Model, error) { return s.model, nil }}, true)
	if err != nil {
		return err
	}
	defer g.Close()
	t := g.Table
	if err := s.table(t, f.photos.data); err != nil || p == nil {
		return err
	}
	if err := f.unseen(s, p, &t.Columns[0], f.photos.data); err != nil {
		return err
	}
	strangers := decide.Labelled{X: s.x}
	for _, l := range s.labels { // not among the numbers of the classes that training saw
		strangers.Labels = append(strangers.Labels, -1-l)
	}
	if err := f.takeAll(ctx, a, s, p); err != nil {
		return err
	}
	s.strangers = strangers
	return nil
}

// unseen refuses classes that training saw, unless --allow-seen.
func (f *calibrateFlags) unseen(s *calibrationSet, p *calibrations.Divided, classes *embedding.Column,
	where string) error {
	seen := p.Saw(classes)
	if len(seen) == 0 {
		if f.allowSeen {
			return usagef("--allow-seen: training saw no class of %s", where)
		}
		return nil
	}
	if f.allowSeen {
		s.from = fromSeen
		return nil
	}
	some := strings.Join(seen[:min(len(seen), 3)], ", ")
	if len(seen) > 3 {
		some += fmt.Sprintf(" and %d more", len(seen)-3)
	}
	way := "give photos of other classes, ten or more"
	if f.photos.data == "" {
		way = fmt.Sprintf("copy the calibration of its run, which tells these classes (kindred calibrate RUN, then "+
			"RUN/%s to %s), give photos of other classes with --data, or take them nevertheless with --allow-seen",
			decide.FileName, where)
	}
	return fmt.Errorf("%s holds classes that training saw (%s): they lie farther apart than new ones, so that "+
		"thresholds learned from them let more strangers in than they say; %s", where, some, way)
}

// openIndex takes the items of an index, or embeds other photos with its network.
func (f *calibrateFlags) openIndex(ctx context.Context, a *app, s *calibrationSet, dir string) error {
	x, err := a.readIndex(dir)
	if err != nil {
		return err
	}
	defer x.Close()
	info := x.Info()
	if s.distance, err = f.distanceOr(info.Distance); err != nil {
		return err
	}
	s.source = origin.OfIndex(info)
	if s.model, err = origin.Load(x); err != nil {
		return err
	}
	if f.photos.data != "" && s.model == nil {
		return fmt.Errorf("%s has no network, so that photos cannot be embedded", dir)
	}
	var p *calibrations.Divided
	if s.model != nil && s.model.Config.Data.Path+s.model.Config.Data.Name != "" {
		var d *data.Dataset
		if d, p, err = f.divide(ctx, a, s.model); err == nil {
			defer d.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		} else if f.photos.data == "" && !f.allowSeen {
			return fmt.Errorf("%w: the network of %s was trained on this data set, so that classes cannot be compared "+
				"with those that training saw; call kindred where it was trained, give photos of other classes with "+
				"--data, or take the items nevertheless with --allow-seen", err, dir)
		}
	}
	if f.photos.data != "" {
		return f.embed(ctx, a, s, p)
	}
	column := cmp.Or(f.column, "label")
	var rows []float32
	var labels, ids []string
	for it, err := range x.All() {
		if err != nil {
			return err
		}
		rows, ids = append(rows, it.Vector...), append(ids, it.ID)
		labels = append(labels, store.FormatValue(it.Columns[column]))
	}
	if !slices.ContainsFunc(labels, func(l string) bool { return l != "" }) {
		return fmt.Errorf("no item of %s has a %s: a calibration takes classes", dir, column)
	}
	t := &embedding.Table{X: mat.Of(len(labels), info.Dim, rows), Files: ids,
		Columns: []embedding.Column{embedding.NewColumn(column, labels)}}
	if t, _, err = a.known(t, dir, f.strict); err != nil {
		return err
	}
	if err := s.table(t, dir); err != nil {
		return err
	}
	if p != nil {
		return f.unseen(s, p, &t.Columns[0], dir)
	}
	if f.allowSeen {
		s.from = fromSeen
		return nil
	}
	fmt.Fprintf(a.err, "it is not known what the network of %[1]s was trained on: thresholds hold if it was not "+
		"trained on classes of %[1]s\n", escape.Name(dir))
	return nil
}
