package calibrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// FromRun returns the Set of the photos that a run kept apart, or of the photos of Options.Data.
func FromRun(ctx context.Context, dir string, opt Options) (*Photos, error) {
	m, err := run.Load(dir)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"", "label", "fine", "coarse"}, opt.Column) && opt.Data == "" {
		return nil, cli.Usagef("--column %s: the photos of a run have the columns label and coarse", opt.Column)
	}
	m.Config.Data.Strict = opt.Strict
	s := &Photos{Model: m, opt: opt}
	if s.Source, err = m.Identity(dir); err != nil {
		return nil, err
	}
	own, err := m.Distance()
	if err == nil {
		s.Distance, err = opt.distance(own)
	}
	if err != nil {
		return nil, err
	}
	d, err := s.splitTraining(ctx)
	apart := opt.Folds == 0 && strings.HasPrefix(m.Config.Data.Validation, "classes:")
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case err == nil:
		defer d.Close()
	case missing && (opt.Data != "" || apart):
		fmt.Fprintf(opt.Remarks, "the photos of %s were not found, so classes are not compared with those that "+
			"training saw: %s\n", escape.Name(dir), escape.Text(err.Error()))
	case missing:
		return nil, fmt.Errorf("%w: the run %s was trained on this data set, and is calibrated on photos that it "+
			"kept; call kindred where it was trained, or set data.path in %s to the place of the data set", err, dir,
			filepath.Join(dir, "config.yaml"))
	default:
		return nil, err
	}
	switch {
	case opt.Data != "":
		return s, s.embed(ctx)
	case s.trained == nil:
		return s, s.useSavedEmbeddings(dir)
	}
	return s, s.useHeldOut(ctx, dir)
}

// splitTraining opens the photos that the network was trained on, and divides them as training did.
func (s *Photos) splitTraining(ctx context.Context) (*data.Dataset, error) {
	c := s.Model.Config.Data
	d, err := s.opt.Trained(ctx, &c)
	if err != nil {
		return nil, err
	}
	sel, err := s.Model.SplitDataset(ctx, d)
	if err != nil {
		d.Close()
		return nil, err
	}
	s.trained = NewSplit(sel, s.opt.Column)
	return d, nil
}

// useSavedEmbeddings uses the saved embeddings of the classes that the run kept, if its photos are gone.
func (s *Photos) useSavedEmbeddings(dir string) error {
	folder, err := run.Open(dir)
	if err != nil {
		return err
	}
	t, err := folder.Embeddings(run.ValidationSet)
	if err != nil {
		return err
	}
	if t, err = t.Select(s.opt.columns()...); err != nil {
		return err
	}
	s.from = "kept for validation"
	return s.useTable(t, dir)
}

// embed embeds the photos of Options.Data, whose classes training must not have seen.
func (s *Photos) embed(ctx context.Context) error {
	d, err := s.opt.Others(ctx, s.Model.Config.Data.Crop)
	if err != nil {
		return err
	}
	defer d.Close()
	s.Model.Config.Data.Strict = s.opt.Strict
	e, err := s.opt.Embed(ctx, s.Model, d.All())
	if err != nil {
		return err
	}
	t, err := e.ItemTable().Select(s.opt.columns()...)
	if err != nil {
		return err
	}
	if err := s.useTable(t, s.opt.Data); err != nil || s.trained == nil {
		return err
	}
	if err := s.checkUnseen(&t.Columns[0], s.opt.Data); err != nil {
		return err
	}
	strangers := decide.LabelledEmbeddings{X: s.New.X}
	for _, l := range s.New.Labels { // these numbers must differ from those of the classes that training saw
		strangers.Labels = append(strangers.Labels, -1-l)
	}
	if err := s.useAll(ctx); err != nil {
		return err
	}
	s.strangers = strangers
	return nil
}

// checkUnseen refuses classes that training saw, unless they are allowed.
func (s *Photos) checkUnseen(classes *embedding.Column, where string) error {
	seen := s.trained.TrainedClasses(classes)
	switch {
	case len(seen) == 0 && s.opt.AllowSeen:
		return cli.Usagef("--allow-seen: training saw no class of %s", where)
	case len(seen) == 0:
		return nil
	case s.opt.AllowSeen:
		s.from = FromSeen
		return nil
	}
	some := strings.Join(seen[:min(len(seen), 3)], ", ")
	if len(seen) > 3 {
		some += fmt.Sprintf(" and %d more", len(seen)-3)
	}
	way := "give photos of other classes, ten or more"
	if s.opt.Data == "" {
		way = fmt.Sprintf("copy the calibration of its run, which knows these classes (kindred calibrate RUN, then "+
			"RUN/%s to %s), give photos of other classes with --data, or accept them with --allow-seen",
			decide.FileName, where)
	}
	return fmt.Errorf("%s has classes that training saw (%s): they lie farther apart than new ones, so "+
		"thresholds learned from them admit more unknown photos than promised; %s", where, some, way)
}

// useHeldOut embeds the photos that a run kept apart: of classes that training did not see, for an open
// calibration, and of classes that it saw, for a closed one.
func (s *Photos) useHeldOut(ctx context.Context, dir string) error {
	p := s.trained
	if p.New == nil && p.Known == nil {
		return fmt.Errorf("%s kept too few photos apart to calibrate on: %s; train with data.validation=as-test:0.3, "+
			"or give labelled photos of other classes with --data", dir, p.Missing)
	}
	if s.opt.AllowSeen && (p.New != nil || p.Known == nil) {
		return cli.Usagef("--allow-seen: leave it out, as %s kept classes apart that training did not see",
			dir)
	}
	s.Missing = p.Missing
	if s.opt.Folds > 0 {
		return s.crossFit(ctx, dir)
	}
	if p.Known != nil {
		if err := s.useAll(ctx); err != nil || p.New == nil {
			return err
		}
		s.New, s.from = s.strangers, p.From
		return nil
	}
	got, labels, err := s.embedLabelled(ctx, p.New)
	if err != nil {
		return err
	}
	s.New, s.from, s.name = decide.LabelledEmbeddings{X: got.X, Labels: labels}, p.From, got.Table().RowName
	return nil
}

// crossFit makes unknown photos: it embeds the photos of the run by networks that did not see some of its classes.
func (s *Photos) crossFit(ctx context.Context, dir string) error {
	if s.trained.New != nil || s.trained.Known == nil {
		return cli.Usagef("--folds needs a run that kept apart photos of its classes, but no whole classes; %s is not "+
			"such a run", dir)
	}
	folds, err := s.trained.Folds(s.Model, dir, s.opt.Folds, s.opt.Seed)
	if err != nil {
		return cli.Usagef("--folds %d: %w", s.opt.Folds, err)
	}
	begun := time.Now()
	if err := s.useAll(ctx); err != nil {
		return err
	}
	s.opt.OnFold(folds, time.Since(begun))
	if s.found, err = folds.FindStrangers(ctx, s.Distance); err != nil {
		return err
	}
	switch {
	case folds.Computed:
		s.from = fmt.Sprintf("of the run, each left out of one of %d computed layers", folds.N)
	case folds.NeedsTraining():
		s.from = fmt.Sprintf("of the run, each left out of the training of one of %d networks", folds.N)
	default:
		s.from = "of the run, which its untrained network did not see"
	}
	return nil
}

// useAll embeds all photos of a run, for a closed calibration. Photos of classes that training did not see are
// looked up among each other too.
func (s *Photos) useAll(ctx context.Context) error {
	p := s.trained
	if p == nil || p.Known == nil {
		return nil
	}
	e, labels, err := s.embedLabelled(ctx, p.All)
	if err != nil {
		return err
	}
	s.all = decide.LabelledEmbeddings{X: e.X, Labels: labels}
	items, photos := []*data.Part{p.Train}, []*data.Part{p.Known}
	if p.New != nil {
		items, photos = append(items, p.New), append(photos, p.New)
		var at map[int]int
		s.strangers, at = selectRows(e, labels, p.New)
		names := make([]string, len(at))
		for sample, row := range at {
			names[row] = p.New.Data.Names[sample]
		}
		s.name = func(row int) string { return names[row] }
	}
	var at, of map[int]int
	s.items, at = selectRows(e, labels, items...)
	s.known, of = selectRows(e, labels, photos...)
	s.known.SelfRows = make([]int, len(s.known.Labels))
	for sample, row := range of {
		s.known.SelfRows[row] = -1
		if item, ok := at[sample]; ok {
			s.known.SelfRows[row] = item
		}
	}
	s.names = p.Names(p.All)
	if s.opt.AllowSeen {
		s.strangers, s.from = decide.LabelledEmbeddings{X: s.known.X, Labels: s.known.Labels}, FromSeen
	}
	return nil
}

// selectRows returns the rows of embeddings whose photos are in parts, and the row of each sample.
func selectRows(e *run.Embeddings, labels []int64, parts ...*data.Part) (out decide.LabelledEmbeddings,
	at map[int]int) {
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
	out.X = matrix.FromSlice(len(out.Labels), e.X.Cols, rows)
	return out, at
}

// embedLabelled embeds a part of the photos of training, and returns the labels of the rows.
func (s *Photos) embedLabelled(ctx context.Context, p *data.Part) (*run.Embeddings, []int64, error) {
	e, err := s.opt.Embed(ctx, s.Model, p)
	if err != nil {
		return nil, nil, err
	}
	labels := s.trained.Labels(p)
	var of []int64
	for _, k := range e.Pos {
		of = append(of, labels[k])
	}
	return e, of, nil
}
