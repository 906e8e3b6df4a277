package train

import (
	"context"
	"fmt"
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
	// Patience ends the run after this number of evaluations in a row without a higher
	// score; 0: never.
	Patience int
	// Margin, if set, returns by how much a score must exceed the kept one to count as
	// higher: the standard error of the kept score, for example. A smaller gain may be
	// chance, and the earlier network is nearer to the start.
	Margin func(kept float64) float64
}

// exceeds tells whether a score counts as higher than the kept one.
func (b Best) exceeds(v, kept float64) bool {
	if b.Margin != nil {
		kept += b.Margin(kept)
	}
	return v > kept
}

func (b Best) on() bool { return b.Metric != "" }

// bestPrefix starts the names of the tensors of the best epoch.
const bestPrefix = "best."

// early tells whether an epoch comes before the average covers its horizon, so that
// what is scored is still on its way: it does not compete with a network that is kept
// already. With a budget nobody knows whether there will be another.
func (t *Trainer) early(epoch int) bool {
	return t.state.Best != nil && t.cfg.Budget == 0 && float64(epoch) < min(t.cfg.Average, float64(t.cfg.Epochs))
}

// judge compares an epoch's score with the best so far.
func (t *Trainer) judge(row *Epoch) error {
	if !t.cfg.Best.on() || t.early(row.Epoch) {
		return nil
	}
	v, err := row.Metric(t.cfg.Best.Metric)
	if err != nil {
		return fmt.Errorf("keeping the best epoch: %w", err)
	}
	if k := t.state.Best; k != nil && !t.cfg.Best.exceeds(v, k.Value) {
		since := *k
		since.Since++
		t.state.Best = &since
		return nil
	}
	t.state.Best = &Kept{Metric: t.cfg.Best.Metric, Epoch: row.Epoch, Value: v}
	if err := pull(t.cfg.Network); err != nil {
		return err
	}
	return t.average.within(func() error {
		t.best = tensors(bestPrefix, t.cfg.Network, t.cfg.Objective)
		return nil
	})
}

// exhausted tells whether patience is at its end.
func (t *Trainer) exhausted() bool {
	b, k := t.cfg.Best, t.state.Best
	return b.on() && b.Patience > 0 && k != nil && k.Since >= b.Patience
}

// spent tells whether the budget is at its end. A larger one lets the run go on.
func (t *Trainer) spent() bool {
	return t.state.Spent > 0 && t.cfg.Budget > 0 && t.cfg.Budget <= t.state.Spent
}

// settles tells whether the network that the run ends with is another one than
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
		epoch = t.state.Best.Epoch
		if err := t.place(ctx); err != nil {
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
		t.state.Best, t.state.Final = nil, nil
		return nil
	}
	for _, x := range c.file.Tensors {
		if strings.HasPrefix(x.Name, bestPrefix) {
			t.best = append(t.best, x)
		}
	}
	if c.Best.Epoch < 0 || c.Best.Epoch > c.Epoch || c.Best.Since < 0 {
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
