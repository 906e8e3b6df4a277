package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestComparePairs against the closed forms of Student's distribution with two and three
// degrees of freedom, and degenerate samples.
func TestComparePairs(t *testing.T) {
	two := func(t float64) float64 { return 0.5 - t/(2*math.Sqrt(2+t*t)) }
	three := func(t float64) float64 {
		u := t / math.Sqrt(3)
		return 0.5 - (u/(1+u*u)+math.Atan(u))/math.Pi
	}
	for _, c := range []struct {
		before, after []float64
		gain, p       float64
	}{
		{[]float64{0.1, 0.4, 0.2, 0.9}, []float64{0.3, 0.5, 0.1, 1.2}, 0.125,
			three(0.25 / math.Sqrt(0.0875/3))},
		{[]float64{1, 2, 3}, []float64{2, 3, 5}, 4.0 / 3, two(4)},
		{[]float64{2, 3, 5}, []float64{1, 2, 3}, -4.0 / 3, two(-4)},
		{[]float64{1, 2}, []float64{2, 3}, 1, 0},
		{[]float64{1, 2}, []float64{1, 2}, 0, 1},
		{[]float64{1, 2}, []float64{0, 1}, -1, 1},
		{[]float64{1}, []float64{9}, 8, 1},
		{nil, nil, 0, 1},
	} {
		got := ComparePairs(c.before, c.after)
		if math.Abs(got.Gain-c.gain) > 1e-12 || math.Abs(got.P-c.p) > 1e-9 || got.Samples != len(c.before) {
			t.Errorf("%v to %v: %+v, want a gain of %v, p %v", c.before, c.after, got, c.gain, c.p)
		}
	}
}

// TestStart: the run ends with the network before training where its score is as high as
// that of the best epoch or, with paired values, where more pairs are better than chance
// explains; and it does so from every checkpoint.
func TestStart(t *testing.T) {
	value := []float64{0.5, 0.1, 0.4, 0.3}
	pairs := func(changes ...float64) [2][]float64 {
		return [2][]float64{make([]float64, len(changes)), changes}
	}
	for what, c := range map[string]struct {
		start  float64
		paired [2][]float64
		level  float64
		epoch  int
	}{
		"lower":                        {start: 0.3, epoch: 2},
		"as high":                      {start: 0.4, epoch: 0},
		"higher":                       {start: 0.5, epoch: 0},
		"the pairs rise":               {start: 0.5, paired: pairs(1, 2, 1, 2), epoch: 2},
		"they may rise":                {start: 0.3, paired: pairs(1, 2, -2, 2), epoch: 0},
		"they fall":                    {start: 0.3, paired: pairs(-1, -2, -1, -2), epoch: 0},
		"they rise, at another level":  {start: 0.3, paired: pairs(1, 2, 1, 2), level: 0.001, epoch: 0},
		"as may be at an easier level": {start: 0.3, paired: pairs(1, 2, -2, 2), level: 0.4, epoch: 2},
	} {
		run := func(from *Checkpoint, w Store) (*Result, Config, []float32) {
			cfg := small(t, 3)
			first := weights(cfg.Network)
			s := &scores{net: cfg.Network, value: append([]float64{c.start}, value[1:]...)}
			cfg.EvalEvery, cfg.Eval, cfg.Untrained, cfg.Store, cfg.Resume = 1, s.eval, true, w, from
			cfg.EarlyStopping = EarlyStopping{Metric: "val_recall@1", Level: c.level}
			if c.paired[0] != nil {
				cfg.EarlyStopping.Paired = func(_ context.Context, epoch int) ([]float64, error) {
					if (epoch == 0) != slices.Equal(weights(cfg.Network), first) {
						t.Errorf("%s: epoch %d has another network", what, epoch)
					}
					return c.paired[min(epoch, 1)], nil
				}
			}
			res, err := Loop(t.Context(), cfg)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			return res, cfg, first
		}
		var w written
		want, whole, first := run(nil, &w)
		if (want.Compared != nil) != (c.paired[0] != nil) {
			t.Errorf("%s: compared %v", what, want.Compared)
		}
		if want.Epoch != c.epoch || want.Metrics[0].Value != append([]float64{c.start}, value[1:]...)[c.epoch] ||
			(c.epoch == 0) != slices.Equal(first, weights(whole.Network)) {
			t.Errorf("%s: ends with epoch %d, %v", what, want.Epoch, want.Metrics)
		}
		for k, file := range w.files {
			got, cfg, _ := run(reread(t, file), nil)
			sameRun(t, fmt.Sprintf("%s, checkpoint %d", what, k), whole.Network, cfg.Network, want.History, got.History)
			if got.Epoch != want.Epoch || fmt.Sprint(got.Metrics) != fmt.Sprint(want.Metrics) ||
				fmt.Sprint(got.Compared) != fmt.Sprint(want.Compared) {
				t.Errorf("%s, checkpoint %d: epoch %d, %v", what, k, got.Epoch, got.Metrics)
			}
		}
	}
}

// A run that goes on with another metric compares by that one, also with the network before
// training.
func TestStartByAnotherMetric(t *testing.T) {
	config := func(metric string) Config {
		cfg := small(t, 3)
		cfg.EvalEvery, cfg.Untrained, cfg.EarlyStopping = 1, true, EarlyStopping{Metric: metric}
		cfg.Eval = func(_ context.Context, epoch int, _ bool) ([]Metric, error) {
			up := float64(epoch)
			return []Metric{{"val", "fine", "up", up}, {"val", "fine", "down", 9 - up}}, nil
		}
		return cfg
	}
	var w written
	cfg := config("val_up")
	cfg.Store = &w
	if res, err := Loop(t.Context(), cfg); err != nil || res.Epoch != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, file := range w.files[1 : len(w.files)-3] {
		cfg := config("val_down")
		if cfg.Resume = reread(t, file); cfg.Resume.Epoch > 1 {
			continue // no epoch is left that is compared by it
		}
		res, err := Loop(t.Context(), cfg)
		if err != nil || res.Epoch != 0 || !slices.Equal(weights(cfg.Network), weights(config("").Network)) {
			t.Errorf("from epoch %d: ends with %+v, %v", cfg.Resume.Epoch, res, err)
		}
	}
}

// What is compared must be pairs, and an error of the comparison ends the run.
func TestPairedMistakes(t *testing.T) {
	failure := errors.New("no sample could be read")
	for want, paired := range map[string]func(int) ([]float64, error){
		"the numbers must be equal": func(epoch int) ([]float64, error) { return make([]float64, 3+epoch), nil },
		failure.Error():             func(int) ([]float64, error) { return nil, failure },
	} {
		cfg := small(t, 1)
		s := &scores{net: cfg.Network, value: []float64{1, 0}}
		cfg.Eval, cfg.Untrained = s.eval, true
		cfg.EarlyStopping = EarlyStopping{Metric: "val_recall@1",
			Paired: func(_ context.Context, epoch int) ([]float64, error) { return paired(epoch) }}
		if _, err := Loop(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestSmooth: an epoch's score is the mean of the last evaluations, so that one that is high
// by chance is not kept.
func TestSmooth(t *testing.T) {
	value := []float64{9, 0.1, 0.9, 0.1, 0.6, 0.6, 0.6, 0.1}
	for smooth, best := range map[int]int{0: 2, 1: 2, 2: 5, 3: 6, 7: 2} {
		cfg := small(t, 7)
		s := &scores{net: cfg.Network, value: value}
		cfg.EvalEvery, cfg.Eval, cfg.EarlyStopping = 1, s.eval, EarlyStopping{Metric: "val_recall@1", Smooth: smooth}
		res, err := Loop(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res.Epoch != best || res.Metrics[0].Value != value[best] {
			t.Errorf("over %d evaluations: epoch %d, %v; want %d", smooth, res.Epoch, res.Metrics, best)
		}
	}
}

// TestRise: a score that is higher by no more than Rise is not kept, and patience goes on.
func TestRise(t *testing.T) {
	value := []float64{0, 0.1, 0.14, 0.19, 0.31, 0.35, 0.40, 0.4, 0.9}
	for rise, c := range map[float64]struct{ best, epochs int }{0: {8, 8}, 0.1: {4, 7}, 0.5: {1, 4}} {
		cfg := small(t, 8)
		s := &scores{net: cfg.Network, value: value}
		cfg.EvalEvery, cfg.Eval, cfg.EarlyStopping = 1, s.eval,
			EarlyStopping{Metric: "val_recall@1", Patience: 3, MinDelta: rise}
		res, err := Loop(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res.Epoch != c.best || len(res.History) != c.epochs {
			t.Errorf("a rise of %v: epoch %d of %d, want %d of %d", rise, res.Epoch, len(res.History), c.best, c.epochs)
		}
	}
	for _, rise := range []float64{-1, math.NaN()} {
		cfg := small(t, 1)
		cfg.EarlyStopping.MinDelta = rise
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "EarlyStopping.MinDelta") {
			t.Errorf("a rise of %v: %v", rise, err)
		}
	}
}

// TestFinish ends a run where a checkpoint has it, with the best epoch so far and the one
// under way, which is scored; and it can still be made longer.
func TestFinish(t *testing.T) {
	value := []float64{0.2, 0.1, 0.7, 0.3, 0.4, 0.5}
	config := func(epochs int) (Config, *scores) {
		cfg := small(t, epochs)
		s := &scores{net: cfg.Network, value: value}
		cfg.EvalEvery, cfg.Eval, cfg.Untrained, cfg.Average = 2, s.eval, true, 1.5
		cfg.EarlyStopping = EarlyStopping{Metric: "val_recall@1"}
		return cfg, s
	}
	var w written
	cfg, _ := config(5)
	cfg.Store = &w
	if _, err := Loop(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for k, file := range w.files {
		from := reread(t, file)
		done, best := from.Epoch, 0
		if from.Step > 0 {
			done++
		}
		for epoch := 1; epoch <= done; epoch++ {
			if (epoch%2 == 0 || epoch == done) && value[epoch] > value[best] {
				best = epoch
			}
		}
		seen[fmt.Sprint(done, " ", best)] = true
		cfg, s := config(5)
		cfg.Resume, cfg.Finish = from, true
		var end written
		cfg.Store = &end
		res, err := Loop(t.Context(), cfg)
		if err != nil {
			t.Fatalf("checkpoint %d: %v", k, err)
		}
		if res.Epoch != best || len(res.History) != done || res.Metrics[0].Value != value[best] {
			t.Errorf("checkpoint %d, %d epochs done: epoch %d of %d, %v; want %d", k, done, res.Epoch,
				len(res.History), res.Metrics, best)
		}
		for _, asked := range s.asked {
			if !strings.HasPrefix(asked, fmt.Sprint(done, " ")) && !strings.HasSuffix(asked, "true") {
				t.Errorf("checkpoint %d: asked for %v", k, s.asked)
			}
		}
		if len(end.files) == 0 { // the run had ended
			continue
		}
		longer, _ := config(5)
		if longer.Resume = reread(t, end.files[len(end.files)-1]); done < 5 && longer.Resume.Epoch != done {
			t.Errorf("checkpoint %d: kept epoch %d", k, longer.Resume.Epoch)
		}
		if res, err := Loop(t.Context(), longer); err != nil || len(res.History) != 5 {
			t.Errorf("checkpoint %d, made longer: %v", k, err)
		}
	}
	for _, want := range []string{"1 0", "2 2", "3 2", "5 2"} {
		if !seen[want] {
			t.Errorf("no checkpoint with %s: %v", want, seen)
		}
	}
	cfg, _ = config(5)
	cfg.Finish = true
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "nothing to finish") {
		t.Errorf("without a step: %v", err)
	}
}
