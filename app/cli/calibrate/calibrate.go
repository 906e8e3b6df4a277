// Package calibrate learns what distances mean. A Set is what is learned from: of a run, of an index or of a file of
// embeddings. Learn makes the calibration of it.
package calibrate

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kindred-ml/kindred/app/cli"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/run"
)

// FromSeen is what Calibration.From is with AllowSeen.
const FromSeen = "that training saw"

// Options say what is learned from, in the words of the command line.
type Options struct {
	Distance  string // "": that of the network
	Column    string // of labels; "": the first
	AllowSeen bool   // takes classes that training saw for strangers
	Folds     int    // trainings, each without a part of the classes; 0: none
	Seed      uint64 // deals the classes into folds
	Data      string // labelled photos of other classes; "": what the run kept, or the items of the index
	Strict    bool   // a photo that cannot be read is an error

	// Trained opens the photos that a network was trained on, and tells the user how they were read. Others does so for
	// those of Data; crop cuts the labelled part out of each photo.
	Trained func(ctx context.Context, c *run.DataConfig) (*data.Dataset, error)
	Others  func(ctx context.Context, crop bool) (*data.Dataset, error)
	// Embed embeds photos, and tells the user which it left out.
	Embed func(ctx context.Context, m *run.Model, p *data.Part) (*run.Embedded, error)
	// Labelled leaves out the rows of a table without a label, returns which, and tells the user.
	Labelled func(t *embedding.Table, name string, strict bool) (*embedding.Table, []int, error)
	Remarks  io.Writer // to the user
	// Begin sets what Folds leave to the caller. embedding is how long it took to embed all photos once.
	Begin func(f *Folds, embedding time.Duration)
}

// columns is the choice of one column, nil where that is open.
func (o *Options) columns() []string {
	if o.Column == "" {
		return nil
	}
	return []string{o.Column}
}

// distance is the one that is asked for, else that of the network.
func (o *Options) distance(own rank.Distance) (rank.Distance, error) {
	if o.Distance == "" {
		return own, nil
	}
	d, err := rank.ParseDistance(o.Distance)
	if err != nil {
		return d, cli.Usagef("--distance: %w", err)
	}
	return d, nil
}

// Set is what is calibrated on.
type Set struct {
	Model    *run.Model // nil of embeddings
	Source   decide.Source
	Distance rank.Distance
	// New are photos of classes that training did not see, for an open set. Without them X is nil, and Missing says
	// what is lacking.
	New     decide.Labelled
	Missing string

	opt     Options
	trained *Divided // the photos of training; nil if they are not known
	from    string   // where the classes come from
	// For a closed set: photos of classes that training saw, and what it saw of them.
	known, items decide.Labelled
	names        []string
	// For its gate: strangers, and all photos of the run, among which they are looked up.
	strangers, all decide.Labelled
	found          []decide.Stranger // in place of strangers
}

// OfTable takes embeddings with the first column of their labels.
func OfTable(t *embedding.Table, name string, opt Options) (*Set, error) {
	s := &Set{opt: opt}
	var err error
	if s.Distance, err = opt.distance(rank.Euclidean); err == nil {
		err = s.table(t, name)
	}
	return s, err
}

func (s *Set) table(t *embedding.Table, name string) error {
	if t.X == nil || len(t.Columns) == 0 {
		return fmt.Errorf("%s holds no embeddings with labels", name)
	}
	s.New = decide.Labelled{X: t.X, Labels: t.Labels()[0]}
	return nil
}

// Learn learns the open set, the closed one, or both.
func (s *Set) Learn(ctx context.Context, opt decide.Options) (*decide.Calibration, error) {
	closed, err := s.closed(ctx, opt)
	if err != nil || s.New.X == nil {
		return closed, err
	}
	c, err := decide.Calibrate(ctx, s.New.X, s.New.Labels, opt)
	if err != nil {
		return nil, err
	}
	c.From = s.from
	if closed != nil {
		c.Closed = closed.Closed
	}
	return c, nil
}

// closed learns the closed set, nil without photos of classes that training saw.
func (s *Set) closed(ctx context.Context, opt decide.Options) (*decide.Calibration, error) {
	if s.known.X == nil {
		return nil, nil
	}
	c, err := decide.CalibrateClosed(ctx, s.known, s.items, opt)
	if err != nil {
		return nil, err
	}
	c.From, c.Closed.Names = s.from, s.names
	found := s.found
	if s.strangers.X != nil {
		if found, err = decide.LookUpStrangers(ctx, s.strangers, s.all, s.Distance); err != nil {
			return nil, err
		}
	}
	if found != nil {
		c.Closed.Gate, err = decide.NewGate(c.Closed, found, s.all.X.Rows)
	}
	return c, err
}

// Drift compares photos without labels with those that c was learned from, which s must be. name is what people call s.
func (s *Set) Drift(ctx context.Context, c *decide.Calibration, name string, photos *mat.Dense, fmr []float64) (
	*decide.Drift, error) {
	if n := len(s.New.Labels); n != c.Given {
		return nil, fmt.Errorf("the calibration was learnt from %d photos, and %s has %d: photos without labels are "+
			"compared with those that it was learnt from; name them with --data", c.Given, name, n)
	}
	return c.Drift(ctx, s.New.X, s.New.Labels, photos, fmr)
}
