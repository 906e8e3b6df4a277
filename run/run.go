package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/atomic"
	"github.com/kindred-ml/kindred/internal/lock"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/objective"
)

// Options say where a run's files go and who observes it. The zero value writes
// nothing to disk.
type Options struct {
	// Dir is the run folder, created if need be. For a new run it must be empty.
	// The process that trains locks it, and any other gets a *lock.HeldError.
	Dir string
	// Free lets a new run that finds Dir in use create Dir-2, Dir-3 and so on
	// instead; Result.Dir and Event.Dir say which.
	Free bool
	// Resume continues from the checkpoint in Dir. A run that was stopped before
	// its first checkpoint starts again, and one that has finished gets its files
	// written again.
	Resume bool
	// Force lets a new run replace the one in Dir: the files that a run writes are
	// removed, others are kept.
	Force bool
	// Own names files in Dir that belong to the caller and are to be left alone.
	Own []string
	// Home is the folder with the data sets known by name; see data.Home.
	Home string
	// Formats of files of features, beside those of package embedding.
	Formats embedding.Formats
	// Dataset, if set, is used instead of opening what the configuration names.
	Dataset *data.Dataset
	// Observe, if set, is called from the training goroutine as things happen.
	Observe func(Event)

	files atomic.Files // tests put faults into it
}

// Event tells an observer how far a run has got.
type Event struct {
	Stage         Stage
	Dir           string // the run folder
	Epoch, Epochs int    // the epoch under way, from 1
	Step, Steps   int    // of the epoch
	Images        int    // since this process started the run
	Elapsed       time.Duration
	Result        objective.Result // of the last step
	Row           *Epoch           // the epoch that ended, with Stage EpochEnd
	// Imported says how pretrained weights fit the network; nil if there are none.
	Imported *nn.ImportReport
	// Memory is the planned memory of the run.
	Memory MemoryPlan
	// Notes are remarks about the run and its training samples that a user should
	// see.
	Notes []string
}

// Stage is what a run has just done.
type Stage int

// The stages.
const (
	Started  Stage = iota // everything is set up
	Stepped               // one step
	Scoring               // an evaluation begins
	EpochEnd              // an epoch ended, evaluated or not
	Finished              // the files are written
)

// Result is the outcome of a run.
type Result struct {
	Dir     string // the run folder
	Config  Config // resolved
	History []Epoch
	Net     Network
	// Embeddings of the test split's queries, and of the seen classes' test
	// samples, as History's last row scored them.
	Test, Seen *Embedded
	// Params is the number of trained values; Wait the share of the training
	// time that was spent waiting for data.
	Params int
	Wait   float64
	Took   time.Duration
	Notes  []string // see Event
	// LeftOut lists the files and samples that were not used.
	LeftOut []data.LeftOut
}

// Last returns the last epoch's row.
func (r *Result) Last() *Epoch { return &r.History[len(r.History)-1] }

// trainer is a run under way.
type trainer struct {
	cfg  Config
	opts Options
	held *lock.Held // the run folder

	sel       *data.Selected
	from      *population
	feed      feed
	scored    []*scored
	net       Network
	imported  *nn.ImportReport // of pretrained weights
	memory    MemoryPlan
	options   objective.Options
	objective *objective.Objective
	optimizer *optim.Optimizer
	sampler   sampler
	state     state

	began  time.Time
	images int
	grad   *mat.Dense
	batch  objective.Batch // under way
	timing []timing

	notes      []string
	modelSaved bool // by this process, with its last weights
}

// Train trains as cfg says. If ctx ends, the run stops after the current step,
// writes its checkpoint and returns the context's error, so that it can be
// resumed. On any other error the last good checkpoint is kept.
func Train(ctx context.Context, cfg Config, opts Options) (*Result, error) {
	t, err := newTrainer(ctx, cfg, opts)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if err := t.start(); err != nil {
		return nil, err
	}
	if err := t.loop(ctx); err != nil {
		return nil, err
	}
	return t.finish(ctx)
}

func newTrainer(ctx context.Context, cfg Config, opts Options) (*trainer, error) {
	t := &trainer{cfg: cfg.clone(), opts: opts}
	if p := t.cfg.problems(); len(p) > 0 {
		return nil, fmt.Errorf("%s: %s", p[0].key, p[0].text)
	}
	d := opts.Dataset
	var err error
	if d == nil {
		if d, err = OpenData(ctx, t.cfg.Data, opts.Home, opts.Formats...); err != nil {
			return nil, err
		}
	}
	if opts.Resume && t.cfg.Data.Split == "" {
		t.cfg.Data.Split = begunSplit(opts.Dir)
	}
	if t.sel, err = selectData(d, &t.cfg); err != nil {
		return nil, err
	}
	if err := checkMetrics(t.sel, &t.cfg); err != nil {
		return nil, err
	}
	o, err := objective.Parse(t.cfg.Mine, t.cfg.Loss)
	if err != nil {
		return nil, err
	}
	if t.from, err = newPopulation(t.sel.Train, o.Rule); err != nil {
		return nil, err
	}
	t.notes = t.from.notes()
	if t.from.classes < 2 {
		return nil, fmt.Errorf("the training samples have only one label (%s): there is nothing to tell apart",
			className(t.sel.Train.LabelClasses, t.sel.Train.Label[0]))
	}
	t.cfg.resolve(d, &o)
	if t.sampler, err = newSampler(&t.cfg, t.from); err != nil {
		return nil, err
	}
	if err := checkPairs(&t.cfg, &o, t.from); err != nil {
		return nil, err
	}
	if t.cfg.Data.Cache {
		if err := t.cacheImages(ctx); err != nil {
			return nil, err
		}
	}
	if t.feed, err = newFeed(t.sel.Train, t.cfg.Data, t.cfg.Train.Seed, true); err != nil {
		return nil, err
	}
	if t.scored, err = newScored(t.sel, &t.cfg); err != nil {
		return nil, err
	}
	h, w, c := t.feed.shape()
	spec, err := networkSpec(&t.cfg, h, w, c)
	if err != nil {
		return nil, err
	}
	if t.memory, err = t.plan(spec, &o); err != nil {
		return nil, err
	}
	if err := t.memory.check(); err != nil {
		return nil, err
	}
	if t.net, t.imported, err = newNetwork(&t.cfg, spec); err != nil {
		return nil, err
	}
	o.Classes, o.Relate = t.from.given, t.from.relate
	o.Dim, o.Seed = t.net.Dim(), t.cfg.Train.Seed
	o.Mine.Seed = t.cfg.Train.Seed
	t.options = o
	if t.objective, err = objective.New(o); err != nil {
		return nil, err
	}
	if t.optimizer, err = newOptimizer(&t.cfg.Train, t.sampler.Batches(), t.net, t.objective.Params()); err != nil {
		return nil, err
	}
	t.state.Data = fingerprint(t.sel.Train)
	return t, nil
}

// start takes the run folder and brings the run to where it goes on.
func (t *trainer) start() error {
	if t.opts.Dir == "" {
		return nil
	}
	if err := t.open(); err != nil {
		return t.explain(err)
	}
	if t.opts.Resume {
		if err := t.restore(); err != nil {
			return err
		}
	}
	err := t.write(filepath.Join(t.opts.Dir, ConfigFile), func(w io.Writer) error {
		_, err := w.Write(t.cfg.YAML())
		return err
	})
	if err != nil || t.state.Epoch == 0 {
		return err
	}
	// A kill after the checkpoint of an epoch may have left its row unwritten.
	t.timing = readTiming(filepath.Join(t.opts.Dir, TimingFile), t.state.Epoch)
	if err := t.writeTiming(); err != nil {
		return err
	}
	return t.writeMetrics()
}

// note keeps a sentence for the user.
func (t *trainer) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *trainer) observe(s Stage, r objective.Result, row *Epoch) {
	if t.opts.Observe == nil {
		return
	}
	t.opts.Observe(Event{
		Stage: s, Dir: t.opts.Dir, Epoch: min(t.state.Epoch+1, t.cfg.Train.Epochs), Epochs: t.cfg.Train.Epochs,
		Step: t.state.Step, Steps: t.sampler.Batches(), Images: t.images, Elapsed: time.Since(t.began),
		Result: r, Row: row, Imported: t.imported, Memory: t.memory, Notes: t.notes,
	})
}

// loop runs the epochs that are left.
func (t *trainer) loop(ctx context.Context) error {
	t.began = time.Now()
	t.observe(Started, objective.Result{}, nil)
	if t.cfg.Eval.Keep && t.state.Epoch == 0 && t.state.Step == 0 {
		if _, err := t.evaluate(ctx, 0, false); err != nil {
			return t.stopped(err)
		}
	}
	for t.state.Epoch < t.cfg.Train.Epochs {
		start, before := time.Now(), t.images
		if err := t.epoch(ctx); err != nil {
			return err
		}
		trained := time.Now()
		row := Epoch{Epoch: t.state.Epoch + 1, Sums: t.state.Sums, LR: t.state.Rate,
			Warning: t.state.Sums.idle(&t.options)}
		last := row.Epoch == t.cfg.Train.Epochs
		if last || row.Epoch%t.cfg.Eval.Every == 0 {
			// What was trained outlives scores that cannot be had.
			if err := t.save(); err != nil {
				return err
			}
			if last {
				if err := t.saveModel(); err != nil {
					return err
				}
			}
			t.observe(Scoring, objective.Result{}, nil)
			var err error
			if row.Metrics, err = t.evaluate(ctx, row.Epoch, last); err != nil {
				return t.stopped(t.unscored(err))
			}
		}
		t.state.History = append(t.state.History, row)
		t.state.Epoch++
		t.state.Step, t.state.Sums = 0, Sums{}
		t.state.Sampler = t.sampler.State()
		// The times of an epoch are written before the checkpoint that makes it
		// count, as they cannot be had again; its metrics after, as they can.
		t.timing = append(t.timing, timing{row.Epoch, trained.Sub(start), time.Since(trained), t.images - before})
		if err := t.writeTiming(); err != nil {
			return err
		}
		if err := t.save(); err != nil {
			return err
		}
		if err := t.writeMetrics(); err != nil {
			return err
		}
		t.observe(EpochEnd, objective.Result{}, &row)
	}
	return nil
}

// unscored says what is left to do after an evaluation that failed.
func (t *trainer) unscored(err error) error {
	if t.opts.Dir == "" || interrupted(err) {
		return err
	}
	return fmt.Errorf("%w\nwhat was trained is kept in %s; --resume %s goes on from there, with --set "+
		"eval.metrics=... (or eval.recall) if something else is to be measured", err, t.opts.Dir, t.opts.Dir)
}

// Stopped is the error of a run that was interrupted and has written its
// checkpoint. It wraps the context's.
type Stopped struct {
	Dir string
	// Step of Steps of the epoch under way, from 1; after the last epoch it is
	// one more than Epochs.
	Epoch, Epochs, Step, Steps int
	err                        error
}

func (s *Stopped) Error() string {
	return fmt.Sprintf("%v: %s; continue with --resume %s", s.err, s.Where(), s.Dir)
}

// Where says how far the run has got.
func (s *Stopped) Where() string {
	if s.Epoch > s.Epochs {
		return fmt.Sprintf("%s stopped after its last epoch", s.Dir)
	}
	return fmt.Sprintf("%s stopped in epoch %d after step %d of %d", s.Dir, s.Epoch, s.Step, s.Steps)
}

func (s *Stopped) Unwrap() error { return s.err }

func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// stopped completes an error that ended the run: an interruption writes the
// checkpoint first.
func (t *trainer) stopped(err error) error {
	if !interrupted(err) || t.opts.Dir == "" {
		return err
	}
	if e := t.save(); e != nil {
		return errors.Join(err, e)
	}
	return &Stopped{t.opts.Dir, t.state.Epoch + 1, t.cfg.Train.Epochs, t.state.Step, t.sampler.Batches(), err}
}

// epoch runs the steps that are left of the epoch under way.
func (t *trainer) epoch(ctx context.Context) error {
	batches := t.sampler.Epoch()
	st := t.feed.epoch(ctx, t.state.Epoch, batches[t.state.Step:])
	defer st.Close()
	for t.state.Step < len(batches) {
		if err := ctx.Err(); err != nil {
			return t.stopped(err)
		}
		b, err := st.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("epoch %d: the data ended after %d of %d batches", t.state.Epoch+1, t.state.Step,
				len(batches))
		}
		if err != nil {
			return t.stopped(err)
		}
		r, err := t.step(b)
		if err != nil {
			return fmt.Errorf("epoch %d, step %d: %w%s", t.state.Epoch+1, t.state.Step+1, err, t.kept())
		}
		t.state.Step++
		t.images += b.N
		t.observe(Stepped, r, nil)
		if every := t.cfg.Train.Checkpoint; every > 0 && t.state.Step%every == 0 && t.state.Step < len(batches) {
			if err := t.save(); err != nil {
				return err
			}
		}
	}
	return nil
}

// kept says what remains after a failure.
func (t *trainer) kept() string {
	if t.opts.Dir == "" {
		return ""
	}
	if _, err := os.Stat(CheckpointPath(t.opts.Dir)); err != nil {
		return ""
	}
	return fmt.Sprintf("\nthe last good checkpoint is kept in %s; a lower train.lr or a limit by train.clip often "+
		"helps", filepath.Join(t.opts.Dir, checkpointDir))
}

// step makes one training step on a batch.
func (t *trainer) step(b *data.Batch) (objective.Result, error) {
	if b.N == 0 {
		return objective.Result{}, errors.New("none of the batch's images could be read")
	}
	t.batch = t.from.batch(t.batch, b.Pos)
	x := b.Pixels[:b.N*b.H*b.W*b.C]
	e := t.net.Forward(x, b.N)
	if t.grad == nil || t.grad.Rows != e.Rows {
		t.grad = mat.New(e.Rows, e.Cols)
	}
	// A step is taken whole: what an interrupted run keeps must be between two.
	r, err := t.objective.Step(context.Background(), e, t.batch, t.grad)
	if err != nil {
		if d := t.net.Diagnose(x, b.N); d != nil {
			err = fmt.Errorf("%w (%w)", err, d)
		}
		return r, err
	}
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return r, fmt.Errorf("the loss is %v", r.Value)
	}
	t.net.Backward(t.grad)
	s := t.optimizer.Step()
	if math.IsNaN(s.GradNorm) || math.IsInf(s.GradNorm, 0) {
		return r, fmt.Errorf("the gradient is not finite, first in %s", t.badGradient())
	}
	t.state.Rate = s.Rate
	sums := &t.state.Sums
	sums.Steps++
	sums.Samples += b.N
	sums.Loss += r.Value
	sums.Gradient += s.GradNorm
	sums.Tuples += r.Tuples
	sums.Active += r.Active
	sums.Anchors += r.Anchors
	sums.NoPositive += r.NoPositive
	sums.NoNegative += r.NoNegative
	sums.NoCandidate += r.NoCandidate
	sums.Fallbacks += r.Fallbacks
	return r, nil
}

// badGradient names the layer, nearest to the loss, whose gradient holds a value
// that is not finite.
func (t *trainer) badGradient() string {
	for _, p := range slices.Backward(t.net.Params()) {
		for _, g := range p.Grad {
			if g-g != 0 {
				return "layer " + p.Name
			}
		}
	}
	for _, p := range t.objective.Params() {
		for _, g := range p.Grad {
			if g-g != 0 {
				return "the loss's parameter " + p.Name
			}
		}
	}
	return "the sum of its squares"
}

// evaluate scores all sets after an epoch.
func (t *trainer) evaluate(ctx context.Context, epoch int, last bool) ([]Metric, error) {
	metrics, err := t.cfg.metricsOf(last)
	if err != nil {
		return nil, err
	}
	var out []Metric
	for _, s := range t.scored {
		m, err := s.score(ctx, t.net, &t.cfg, metrics)
		if err != nil {
			return nil, err
		}
		out = append(out, m...)
		if t.cfg.Eval.Keep && t.opts.Dir != "" {
			dir := filepath.Join(t.opts.Dir, SnapshotDir)
			if err := t.opts.files.MkdirAll(dir); err != nil {
				return nil, t.explain(err)
			}
			if err := t.writeEmbeddings(filepath.Join(SnapshotDir, fmt.Sprintf("%04d_%s_", epoch, s.name)),
				s.q); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (t *trainer) writeMetrics() error {
	if t.opts.Dir == "" {
		return nil
	}
	return t.write(filepath.Join(t.opts.Dir, MetricsFile),
		func(w io.Writer) error { return writeHistory(w, t.state.History) })
}

func (t *trainer) writeTiming() error {
	if t.opts.Dir == "" {
		return nil
	}
	return t.write(filepath.Join(t.opts.Dir, TimingFile), func(w io.Writer) error { return writeTiming(w, t.timing) })
}

// finish writes the network and the embeddings of the sets that were scored.
func (t *trainer) finish(ctx context.Context) (*Result, error) {
	res := &Result{Dir: t.opts.Dir, Config: t.cfg, History: t.state.History, Net: t.net, Took: time.Since(t.began),
		Wait: t.feed.stats().WaitShare(), Notes: t.notes}
	for _, p := range t.net.Params() {
		if p.Grad != nil {
			res.Params += len(p.Value)
		}
	}
	if !t.modelSaved { // resumed after the last epoch
		if err := t.saveModel(); err != nil {
			return nil, err
		}
	}
	for _, s := range t.scored {
		if s.q == nil { // resumed after the last epoch
			if err := s.embedAll(ctx, t.net, t.cfg.Eval.Batch); err != nil {
				return nil, t.stopped(err)
			}
		}
		prefix := s.name + "_"
		switch s.name {
		case "test":
			res.Test, prefix = s.q, ""
		case "seen":
			res.Seen = s.q
		}
		if t.opts.Dir == "" {
			continue
		}
		if err := t.writeEmbeddings(prefix, s.q); err != nil {
			return nil, err
		}
		if s.g != nil {
			if err := t.writeEmbeddings("gallery_", s.g); err != nil {
				return nil, err
			}
		}
	}
	res.LeftOut = t.leftOut()
	t.observe(Finished, objective.Result{}, nil)
	return res, nil
}

// leftOut tells of the files that are no samples, and of the samples that
// neither training nor an evaluation could read.
func (t *trainer) leftOut() []data.LeftOut {
	stats := []data.Stats{t.feed.stats()}
	for _, s := range t.scored {
		stats = append(stats, s.qfeed.stats())
		if s.gfeed != nil {
			stats = append(stats, s.gfeed.stats())
		}
	}
	return t.sel.Train.Data.Unread(stats...)
}

// saveModel writes the network, with how its input is prepared among the
// description's remarks.
func (t *trainer) saveModel() error {
	t.net.Spec().Meta = map[string]string{
		"pixels": t.cfg.Data.Pixels, "channels": strconv.Itoa(t.cfg.Data.Channels),
		"loss": fmt.Sprint(t.cfg.Loss["name"]),
	}
	t.modelSaved = true
	if t.opts.Dir == "" {
		return nil
	}
	return t.net.SaveWith(func(name string, content func(io.Writer) error) error {
		return t.write(filepath.Join(t.opts.Dir, name), content)
	})
}
