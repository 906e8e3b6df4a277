package run

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/kindred-ml/kindred/train"
)

// ScratchEpochs is how many epochs a run from scratch has unless the configuration
// says.
const ScratchEpochs = 10

// From a pretrained start patience ends most runs. What bounds the others is the number
// of samples drawn, which fixes a run's length whatever the machine: about a quarter of
// an hour of a small network on two cores.
const (
	drawnSamples = 100_000
	fewestEpochs = 10
	mostEpochs   = 100
)

// epochsFor is train.epochs, where it is open, of a training part of n samples.
func (c *Config) epochsFor(n int) int {
	if !c.Network.pretrained() {
		return ScratchEpochs
	}
	return min(max(drawnSamples/max(n, 1), fewestEpochs), mostEpochs)
}

// budget is the time that training may take; 0 without a limit.
func (t *TrainConfig) budget() (time.Duration, error) {
	if t.Budget == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(t.Budget)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no length of time: write 90s, 10m or 1h30m", t.Budget)
	}
	return d, nil
}

// average is over how many epochs weights are averaged; 0 for none.
func (t *TrainConfig) average() (float64, error) {
	if t.Average == "" || t.Average == none {
		return 0, nil
	}
	v, err := strconv.ParseFloat(t.Average, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) {
		return 0, fmt.Errorf("%q is neither a positive number of epochs nor %s", t.Average, none)
	}
	return v, nil
}

// best is which epoch is kept.
func (c *Config) best() train.Best {
	if c.Train.Best == none {
		return train.Best{}
	}
	return train.Best{Metric: c.Train.Best, Patience: c.Train.Patience}
}

// best is which epoch is kept, and by how much another must be better. A score is a mean
// over the validation samples, which are a sample themselves: an epoch within the
// standard error of a kept Recall@1 p of n of them,
//
//	sqrt(p (1 - p) / n)
//
// is not better for all that is known.
func (t *assembly) best() train.Best {
	b := t.cfg.best()
	if v := t.sel.Validation; v != nil && b.Metric == distractorKey {
		b.Margin = func(p float64) float64 { return math.Sqrt(max(p*(1-p), 0) / float64(v.Len())) }
	}
	return b
}
