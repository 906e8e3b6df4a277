package calibrate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// Folds makes unknown photos from the classes that a run was trained on. The classes are divided into folds. Each fold
// has an embedding that was made without the fold's classes, so their photos are unknown to it.
type Folds struct {
	// N is the number of folds, Classes the number of classes.
	N, Classes int
	// Epochs is the length of each fold's training. It is 0 if the run ended with the network that it started from,
	// which
	// saw no class, so that nothing is trained.
	Epochs int
	// Computed reports that a layer was computed from training samples (wccn): each fold computes it again.
	Computed bool
	// Duration is the time of these epochs when the run was trained; 0 if unknown.
	Duration time.Duration
	// Dir is the folder that keeps the folds' networks, so that an interrupted call can go on. The caller removes
	// it at the end.
	Dir string
	// Options returns the options for the training of a fold, from 1. Dataset, Dir, Resume and Force are set here.
	Options func(fold int) run.Options
	// Progress, if set, is called with the number of photos embedded.
	Progress func(done, total int)

	of    *Split
	model *run.Model
	fold  map[int64]int // fold of each class
}

// Folds divides the classes of a run in dir into n folds by a seed. Too few classes are an error.
func (d *Split) Folds(m *run.Model, dir string, n int, seed uint64) (*Folds, error) {
	f := &Folds{N: n, of: d, model: m, Epochs: m.Config.Train.Epochs}
	var err error
	if f.fold, err = d.assignFolds(n, seed); err != nil {
		return nil, err
	}
	f.Classes = len(f.fold)
	bare, err := m.WithoutWCCN()
	if err != nil {
		return nil, err
	}
	if f.Computed = bare != nil; f.Computed {
		f.model, f.Epochs = bare, 0
		return f, nil
	}
	folder, err := run.Open(dir)
	if err != nil {
		return nil, err
	}
	ended, err := folder.FinalEpoch()
	switch {
	case errors.Is(err, fs.ErrNotExist): // an imported network, or a copy without the checkpoint
	case err != nil:
		return nil, err
	// the cosine depends on the number of epochs
	case ended == 0 || m.Config.Train.Schedule != string(train.CosineRate):
		f.Epochs = ended
	}
	f.Duration = epochsDuration(folder, f.Epochs)
	return f, nil
}

// epochsDuration returns the time of the first epochs of a run; 0 if unknown.
func epochsDuration(f *run.Folder, epochs int) time.Duration {
	t, err := f.Timing()
	if err != nil {
		return 0
	}
	seconds := t.Values["train_seconds"]
	sum := 0.0
	for _, s := range seconds[:min(epochs, len(seconds))] {
		sum += s
	}
	return time.Duration(sum * float64(time.Second))
}

// NeedsTraining reports whether a network is trained for each fold.
func (f *Folds) NeedsTraining() bool { return f.Epochs > 0 }

// FindStrangers looks up photos of each class in an embedding that was made without the class, among all
// photos of classes of other folds.
func (f *Folds) FindStrangers(ctx context.Context, by eval.Distance) ([]decide.Stranger, error) {
	labels := f.of.Labels(f.of.All)
	without, err := f.newEmbedder(ctx)
	if err != nil {
		return nil, err
	}
	var out []decide.Stranger
	for k := range f.N {
		held := func(label int64) bool { return f.fold[label] == k }
		e, err := without(k, held)
		if err != nil {
			return nil, fmt.Errorf("fold %d of %d: %w", k+1, f.N, err)
		}
		photos, items := decide.LabelledEmbeddings{}, decide.LabelledEmbeddings{X: e.X}
		var values []float32
		for row, p := range e.Pos {
			items.Labels = append(items.Labels, labels[p])
			if held(labels[p]) {
				values, photos.Labels = append(values, e.X.Row(row)...), append(photos.Labels, labels[p])
			}
		}
		photos.X = matrix.FromSlice(len(photos.Labels), e.X.Cols, values)
		found, err := decide.SearchStrangers(ctx, photos, items, by)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// assignFolds assigns each class that training saw to one of n folds.
func (d *Split) assignFolds(n int, seed uint64) (map[int64]int, error) {
	classes, fold := d.classes(d.Train), make(map[int64]int)
	if len(classes) < decide.MinStrangerClasses {
		return nil, fmt.Errorf("the run has %d classes, too few to leave some out of the training: %d are needed",
			len(classes), decide.MinStrangerClasses)
	}
	if n > len(classes) {
		return nil, fmt.Errorf("%d folds are more than the run has classes: want 2 to %d", n, len(classes))
	}
	slices.Sort(classes)
	for k, i := range rand.New(rand.NewPCG(seed, 0xca1b)).Perm(len(classes)) {
		fold[classes[i]] = k % n
	}
	return fold, nil
}

// newEmbedder returns a function that embeds all photos of the run without training on the classes of fold k (held).
func (f *Folds) newEmbedder(ctx context.Context) (func(k int, held func(label int64) bool) (*run.Embeddings, error),
	error) {
	if f.NeedsTraining() {
		return func(k int, held func(label int64) bool) (*run.Embeddings,
			error) {
			return f.trainFold(ctx, k, held)
		}, nil
	}
	m := f.model.Copy()
	m.Progress = f.Progress
	e, err := m.EmbedPart(ctx, f.of.All)
	if err != nil {
		return nil, err
	}
	return func(_ int, held func(label int64) bool) (*run.Embeddings, error) {
		if !f.Computed {
			return e, nil
		}
		return e.RecomputeWCCN(f.of.isTrainedWithout(held))
	}, nil
}

// trainFold trains a network without the held classes, and embeds all photos of the run with it.
func (f *Folds) trainFold(ctx context.Context, k int, held func(label int64) bool) (*run.Embeddings, error) {
	d := f.of
	set, cfg := *d.Train.Data, f.model.Config
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
	cfg.Train.Epochs = f.Epochs
	cfg.Train.Best, cfg.Eval.Every, cfg.Eval.Train, cfg.Eval.Keep = "none", cfg.Train.Epochs, 0, false
	cfg.Sample.Classes = min(cfg.Sample.Classes, len(left))
	opts := f.Options(k + 1)
	opts.Dataset, opts.Dir = &set, filepath.Join(f.Dir, folderName(&cfg, &set))
	if opts.Resume = run.Exists(opts.Dir); !opts.Resume {
		opts.Force = true
	}
	res, err := run.Train(ctx, cfg, opts)
	if err != nil {
		return nil, err
	}
	made := &run.Model{Config: res.Config, Net: res.Net, Progress: f.Progress}
	all := *d.All
	all.Data = &set
	return made.EmbedPart(ctx, &all)
}

// folderName returns the name of a training's folder; it differs for different settings or samples.
func folderName(cfg *run.Config, set *data.Dataset) string {
	h := sha256.New()
	h.Write(cfg.YAML())
	for i, n := range set.Names {
		fmt.Fprintf(h, "%q %v\n", n, set.Splits[i])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// isTrainedWithout returns a function that reports whether a position of All is a training photo of a class
// that is not held.
func (d *Split) isTrainedWithout(held func(label int64) bool) func(pos int) bool {
	in := make(map[int]bool)
	for _, i := range d.Train.Index {
		in[i] = true
	}
	labels := d.Labels(d.All)
	return func(pos int) bool { return in[d.All.Index[pos]] && !held(labels[pos]) }
}
