package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/experiments/theory/field"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// LiveOptions are the settings of kindred theory live.
type LiveOptions struct {
	// Run is a run folder whose snapshots are read; Set chooses among its
	// sets of samples where there are several.
	Run, Set string
	// Embeddings are files in the order of training, Labels the one file of
	// labels that belongs to all; used if Run is empty.
	Embeddings []string
	Labels     string
	Column     string // of the labels; default the first
	Loss       string // drawn under the triplets; default first
	Entangle   float64
	Anchors    int // default 600, drawn once and followed
	Seed       uint64
}

// LiveFrame is one checkpoint.
type LiveFrame struct {
	Name  string  `json:"name"`
	Right float64 `json:"right"` // share of triplets with S_ap > S_an
	AP    float64 `json:"mean_s_ap"`
	AN    float64 `json:"mean_s_an"`
	Gamma float64 `json:"mean_gamma"`
	// How the frame's triplets moved until the next one, and how well that
	// agrees with the field: mean cosine. Zero for the last frame.
	Moves field.Moves `json:"moves"`
	Agree float64     `json:"agreement"`
}

// LiveResult is what kindred theory live --json prints.
type LiveResult struct {
	Output
	Loss    string      `json:"loss"`
	Anchors int         `json:"anchors"`
	Samples int         `json:"samples"` // that the anchors were drawn from
	Frames  []LiveFrame `json:"frames"`

	set string // of the run's samples; "" for files
}

// snapshot is one checkpoint's embeddings and labels.
type snapshot struct {
	name, path string
	set        string // of the run's samples; "" for files
	read       func() (*embedding.Table, error)
}

// snapshots lists the checkpoints of the options.
func (o LiveOptions) snapshots() ([]snapshot, error) {
	if o.Run != "" {
		return o.keptSnapshots()
	}
	if len(o.Embeddings) < 2 {
		return nil, errors.New("need a run folder, or at least two files of embeddings")
	}
	var out []snapshot
	for _, e := range o.Embeddings {
		name := strings.TrimSuffix(filepath.Base(e), filepath.Ext(e))
		out = append(out, snapshot{name, e, "", func() (*embedding.Table, error) { return o.open(e) }})
	}
	return out, nil
}

// open reads a file of embeddings with its labels.
func (o LiveOptions) open(path string) (*embedding.Table, error) {
	t, err := embedding.Read(path)
	if err != nil {
		return nil, err
	}
	return embedding.Formats{}.Label(t, o.Labels)
}

// keptSnapshots lists what the run kept of the set asked for, or of the first by name.
func (o LiveOptions) keptSnapshots() ([]snapshot, error) {
	f, err := run.Open(o.Run)
	if err != nil {
		return nil, err
	}
	sets := map[string][]run.Snapshot{}
	for _, s := range run.Sets() {
		snaps, err := f.Snapshots(s)
		if err != nil {
			return nil, err
		}
		if len(snaps) > 0 {
			sets[s.String()] = snaps
		}
	}
	names := slices.Sorted(maps.Keys(sets))
	if len(names) == 0 {
		return nil, fmt.Errorf("%s holds no snapshots: train with --set eval.keep=true", o.Run)
	}
	var out []snapshot
	set := cmp.Or(o.Set, names[0])
	for _, s := range sets[set] {
		out = append(out, snapshot{fmt.Sprint("epoch ", s.Epoch), s.Path(), set, s.Embeddings})
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("%s holds %d snapshots of the set %q; there are the sets %s (a film needs a run with "+
			"--set eval.keep=true)", o.Run, len(out), o.Set, strings.Join(names, ", "))
	}
	return out, nil
}

// load reads a snapshot's embeddings and one column of labels.
func (s snapshot) load(column string) (*matrix.Dense, []int64, error) {
	var names []string
	if column != "" {
		names = []string{column}
	}
	t, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	if t, err = t.Select(names...); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.path, err)
	}
	if len(t.Columns) == 0 {
		return nil, nil, fmt.Errorf("%s: no labels", s.path)
	}
	ids, _ := embedding.Unify(&t.Columns[0])
	return t.X, ids[0], nil
}

// Live draws the triplet scatter and the field under it at every checkpoint.
// Once ctx is done it returns ctx.Err(), wrapped.
func Live(ctx context.Context, o LiveOptions, dir string, progress Progress) (*LiveResult, error) {
	start := time.Now()
	o.Loss = cmp.Or(o.Loss, "first")
	o.Anchors = cmp.Or(o.Anchors, 600)
	l, err := FieldLoss(o.Loss)
	if err != nil {
		return nil, err
	}
	snaps, err := o.snapshots()
	if err != nil {
		return nil, err
	}
	out, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	r := &LiveResult{Loss: l.Name, set: snaps[0].set}
	f := liveState{o: o, loss: l, config: field.Config{Entangle: o.Entangle}, result: r, first: snaps[0].path}
	for k, s := range snaps {
		if err := f.add(ctx, s); err != nil {
			return nil, err
		}
		progress("checkpoints", k+1, len(snaps))
		if err := stageError(ctx, s.name); err != nil {
			return nil, err
		}
	}
	if err := out.table("triplets", []string{"checkpoint", "anchor", "positive", "negative", "s_ap", "s_an", "gamma"},
		f.rows); err != nil {
		return nil, err
	}
	frames, err := liveFrames(ctx, l, f.config, r.Frames, f.scatters)
	if err != nil {
		return nil, err
	}
	var few []figure.Figure // a still of the film
	for i := range min(6, len(frames)) {
		few = append(few, frames[i*(len(frames)-1)/max(1, min(6, len(frames))-1)].Figure)
	}
	if err := out.figure("triplets", figure.Panels{Figures: few, Columns: 3}); err != nil {
		return nil, err
	}
	if err := out.page(livePage(r, frames)); err != nil {
		return nil, err
	}
	r.Output = Output{dir, out.files, o.Seed, time.Since(start).Seconds()}
	return r, nil
}

// liveState is the checkpoints read so far.
type liveState struct {
	o      LiveOptions
	loss   field.Loss
	config field.Config
	result *LiveResult
	first  string // path of the first checkpoint

	anchors  []int
	labels   []int64
	rows     [][]any
	scatters []field.Scatter
}

// add reads the next checkpoint.
func (f *liveState) add(ctx context.Context, s snapshot) error {
	x, y, err := s.load(f.o.Column)
	if err != nil {
		return err
	}
	if f.anchors == nil {
		f.labels = y
		f.anchors = rand.New(rand.NewPCG(f.o.Seed, 5)).Perm(x.Rows)[:min(f.o.Anchors, x.Rows)]
		slices.Sort(f.anchors)
	} else if !slices.Equal(y, f.labels) {
		return fmt.Errorf("%s: its labels are not those of %s", s.path, f.first)
	}
	r := f.result
	if k := len(r.Frames); k > 0 { // where the last frame's triplets went
		last := f.scatters[k-1]
		now, err := last.At(x)
		if err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
		r.Frames[k-1].Moves = field.CompareMoves(last, now)
		r.Frames[k-1].Agree, _ = field.Agreement(last, now, f.loss, f.config)
	}
	scatter, err := field.Nearest(ctx, x, f.labels, f.anchors)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	if len(scatter.Anchor) == 0 {
		return fmt.Errorf("%s: no anchor has both a positive and a negative", s.path)
	}
	for i := range scatter.Anchor {
		f.rows = append(f.rows, []any{s.name, scatter.Anchor[i], scatter.Positive[i], scatter.Negative[i],
			scatter.AP[i], scatter.AN[i], scatter.Gamma[i]})
	}
	f.scatters = append(f.scatters, scatter)
	r.Anchors, r.Samples = len(scatter.Anchor), x.Rows
	r.Frames = append(r.Frames, LiveFrame{Name: s.name, Right: scatter.CorrectShare(), AP: mean(scatter.AP),
		AN: mean(scatter.AN), Gamma: scatter.MeanGamma()})
	return nil
}

// liveFrames draws every checkpoint on the same part of the square: from where nearly
// all triplets of all checkpoints begin up to (1, 1).
func liveFrames(ctx context.Context, l field.Loss, c field.Config, names []LiveFrame,
	scatters []field.Scatter) ([]report.Frame, error) {
	var all []float64
	for _, s := range scatters {
		all = append(append(all, s.AP...), s.AN...)
	}
	slices.Sort(all)
	lo := all[len(all)/200]
	lo = max(-1, lo-0.1*(1-lo)-1e-3)
	axis := figure.Range{Min: lo, Max: 1 + 0.02*(1-lo)}
	var frames []report.Frame
	for k, s := range scatters {
		c.Gamma = s.MeanGamma()
		arrows, err := fieldArrows(ctx, l, c, lo, 14)
		if err != nil {
			return nil, err
		}
		for i := range arrows {
			arrows[i].Class = -1 // plain, under the coloured triplets
		}
		frames = append(frames, report.Frame{Name: names[k].Name, Figure: figure.Triplets{
			Axes: figure.Axes{Title: names[k].Name, XRange: axis, YRange: axis, Width: 360, Height: 390},
			AP:   s.AP, AN: s.AN, Arrows: arrows}})
	}
	return frames, nil
}

func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / math.Max(float64(len(x)), 1)
}

func livePage(r *LiveResult, frames []report.Frame) report.Page {
	about := fmt.Sprintf("%d anchors among %d samples", r.Anchors, r.Samples)
	if r.set != "" {
		about += " of the " + r.set + " set"
	}
	t := report.Table{Caption: about, Columns: []report.Column{{Name: "checkpoint"}, {Name: "right (%)"},
		{Name: "mean S_ap"}, {Name: "mean S_an"}, {Name: "mean γ"},
		{Name: "bottom right", Group: "moved until the next (%)"},
		{Name: "top right", Group: "moved until the next (%)"},
		{Name: "bottom left", Group: "moved until the next (%)"}, {Name: "top left", Group: "moved until the next (%)"},
		{Name: "agreement"}},
		Note: "Agreement: mean cosine between a triplet's movement and the field's arrow at its position, with its " +
			"own γ. 1 is perfect, 0 is chance."}
	for i, f := range r.Frames {
		cells := []report.Cell{report.TextCell(f.Name), report.NumberCell(100*f.Right, 1),
			report.NumberCell(f.AP, 3), report.NumberCell(f.AN, 3),
			report.NumberCell(f.Gamma, 3)}
		if i+1 < len(r.Frames) {
			cells = append(cells, report.NumberCell(100*f.Moves.BottomRight, 1),
				report.NumberCell(100*f.Moves.TopRight, 1),
				report.NumberCell(100*f.Moves.BottomLeft, 1), report.NumberCell(100*f.Moves.TopLeft, 1),
				report.NumberCell(f.Agree, 2))
		} else {
			cells = append(cells, report.BlankCell(), report.BlankCell(), report.BlankCell(), report.BlankCell(),
				report.BlankCell())
		}
		t.Rows = append(t.Rows, report.Row{Cells: cells})
	}
	return report.Page{Title: "Triplets while training",
		Lead: "For each anchor, the most similar sample of its class and the most similar one of another class, as a " +
			"point of the triplet scatter diagram, at every checkpoint (Xuan et al. 2020, figure 6).",
		Sections: []report.Section{
			{Title: "The film", Blocks: []report.Block{report.Text("Below the diagonal a triplet is right: the " +
				"anchor would be recognised. The arrows show where one step of the loss (" + r.Loss +
				") moves triplets from each place, with the checkpoint's mean γ. A cloud that moves to the upper " +
				"right corner is a collapse."),
				report.Steps{Frames: frames, Caption: "The " + about + ". Use the slider, or press play. All " +
					"checkpoints show the same part of the diagram, the part that contains the triplets."}}},
			{Title: "As numbers", Blocks: []report.Block{t}},
		}, Footer: "kindred theory live"}
}
