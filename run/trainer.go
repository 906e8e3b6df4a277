package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

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

// newStoppedError returns the error of a run that was interrupted after its last step.
func (t *trainer) newStoppedError(err error) error {
	p := t.plan
	if t.record == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	n := p.cfg.Train.Epochs
	return &StoppedError{p.opts.Dir, &train.StoppedError{Epoch: n + 1, Epochs: n, Steps: p.schedule.steps, Err: err}}
}

// leftOut returns the files that are not samples, and the samples that neither training nor an
// evaluation could read.
func (t *trainer) leftOut() []data.LeftOut {
	p := t.plan
	stats := []data.Stats{p.feeds.training.Stats()}
	for _, s := range p.feeds.scored {
		stats = append(stats, s.queryFeed.Stats())
		if s.galleryFeed != nil {
			stats = append(stats, s.galleryFeed.Stats())
		}
	}
	return p.split.Train.Data.AllLeftOut(stats...)
}

// epochWarning returns a warning about an epoch, or "".
func (p *plan) epochWarning(s *train.Totals) string {
	if p.opts.Miner != nil && s.Steps > 0 && s.Tuples == 0 {
		return "there was nothing to learn from: run.Options.Miner chose no triplets"
	}
	return idleReason(s, &p.loss.options)
}
