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
	if got := out.String(); got != "EPS: stopping after the current step; a second signal ends it at once\n" {
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
	const last = " \rstopping after the current step; a second signal ends it at once\n"
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
			b.last = b.last.Add(-logInterval)
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

// A warning is given once: in later epochs only its numbers differ.
func TestWarnsOnce(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "")
	for epoch, warning := range []string{"", "3 of 90 tuples were active", "1 of 88 tuples were active", "",
		"nothing to learn", "2 of 90 tuples were active"} {
		b.Observe(train.Event{Stage: train.EpochEnd, Epoch: epoch, Epochs: 5,
			Row: &train.Epoch{Epoch: epoch, Warning: warning}})
	}
	if got := out.String(); strings.Count(got, "warning: ") != 2 ||
		!strings.Contains(got, "warning: epoch 1: 3 of 90 tuples were active\n") ||
		!strings.Contains(got, "warning: epoch 4: nothing to learn\n") {
		t.Errorf("wrote %q", got)
	}
}

// The pace is told once, after the first steps or the first epoch, if it is asked for.
func TestPace(t *testing.T) {
	for _, steps := range []int{1, 3, 20} {
		var out bytes.Buffer
		b := New(&out, "")
		b.Pace = true
		for epoch := 1; epoch <= 3; epoch++ {
			for step := range steps {
				b.Observe(train.Event{Stage: train.Stepped, Epoch: epoch, Epochs: 3, Step: step + 1, Steps: steps})
				told := strings.Contains(out.String(), "an epoch takes about")
				if want := epoch > 1 || step > 0 && step >= min(paceSteps, steps-1); told != want {
					t.Errorf("%d steps: told %v after step %d of epoch %d", steps, told, step+1, epoch)
				}
			}
			b.Observe(train.Event{Stage: train.EpochEnd, Epoch: epoch, Epochs: 3, Steps: steps,
				Row: &train.Epoch{Epoch: epoch, Timing: train.Timing{Train: time.Duration(steps) * time.Minute,
					Samples: steps}}})
		}
		if n := strings.Count(out.String(), "an epoch takes about"); n != 1 {
			t.Errorf("%d steps: told %d times:\n%s", steps, n, out.String())
		}
		const minute = "an epoch takes about 1m0s of training, the remaining 3 take 3m0s\n"
		if steps == 1 && !strings.HasPrefix(out.String(), minute) {
			t.Errorf("told %q", out.String())
		}
	}
	for d, want := range map[time.Duration]string{0: "0.01s", 240 * time.Millisecond: "0.24s", 61 * time.Second: "1m1s",
		2*time.Hour + 5*time.Minute + 3*time.Second: "2h5m"} {
		if got := formatRounded(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// A run that usually ends early is told so, in epochs that are still to come.
func TestPaceOfARunThatEndsEarly(t *testing.T) {
	for _, c := range []struct {
		usual [2]int
		epoch int
		want  string
	}{
		{[2]int{8, 16}, 1, "the remaining 100 take at most 1h40m; runs like this have ended after 8 to 16, in " +
			"8m0s to 16m0s\n"},
		{[2]int{8, 300}, 41, "the remaining 60 take 1h0m\n"}, // resumed, later than usual
		{[2]int{8, 300}, 4, "the remaining 97 take at most 1h37m; runs like this have ended after 8 to 100, in " +
			"5m0s to 1h37m\n"},
		{[2]int{}, 1, "the remaining 100 take 1h40m\n"},
	} {
		var out bytes.Buffer
		b := New(&out, "")
		b.Pace, b.UsualEpochs = true, c.usual
		b.pace(6*time.Second, train.Event{Epoch: c.epoch, Epochs: 100, Steps: 10})
		if got := out.String(); !strings.HasSuffix(got, ", "+c.want) {
			t.Errorf("%v, epoch %d: %q", c.usual, c.epoch, got)
		}
	}
}

// TestLine: an epoch's line has Recall@1 in per cent and the margin as it is, and no other score.
func TestLine(t *testing.T) {
	metric := func(name string) train.Metric {
		return train.Metric{Set: "validation", Column: "fine", Name: name, Value: 0.5}
	}
	row := &train.Epoch{Epoch: 2, Metrics: []train.Metric{metric("recall@1"), metric("recall@10"), metric("map@r"),
		metric("recall@1+distractors"), metric("margin"), metric("margin+distractors")}}
	const want = "epoch 2/7  loss 0.0000  active 0%  validation_recall@1 50.0  validation_recall@1+distractors 50.0  " +
		"validation_margin 0.500  validation_margin+distractors 0.500"
	if got := FormatEpoch("", train.Event{Epochs: 7, Row: row}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// An epoch without steps, as where a run is finished early, has no pace.
func TestNoPaceWithoutSteps(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "")
	b.Pace = true
	b.Observe(train.Event{Stage: train.EpochEnd, Epoch: 2, Epochs: 2, Steps: 8, Row: &train.Epoch{Epoch: 2}})
	if got := out.String(); strings.Contains(got, "takes about") {
		t.Errorf("wrote %q", got)
	}
}
