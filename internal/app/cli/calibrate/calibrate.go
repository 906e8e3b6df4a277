// Package calibrate learns what distances mean. A Set has the photos to learn from: of a run, an index or a file of
// embeddings. Learn makes the calibration.
package calibrate

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// FromSeen is the value of Calibration.ClassSource with AllowSeen.
const FromSeen = "that training saw"

// Options name the photos to learn from, in the terms of the command line.
type Options struct {
	Distance  string // "": that of the network
	Column    string // column of labels; "": the first
	AllowSeen bool   // use classes that training saw as unknown classes
	// KeepFailed keeps failed photos, which are left out by the rule of clean.FindFailedPhotos.
	KeepFailed bool
	Folds      int    // trainings, each without a part of the classes; 0: none
	Seed       uint64 // of the random folds
	Data       string // labelled photos of other classes; "": photos that the run kept, or the items of the index
	Strict     bool   // a photo that cannot be read is an error

	// Trained opens the photos that a network was trained on, and prints remarks about reading them. Others does the
	// same for the photos of Data; crop cuts the labelled part out of each photo.
	Trained func(ctx context.Context, c *run.DataConfig) (*data.Dataset, error)
	Others  func(ctx context.Context, crop bool) (*data.Dataset, error)
	// Embed embeds photos, and prints which it left out.
	Embed func(ctx context.Context, m *run.Model, p *data.Part) (*run.Embeddings, error)
	// Labelled leaves out the rows of a table without a label, returns their numbers, and prints a remark.
	Labelled func(t *embedding.Table, name string, strict bool) (*embedding.Table, []int, error)
	Remarks  io.Writer // for remarks to the user
	// OnFold sets the fields of Folds that are the caller's. embedding is the time of embedding all photos once.
	OnFold func(f *Folds, embedding time.Duration)
}

// columns returns the chosen column as a list; nil without a choice.
func (o *Options) columns() []string {
	if o.Column == "" {
		return nil
	}
	return []string{o.Column}
}

// distance returns the distance of the options, else that of the network.
func (o *Options) distance(own eval.Distance) (eval.Distance, error) {
	if o.Distance == "" {
		return own, nil
	}
	d, err := eval.ParseDistance(o.Distance)
	if err != nil {
		return d, cli.Usagef("--distance: %w", err)
	}
	return d, nil
}

// Photos has the photos to calibrate on.
type Photos struct {
	Model    *run.Model // nil for a file of embeddings
	Source   embedding.Network
	Distance eval.Distance
	// New has photos of classes that training did not see, for an open calibration. Without them X is nil, and Missing
	// names what is missing.
	New     decide.LabelledEmbeddings
	classes map[int64]string // names of the labels of New
	Missing string
	// Failed names the photos that LeaveOutFailed left out of New.
	Failed []string

	opt     Options
	name    func(row int) string // the name of a photo of New
	trained *Split               // the photos of training; nil if they are not known
	from    string               // where the classes come from
	// For a closed calibration: held-out photos of classes that training saw, and training's photos of them.
	known, items decide.LabelledEmbeddings
	names        []string
	// For its gate: unknown photos, and all photos of the run, among which they are looked up.
	strangers, all decide.LabelledEmbeddings
	found          []decide.Stranger // used instead of strangers
}

// FromTable returns the Set of a file of embeddings, with the chosen column of labels or the first.
func FromTable(t *embedding.Table, name string, opt Options) (*Photos, error) {
	s := &Photos{opt: opt}
	var err error
	if s.Distance, err = opt.distance(eval.Euclidean); err == nil {
		s.Source = t.Network
		err = s.useTable(t, name)
	}
	return s, err
}

func (s *Photos) useTable(t *embedding.Table, name string) error {
	if t.X == nil || len(t.Columns) == 0 {
		return fmt.Errorf("%s holds no embeddings with labels", name)
	}
	s.New, s.name = decide.LabelledEmbeddings{X: t.X, Labels: t.Labels()[0]}, t.RowName
	s.classes = make(map[int64]string)
	for i, l := range s.New.Labels {
		s.classes[l] = t.Columns[0].At(i)
	}
	return nil
}

// Calibrate learns an open calibration, a closed one, or both.
func (s *Photos) Calibrate(ctx context.Context, opt decide.Options) (*decide.Calibration, error) {
	closed, err := s.calibrateClosed(ctx, opt)
	if err != nil || s.New.X == nil {
		return closed, err
	}
	opt.Names = s.classes
	c, err := decide.Calibrate(ctx, s.New.X, s.New.Labels, opt)
	if err != nil {
		return nil, err
	}
	c.ClassSource = s.from
	if closed != nil {
		c.Closed = closed.Closed
	}
	return c, nil
}

// calibrateClosed learns the closed calibration; nil without photos of classes that training saw.
func (s *Photos) calibrateClosed(ctx context.Context, opt decide.Options) (*decide.Calibration, error) {
	if s.known.X == nil {
		return nil, nil
	}
	c, err := decide.CalibrateClosed(ctx, s.known, s.items, opt)
	if err != nil {
		return nil, err
	}
	c.ClassSource, c.Closed.Names = s.from, s.names
	found := s.found
	if s.strangers.X != nil {
		if found, err = decide.SearchStrangers(ctx, s.strangers, s.all, s.Distance); err != nil {
			return nil, err
		}
	}
	if found != nil {
		c.Closed.Gate, err = decide.NewStrangerGate(c.Closed, found, s.all.X.Rows)
	}
	return c, err
}

// MeasureDrift compares photos without labels with s, the photos that c was learned from. name is the name
// of s in messages.
func (s *Photos) MeasureDrift(ctx context.Context, c *decide.Calibration, name string, photos *matrix.Dense,
	fmr []float64) (
	*decide.Drift, error) {
	if n := len(s.New.Labels); n != c.InputPhotos {
		return nil, fmt.Errorf("the calibration was learned from %d photos, but %s has %d: photos without labels are "+
			"compared with the photos of the calibration; name them with --data", c.InputPhotos, name, n)
	}
	return c.Drift(ctx, s.New.X, s.New.Labels, photos, fmr)
}
