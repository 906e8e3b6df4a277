package run

import (
	"encoding/json"
	"io"

	"github.com/kindred-ml/kindred/train"
)

// column is a number of an epoch, under its name in metrics.csv.
type column struct {
	name  string
	value any // a float64 or an int
}

// columns are the numbers of an epoch, scores last.
func columns(e *train.Epoch) []column {
	n := float64(max(e.Steps, 1))
	out := []column{{"epoch", e.Epoch}, {"steps", e.Steps}, {"lr", e.LR}, {"loss", e.Loss / n},
		{"gradient", e.Gradient / n}, {"tuples", e.Tuples}, {"active", e.Active}, {"anchors", e.Anchors},
		{"no_positive", e.NoPositive}, {"no_negative", e.NoNegative}, {"no_candidate", e.NoCandidate},
		{"fallbacks", e.Fallbacks}}
	for _, m := range e.Metrics {
		out = append(out, column{m.Key(), m.Value})
	}
	return out
}

// writeLines writes metrics.jsonl: a JSON object for every epoch on a line of its
// own, with what metrics.csv has of it under the same names. What an epoch has no
// value of is left out.
func writeLines(w io.Writer, history []train.Epoch) error {
	for i := range history {
		line := []byte{'{'}
		for k, c := range columns(&history[i]) {
			name, err := json.Marshal(c.name)
			if err != nil {
				return err
			}
			value, err := json.Marshal(c.value)
			if err != nil {
				return err
			}
			if k > 0 {
				line = append(line, ',')
			}
			line = append(append(append(line, name...), ':'), value...)
		}
		if _, err := w.Write(append(line, '}', '\n')); err != nil {
			return err
		}
	}
	return nil
}
