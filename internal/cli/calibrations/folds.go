package calibrations

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/run"
)

// Folds are how a run is trained again without some of its classes.
type Folds struct {
	N        int
	Seed     uint64 // deals the classes
	Distance rank.Distance
	Options  run.Options           // of each training; Dataset is set here
	Begin    func(fold int)        // told which is trained next, from 1
	Progress func(done, total int) // of embedding; nil: nobody
}

// Strangers looks up photos of each class of a run in the embedding of a network whose training did not see the class.
// The classes are dealt into folds. For each fold a network is trained as the run's was, without the photos of the
// fold's classes, and these are looked up among all photos of other classes. A layer that was computed from training
// samples (wccn) is computed again, without training.
func (d *Divided) Strangers(ctx context.Context, m *run.Model, f Folds) ([]decide.Stranger, error) {
	fold, err := d.deal(f.N, f.Seed)
	if err != nil {
		return nil, err
	}
	labels := d.Labels(d.All)
	var out []decide.Stranger
	for k := range f.N {
		held := func(label int64) bool { return fold[label] == k }
		f.Begin(k + 1)
		e, err := d.without(ctx, m, held, &f)
		if err != nil {
			return nil, fmt.Errorf("training without fold %d of the classes: %w", k+1, err)
		}
		photos, items := decide.Labelled{}, decide.Labelled{X: e.X}
		var values []float32
		for row, p := range e.Pos {
			items.Labels = append(items.Labels, labels[p])
			if held(labels[p]) {
				values, photos.Labels = append(values, e.X.Row(row)...), append(photos.Labels, labels[p])
			}
		}
		photos.X = mat.Of(len(photos.Labels), e.X.Cols, values)
		found, err := decide.LookUpStrangers(ctx, photos, items, f.Distance)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// deal gives each class that training saw one of n folds.
func (d *Divided) deal(n int, seed uint64) (map[int64]int, error) {
	var classes []int64
	fold := make(map[int64]int)
	for _, c := range d.Labels(d.Train) {
		if _, ok := fold[c]; !ok {
			fold[c] = 0
			classes = append(classes, c)
		}
	}
	if len(classes) < decide.FewestStrangers || len(classes)-(len(classes)+n-1)/n < 2 {
		return nil, fmt.Errorf("%d classes are too few to leave some out of the training: it takes %d", len(classes),
			decide.FewestStrangers)
	}
	slices.Sort(classes)
	for k, i := range rand.New(rand.NewPCG(seed, 0xca1b)).Perm(len(classes)) {
		fold[classes[i]] = k % n
	}
	return fold, nil
}

// without embeds all photos of the run by a network that was made without the held classes.
func (d *Divided) without(ctx context.Context, m *run.Model, held func(label int64) bool, f *Folds) (*run.Embedded,
	error) {
	if bare, err := m.WithoutComputed(); err != nil {
		return nil, err
	} else if bare != nil {
		bare.Progress = f.Progress
		return bare.Recomputed(ctx, d.All, d.trains(held))
	}
	set, cfg := *d.Train.Data, m.Config
	set.Splits, set.Disjoint = make([]data.Split, set.Len()), false
	labels, left := d.Labels(d.Train), map[int64]bool{}
	for k, i := range d.Train.Index {
		if !held(labels[k]) {
			set.Splits[i] = data.Train
			left[d.Train.Label[k]] = true
		}
	}
	for k, label := range d.Labels(d.All) {
		if held(label) {
			set.Splits[d.All.Index[k]] = data.Test
		}
	}
	c := &cfg.Data
	c.Split, c.TrainClasses, c.TestClasses, c.Validation, c.Fold, c.Group = "official", "", "", "none", "", "none"
	c.TrainLimit, c.TestLimit = 0, 0
	cfg.Train.Best, cfg.Eval.Every, cfg.Eval.Train, cfg.Eval.Keep = "none", cfg.Train.Epochs, 0, false
	cfg.Sample.Classes = min(cfg.Sample.Classes, len(left))
	opts := f.Options
	opts.Dataset = &set
	res, err := run.Train(ctx, cfg, opts)
	if err != nil {
		return nil, err
	}
	made := &run.Model{Config: res.Config, Net: res.Net, Progress: f.Progress}
	all := *d.All
	all.Data = &set
	return made.Embed(ctx, &all)
}

// trains tells of each position of All whether it is a training photo of a class that is not held.
func (d *Divided) trains(held func(label int64) bool) func(pos int) bool {
	in := make(map[int]bool)
	for _, i := range d.Train.Index {
		in[i] = true
	}
	labels := d.Labels(d.All)
	return func(pos int) bool { return in[d.All.Index[pos]] && !held(labels[pos]) }
}
