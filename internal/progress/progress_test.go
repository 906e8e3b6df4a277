package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

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
	if got := out.String(); got != "EPS: stopping: finishing what is under way; a second signal ends it at once\n" {
		t.Errorf("wrote %q", got)
	}
}

// On a terminal too, with the bar out of the way, and no bar after it: what comes
// next has a line of its own.
func TestStoppingIsTheLastThatIsDrawn(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "")
	b.plain = false
	for step := range 3 {
		b.last = time.Time{} // long ago
		b.Observe(train.Event{Stage: train.Stepped, Epoch: 1, Epochs: 2, Step: step + 1, Steps: 5})
	}
	if !strings.Contains(out.String(), "img/s") {
		t.Fatalf("no bar in %q", out.String())
	}
	b.Observe(train.Event{Stage: train.Stopping, Epoch: 1, Epochs: 2, Step: 3, Steps: 5})
	b.last = time.Time{}
	b.Observe(train.Event{Stage: train.Stepped, Epoch: 1, Epochs: 2, Step: 4, Steps: 5})
	const last = " \rstopping: finishing what is under way; a second signal ends it at once\n"
	if got := out.String(); !strings.HasSuffix(got, last) {
		t.Errorf("wrote %q", got[max(0, len(got)-200):])
	}
}

// An epoch of many minutes shows that it lives, in a log a line a minute.
func TestLongEpochsInALog(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "EPS: ")
	for step := range 6 {
		if step == 3 {
			b.last = b.last.Add(-logLine)
		}
		b.Observe(train.Event{Stage: train.Stepped, Epoch: 1, Epochs: 2, Step: step + 1, Steps: 9, Samples: 10,
			Elapsed: time.Second})
	}
	if got := out.String(); !strings.HasPrefix(got, "EPS: epoch 1/2  step 4/9  10 img/s  loss 0.0000") ||
		strings.Count(got, "\n") != 1 || strings.ContainsAny(got, "\r\x1b") {
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
