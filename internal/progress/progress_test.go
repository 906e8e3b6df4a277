package progress

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/train"
)

func TestWithoutATerminalAnEpochIsALine(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "EPS: ")
	b.Observe(train.Event{Stage: train.Started, Epochs: 2})
	for step := range 5 {
		b.Observe(train.Event{Stage: train.Stepped, Epoch: 1, Epochs: 2, Step: step + 1, Steps: 5})
	}
	if out.Len() != 0 {
		t.Errorf("steps wrote %q", out.String())
	}
	b.Observe(train.Event{Stage: train.EpochEnd, Epoch: 1, Epochs: 2, Row: &train.Epoch{Epoch: 1}})
	if got := out.String(); !strings.HasPrefix(got, "EPS: ") || strings.Count(got, "\n") != 1 ||
		strings.Contains(got, "\r") {
		t.Errorf("an epoch wrote %q", got)
	}
}

// A stop is told on a line of its own, at once.
func TestStoppingIsALine(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "EPS: ")
	b.Observe(train.Event{Stage: train.Stepped, Epoch: 1, Epochs: 2, Step: 1, Steps: 5})
	b.Observe(train.Event{Stage: train.Stopping, Epoch: 1, Epochs: 2, Step: 1, Steps: 5})
	if got := out.String(); got != "EPS: stopping: what is under way is finished or kept first\n" {
		t.Errorf("wrote %q", got)
	}
}

func TestRemarksAreLines(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "")
	b.Note([]string{"3 lonely classes"})
	b.Observe(train.Event{Stage: train.EpochEnd, Epoch: 1, Epochs: 1,
		Row: &train.Epoch{Epoch: 1, Warning: "nothing was active"}})
	got := out.String()
	if !strings.HasPrefix(got, "note: 3 lonely classes\n") ||
		!strings.HasSuffix(got, "\nwarning: epoch 1: nothing was active\n") {
		t.Errorf("wrote %q", got)
	}
}
