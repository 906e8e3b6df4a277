package runs

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// outcome is the epoch whose network a run kept, and the scores of that network.
type outcome struct {
	// metric is the score by which the epoch was chosen; "" if the run kept its last.
	metric string
	epoch  float64
	// scores are the scores of the kept network, untrained the scores before
	// training, by column of metrics.csv. keys are the columns in measured order.
	scores, untrained map[string]float64
	keys              []string
}

// readOutcome reads the outcome from the checkpoint. Without a checkpoint, the epoch
// follows from the metric of the configuration and the table, by training's rule: of
// equal scores the first counts.
func readOutcome(r *Run) outcome {
	var o outcome
	if c, err := r.Checkpoint(); err == nil {
		o.scores, o.untrained = map[string]float64{}, map[string]float64{}
		for _, m := range c.Untrained {
			o.untrained[m.Key()] = m.Value
		}
		for _, m := range c.Final {
			o.keys = append(o.keys, m.Key())
			o.scores[m.Key()] = m.Value
		}
		if c.Best != nil {
			o.metric, o.epoch = c.Best.Metric, float64(c.Best.Epoch)
			if c.Returned {
				o.epoch = 0
			}
		}
		return o
	}
	metric := r.setting("train.best")
	if e := r.bestEpoch(metric); e > 0 {
		o.metric, o.epoch = metric, e
	}
	return o
}

// Score returns a score of the network that the run kept, or an error if it has no
// such score.
func (r *Run) Score(column string) (float64, error) {
	if v, ok := r.kept.scores[column]; ok {
		return v, nil
	}
	if r.kept.metric != "" {
		if at := slices.Index(r.Values["epoch"], r.kept.epoch); at >= 0 && at < len(r.Values[column]) &&
			!math.IsNaN(r.Values[column][at]) {
			return r.Values[column][at], nil
		}
	}
	return r.LastValue(column)
}

// Metrics lists the scores of epochs, and the scores that only the kept network has.
func (r *Run) Metrics() []string {
	out := r.EpochTable.Metrics()
	for _, k := range r.kept.keys {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// bestEpoch returns the epoch with a run's highest value of a column, by the rule of
// its configuration; 0 if no epoch has a value.
func (r *Run) bestEpoch(column string) float64 {
	at, top, by := 0.0, math.Inf(-1), r.bestRule()
	var scores []float64
	for i, v := range r.Values[column] {
		if math.IsNaN(v) || i >= len(r.Values["epoch"]) {
			continue
		}
		scores = append(scores, v)
		last, sum := scores[max(0, len(scores)-max(by.Smooth, 1)):], 0.0
		for _, x := range last {
			sum += x
		}
		if v = sum / float64(len(last)); v > top+by.MinDelta {
			at, top = r.Values["epoch"][i], v
		}
	}
	return at
}

// bestRule returns how the run's epoch was chosen; zero if its configuration cannot be read.
func (r *Run) bestRule() train.EarlyStopping {
	cfg, err := r.Folder.Config()
	if err != nil {
		return train.EarlyStopping{}
	}
	return cfg.BestRule()
}

// best returns the epoch that a run kept. If it kept its last, best returns the epoch
// with the highest value of a column; -1 if neither is known.
func (r *Run) best(column string) float64 {
	if r.kept.metric != "" {
		return r.kept.epoch
	}
	if e := r.bestEpoch(column); e > 0 {
		return e
	}
	return -1
}

// firstBestRun returns the first run that kept its best epoch, or nil.
func (c *Comparison) firstBestRun() *Run {
	for _, g := range c.Groups {
		for _, r := range g.Runs {
			if r.kept.metric != "" {
				return r
			}
		}
	}
	return nil
}

// bestColumn returns the column by which an epoch is the best: the column by which the runs
// kept one (then kept is true), else Recall@1 of the validation set, else of the first
// set that was scored; "" without any of these.
func (c *Comparison) bestColumn() (column string, kept bool) {
	if r := c.firstBestRun(); r != nil {
		return r.kept.metric, true
	}
	for _, m := range c.Metrics() {
		if !strings.HasSuffix(m, "_recall@1") {
			continue
		}
		if strings.HasPrefix(m, run.ValidationSet.String()+"_") {
			return m, false
		}
		column = cmp.Or(column, m)
	}
	return column, false
}

// metricName returns a metric in words: "recall@1 by coarse on the test set".
func metricName(column string) string {
	set, label, name := splitMetric(column)
	if label != "" {
		name += " by " + label
	}
	return name + " on the " + describeSetName(set)
}
