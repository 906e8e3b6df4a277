package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// steps notes the weights after every step.
type steps struct {
	net Network
	all [][]float32
}

func (s *steps) observe(e Event) {
	if e.Stage == Stepped {
		s.all = append(s.all, weights(s.net))
	}
}

// TestAverage compares the network that a run ends with to the average of its steps'
// weights in float64, and goes on to the same bits from every checkpoint.
func TestAverage(t *testing.T) {
	for _, horizon := range []float64{0.1, 1, 1.5, 100} {
		run := func(from *Checkpoint, w Store) (*Result, Config, *steps, *scores) {
			cfg := small(t, 4)
			n, s := &steps{net: cfg.Network}, &scores{net: cfg.Network, value: []float64{0, 1, 2, 3, 4}}
			cfg.Average, cfg.Resume, cfg.Store, cfg.EvalEvery = horizon, from, w, 1
			cfg.Observe, cfg.Eval = n.observe, s.eval
			res, err := Loop(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			return res, cfg, n, s
		}
		var w written
		want, whole, n, s := run(nil, &w)
		mean := make([]float64, len(n.all[0]))
		h := math.Max(1, horizon*float64(whole.Sampler.Batches()))
		for k, v := range n.all {
			share := math.Max(1/float64(k+1), 1/h)
			for i, x := range v {
				mean[i] += share * (float64(x) - mean[i])
			}
		}
		end := weights(whole.Network)
		for i, x := range end {
			if math.Abs(float64(x)-mean[i]) > 1e-5*(1+math.Abs(mean[i])) {
				t.Fatalf("horizon %v: weight %d is %v, the average %v", horizon, i, x, mean[i])
			}
		}
		if !slices.Equal(end, s.at[4]) {
			t.Errorf("horizon %v: what was scored after the last epoch is not the average", horizon)
		}
		if last := n.all[len(n.all)-1]; horizon > 0.5 && slices.Equal(last, end) {
			t.Errorf("horizon %v: the network is that of the last step", horizon)
		}
		if len(want.Metrics) != 1 || want.Metrics[0].Value != 4 {
			t.Errorf("horizon %v: ends with %v", horizon, want.Metrics)
		}
		for k, file := range w.files {
			got, cfg, _, _ := run(reread(t, file), nil)
			sameRun(t, fmt.Sprintf("horizon %v, checkpoint %d", horizon, k), whole.Network, cfg.Network, want.History,
				got.History)
		}
	}
}

// TestAverageLeavesTheSteps: training takes the same steps with an average as without,
// so that a run made longer is the run that was longer from the start.
func TestAverageLeavesTheSteps(t *testing.T) {
	plain, with := small(t, 3), small(t, 3)
	a, b := &steps{net: plain.Network}, &steps{net: with.Network}
	plain.Observe, with.Observe, with.Average = a.observe, b.observe, 1
	for _, cfg := range []Config{plain, with} {
		if _, err := Loop(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	for k := range a.all {
		if !slices.Equal(a.all[k], b.all[k]) {
			t.Fatalf("step %d differs", k)
		}
	}
	var w written
	short := small(t, 2)
	short.Average, short.Store = 1, &w
	if _, err := Loop(t.Context(), short); err != nil {
		t.Fatal(err)
	}
	longer := small(t, 3)
	longer.Average, longer.Resume = 1, reread(t, w.files[len(w.files)-1])
	if _, err := Loop(t.Context(), longer); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(weights(longer.Network), weights(with.Network)) {
		t.Error("made longer, the run is another")
	}
}

// A checkpoint without an average is refused by a run with one.
func TestAverageIsMissing(t *testing.T) {
	var w written
	cfg := small(t, 1)
	cfg.Store = &w
	if _, err := Loop(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	cfg = small(t, 2)
	cfg.Average, cfg.Resume = 1, reread(t, w.files[0])
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "average of the weights") {
		t.Errorf("error %v", err)
	}
}

// TestLine finds the place of the highest score between the start and the best epoch.
// The score is a function of one weight, so that the place can be said beforehand.
func TestLine(t *testing.T) {
	first := weights(small(t, 1).Network)
	var end []float32
	{
		cfg := small(t, 2)
		if _, err := Loop(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		end = weights(cfg.Network)
	}
	at := 0 // the weight that moves most
	for i := range end {
		if math.Abs(float64(end[i]-first[i])) > math.Abs(float64(end[at]-first[at])) {
			at = i
		}
	}
	for best, want := range map[float64]float64{0.1: 0.25, 0.45: 0.5, 0.7: 0.75, 1.1: 1} {
		run := func(from *Checkpoint, w Store) (*Result, Config) {
			cfg := small(t, 2)
			score := func(context.Context) ([]Metric, error) {
				place := float64(weights(cfg.Network)[at]-first[at]) / float64(end[at]-first[at])
				return []Metric{{"val", "fine", "recall@1", -math.Abs(place - best)}}, nil
			}
			cfg.Eval = func(ctx context.Context, epoch int, _ bool) ([]Metric, error) {
				if epoch == 1 { // the line is that to the last epoch
					return []Metric{{"val", "fine", "recall@1", -9}}, nil
				}
				return score(ctx)
			}
			cfg.EvalEvery, cfg.Store, cfg.Resume = 1, w, from
			cfg.EarlyStopping, cfg.Interpolation = EarlyStopping{Metric: "val_recall@1"},
				Interpolation{Parts: 4, Eval: score}
			res, err := Loop(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			return res, cfg
		}
		var w written
		res, cfg := run(nil, &w)
		if res.Place != want || res.Epoch != 2 {
			t.Errorf("best at %v: place %v of epoch %d, want %v", best, res.Place, res.Epoch, want)
		}
		for i, x := range weights(cfg.Network) {
			if y := first[i] + float32(want)*(end[i]-first[i]); math.Abs(float64(x-y)) > 1e-6 {
				t.Fatalf("best at %v: weight %d is %v, want %v", best, i, x, y)
			}
		}
		for k, file := range w.files {
			again, other := run(reread(t, file), nil)
			if !slices.Equal(weights(other.Network), weights(cfg.Network)) || again.Place != res.Place {
				t.Errorf("best at %v: from checkpoint %d the network is another, at %v", best, k, again.Place)
			}
		}
	}
}

// TestBudget ends a run after the epoch in which its time is over, and a larger budget
// lets it go on to where it would have come.
func TestBudget(t *testing.T) {
	var w written
	cfg := small(t, 3)
	cfg.Budget, cfg.Store = time.Nanosecond, &w
	res, err := Loop(t.Context(), cfg)
	if err != nil || !res.Spent || len(res.History) != 1 {
		t.Fatalf("%d epochs, %+v, %v", len(res.History), res, err)
	}
	last := w.files[len(w.files)-1]
	again := small(t, 3)
	again.Budget, again.Resume = time.Nanosecond, reread(t, last)
	if res, err = Loop(t.Context(), again); err != nil || !res.Spent || len(res.History) != 1 {
		t.Errorf("with the same budget: %d epochs, %v", len(res.History), err)
	}
	more, whole := small(t, 3), small(t, 3)
	more.Budget, more.Resume = time.Hour, reread(t, last)
	if res, err = Loop(t.Context(), more); err != nil || res.Spent || len(res.History) != 3 {
		t.Fatalf("with a larger one: %d epochs, %v", len(res.History), err)
	}
	if _, err = Loop(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(weights(more.Network), weights(whole.Network)) {
		t.Error("with a larger budget the run is another than without")
	}
}

// TestBefore: scores before training that come from elsewhere compete, and are asked for
// again where nothing beats them.
func TestBefore(t *testing.T) {
	for _, bar := range []float64{0.5, 5} {
		cfg := small(t, 3)
		s := &scores{net: cfg.Network, value: []float64{0, 1, 2, 3}}
		start := weights(cfg.Network)
		var asked []string
		cfg.EvalEvery, cfg.Eval, cfg.Untrained, cfg.EarlyStopping = 1, s.eval, true,
			EarlyStopping{Metric: "val_recall@1"}
		cfg.UntrainedCompetes = true
		cfg.EvalUntrained = func(_ context.Context, last bool) ([]Metric, error) {
			asked = append(asked, fmt.Sprint(last))
			return []Metric{{"val", "fine", "recall@1", bar}}, nil
		}
		res, err := Loop(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res.Untrained[0].Value != bar || slices.Contains(s.asked, "0 false") {
			t.Errorf("bar %v: before training %v, asked for %v", bar, res.Untrained, s.asked)
		}
		want, epoch, end := "[false]", 3, 3.0
		if bar > 3 {
			want, epoch, end = "[false true]", 0, bar
		}
		if fmt.Sprint(asked) != want || res.Epoch != epoch || res.Metrics[0].Value != end ||
			(epoch == 0) != slices.Equal(start, weights(cfg.Network)) {
			t.Errorf("bar %v: asked %v, epoch %d, %v", bar, asked, res.Epoch, res.Metrics)
		}
	}
}
