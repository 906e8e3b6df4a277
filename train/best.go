package train

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/format/safetensors"
)

// Best keeps the network of the epoch with the highest score instead of the last
// epoch's, and ends a run that no longer improves. The zero value does neither.
type Best struct {
	// Metric is the key of the score, such as "val_recall@1", among those of
	// Config.Eval; "" turns Best off. Of equal scores the first counts. Choose it on
	// other samples than those of the reported scores.
	Metric string
	// Smooth, if above 1, makes an epoch's score the mean of the metric after it and
	// after the evaluations before it, Smooth of them at most. Before training does not
	// count among them.
	Smooth int
	// Rise is by how much a score must exceed the kept one to count as higher. Where scores
	// stay about the same, the earlier network is nearer to the start.
	Rise float64
	// Patience ends the run after this number of evaluations in a row without a higher
	// score; 0: never.
	Patience int
	// Paired, if set, returns a value for each sample that Metric is computed from, by
	// the network as it is then: that of the given epoch, or with epoch 0 the one before
	// training. Both calls list the same samples in one order. With Config.Untrained the
	// run ends with the network before training unless the values of the best epoch are
	// higher, by a one-sided paired t-test at Level. Without Paired, it does so if the score
	// before training is at least that of the best epoch.
	Paired func(ctx context.Context, epoch int) ([]float64, error)
	// Level is the level of that test; default 0.05.
	Level float64
}

func (b Best) on() bool { return b.Metric != "" }

// Rule says in words which epoch is kept, given what the metric is called.
func (b Best) Rule(metric string) string {
	text := "the epoch with the highest " + metric
	if b.Smooth > 1 {
		text += fmt.Sprintf(" (mean of %d evaluations)", b.Smooth)
	}
	if b.Rise > 0 {
		text += fmt.Sprintf(" (rises of up to %v do not count)", b.Rise)
	}
	return text
}

// smoothed is the score of an epoch with the metric's value v, by what came before.
func (b Best) smoothed(v float64, history []Epoch) float64 {
	sum, n := v, 1
	for _, row := range slices.Backward(history) {
		if n >= b.Smooth {
			break
		}
		if x, err := row.Metric(b.Metric); err == nil {
			sum += x
			n++
		}
	}
	return sum / float64(n)
}

// bestPrefix starts the names of the tensors of the best epoch.
const bestPrefix = "best."

// judge compares an epoch's score with the best so far, given the epochs before it.
func (t *Trainer) judge(row *Epoch, before []Epoch) error {
	if !t.cfg.Best.on() {
		return nil
	}
	v, err := row.Metric(t.cfg.Best.Metric)
	if err != nil {
		return fmt.Errorf("keeping the best epoch: %w", err)
	}
	score := t.cfg.Best.smoothed(v, before)
	if k := t.state.Best; k != nil && score <= k.Score+t.cfg.Best.Rise {
		since := *k
		since.Since++
		t.state.Best = &since
		return nil
	}
	t.state.Best = &Kept{Metric: t.cfg.Best.Metric, Epoch: row.Epoch, Value: v, Score: score}
	if err := pull(t.cfg.Network); err != nil {
		return err
	}
	return t.average.within(func() error {
		t.best = tensors(bestPrefix, t.cfg.Network, t.cfg.Objective)
		return nil
	})
}

// exhausted reports whether patience is at its end.
func (t *Trainer) exhausted() bool {
	b, k := t.cfg.Best, t.state.Best
	return b.on() && b.Patience > 0 && k != nil && k.Since >= b.Patience
}

// spent reports whether the budget is at its end. A larger one lets the run go on.
func (t *Trainer) spent() bool {
	return t.state.Spent > 0 && t.cfg.Budget > 0 && t.cfg.Budget <= t.state.Spent
}

// settles reports whether the network that the run ends with is another one than
// that of its last step.
func (t *Trainer) settles() bool { return t.cfg.Best.on() || t.average.on() }

// settle gives the network the weights of the best epoch, or else the average, and
// scores them as the last of the run. The checkpoint keeps those of the last step
// beside them, so that the run can be made longer.
func (t *Trainer) settle(ctx context.Context) error {
	if !t.settles() {
		return nil
	}
	if t.cfg.Best.on() && t.state.Best == nil {
		return fmt.Errorf("no epoch was compared by %s: it was not asked for while the run was trained",
			t.cfg.Best.Metric)
	}
	net, obj := t.cfg.Network, t.cfg.Objective
	if err := pull(net); err != nil {
		return err
	}
	t.latest = tensors("", net, obj)
	epoch := t.state.Epoch
	if t.cfg.Best.on() {
		if err := t.place(ctx); err != nil {
			return err
		}
		var err error
		if epoch, err = t.choose(ctx); err != nil {
			return err
		}
	} else {
		t.average.swap()
	}
	if err := push(net); err != nil {
		return err
	}
	if t.state.Final != nil {
		return nil
	}
	if err := t.save(true); err != nil || t.cfg.Eval == nil {
		return err
	}
	var err error
	if t.state.Final, err = t.settled(ctx, epoch); err != nil {
		return err
	}
	return t.save(false)
}

// settled scores the network that the run ends with.
func (t *Trainer) settled(ctx context.Context, epoch int) ([]Metric, error) {
	if epoch == 0 && t.cfg.Before != nil && t.cfg.BeforeCounts {
		return t.score(ctx, epoch, func(ctx context.Context) ([]Metric, error) { return t.cfg.Before(ctx, true) })
	}
	return t.score(ctx, epoch, func(ctx context.Context) ([]Metric, error) { return t.cfg.Eval(ctx, epoch, true) })
}

// restoreBest takes the best epoch's tensors from a checkpoint. Another metric
// than the checkpoint's begins to look for the best anew.
func (t *Trainer) restoreBest(c *Checkpoint) error {
	t.best = nil
	if c.Best == nil || c.Best.Metric != t.cfg.Best.Metric {
		t.state.Best, t.state.Final, t.state.Returned, t.state.Compared = nil, nil, false, nil
		return nil
	}
	for _, x := range c.file.Tensors {
		if strings.HasPrefix(x.Name, bestPrefix) {
			t.best = append(t.best, x)
		}
	}
	if c.Best.Epoch < 1 || c.Best.Epoch > c.Epoch || c.Best.Since < 0 {
		return fmt.Errorf("state: the best epoch is %d of %d, %d evaluations ago", c.Best.Epoch, c.Epoch, c.Best.Since)
	}
	// They are as many as the network's and the loss's, and fit where those do.
	for _, x := range tensors(bestPrefix, t.cfg.Network, t.cfg.Objective) {
		n, err := safetensors.Count(x.Shape)
		if err != nil {
			return err
		}
		if _, err := valuesOf(c.file, x.Name, n); err != nil {
			return err
		}
	}
	return nil
}
