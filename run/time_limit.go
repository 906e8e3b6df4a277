package run

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

const (
	// timedShare is the share of train.minutes for which steps are timed.
	timedShare = 0.03
	// pageShare is the share of train.minutes for the files and the page that are written after the final scores.
	pageShare = 0.03
	// spareShare is the share of the time for epochs that is left free, because the pace varies.
	spareShare = 0.1
	// evalShare is the largest share of the time for epochs that evaluations take, and
	// minEvaluations the number of evaluations for which epochs are made shorter.
	evalShare, minEvaluations = 0.2, 4
	// timedImages is the number of images by which an evaluation is timed if it is not made anyway.
	timedImages = 256
	// savesPerEpoch is the number of copies of the weights that the checkpoints of an epoch write: two of the weights
	// and of the optimizer's moments, the average, the best and the first ones.
	savesPerEpoch = 12
)

// fitMinutes times steps and an evaluation, and settles the length of a run of train.minutes. Weights, statistics and
// all draws stay as they are. The configuration then has the length in place of train.minutes, so that it repeats the
// run.
func (t *trainer) fitMinutes(ctx context.Context) error {
	c := &t.plan.cfg
	whole := time.Duration((1 - pageShare) * c.Train.Minutes * float64(time.Minute))
	if err := t.plan.computeBodyFeatures(ctx); err != nil {
		return err
	}
	probe, err := train.New(t.loopConfig(nil))
	if err != nil {
		return err
	}
	p := &pace{minutes: c.Train.Minutes}
	if p.step, err = probe.MeasureStep(ctx, time.Duration(timedShare*float64(whole))); err != nil {
		return err
	}
	if err := t.timeEvaluations(ctx, p); err != nil {
		return err
	}
	p.setupTime = time.Since(t.plan.opts.StartTime)
	if t.plan.untrained != nil && !t.plan.untrained.mayKeep(c) {
		p.setupTime += p.eval
	}
	save, err := t.timeSave()
	if err != nil {
		return err
	}
	after := t.timeAfterEpochs(p)
	left := time.Duration((1 - spareShare) * float64(whole-p.setupTime-after))
	p.deadline = t.plan.opts.StartTime.Add(whole - after - p.eval)
	epochs, steps, every := fitEpochs(left, p.step, p.eval, save, t.plan.schedule.steps, c.Eval.Every,
		t.plan.batches.choosesSteps)
	t.pace = p
	return t.plan.setLength(epochs, steps, every)
}

// setLength gives the plan of a run of train.minutes its length.
func (p *plan) setLength(epochs, steps, every int) (err error) {
	c := &p.cfg
	if steps != p.schedule.steps {
		c.Sample.Batches, p.schedule.steps = steps, steps
		if err := p.batches.makeSampler(c, &p.opts, &p.start, &p.loss.options); err != nil {
			return err
		}
	}
	if p.schedule.choosesWarmup {
		c.Train.Warmup = p.schedule.defaultWarmup(epochs)
	}
	// The cosine needs steps after the warm-up.
	epochs = max(epochs, int(math.Round(c.Train.Warmup*float64(steps)))/steps+1)
	c.Train.Minutes, c.Train.Epochs, c.Eval.Every = 0, epochs, every
	if p.start.fineTunes {
		c.Train.Patience = cmp.Or(c.Train.Patience, epochs) // 0 would be chosen anew when the run is repeated
	}
	p.optimizer, err = newOptimizer(&c.Train, p.schedule.steps, &p.network, p.objective)
	return err
}

// timeEvaluations makes the evaluation before training, and finds the time of those after epochs.
func (t *trainer) timeEvaluations(ctx context.Context, p *pace) (err error) {
	sets, net, cfg := t.plan.feeds.scored, t.plan.network.trained, &t.plan.cfg
	if u := t.plan.untrained; u != nil {
		sets, net, cfg = u.scored, u.net, u.cfg
	}
	start := time.Now()
	if p.scores, err = scoreAll(ctx, sets, net, cfg, false); err != nil {
		return err
	}
	p.untrained = time.Since(start)
	if p.eval = p.untrained; t.plan.untrained == nil {
		return nil
	}
	f := t.plan.feeds.scored[0].queryFeed
	if t.plan.feeds.features == nil {
		f, err = newFeed(sampleEvenly(f.Part, timedImages), t.plan.cfg.Data, t.plan.cfg.Train.Seed, false, false)
		if err != nil {
			return err
		}
	}
	start = time.Now()
	if _, err = embedFeed(ctx, t.plan.network.trained, f, t.plan.cfg.Eval.Batch); err != nil {
		return err
	}
	all := 0
	for _, s := range t.plan.feeds.scored {
		all += s.numImages()
	}
	p.eval = time.Since(start) * time.Duration(all) / time.Duration(f.Part.Len())
	return nil
}

// timeSave returns the time in which the checkpoints of an epoch are written.
func (t *trainer) timeSave() (time.Duration, error) {
	if t.record == nil {
		return 0, nil
	}
	start := time.Now()
	if err := t.record.Write(nn.WeightsFile, t.plan.network.net.State().Write); err != nil {
		return 0, err
	}
	return savesPerEpoch * time.Since(start), t.record.Files.Remove(t.record.Join(nn.WeightsFile))
}

// timeAfterEpochs returns the time of what follows the evaluation of the last epoch: the search for the best
// network, the comparison with the untrained one, and the final scores.
func (t *trainer) timeAfterEpochs(p *pace) time.Duration {
	loop := t.loopConfig(nil)
	if loop.EarlyStopping.Metric == "" && loop.Average == 0 {
		return 0
	}
	all, validation := 0, 0
	for _, s := range t.plan.feeds.scored {
		all += s.numImages()
	}
	if s := findSet(t.plan.feeds.scored, ValidationSet); s != nil {
		validation = s.numImages()
	}
	final := p.eval
	if loop.UntrainedCompetes {
		final = max(p.eval, p.untrained) // the run may end with the untrained network
	}
	each := time.Duration(loop.Interpolation.Parts) * p.eval
	if loop.EarlyStopping.Paired != nil && loop.Untrained {
		each += p.eval + p.untrained
	}
	return final + each*time.Duration(validation)/time.Duration(max(all, 1))
}

// fitEpochs returns the numbers of epochs and of steps in each that fit into left, and the number of
// epochs between evaluations. An epoch has batches steps, is saved and, every every-th time,
// evaluated. open allows shorter epochs, which fill the time and give at least minEvaluations if
// their share allows that. There is at least one epoch of one step.
func fitEpochs(left, step, eval, save time.Duration, batches, every int, open bool) (epochs, steps, each int) {
	t, s, e := max(left.Seconds(), 0), max(step.Seconds(), 1e-9), max(eval.Seconds(), 1e-9)
	each = max(every, int(math.Ceil(e*(1-evalShare)/(evalShare*s*float64(batches)))))
	rest := save.Seconds() + e/float64(each)
	one := s*float64(batches) + rest
	if !open {
		return max(int(t/one), 1), batches, each
	}
	epochs = max(int(math.Ceil(t/one)), 1)
	if each == 1 {
		epochs = max(epochs, min(minEvaluations, int(evalShare*t/e)))
	}
	steps = int((t/float64(epochs) - rest) / s)
	return epochs, min(max(steps, 1), batches), min(each, epochs)
}

// describeEarlyEnd says that the machine became slower than measured, so that the run ended before its last
// epoch; "" if it did not.
func (t *trainer) describeEarlyEnd(r *train.Result) string {
	p := t.plan
	if !r.Late {
		return ""
	}
	n, all := len(r.History), p.cfg.Train.Epochs
	text := fmt.Sprintf("the run ended early, in epoch %d of %d, because the machine was slower than the %.2g s a "+
		"step that were measured at the start", n, all, t.pace.step.Seconds())
	if p.opts.Dir == "" || n == all {
		return text
	}
	return fmt.Sprintf("%s: 'kindred train --resume %s' trains the other epochs", text, p.opts.Dir)
}
