package run

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/train"
)

// scratchEpochs is how many epochs a run from scratch has unless the configuration
// says.
const scratchEpochs = 10

// Length is Epochs or, if 0, the number of epochs of a run from scratch.
func (t *TrainConfig) Length() int { return cmp.Or(t.Epochs, scratchEpochs) }

// From a pretrained start, patience ends most runs. The others end after a number of
// samples, which is the same on every machine: about a quarter of an hour for a small
// network on two cores.
const (
	drawnSamples = 100_000
	fewestEpochs = 10
	mostEpochs   = 100
)

// epochsFor is train.epochs, where it is open, of a training part of n samples.
func (c *Config) epochsFor(n int) int {
	if !c.Network.pretrained() {
		return scratchEpochs
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

// errorMargin is the value of train.best_margin for the standard error of what is kept.
const errorMargin = "error"

// best is which epoch is kept, and by how much another must be better.
func (t *built) best() train.Best {
	b := t.cfg.best()
	if v := t.sel.Validation; v != nil && t.cfg.Train.BestMargin == errorMargin {
		b.Margin = func(p float64) float64 { return standardError(p, v.Len()) }
	}
	return b
}

// checkMargin compares train.best_margin with train.best, once that is known. Where the last
// epoch is kept there is none.
func (t *TrainConfig) checkMargin() error {
	if t.Best == none {
		t.BestMargin = none
	}
	if t.BestMargin == errorMargin && !strings.HasPrefix(t.Best, ValidationSet.prefix()) {
		return fmt.Errorf("train.best_margin=%s is about scores of the validation part, and train.best is %s: set "+
			"train.best to one of them, such as validation_recall@1, or train.best_margin to %s", errorMargin, t.Best,
			none)
	}
	return nil
}

// standardError is the largest that the mean p of n values between 0 and 1 can have,
//
//	sqrt(p (1 - p) / n)
//
// which is that of a share. The validation samples are a sample themselves, and a score
// within its error of another is not better for all that is known.
func standardError(p float64, n int) float64 { return math.Sqrt(max(p*(1-p), 0) / float64(n)) }
