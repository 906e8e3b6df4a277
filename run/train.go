package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/ranks"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// ErrInUse is the error, by errors.Is, of a run folder that another process trains in. The message names the process.
var ErrInUse = lock.ErrHeld

// Options are the options of Train and Plan. The zero value writes nothing to disk.
type Options struct {
	// Dir is the run folder, created if it does not exist. For a new run it must be empty.
	// The process that trains locks it, and for any other the error is ErrInUse.
	Dir string
	// UniqueDir lets a new run that finds Dir in use create Dir-2, Dir-3 and so on instead. Setup.Dir
	// and Result.Dir have the folder's name.
	UniqueDir bool
	// Resume continues from the checkpoint in Dir. A run that was stopped before
	// its first checkpoint starts again, and one that has finished gets its files
	// written again.
	Resume bool
	// Finish ends the run in Dir instead of training it further. Its best weights so far, including
	// those of the epoch under way, are scored and saved as at the end of any run. The
	// configuration then has the number of trained epochs; Resume with more epochs continues. It
	// is an error if no step has been taken.
	Finish bool
	// Force lets a new run replace the one in Dir: the files that a run writes are
	// removed, others are kept.
	Force bool
	// CallerFiles names files in Dir that belong to the caller. Train does not touch them.
	CallerFiles []string
	// Home is the folder with the data sets known by name; see data.Home.
	Home string
	// StartTime is the time from which train.minutes counts. The zero time is that of the call of Train.
	StartTime time.Time
	// Formats are formats of files of features, besides those of package embedding.
	Formats embedding.Formats
	// Weights, if set, finds pretrained networks by name, and for "" the default start for
	// photographs. With an error it returns the name of the network that it could not find.
	// Without Weights, network.pretrained takes only files, and photographs start from random
	// weights.
	Weights func(ctx context.Context, name string) (Start, error)
	// Encoders, if not nil, are networks to choose the start from, as network.pretrained names them: at
	// most eight. Those that cannot be read are left out with a note. network.pretrained must be unset.
	Encoders []string
	// Dataset, if set, replaces the data set that the configuration names. It is not closed.
	Dataset *data.Dataset
	// Loss, if set, replaces the loss that the configuration names. The keys of section loss that
	// every loss has still count: normalize, memory, trim and so on. config.yaml says "own", as
	// for Miner and Sampler, and only a program that provides the same loss can resume the run.
	Loss loss.Loss
	// Positives and Negatives, if set, replace the mining policies that the configuration names.
	// config.yaml then says "own".
	Positives, Negatives *objective.CustomPolicy
	// Miner, if set, chooses the triplets of a batch in place of mining policies. A triplet is
	// anchor, positive and negative as rows of e, the network's output. The loss must be a loss
	// over triplets (loss.Tuples). Runs are reproducible only if the choice depends on nothing but
	// the arguments.
	Miner func(e *matrix.Dense, b objective.Batch) ([][3]int32, error)
	// Sampler, if set, draws the batches of the training part p, as positions from 0 to
	// p.Len()-1. The memory of the run is planned for the largest batch of its first epoch.
	Sampler func(p *data.Part) (train.Sampler, error)
	// Engine, if set, makes an engine that computes the network in place of package nn.
	Engine func(net *nn.Net, cfg *Config) (Engine, error)
	// Ranks, if set, are processes that train the run together; see train.Ranks. The results have
	// the same bits as those of one process with the same train.chunk, which must be set. The
	// ranks share the evaluations too. Only the process of rank 0 needs a Dir. To resume a run,
	// the other ranks need a copy of the folder.
	Ranks train.Ranks
	// SkipUntrainedScores leaves out the scores of the network before training, unless train.best or
	// eval.keep needs them.
	SkipUntrainedScores bool
	// FeatureProgress, if set, is called before Begin with the number of computed features: the features
	// that decide settings of a pretrained start, or those of a frozen body (network.freeze=body).
	FeatureProgress func(done, total int)
	// OnSetup, if set, is called with the setup before training.
	OnSetup func(Setup)
	// Observe, if set, is called with the progress; see train.Config. train.LogEvents logs it.
	Observe func(train.Event)

	files atomic.Files // tests put faults into it
}

// claim says how the run wants to use its folder.
func (o *Options) claim() *record.Claim {
	return &record.Claim{Dir: record.Dir{Path: o.Dir, Files: o.files}, Unique: o.UniqueDir, Resume: o.Resume,
		Force: o.Force, CallerFiles: o.CallerFiles}
}

// Options that errors name, besides keys of the configuration.
const (
	optEncoders option.Option = "run.Options.Encoders"
	// trainResume and trainFinish are the calls of Train with the option.
	trainResume option.Option = "run.Train with Options.Resume"
	trainFinish option.Option = "run.Train with Options.Finish"
	// keyPath and keyStrict are keys for which a command may have a flag.
	keyPath   option.Option = "data.path"
	keyStrict option.Option = "data.strict"
	// overrides are the overrides of Parse.
	overrides option.Option = "overrides"
)

// StoppedError is the error of a run that was interrupted and has written its checkpoint. It wraps
// the context's error.
type StoppedError struct {
	Dir string
	*train.StoppedError
}

func (s *StoppedError) Error() string {
	return fmt.Sprintf("%v: %s; continue with %s", s.Err, s.Location(), record.OptResume)
}

// Location returns the folder, and the epoch and step at which the run stopped.
func (s *StoppedError) Location() string { return s.Dir + " " + s.StoppedError.Where() }

// Train trains by the configuration cfg. If ctx ends, the run stops after the current step,
// writes its checkpoint and returns a *StoppedError, so that it can be resumed. On any other error
// the last good checkpoint is kept.
func Train(ctx context.Context, cfg Config, opts Options) (res *Result, err error) {
	defer func() { err = adviseSkipping(err) }()
	if opts.StartTime.IsZero() {
		opts.StartTime = time.Now()
	}
	p, err := newPlan(ctx, cfg, opts)
	if err != nil {
		return nil, err
	}
	t := &trainer{plan: p}
	defer t.close()
	loop, err := t.start(ctx)
	if err != nil {
		return nil, err
	}
	trained, err := loop.Run(ctx)
	if err != nil {
		return nil, t.completeError(err)
	}
	return t.finish(ctx, trained)
}

// adviseSkipping adds advice to the error of an unreadable sample.
func adviseSkipping(err error) error {
	if u := (*data.UnreadableError)(nil); errors.As(err, &u) {
		return option.Errorf("%w\n%s ends the run here; without it, unreadable samples are left out and named at "+
			"the end", err,
			keyStrict)
	}
	return err
}

// trainer is a run that is under way: its plan and its record. It stores the loop's
// checkpoints.
type trainer struct {
	plan          *plan
	record        *record.Recorder // nil if nothing is written
	held          *lock.Held
	startTime     time.Time
	keptUntrained bool // the run ends with the untrained network
	modelSaved    bool // the model file has the last weights of this process
	// trainedSize is the side of the training images if the run ends with the untrained network;
	// else 0.
	trainedSize    int
	numWCCNSamples int // as in Result
	// wccnData are training samples as the network before training embeds them, for the computed layer; nil until
	// they are needed, or if a validation gallery has them.
	wccnData *Embeddings
	pace     *pace // of a run of train.minutes; else nil
}

// close unlocks the run folder and closes the data set. It ignores errors, for example if the
// folder no longer exists.
func (t *trainer) close() {
	if t.held != nil {
		_ = t.held.Release()
	}
	t.plan.close()
}

// start locks the run folder and restores the state from which the run continues.
func (t *trainer) start(ctx context.Context) (*train.Trainer, error) {
	p := t.plan
	if err := ranks.Check(p.opts.Ranks, fingerprint(p.split.Train), string(p.cfg.YAML())); err != nil {
		return nil, err
	}
	var from *train.Checkpoint
	if p.opts.Dir != "" {
		if err := t.lockFolder(); err != nil {
			return nil, err
		}
		if p.opts.Resume {
			var err error
			if from, err = t.resume(); err != nil {
				return nil, err
			}
		}
	}
	if err := ranks.CheckCheckpoint(p.opts.Ranks, from); err != nil {
		return nil, err
	}
	if p.cfg.Train.Minutes > 0 {
		if err := t.fitMinutes(ctx); err != nil {
			return nil, t.completeError(err)
		}
	}
	loop, err := train.New(t.loopConfig(from))
	if err != nil {
		return nil, err
	}
	if t.record != nil {
		if err := t.record.WriteStart(string(p.cfg.YAML()), p.cfg.withDataPath(), from); err != nil {
			return nil, err
		}
	}
	if t.pace == nil {
		if err := p.computeBodyFeatures(ctx); err != nil {
			return nil, err
		}
	}
	t.startTime = time.Now()
	if p.opts.OnSetup != nil {
		s := p.newSetup()
		s.pace = t.pace
		p.opts.OnSetup(s)
	}
	return loop, nil
}

// lockFolder locks the run folder for this process.
func (t *trainer) lockFolder() error {
	p := t.plan
	d, held, err := p.opts.claim().Lock()
	if t.held = held; err != nil {
		return d.ExplainDiskFull(err)
	}
	p.opts.Dir, t.record = d.Path, &record.Recorder{Dir: d, TensorBoard: p.cfg.Train.TensorBoard}
	if _, err := os.Stat(d.CheckpointPath()); p.opts.Resume && errors.Is(err, fs.ErrNotExist) {
		p.notes.add("%s was stopped before its first checkpoint, so it begins again", d.Path)
	}
	return nil
}

// loopConfig returns the configuration of package train for the run. If from is not nil, the run goes
// on from that checkpoint.
func (t *trainer) loopConfig(from *train.Checkpoint) train.Config {
	p := t.plan
	c := train.Config{
		Network: p.network.trained, Data: p.feeds.training.Data, Sampler: p.batches.sampler,
		Objective: p.objective, Optimizer: p.optimizer,
		Labels: p.batches.population.lossLabels, IDs: p.batches.population.ids, Epochs: p.cfg.Train.Epochs,
		MicroBatch: p.cfg.Train.Chunk, Ranks: p.opts.Ranks,
		Eval: t.evaluate, EvalEvery: p.cfg.Eval.Every, EarlyStopping: p.cfg.BestRule(),
		Untrained: p.scoresUntrained(), CheckpointInterval: p.cfg.Train.Checkpoint,
		Origin:  train.Origin{Data: p.fingerprint(), Settings: string(p.cfg.YAML())},
		Warn:    p.epochWarning,
		Observe: p.opts.Observe,
		Resume:  from,
		Finish:  from != nil && p.opts.Finish,
	}
	if t.record != nil {
		c.Store = t
	}
	// The check of the configuration has refused unreadable values.
	c.Average, _ = parseAverage(p.cfg.Train.Average, p.batches.sampler.Batches())
	c.Budget, _ = parseBudget(p.cfg.Train.Budget)
	if t.pace != nil {
		c.Deadline = t.pace.deadline
	}
	if p.cfg.choosesByValidation() {
		c.EarlyStopping.Paired = t.pairedMargins
	}
	if c.EarlyStopping.Metric != "" {
		c.Interpolation = train.Interpolation{Parts: p.cfg.Train.Line, Eval: t.evaluateValidation}
	}
	if p.untrained != nil {
		c.EvalUntrained, c.UntrainedCompetes = t.scoreUntrained, p.untrained.mayKeep(&p.cfg)
	}
	return c
}

// scoresUntrained reports whether the network before training is scored.
func (p *plan) scoresUntrained() bool {
	return p.cfg.Eval.Keep || p.cfg.Network.isPretrained() && !(p.opts.SkipUntrainedScores && p.cfg.Train.Best == none)
}

// completeError completes an error that ended the loop.
func (t *trainer) completeError(err error) error {
	p := t.plan
	if errors.Is(err, train.ErrNoSamples) {
		for _, l := range t.leftOut() {
			err = fmt.Errorf("%w\n%v", err, l)
		}
		return err
	}
	if t.record == nil {
		return err
	}
	var stopped *train.StoppedError
	if errors.As(err, &stopped) {
		return &StoppedError{p.opts.Dir, stopped}
	}
	_, e := os.Stat(t.record.CheckpointPath())
	kept := e == nil
	if device := (*train.DeviceError)(nil); errors.As(err, &device) {
		again := record.OptResume.WithValue(p.opts.Dir)
		if !kept {
			return option.Errorf("%w; no checkpoint was written: start again with %s", err, again)
		}
		return option.Errorf("%w; continue from the last checkpoint with %s", err, again)
	}
	var step *train.StepError
	if !errors.As(err, &step) || !kept {
		return err
	}
	return fmt.Errorf("%w\nthe last good checkpoint is kept in %s; a lower train.lr or a limit by train.clip often "+
		"helps", err, t.record.Join(record.CheckpointDir))
}

// Save writes a checkpoint, and the network if the checkpoint ends the run.
func (t *trainer) Save(c *train.Checkpoint) error {
	if c.Trained && c.Returned {
		// The embeddings were computed for the comparison, so this takes a moment.
		if err := t.returnUntrained(context.Background()); err != nil {
			return err
		}
	}
	if t.keptUntrained {
		changed := *c
		changed.Settings, changed.Earlier = string(t.plan.cfg.YAML()), c.Settings
		c = &changed
	}
	return t.record.WriteEpoch(c, func() error {
		if !c.Trained {
			return nil
		}
		if err := t.saveModel(); err != nil || !t.keptUntrained {
			return err
		}
		return t.record.WriteText(record.ConfigFile, t.plan.cfg.withDataPath())
	})
}

// saveModel writes the network.
func (t *trainer) saveModel() error {
	p := t.plan
	t.modelSaved = true
	describePreparation(p.network.net, &p.cfg)
	if t.record == nil {
		return nil
	}
	merged, err := p.network.net.MergeLoRA()
	if err != nil {
		return err
	}
	return merged.SaveWith(t.record.Write)
}

// describePreparation adds the preparation of the input to the meta data of a network's description.
func describePreparation(net *nn.Net, cfg *Config) {
	net.Spec().Meta = map[string]string{
		"pixels": cfg.Data.Pixels, "channels": strconv.Itoa(cfg.Data.Channels),
		"loss": fmt.Sprint(cfg.Loss["name"]), "distance": cfg.Eval.Distance,
		"fit": cfg.Data.Fit, "chroma": cfg.Data.Chroma,
	}
	if name := cfg.Data.resampleFilter(); name != "" {
		net.Spec().Meta["resample"] = name
	}
	if cfg.Data.Colours == rawColours {
		net.Spec().Meta["colours"] = rawColours
	}
	if cfg.Data.Shorter > 0 {
		net.Spec().Meta["shorter"] = strconv.Itoa(cfg.Data.Shorter)
	}
}
