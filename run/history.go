package run

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
)

// Epoch is a row of metrics.csv.
type Epoch struct {
	Epoch int `json:"epoch"` // from 1
	Sums
	LR float64 `json:"lr"` // at the epoch's last step
	// Metrics are the scores after the epoch, named SET_METRIC, in the order of
	// evaluation; empty if the epoch was not evaluated.
	Metrics []Metric `json:"metrics,omitempty"`
	// Warning says why fewer than a hundredth of the tuples were active; else it
	// is "".
	Warning string `json:"warning,omitempty"`
}

// Metric is a score of one set of samples on one column of labels.
type Metric struct {
	Set    string  `json:"set"`    // test, seen, train
	Column string  `json:"column"` // fine, label
	Name   string  `json:"name"`   // recall@1
	Value  float64 `json:"value"`
}

// Key is the metric's name in metrics.csv: the set, the column unless it is the
// fine one, the name; such as "test_recall@1" and "test_label_recall@1".
func (m Metric) Key() string {
	if m.Column == fineColumn {
		return m.Set + "_" + m.Name
	}
	return m.Set + "_" + m.Column + "_" + m.Name
}

// Metric returns the value of a metric by its key, and whether there is one.
func (e *Epoch) Metric(key string) (float64, bool) {
	for _, m := range e.Metrics {
		if m.Key() == key {
			return m.Value, true
		}
	}
	return 0, false
}

// Sums adds up what the steps of an epoch found.
type Sums struct {
	Steps       int     `json:"steps"`
	Samples     int     `json:"samples"`
	Loss        float64 `json:"loss"`
	Gradient    float64 `json:"gradient"` // norms over all parameters, before clipping
	Tuples      int     `json:"tuples"`
	Active      int     `json:"active"`
	Anchors     int     `json:"anchors"`
	NoPositive  int     `json:"no_positive"`
	NoNegative  int     `json:"no_negative"`
	NoCandidate int     `json:"no_candidate"`
	Fallbacks   int     `json:"fallbacks"`
}

// MeanLoss is the mean of the steps' losses, 0 without steps.
func (s *Sums) MeanLoss() float64 { return s.Loss / float64(max(s.Steps, 1)) }

// ActiveShare is the share of tuples whose loss was not 0.
func (s *Sums) ActiveShare() float64 { return float64(s.Active) / float64(max(s.Tuples, 1)) }

// writeHistory writes metrics.csv: one line an epoch, and a column for every
// metric that any epoch has. Values are exact; times are in timing.csv, so that
// runs can be compared byte by byte.
func writeHistory(w io.Writer, history []Epoch) error {
	header := []string{"epoch", "steps", "lr", "loss", "gradient", "tuples", "active", "anchors", "no_positive",
		"no_negative", "no_candidate", "fallbacks"}
	fixed := len(header)
	for _, e := range history {
		for _, m := range e.Metrics {
			if k := m.Key(); !slices.Contains(header[fixed:], k) {
				header = append(header, k)
			}
		}
	}
	cw := csv.NewWriter(w)
	if err := cw.Write(header); err != nil {
		return err
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, e := range history {
		n := float64(max(e.Steps, 1))
		row := []string{strconv.Itoa(e.Epoch), strconv.Itoa(e.Steps), number(e.LR), number(e.Loss / n),
			number(e.Gradient / n)}
		for _, v := range []int{e.Tuples, e.Active, e.Anchors, e.NoPositive, e.NoNegative, e.NoCandidate, e.Fallbacks} {
			row = append(row, strconv.Itoa(v))
		}
		for _, k := range header[fixed:] {
			text := ""
			if v, ok := e.Metric(k); ok {
				text = number(v)
			}
			row = append(row, text)
		}
		if err := cw.Write(row); err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}
