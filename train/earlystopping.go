package train

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// EarlyStopping keeps the network of the epoch with the highest score instead of the last epoch's network,
// and ends a run that no longer improves. The zero value does neither.
type EarlyStopping struct {
	// Metric is the key of a score of Config.Eval, such as "val_recall@1"; "" turns Best off. Of
	// equal scores the first counts. Use other samples than those of the reported scores.
	Metric string
	// Smooth, if above 1, makes an epoch's score the mean of the metric over the last
	// evaluations, at most Smooth of them. The evaluation before training does not count.
	Smooth int
	// MinDelta is the least difference by which a score must exceed the kept one to count as higher.
	// If scores stay about the same, this keeps a network nearer to the start.
	MinDelta float64
	// Patience is the number of evaluations in a row without a higher score that ends the run;
	// 0 means never.
	Patience int
	// Paired, if set, returns a value for each sample that Metric is computed from, by the
	// current network: that of the given epoch, or for epoch 0 the network before training.
	// Both calls list the same samples in the same order. With Config.Untrained the run ends
	// with the network before training unless the values of the best epoch are higher by a
	// one-sided paired t-test at Level. Without Paired, the run ends with the network before
	// training if its score is at least that of the best epoch.
	Paired func(ctx context.Context, epoch int) ([]float64, error)
	// Level is the significance level of the t-test; default 0.05.
	Level float64
}

func (b EarlyStopping) isOn() bool { return b.Metric != "" }

// Rule returns in words which epoch is kept. metric is the name of the metric.
func (b EarlyStopping) Rule(metric string) string {
	text := "the epoch with the highest " + metric
	if b.Smooth > 1 {
		text += fmt.Sprintf(" (mean of %d evaluations)", b.Smooth)
	}
	if b.MinDelta > 0 {
		text += fmt.Sprintf(" (rises of up to %v do not count)", b.MinDelta)
	}
	return text
}

// smoothScore returns the score of an epoch with the metric's value v, given the epochs before it.
func (b EarlyStopping) smoothScore(v float64, history []Epoch) float64 {
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

// updateBest compares the score of an epoch with the best so far. before are the earlier epochs.
func (t *Trainer) updateBest(row *Epoch, before []Epoch) error {
	if !t.cfg.EarlyStopping.isOn() {
		return nil
	}
	v, err := row.Metric(t.cfg.EarlyStopping.Metric)
	if err != nil {
		return fmt.Errorf("keeping the best epoch: %w", err)
	}
	score := t.cfg.EarlyStopping.smoothScore(v, before)
	if k := t.state.Best; k != nil && score <= k.Score+t.cfg.EarlyStopping.MinDelta {
		since := *k
		since.Since++
		t.state.Best = &since
		return nil
	}
	t.state.Best = &Selected{Metric: t.cfg.EarlyStopping.Metric, Epoch: row.Epoch, Value: v, Score: score}
	if err := pull(t.cfg.Network); err != nil {
		return err
	}
	return t.average.withMean(func() error {
		t.best = copyTensors(bestPrefix, t.cfg.Network, t.cfg.Objective)
		return nil
	})
}

// isOutOfPatience reports whether patience ends the run.
func (t *Trainer) isOutOfPatience() bool {
	b, k := t.cfg.EarlyStopping, t.state.Best
	return b.isOn() && b.Patience > 0 && k != nil && k.Since >= b.Patience
}

// isOverBudget reports whether the budget is used up. With a larger budget the run goes on.
func (t *Trainer) isOverBudget() bool {
	return t.state.Spent > 0 && t.cfg.Budget > 0 && t.cfg.Budget <= t.state.Spent
}

// changesAtEnd reports whether the run may end with another network than that of its last step.
func (t *Trainer) changesAtEnd() bool { return t.cfg.EarlyStopping.isOn() || t.average.isOn() }

// finalizeNetwork gives the network the weights of the best epoch or else the average, and computes the
// final scores. The checkpoint keeps the weights of the last step too, so that the run can be
// made longer.
func (t *Trainer) finalizeNetwork(ctx context.Context) error {
	if !t.changesAtEnd() {
		return nil
	}
	if t.cfg.EarlyStopping.isOn() && t.state.Best == nil {
		return fmt.Errorf("no epoch was compared by %s, because the run was trained without it",
			t.cfg.EarlyStopping.Metric)
	}
	net, obj := t.cfg.Network, t.cfg.Objective
	if err := pull(net); err != nil {
		return err
	}
	t.latest = copyTensors("", net, obj)
	epoch := t.state.Epoch
	if t.cfg.EarlyStopping.isOn() {
		if err := t.interpolate(ctx); err != nil {
			return err
		}
		var err error
		if epoch, err = t.chooseNetwork(ctx); err != nil {
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
	if err := t.save(ctx, true); err != nil || t.cfg.Eval == nil {
		return err
	}
	var err error
	if t.state.Final, err = t.scoreFinal(ctx, epoch); err != nil {
		return err
	}
	return t.save(ctx, false)
}

// scoreFinal scores the network that the run ends with.
func (t *Trainer) scoreFinal(ctx context.Context, epoch int) ([]Metric, error) {
	if epoch == 0 && t.cfg.EvalUntrained != nil && t.cfg.UntrainedCompetes {
		return t.score(ctx, epoch, func(ctx context.Context) ([]Metric,
			error) {
			return t.cfg.EvalUntrained(ctx, true)
		})
	}
	return t.score(ctx, epoch, func(ctx context.Context) ([]Metric, error) { return t.cfg.Eval(ctx, epoch, true) })
}

// restoreBest reads the best epoch's tensors from a checkpoint. If the metric has changed, the
// search for the best epoch starts again.
func (t *Trainer) restoreBest(c *Checkpoint) error {
	t.best = nil
	if c.Best == nil || c.Best.Metric != t.cfg.EarlyStopping.Metric {
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
	// The best epoch has the tensors of the network and the loss.
	for _, x := range copyTensors(bestPrefix, t.cfg.Network, t.cfg.Objective) {
		n, err := safetensors.ShapeSize(x.Shape)
		if err != nil {
			return err
		}
		if _, err := readValues(c.file, x.Name, n); err != nil {
			return err
		}
	}
	return nil
}
