package train

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// startPrefix starts the names of the tensors of the network before training.
const startPrefix = "start."

// keepsStart reports whether the end of the run needs the weights before training.
func (c *Config) keepsStart() bool {
	return c.Interpolation.isOn() || c.Untrained && c.EarlyStopping.isOn()
}

// readStart reads the weights before training from a checkpoint.
func (t *Trainer) readStart(f *safetensors.File) error {
	for i, x := range t.startTensors {
		kept := f.Tensor(x.Name)
		if kept == nil || len(kept.Data) != len(x.Data) {
			return fmt.Errorf("there is no tensor %s of the weights before training", x.Name)
		}
		t.startTensors[i] = *kept
	}
	return nil
}

// evalUntrained scores the network before the first step. Its scores compete with those of epochs.
func (t *Trainer) evalUntrained(ctx context.Context) (err error) {
	if !t.cfg.Untrained || t.cfg.Eval == nil || t.state.Epoch > 0 || t.state.Step > 0 {
		return nil
	}
	first := func(ctx context.Context) ([]Metric, error) { return t.cfg.Eval(ctx, 0, false) }
	shown := first
	if t.cfg.EvalUntrained != nil {
		shown = func(ctx context.Context) ([]Metric, error) { return t.cfg.EvalUntrained(ctx, false) }
	}
	if t.state.Untrained, err = t.score(ctx, 0, shown); err != nil || !t.cfg.EarlyStopping.isOn() {
		return err
	}
	counts := t.state.Untrained
	if t.cfg.EvalUntrained != nil && !t.cfg.UntrainedCompetes {
		if counts, err = t.score(ctx, 0, first); err != nil {
			return err
		}
	}
	if _, err := FindMetric(counts, t.cfg.EarlyStopping.Metric); err != nil {
		return fmt.Errorf("keeping the best epoch: %w", err)
	}
	t.state.Start = counts
	return nil
}

// chooseNetwork returns the epoch that the run ends with: the best epoch, whose weights the network has,
// or 0 if the network before training is better. For 0 it restores the weights before training.
func (t *Trainer) chooseNetwork(ctx context.Context) (epoch int, err error) {
	best := t.state.Best
	if _, err := FindMetric(t.state.Start, best.Metric); err != nil { // the network before training does not compete
		return best.Epoch, nil
	}
	if t.state.Final == nil {
		better, err := t.beatsStart(ctx)
		if err != nil {
			return 0, err
		}
		t.state.Returned = !better
	}
	if !t.state.Returned {
		return best.Epoch, nil
	}
	return 0, t.restoreStart()
}

// restoreStart gives the network the weights before training.
func (t *Trainer) restoreStart() error {
	if err := setNetwork(&safetensors.File{Tensors: t.startTensors}, startPrefix, t.cfg.Network); err != nil {
		return err
	}
	return push(t.cfg.Network)
}

// beatsStart reports whether the best epoch's network, which is the current one, is better than the
// network before training.
func (t *Trainer) beatsStart(ctx context.Context) (bool, error) {
	b := t.cfg.EarlyStopping
	if b.Paired == nil {
		start, err := FindMetric(t.state.Start, b.Metric)
		return t.state.Best.Value > start, err
	}
	if err := push(t.cfg.Network); err != nil {
		return false, err
	}
	after, err := t.pairedValues(ctx, t.state.Best.Epoch)
	if err != nil {
		return false, err
	}
	if err := t.restoreStart(); err != nil {
		return false, err
	}
	before, err := t.pairedValues(ctx, 0)
	if err != nil {
		return false, err
	}
	if len(before) != len(after) {
		return false, fmt.Errorf("EarlyStopping.Paired returned %d samples before training and %d after it: "+
			"the numbers must be equal", len(before), len(after))
	}
	c := ComparePairs(before, after)
	t.state.Compared = c
	return c.P <= cmp.Or(b.Level, 0.05),
		setTensors(&safetensors.File{Tensors: t.best}, bestPrefix, t.cfg.Network, t.cfg.Objective)
}

func (t *Trainer) pairedValues(ctx context.Context, epoch int) ([]float64, error) {
	t.observe(Event{Stage: Scoring})
	v, err := t.cfg.EarlyStopping.Paired(ctx, epoch)
	if err != nil {
		return nil, t.stop(ctx, err)
	}
	return v, nil
}

// PairedComparison holds the change of the values of Best.Paired from before training to the best epoch. P
// is the probability of a gain at least as high if training changed nothing, by a paired t-test:
//
//	t = Gain sqrt(Samples) / s,   Samples - 1 degrees of freedom
//
// Gain is the mean of the differences, and s their standard deviation (n - 1). P is 1 for fewer
// than two samples and if no value changed.
type PairedComparison struct {
	Samples int     `json:"samples"`
	Gain    float64 `json:"gain"`
	P       float64 `json:"p"`
}

// ComparePairs compares values of the same samples before and after. Both have the same length.
func ComparePairs(before, after []float64) *PairedComparison {
	d := make([]float64, len(before))
	for i, x := range before {
		d[i] = after[i] - x
	}
	c := &PairedComparison{Samples: len(d), P: 1}
	if len(d) == 0 {
		return c
	}
	var s float64
	c.Gain, s = stat.MeanStdDev(d, nil)
	switch {
	case len(d) < 2 || s == 0 && c.Gain <= 0:
	case s == 0:
		c.P = 0
	default:
		free := float64(len(d) - 1)
		c.P = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.Survival(c.Gain * math.Sqrt(float64(len(d))) / s)
	}
	return c
}
