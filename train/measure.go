package train

import (
	"context"
	"errors"
	"time"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

const (
	// minTimedSteps and maxTimedSteps are the numbers of steps that Pace times.
	minTimedSteps = 2
	maxTimedSteps = 32
)

// MeasureStep measures the time of a step on the first batches: reading, loss and gradients, without an
// update. It takes about the given time, but at least 2 steps and at most 32, after a first one that
// does not count. Afterwards weights, running statistics and all other state are as before, so that
// Run gives the same bits as without Pace. Call it before Run. It is an error with Config.Ranks or
// Config.Resume, or if Network is a Remote.
func (t *Trainer) MeasureStep(ctx context.Context, about time.Duration) (step time.Duration, err error) {
	c := &t.cfg
	if _, remote := c.Network.(Remote); remote || c.Ranks != nil || c.Resume != nil {
		return 0, errors.New("measuring the pace needs a new run in one process, without a device")
	}
	weights, draws, loss := copyTensors("", c.Network, c.Objective), c.Sampler.State(), c.Objective.State()
	steps, counts := c.Network.(stepCounter)
	var passes uint64
	if counts {
		passes = steps.Step()
	}
	defer func() {
		if counts {
			steps.SetStep(passes)
		}
		err = errors.Join(err, setTensors(&safetensors.File{Tensors: weights}, "", c.Network, c.Objective),
			c.Objective.Restore(loss), c.Sampler.Restore(draws))
	}()
	batches := c.Sampler.Epoch()
	for len(batches) <= maxTimedSteps {
		batches = append(batches, batches...)
	}
	var began time.Time
	done := 0
	for b, err := range prefetch(c.Network, c.Data.Epoch(ctx, 0, batches[:maxTimedSteps+1]), true) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			_, err = t.gradients(b)
		}
		if err != nil {
			return 0, err
		}
		if began.IsZero() {
			began = time.Now()
			continue
		}
		if done++; done >= minTimedSteps && time.Since(began) >= about {
			break
		}
	}
	if done == 0 {
		return 0, errors.Join(ctx.Err(), errors.New("the data ended before the second batch"))
	}
	return time.Since(began) / time.Duration(done), nil
}
