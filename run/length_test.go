package run

import (
	"strings"
	"testing"
	"time"
)

// TestLength: how long a run from a pretrained start is where nobody says.
func TestLength(t *testing.T) {
	for _, c := range []struct{ drawn, samples, want int }{
		{1024, 5000, 97}, {1024, 400, 12}, {2048, 2048, 32}, {320, 40, 4}, {1024, 40, 4},
		{50_000, 50_000, 4}, {0, 0, 4},
	} {
		if got := epochsFor(c.drawn, c.samples); got != c.want {
			t.Errorf("epochs that draw %d of %d: %d, want %d", c.drawn, c.samples, got, c.want)
		}
	}
	for steps, want := range map[int]int{1: 96, 8: 12, 20: 5, 24: 4, 25: 4, 1000: 4} {
		if got := patienceFor(steps); got != want {
			t.Errorf("%d steps between evaluations: patience of %d, want %d", steps, got, want)
		}
	}
	for text, want := range map[string]float64{"": 0, none: 0, "3": 3, "0.5": 0.5, "48 steps": 6, "2 steps": 0.25} {
		if got, err := parseAverage(text, 8); err != nil || got != want {
			t.Errorf("%q: %v epochs, %v", text, got, err)
		}
	}
}

func TestLengthKeys(t *testing.T) {
	for _, bad := range []string{"train.budget=10", "train.budget=-1m", "train.budget=soon", "train.average=-1",
		"train.average=0", "train.average=many",
		"train.average=3 epochs", "train.average=-2 steps", "train.average=.inf", "train.average=.nan", "train.line=-1",
		"train.line=101", "train.epochs=-1"} {
		key, _, _ := strings.Cut(bad, "=")
		if _, err := Parse("", nil, bad); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	cfg, err := Parse("", nil, "train.budget=1h30m", "train.average=1.5", "train.line=4", "train.epochs=0")
	if err != nil {
		t.Fatal(err)
	}
	b, err1 := parseBudget(cfg.Train.Budget)
	a, err2 := parseAverage(cfg.Train.Average, 7)
	if err1 != nil || err2 != nil || b != 90*time.Minute || a != 1.5 {
		t.Errorf("%v, %v (%v, %v)", b, a, err1, err2)
	}
}

// TestLengthOfARun: the budget ends a run, which can go on with a larger one; average and
// line are in what is kept.
func TestLengthOfARun(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.Epochs, cfg.Train.Budget, cfg.Train.Average = 4, "1ns", "2"
	opts := Options{Dir: t.TempDir() + "/a", Dataset: newBlobs(4, 12, 16)}
	res, err := Train(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.History) != 1 {
		t.Errorf("%d epochs in no time", len(res.History))
	}
	longer := configOf(t, opts.Dir)
	longer.Train.Budget = "1h"
	opts.Resume = true
	if res, err = Train(t.Context(), longer, opts); err != nil || len(res.History) != 4 {
		t.Fatalf("%v, %v", res, err)
	}
	cfg.Train.Budget = ""
	whole, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 12, 16)})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range whole.Net.Params() {
		for j, v := range p.Value {
			if v != res.Net.Params()[i].Value[j] {
				t.Fatalf("%s differs from the run without a budget", p.Name)
			}
		}
	}
}
