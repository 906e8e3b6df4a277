// Package run trains a network by a configuration, writes the run folder, and reads run
// folders.
//
//	cfg, err := run.Parse("run.yaml", text, "train.epochs=20")
//	res, err := run.Train(ctx, cfg, run.Options{Dir: "runs/photos"})
//	m, err := run.Load("runs/photos")
//	d, err := data.Open(ctx, "more-photos", data.OpenOptions{})
//	e, err := m.Embed(ctx, d.All()) // e.X has a row for each photograph
//
// Train makes what a Config names, passes it to package train, and writes the results: the
// resolved configuration, the network, the metrics of every epoch, a checkpoint, and the
// embeddings of the test split. Load reads the network and the preparation of its input. Open
// returns the folder for access to its other files. docs/training.md is the page for users;
// docs/design/train.md gives the reasons.
//
// A newcomer may begin at plan (plan.go), which lists the parts of a run in the order in which they are settled.
package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/run/internal/ranks"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

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

// resume returns the checkpoint in the run's folder from which the run goes on, or nil without a checkpoint.
func (t *trainer) resume() (*train.Checkpoint, error) {
	p := t.plan
	from, err := t.folder().Checkpoint()
	if errors.Is(err, fs.ErrNotExist) && p.opts.Finish {
		return nil, t.nothingToFinishError()
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := t.checkConfig(from.Origin); err != nil {
		return nil, err
	}
	samples, base, _ := strings.Cut(from.Data, "+")
	if base != p.network.adapterBase {
		return nil, fmt.Errorf("%s: the weights that adapters are added to differ from those that the run started "+
			"with: resume with the same network.pretrained (%s)", from.Name, p.cfg.Network.Pretrained)
	}
	if what := changedSamples(samples, fingerprint(p.split.Train)); what != "" {
		return nil, &DataChangedError{from.Name, what}
	}
	switch done, epochs := from.Epoch, p.cfg.Train.Epochs; {
	case p.opts.Finish:
		return from, t.endAtCheckpoint(from)
	case done > epochs:
		return nil, fmt.Errorf("%s has done %d epochs, more than train.epochs=%d", p.opts.Dir, done, epochs)
	case done == epochs:
		p.notes.add("%s has finished all %d epochs: only its files are written again", p.opts.Dir, done)
	default:
		p.notes.add("%s continues in epoch %d after step %d of %d", p.opts.Dir, done+1, from.Step, p.schedule.steps)
		return from, t.noteRateChange(from.Origin)
	}
	return from, nil
}

// folder returns the run folder.
func (t *trainer) folder() *Folder { return &Folder{t.record.Dir} }

// noteRateChange says that the rate goes on differently because it falls to 0 over another number of epochs
// than before.
func (t *trainer) noteRateChange(o train.Origin) error {
	c := &t.plan.cfg.Train
	if c.Schedule != string(train.CosineRate) {
		return nil
	}
	was, err := Parse(record.ConfigFile, []byte(o.Settings))
	if err != nil {
		return err
	}
	before, how := was.Train.Epochs, "higher"
	switch {
	case c.Epochs == before:
		return nil
	case c.Epochs < before:
		how = "lower"
	}
	t.plan.notes.add("train.schedule is %s: the learning rate now falls to 0 over %d epochs, and not over %d, so it "+
		"goes on %s than before", c.Schedule, c.Epochs, before, how)
	return nil
}

// DataChangedError is the error of resuming a run with other data.
type DataChangedError struct {
	Checkpoint string // file of the checkpoint
	What       string // what differs
}

func (e *DataChangedError) Error() string {
	return fmt.Sprintf("%s: %s differ from those of the checkpoint: resume with the same data", e.Checkpoint, e.What)
}

// endAtCheckpoint makes the run end at its checkpoint.
func (t *trainer) endAtCheckpoint(from *train.Checkpoint) error {
	p := t.plan
	done := from.Epoch
	if from.Step > 0 {
		done++
	}
	if done == 0 {
		return t.nothingToFinishError()
	}
	p.cfg.Train.Epochs = done
	if from.Step > 0 {
		p.notes.add("%s ends in epoch %d after step %d of %d", p.opts.Dir, done, from.Step, p.schedule.steps)
	} else {
		p.notes.add("%s ends after epoch %d", p.opts.Dir, done)
	}
	return nil
}

func (t *trainer) nothingToFinishError() error {
	return option.Errorf("nothing to finish: the run in %s has taken no step: start it again with %s", t.plan.opts.Dir,
		record.OptResume.WithValue(t.plan.opts.Dir))
}

// checkConfig compares the configuration in the folder with the one that the checkpoint was
// trained with. If it was cut short or edited by hand, the run would go on with other settings.
func (t *trainer) checkConfig(o train.Origin) error {
	if o.Settings == "" {
		return fmt.Errorf("%s: the checkpoint lacks the configuration that it was trained with, because a version "+
			"that was never released wrote it: start the run again in another folder", t.plan.opts.Dir)
	}
	now, err := t.folder().configText()
	if err != nil {
		return err
	}
	diff, err := settingDifferences(now, []byte(o.Settings))
	if err != nil || diff == "" {
		return err
	}
	if o.Earlier != "" {
		if d, err := settingDifferences(now, []byte(o.Earlier)); err != nil || d == "" {
			return err
		}
	}
	return option.Errorf("%s differs from the configuration that the run was trained with: %s: restore it, or give "+
		"changes by %s", t.folder().ConfigPath(), diff, overrides)
}

// settingDifferences lists the settings in which two configurations differ, the first few by name; ""
// without a difference. Both are parsed, so that comments, order and keys left at their
// defaults make no difference.
func settingDifferences(now, was []byte) (string, error) {
	var values [2]map[string]string
	var keys []string
	for i, text := range [][]byte{now, was} {
		cfg, err := Parse(record.ConfigFile, text)
		if err != nil {
			return "", err
		}
		all, err := parseSettings(cfg.YAML())
		if err != nil {
			return "", err
		}
		values[i] = map[string]string{}
		for _, s := range all {
			if _, known := values[0][s.Key]; i == 0 || !known {
				keys = append(keys, s.Key)
			}
			values[i][s.Key] = s.Value
		}
	}
	const most = 3
	var out []string
	n := 0
	for _, k := range keys {
		if a, b := values[0][k], values[1][k]; a != b {
			if n++; n <= most {
				out = append(out, fmt.Sprintf("%s is %q there and was %q", k, a, b))
			}
		}
	}
	text := strings.Join(out, ", ")
	if n > most {
		text += fmt.Sprintf(", and %d more", n-most)
	}
	return text, nil
}
