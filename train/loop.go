package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/internal/base/critical"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
)

// loop runs the remaining epochs.
func (t *Trainer) loop(ctx context.Context) error {
	if err := t.evalUntrained(ctx); err != nil {
		return err
	}
	for t.hasEpoch() {
		t.state.Final, t.state.Returned, t.state.Compared = nil, false, nil
		start, before := time.Now(), t.samples
		if !t.cfg.Finish {
			if err := t.epoch(ctx); err != nil {
				return err
			}
		}
		trained := time.Now()
		row := Epoch{Epoch: t.state.Epoch + 1, Totals: t.state.Totals, LR: t.state.Rate}
		if t.cfg.Warn != nil {
			row.Warning = t.cfg.Warn(&row.Totals)
		}
		if every := t.cfg.EvalEvery; row.Epoch < t.cfg.Epochs && row.Epoch%every == 0 {
			next := time.Duration(min(every, t.cfg.Epochs-row.Epoch)) * trained.Sub(start)
			t.isLate = t.isLate || t.isDeadlineWithin(t.scoring+next)
		}
		ends := row.Epoch == t.cfg.Epochs || t.isLate
		last := ends && !t.changesAtEnd()
		due := t.cfg.Eval != nil && (ends || row.Epoch%t.cfg.EvalEvery == 0 || t.cfg.Finish)
		if due {
			// Save first, so that the training is not lost if scoring fails.
			if err := t.save(ctx, last); err != nil {
				return err
			}
			if err := t.evaluate(ctx, &row, t.state.History, last); err != nil {
				return err
			}
			t.scoring = time.Since(trained)
		}
		row.Timing = Timing{trained.Sub(start), time.Since(trained), t.samples - before}
		t.elapsed += time.Since(start)
		if t.cfg.Budget > 0 {
			over, err := t.isTrueOnAnyRank(t.elapsed >= t.cfg.Budget)
			if err != nil {
				return err
			}
			if over {
				t.state.Spent = t.cfg.Budget
			}
		}
		t.state.History = append(t.state.History, row)
		t.state.Epoch++
		t.state.Step, t.state.Totals = 0, Totals{}
		t.state.Sampler = t.cfg.Sampler.State()
		if err := t.save(ctx, last && !due); err != nil {
			return err
		}
		t.observe(Event{Stage: EpochEnd, Row: &row})
	}
	if t.cfg.Finish {
		return t.scoreLastEpoch(ctx)
	}
	return nil
}

// hasEpoch reports whether there is another epoch to train or, with Finish, one to end.
func (t *Trainer) hasEpoch() bool {
	if t.cfg.Finish {
		return t.state.Step > 0
	}
	return t.state.Epoch < t.cfg.Epochs && !t.isOutOfPatience() && !t.isOverBudget() && !t.isLate
}

// isDeadlineWithin reports whether Config.Deadline is less than d away.
func (t *Trainer) isDeadlineWithin(d time.Duration) bool {
	return !t.cfg.Deadline.IsZero() && time.Now().Add(d).After(t.cfg.Deadline)
}

// evaluate scores an epoch and compares it with earlier epochs.
func (t *Trainer) evaluate(ctx context.Context, row *Epoch, before []Epoch, last bool) (err error) {
	if row.Metrics, err = t.score(ctx, row.Epoch, func(ctx context.Context) ([]Metric, error) {
		return t.cfg.Eval(ctx, row.Epoch, last)
	}); err != nil {
		return err
	}
	return t.updateBest(row, before)
}

// scoreLastEpoch scores the last epoch of a run that ends early, if no evaluation was due.
func (t *Trainer) scoreLastEpoch(ctx context.Context) error {
	n := len(t.state.History)
	row := t.state.History[n-1]
	if t.cfg.Eval == nil || row.Metrics != nil {
		return nil
	}
	if err := t.evaluate(ctx, &row, t.state.History[:n-1], !t.changesAtEnd()); err != nil {
		return err
	}
	t.state.History = append(t.state.History[:n-1:n-1], row)
	return t.save(ctx, !t.changesAtEnd())
}

// score evaluates the network, or the average of its weights unless the final network is settled.
// An interruption saves a checkpoint.
func (t *Trainer) score(ctx context.Context, epoch int, eval func(context.Context) ([]Metric, error)) (m []Metric,
	err error) {
	t.observe(Event{Stage: Scoring})
	scored := func() error {
		m, err = eval(ctx)
		return err
	}
	if t.latest != nil {
		err = scored()
	} else {
		err = t.average.withMean(scored)
	}
	if err != nil {
		return nil, t.stop(ctx, err)
	}
	for _, x := range m {
		if math.IsNaN(x.Value) || math.IsInf(x.Value, 0) { // a checkpoint cannot hold it
			return nil, fmt.Errorf("score %s after epoch %d is %v: must be finite", x.Key(), epoch, x.Value)
		}
	}
	return m, nil
}

// stop completes the error that ends the run. After an interruption it saves a checkpoint first.
func (t *Trainer) stop(ctx context.Context, err error) error {
	if !isInterruption(err) {
		return err
	}
	if e := t.save(ctx, false); e != nil {
		return errors.Join(err, e)
	}
	return &StoppedError{t.state.Epoch + 1, t.cfg.Epochs, t.state.Step, t.cfg.Sampler.Batches(), err}
}

// epoch runs the remaining steps of the epoch under way.
func (t *Trainer) epoch(ctx context.Context) error {
	batches := t.cfg.Sampler.Epoch()
	if t.state.Step == len(batches) {
		return nil
	}
	read, err := t.readBatches(ctx, t.state.Epoch, batches[t.state.Step:])
	if err != nil {
		return err
	}
	for b, err := range prefetch(t.cfg.Network, read, true) {
		if err := t.processBatch(ctx, b, err, batches); err != nil || t.state.Step == len(batches) {
			return err
		}
		if t.isLate = t.isDeadlineWithin(0); t.isLate {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return t.stop(ctx, err)
	}
	return fmt.Errorf("epoch %d: the data ended after %d of %d batches", t.state.Epoch+1, t.state.Step, len(batches))
}

// processBatch makes the step on a batch that was read, and saves a checkpoint if it is time or the run is
// interrupted. A signal does not cut it.
func (t *Trainer) processBatch(ctx context.Context, b Batch, err error, batches [][]int) error {
	defer critical.Begin(ctx, 0)()
	if err == nil {
		err = t.contextError(ctx)
	}
	if device := (*DeviceError)(nil); errors.As(err, &device) {
		return &StepError{t.state.Epoch + 1, t.state.Step + 1, err}
	}
	if err != nil {
		return t.stop(ctx, err)
	}
	if b, err = t.completeBatch(b, batches[t.state.Step]); err != nil {
		return &StepError{t.state.Epoch + 1, t.state.Step + 1, err}
	}
	r, err := t.step(b)
	if err != nil {
		return &StepError{t.state.Epoch + 1, t.state.Step + 1, err}
	}
	t.state.Step++
	t.samples += len(b.Pos)
	t.beginUnsaved(ctx)
	t.observe(Event{Stage: Stepped, Result: r})
	if every := t.cfg.CheckpointInterval; every > 0 && t.state.Step%every == 0 && t.state.Step < len(batches) {
		return t.save(ctx, false)
	}
	return nil
}

// maxUnsaved is how long a signal waits for photos that are being read, if steps would be lost otherwise.
const maxUnsaved = 5 * time.Second

// beginUnsaved notes that there are steps that no checkpoint has.
func (t *Trainer) beginUnsaved(ctx context.Context) {
	if t.endCritical == nil && t.cfg.Store != nil {
		t.endCritical = critical.Begin(ctx, maxUnsaved)
	}
}

// endUnsaved notes that a checkpoint has all steps.
func (t *Trainer) endUnsaved() {
	if t.endCritical != nil {
		t.endCritical()
		t.endCritical = nil
	}
}

// gradients computes the loss of a batch and its gradients.
func (t *Trainer) gradients(b Batch) (objective.Result, error) {
	n := len(b.Pos)
	if n == 0 {
		return objective.Result{}, ErrNoSamples
	}
	if err := t.fillLabels(b.Pos); err != nil {
		return objective.Result{}, err
	}
	e, err := t.forward(b)
	if err != nil {
		return objective.Result{}, err
	}
	if t.grad == nil || t.grad.Rows != e.Rows {
		t.grad = matrix.New(e.Rows, e.Cols)
	}
	// A step is never interrupted, so that a checkpoint is always between two steps.
	r, err := t.cfg.Objective.Step(context.Background(), e, t.batch, t.grad)
	if err != nil {
		if d := t.diagnose(b); d != nil {
			err = fmt.Errorf("%w (%w)", err, d)
		}
		return r, err
	}
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return r, fmt.Errorf("the loss is %v", r.Value)
	}
	return r, t.backward(n)
}

// step makes one training step on a batch.
func (t *Trainer) step(b Batch) (objective.Result, error) {
	r, err := t.gradients(b)
	if err != nil {
		return r, err
	}
	s := t.cfg.Optimizer.Step()
	if t.average.isOn() {
		t.average.add(t.state.Epoch*t.cfg.Sampler.Batches() + t.state.Step + 1)
	}
	if err := deviceError(t.cfg.Network); err != nil {
		return r, err
	}
	if math.IsNaN(s.GradNorm) || math.IsInf(s.GradNorm, 0) {
		return r, fmt.Errorf("the gradient is not finite, first in %s", t.findBadGradient())
	}
	t.state.Rate = s.Rate
	t.state.Totals.add(len(b.Pos), r, s.GradNorm)
	return r, nil
}

// fillLabels fills in the labels and IDs of the current batch.
func (t *Trainer) fillLabels(pos []int) error {
	b := &t.batch
	b.Labels, b.IDs = b.Labels[:0], b.IDs[:0]
	for _, i := range pos {
		if i < 0 || i >= len(t.cfg.Labels) {
			return fmt.Errorf("the batch has position %d, but there are only %d labels", i, len(t.cfg.Labels))
		}
		b.Labels = append(b.Labels, t.cfg.Labels[i])
		if t.cfg.IDs != nil {
			b.IDs = append(b.IDs, t.cfg.IDs[i])
		}
	}
	if t.cfg.IDs == nil {
		b.IDs = nil
	}
	return nil
}

// findBadGradient names the layer nearest to the loss whose gradient is not finite.
func (t *Trainer) findBadGradient() string {
	for _, p := range slices.Backward(t.cfg.Network.Params()) {
		for _, g := range p.Grad {
			if g-g != 0 {
				return "layer " + p.Name
			}
		}
	}
	for _, p := range t.cfg.Objective.Params() {
		for _, g := range p.Grad {
			if g-g != 0 {
				return "the loss's parameter " + p.Name
			}
		}
	}
	return "the sum of its squares"
}
