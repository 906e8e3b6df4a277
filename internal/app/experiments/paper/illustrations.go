package paper

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/compute/projection"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/diagnosisreport"
	"github.com/kindred-ml/kindred/internal/page/report/maps"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/internal/page/report/retrieval"
	"github.com/kindred-ml/kindred/run"
)

// Illustrations holds an experiment's pictures: sections of its report, and the figures that are also
// files.
type Illustrations struct {
	Sections []report.Section
	Figures  []NamedFigure
}

// NamedFigure is a figure that is also written as NAME.svg and NAME.png.
type NamedFigure struct {
	Name    string        `json:"name"`
	Caption string        `json:"caption"`
	Figure  figure.Figure `json:"-"`
}

func (s *Illustrations) add(name, caption string, f figure.Figure) {
	s.Figures = append(s.Figures, NamedFigure{name, caption, f})
}

// runFolder is the folder of an arm's first seed; "" without that arm.
func (out *Outcome) runFolder(arm string) string {
	k := out.e.arm(arm)
	if k < 0 {
		return ""
	}
	return filepath.Join(out.o.Dir, out.Arms[k].Runs[0].Folder)
}

// readKept reads the embeddings of a set of samples that a run kept.
func readKept(folder string, s run.Set) (*embedding.Table, error) {
	f, err := run.Open(folder)
	if err != nil {
		return nil, err
	}
	return f.Embeddings(s)
}

// diagnosis compares the arms' embeddings of a set for collapse, first seed only.
func (out *Outcome) diagnosis(ctx context.Context, set run.Set, lead string, arms ...string) (report.Section, error) {
	var ds []diagnosisreport.Diagnosis
	for _, arm := range arms {
		folder := out.runFolder(arm)
		if folder == "" {
			continue
		}
		l, err := readKept(folder, set)
		if err != nil {
			return report.Section{}, err
		}
		if l, err = l.Coarse("", ""); err != nil {
			return report.Section{}, fmt.Errorf("%s: %w", folder, err)
		}
		ids, names := l.NamedLabels()
		in := eval.DiagnosisInput{X: l.X, Labels: ids[0], Names: names[0]}
		if len(ids) > 1 {
			in.Fine = ids[1]
		}
		r, err := eval.Diagnose(ctx, in, eval.DiagnosisOptions{Seed: out.o.Seed})
		if err != nil {
			return report.Section{}, fmt.Errorf("%s: %w", arm, err)
		}
		ds = append(ds, diagnosisreport.NewDiagnosis(arm, r))
	}
	s := report.Section{Title: "Have the classes collapsed?", Blocks: []report.Block{report.Text(lead)}}
	for _, part := range diagnosisreport.Sections(ds...) {
		if slices.Contains([]string{"Verdict", "Measures", "Triplets", "Classes"}, part.Title) {
			for _, b := range part.Blocks {
				s.Blocks = append(s.Blocks, withoutMarks(b))
			}
		}
	}
	return s, nil
}

// withoutMarks returns a block whose table marks no best number: one seed cannot show which arm is
// better.
func withoutMarks(b report.Block) report.Block {
	t, ok := b.(report.Table)
	if !ok {
		return b
	}
	t.Rows = slices.Clone(t.Rows)
	for i := range t.Rows {
		t.Rows[i].Best = report.NoBest
	}
	return t
}

// queriesFigure begins the names of the figures that show queries.
const queriesFigure = "queries"

// queries shows the same random test queries with their nearest neighbours in
// the embeddings of each arm, first seed only.
func (out *Outcome) queries(ctx context.Context, shown *Illustrations, lead string, arms ...string) error {
	d, err := out.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	s := report.Section{Title: "The same queries", Blocks: []report.Block{report.Text(lead)}}
	for i, arm := range arms {
		folder := out.runFolder(arm)
		if folder == "" {
			continue
		}
		l, err := readKept(folder, run.TestSet)
		if err != nil {
			return err
		}
		if l, err = l.Select("label"); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		cfg := retrieval.Config{Queries: 6, Seed: out.o.Seed}
		if d.Source != nil { // not ready features
			if cfg.Picture, err = photo.NewReader(ctx, d, l.Files); err != nil {
				return err
			}
		}
		ids, names := l.NamedLabels()
		cfg.Label = func(i int) string { return names[0][ids[0][i]] }
		pair, err := retrieval.ChooseQueries(ctx, l.X, ids[0], cfg)
		if err != nil {
			return err
		}
		pair.Random.Caption = arm + ": a query (first) and its nearest neighbours among the test samples, first seed."
		s.Blocks = append(s.Blocks, pair.Random)
		shown.add(fmt.Sprintf("%s%d", queriesFigure, i+1), pair.Random.Caption, pair.Random)
	}
	shown.Sections = append(shown.Sections, s)
	return nil
}

// open opens the data set of the experiment.
func (out *Outcome) open(ctx context.Context) (*data.Dataset, error) {
	cfg, err := out.e.config(&out.e.Arms[0], out.o.Seed, out.o.settings(&out.e.Arms[0]))
	if err != nil {
		return nil, err
	}
	return cfg.Data.Open(ctx, out.o.Home)
}

// mappedClasses is the number of training classes in a map, as many as there are colours that can
// be told apart.
const mappedClasses = 10

// maps places the training samples of a few classes in the plane by t-SNE, in
// each arm's embedding of the first seed.
func (out *Outcome) maps(ctx context.Context, shown *Illustrations, lead string, arms ...string) error {
	caption := fmt.Sprintf("t-SNE of the first %d training classes, seed %d of %d.", mappedClasses, out.Seeds[0],
		len(out.Seeds))
	s := report.Section{Title: "Training classes", Blocks: []report.Block{report.Text(lead)}}
	album := out.album(ctx)
	defer album.Close()
	var panels []figure.Figure
	for _, arm := range arms {
		folder := out.runFolder(arm)
		if folder == "" {
			continue
		}
		l, err := readKept(folder, run.TrainSet)
		if err != nil {
			return err
		}
		if l, err = l.Select("label"); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		few := firstClasses(l, mappedClasses)
		at, err := projection.TSNE{Seed: out.o.Seed}.Run(ctx, few.X)
		if err != nil {
			return fmt.Errorf("%s: %w", arm, err)
		}
		m := maps.NewMap(few, at.X, at.Y)
		m.Title, m.Caption = arm, fmt.Sprintf("%s: %d training samples. %s", arm, len(m.X), caption)
		panels = append(panels, figure.Scatter{Axes: figure.Axes{Title: arm, Equal: true, Bare: true}, X: m.X, Y: m.Y,
			Class: m.Columns[0].Class, Names: m.Columns[0].Names})
		if err := album.AddThumbs(ctx, &m); err != nil {
			return err
		}
		s.Blocks = append(s.Blocks, m)
	}
	shown.Sections = append(shown.Sections, s)
	shown.add("classes", caption, figure.PanelRow(panels...))
	return nil
}

// firstClasses keeps the rows of the n lowest labels of the first column.
func firstClasses(l *embedding.Table, n int) *embedding.Table {
	labels := l.Labels()[0]
	ids := slices.Compact(slices.Sorted(slices.Values(labels)))
	ids = ids[:min(n, len(ids))]
	var pos []int
	for i, l := range labels {
		if slices.Contains(ids, l) {
			pos = append(pos, i)
		}
	}
	return l.TakeRows(pos)
}

// album returns the photos of the experiment's data set, or an empty album if the set is missing.
func (out *Outcome) album(ctx context.Context) *photo.Album {
	cfg, err := out.e.config(&out.e.Arms[0], out.o.Seed, out.o.settings(&out.e.Arms[0]))
	if err != nil {
		return &photo.Album{}
	}
	d, err := cfg.Data.Open(ctx, out.o.Home)
	if err != nil {
		return &photo.Album{}
	}
	return &photo.Album{Data: d, Time: photoTime}
}

// photoTime limits the time to read the photos of a section's maps.
const photoTime = 20 * time.Second
