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
	if err := t.before(ctx); err != nil {
		return err
	}
	for t.goesOn() {
		t.state.Final, t.state.Returned, t.state.Compared = nil, false, nil
		start, before := time.Now(), t.samples
		if !t.cfg.Finish {
			if err := t.epoch(ctx); err != nil {
				return err
			}
		}
		trained := time.Now()
		row := Epoch{Epoch: t.state.Epoch + 1, Sums: t.state.Sums, LR: t.state.Rate}
		if t.cfg.Warn != nil {
			row.Warning = t.cfg.Warn(&row.Sums)
		}
		if every := t.cfg.Every; row.Epoch < t.cfg.Epochs && row.Epoch%every == 0 {
			next := time.Duration(min(every, t.cfg.Epochs-row.Epoch)) * trained.Sub(start)
			t.late = t.late || t.overdue(t.scoring+next)
		}
		ends := row.Epoch == t.cfg.Epochs || t.late
		last := ends && !t.settles()
		due := t.cfg.Eval != nil && (ends || row.Epoch%t.cfg.Every == 0 || t.cfg.Finish)
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
		row.Took = Took{trained.Sub(start), time.Since(trained), t.samples - before}
		t.used += time.Since(start)
		if t.cfg.Budget > 0 {
			over, err := t.agree(t.used >= t.cfg.Budget)
			if err != nil {
				return err
			}
			if over {
				t.state.Spent = t.cfg.Budget
			}
		}
		t.state.History = append(t.state.History, row)
		t.state.Epoch++
		t.state.Step, t.state.Sums = 0, Sums{}
		t.state.Sampler = t.cfg.Sampler.State()
		if err := t.save(ctx, last && !due); err != nil {
			return err
		}
		t.observe(Event{Stage: EpochEnd, Row: &row})
	}
	if t.cfg.Finish {
		return t.catchUp(ctx)
	}
	return nil
}

// goesOn reports whether there is another epoch to train or, with Finish, one to end.
func (t *Trainer) goesOn() bool {
	if t.cfg.Finish {
		return t.state.Step > 0
	}
	return t.state.Epoch < t.cfg.Epochs && !t.exhausted() && !t.spent() && !t.late
}

// overdue reports whether Config.Deadline is less than d away.
func (t *Trainer) overdue(d time.Duration) bool {
	return !t.cfg.Deadline.IsZero() && time.Now().Add(d).After(t.cfg.Deadline)
}

// evaluate scores an epoch and compares it with earlier epochs.
func (t *Trainer) evaluate(ctx context.Context, row *Epoch, before []Epoch, last bool) (err error) {
	if row.Metrics, err = t.score(ctx, row.Epoch, func(ctx context.Context) ([]Metric, error) {
		return t.cfg.Eval(ctx, row.Epoch, last)
	}); err != nil {
		return err
	}
	return t.judge(row, before)
}

// catchUp scores the last epoch of a run that ends early, if no evaluation was due.
func (t *Trainer) catchUp(ctx context.Context) error {
	n := len(t.state.History)
	row := t.state.History[n-1]
	if t.cfg.Eval == nil || row.Metrics != nil {
		return nil
	}
	if err := t.evaluate(ctx, &row, t.state.History[:n-1], !t.settles()); err != nil {
		return err
	}
	t.state.History = append(t.state.History[:n-1:n-1], row)
	return t.save(ctx, !t.settles())
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
		err = t.average.within(scored)
	}
	if err != nil {
		return nil, t.stopped(ctx, err)
	}
	for _, x := range m {
		if math.IsNaN(x.Value) || math.IsInf(x.Value, 0) { // a checkpoint cannot hold it
			return nil, fmt.Errorf("score %s after epoch %d is %v: must be finite", x.Key(), epoch, x.Value)
		}
	}
	return m, nil
}

// stopped completes the error that ends the run. After an interruption it saves a checkpoint first.
func (t *Trainer) stopped(ctx context.Context, err error) error {
	if !interrupted(err) {
		return err
	}
	if e := t.save(ctx, false); e != nil {
		return errors.Join(err, e)
	}
	return &Stopped{t.state.Epoch + 1, t.cfg.Epochs, t.state.Step, t.cfg.Sampler.Batches(), err}
}

// epoch runs the remaining steps of the epoch under way.
func (t *Trainer) epoch(ctx context.Context) error {
	batches := t.cfg.Sampler.Epoch()
	if t.state.Step == len(batches) {
		return nil
	}
	read, err := t.read(ctx, t.state.Epoch, batches[t.state.Step:])
	if err != nil {
		return err
	}
	for b, err := range ahead(t.cfg.Network, read, true) {
		if err := t.advance(ctx, b, err, batches); err != nil || t.state.Step == len(batches) {
			return err
		}
		if t.late = t.overdue(0); t.late {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return t.stopped(ctx, err)
	}
	return fmt.Errorf("epoch %d: the data ended after %d of %d batches", t.state.Epoch+1, t.state.Step, len(batches))
}

// advance makes the step on a batch that was read, and saves a checkpoint if it is time or the run is interrupted. A
// signal does not cut it.
func (t *Trainer) advance(ctx context.Context, b Batch, err error, batches [][]int) error {
	defer critical.Begin(ctx, 0)()
	if err == nil {
		err = t.ended(ctx)
	}
	if device := (*DeviceError)(nil); errors.As(err, &device) {
		return &StepError{t.state.Epoch + 1, t.state.Step + 1, err}
	}
	if err != nil {
		return t.stopped(ctx, err)
	}
	if b, err = t.whole(b, batches[t.state.Step]); err != nil {
		return &StepError{t.state.Epoch + 1, t.state.Step + 1, err}
	}
	r, err := t.step(b)
	if err != nil {
		return &StepError{t.state.Epoch + 1, t.state.Step + 1, err}
	}
	t.state.Step++
	t.samples += len(b.Pos)
	t.unsaved(ctx)
	t.observe(Event{Stage: Stepped, Result: r})
	if every := t.cfg.Between; every > 0 && t.state.Step%every == 0 && t.state.Step < len(batches) {
		return t.save(ctx, false)
	}
	return nil
}

// unsavedMost is how long a signal waits for photos that are being read, if steps would be lost otherwise.
const unsavedMost = 5 * time.Second

// unsaved notes that there are steps that no checkpoint has.
func (t *Trainer) unsaved(ctx context.Context) {
	if t.lose == nil && t.cfg.Store != nil {
		t.lose = critical.Begin(ctx, unsavedMost)
	}
}

// saved notes that a checkpoint has all steps.
func (t *Trainer) saved() {
	if t.lose != nil {
		t.lose()
		t.lose = nil
	}
}

// gradients computes the loss of a batch and its gradients.
func (t *Trainer) gradients(b Batch) (objective.Result, error) {
	n := len(b.Pos)
	if n == 0 {
		return objective.Result{}, ErrNoSamples
	}
	if err := t.label(b.Pos); err != nil {
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
	if t.average.on() {
		t.average.add(t.state.Epoch*t.cfg.Sampler.Batches() + t.state.Step + 1)
	}
	if err := failure(t.cfg.Network); err != nil {
		return r, err
	}
	if math.IsNaN(s.GradNorm) || math.IsInf(s.GradNorm, 0) {
		return r, fmt.Errorf("the gradient is not finite, first in %s", t.badGradient())
	}
	t.state.Rate = s.Rate
	t.state.Sums.add(len(b.Pos), r, s.GradNorm)
	return r, nil
}

// label fills in the labels and IDs of the current batch.
func (t *Trainer) label(pos []int) error {
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

// badGradient names the layer nearest to the loss whose gradient is not finite.
func (t *Trainer) badGradient() string {
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
