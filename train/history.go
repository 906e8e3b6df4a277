package train

import (
	"fmt"
	"time"

	"github.com/kindred-ml/kindred/objective"
)

// Epoch holds the losses and scores of an epoch.
type Epoch struct {
	Epoch int `json:"epoch"` // from 1
	Totals
	LR float64 `json:"lr"` // learning rate at the epoch's last step
	// Metrics are the scores after the epoch, in the order of Config.Eval. They are empty if the
	// epoch was not evaluated.
	Metrics []Metric `json:"metrics,omitempty"`
	// Warning is what Config.Warn returned for the epoch.
	Warning string `json:"warning,omitempty"`
	// Timing is the time of the epoch in this process; zero if another process trained it.
	Timing Timing `json:"-"`
}

// Timing holds the times of an epoch's steps and evaluation, and the number of samples of the
// steps.
type Timing struct {
	Train, Eval time.Duration
	Samples     int
}

// Metric is a score of one set of samples on one column of labels.
type Metric struct {
	Set    string  `json:"set"`    // test, seen, train
	Column string  `json:"column"` // fine, label
	Name   string  `json:"name"`   // recall@1
	Value  float64 `json:"value"`
}

// fineColumn is the column that keys leave out.
const fineColumn = "fine"

// Key returns the metric's name in tables: the set, the column unless it is the fine one, and the
// name, as in "test_recall@1" and "test_label_recall@1".
func (m Metric) Key() string {
	if m.Column == fineColumn {
		return m.Set + "_" + m.Name
	}
	return m.Set + "_" + m.Column + "_" + m.Name
}

// Metric returns the value of the metric with a key.
func (e *Epoch) Metric(key string) (float64, error) { return FindMetric(e.Metrics, key) }

// FindMetric returns the value of the metric with a key.
func FindMetric(metrics []Metric, key string) (float64, error) {
	for _, m := range metrics {
		if m.Key() == key {
			return m.Value, nil
		}
	}
	keys := make([]string, len(metrics))
	for i, m := range metrics {
		keys[i] = m.Key()
	}
	return 0, fmt.Errorf("there is no metric %s among %v", key, keys)
}

// Totals holds the sums of the results of an epoch's steps. See objective.Result.
type Totals struct {
	Steps       int     `json:"steps"`
	Samples     int     `json:"samples"`
	Loss        float64 `json:"loss"`
	Gradient    float64 `json:"gradient"` // norms of the gradient of all parameters, before clipping
	Tuples      int     `json:"tuples"`
	Active      int     `json:"active"`
	Anchors     int     `json:"anchors"`
	NoPositive  int     `json:"no_positive"`
	NoNegative  int     `json:"no_negative"`
	NoCandidate int     `json:"no_candidate"`
	Fallbacks   int     `json:"fallbacks"`
}

// add adds a step on n samples whose gradient has the given norm.
func (s *Totals) add(n int, r objective.Result, gradient float64) {
	s.Steps++
	s.Samples += n
	s.Loss += r.Value
	s.Gradient += gradient
	s.Tuples += r.Tuples
	s.Active += r.Active
	s.Anchors += r.Anchors
	s.NoPositive += r.NoPositive
	s.NoNegative += r.NoNegative
	s.NoCandidate += r.NoCandidate
	s.Fallbacks += r.Fallbacks
}

// MeanLoss returns the mean of the steps' losses, 0 without steps.
func (s *Totals) MeanLoss() float64 { return s.Loss / float64(max(s.Steps, 1)) }

// ActiveShare returns the share of tuples whose loss was not 0.
func (s *Totals) ActiveShare() float64 { return float64(s.Active) / float64(max(s.Tuples, 1)) }
