package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
)

// TestGoesOnFromEveryCheckpoint: a run ends with the same bits from wherever it
// goes on.
func TestGoesOnFromEveryCheckpoint(t *testing.T) {
	var w written
	whole := small(t, 3)
	whole.Store = &w
	want, err := Loop(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.files) != 6 || want.Epoch != 3 { // after 2 of 3 steps, and after each epoch
		t.Fatalf("%d checkpoints, epoch %d", len(w.files), want.Epoch)
	}
	for k, file := range w.files {
		cfg := small(t, 3)
		cfg.Resume = reread(t, file)
		got, err := Loop(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		sameRun(t, fmt.Sprint("from checkpoint ", k), whole.Network, cfg.Network, want.History, got.History)
	}
}

// scores is an Eval that gives what is written down for every epoch, and notes
// what it was asked for and the weights at the end.
type scores struct {
	net   Network
	value []float64
	asked []string
	at    map[int][]float32
}

func (s *scores) eval(_ context.Context, epoch int, last bool) ([]Metric, error) {
	s.asked = append(s.asked, fmt.Sprint(epoch, last))
	if s.at == nil {
		s.at = map[int][]float32{}
	}
	if !last {
		s.at[epoch] = weights(s.net)
	}
	return []Metric{{"val", "fine", "recall@1", s.value[epoch]}}, nil
}

// TestBest keeps the best epoch, ends when patience does, and goes on to the same
// bits from every checkpoint.
func TestBest(t *testing.T) {
	value := []float64{0, 0.1, 0.4, 0.7, 0.7, 0.5, 0.9, 0.1}
	for patience, c := range map[int]struct {
		asked        string
		epochs, best int
	}{
		0: {"[1 false 2 false 3 false 4 false 5 false 6 false 7 false 6 true]", 7, 6},
		2: {"[1 false 2 false 3 false 4 false 5 false 3 true]", 5, 3},
		3: {"[1 false 2 false 3 false 4 false 5 false 6 false 7 false 6 true]", 7, 6},
	} {
		run := func(from *Checkpoint, w Store) (*Result, Config, *scores) {
			cfg := small(t, 7)
			s := &scores{net: cfg.Network, value: value}
			cfg.EvalEvery, cfg.Eval, cfg.Store, cfg.Resume = 1, s.eval, w, from
			cfg.EarlyStopping = EarlyStopping{Metric: "val_recall@1", Patience: patience}
			res, err := Loop(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			return res, cfg, s
		}
		var w written
		want, whole, s := run(nil, &w)
		if got := fmt.Sprint(s.asked); got != c.asked {
			t.Errorf("patience %d: asked for %s", patience, got)
		}
		if want.Epoch != c.best || len(want.History) != c.epochs || len(want.Metrics) != 1 ||
			want.Metrics[0].Value != value[c.best] {
			t.Errorf("patience %d: epoch %d of %d, %v", patience, want.Epoch, len(want.History), want.Metrics)
		}
		if !slices.Equal(weights(whole.Network), s.at[c.best]) {
			t.Errorf("patience %d: the network is not that of epoch %d", patience, c.best)
		}
		for k, file := range w.files {
			got, cfg, _ := run(reread(t, file), nil)
			sameRun(t, fmt.Sprintf("patience %d, checkpoint %d", patience, k), whole.Network, cfg.Network, want.History,
				got.History)
			if got.Epoch != want.Epoch || fmt.Sprint(got.Metrics) != fmt.Sprint(want.Metrics) {
				t.Errorf("patience %d, checkpoint %d: epoch %d, %v", patience, k, got.Epoch, got.Metrics)
			}
		}
		// The last checkpoint goes on where training ended, not at the best epoch.
		last := reread(t, w.files[len(w.files)-1])
		longer := small(t, 8)
		longer.Resume, longer.EvalEvery = last, 1
		plain := small(t, 8)
		if patience == 2 {
			continue
		}
		if _, err := Loop(t.Context(), longer); err != nil {
			t.Fatal(err)
		}
		if _, err := Loop(t.Context(), plain); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(weights(longer.Network), weights(plain.Network)) {
			t.Error("made longer, the run is another")
		}
	}
}

func TestBestMistakes(t *testing.T) {
	cfg := small(t, 1)
	cfg.EarlyStopping.Metric = "x"
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "Eval") {
		t.Errorf("nothing to go by: %v", err)
	}
	s := &scores{net: cfg.Network, value: []float64{0, 1}}
	cfg.Eval = s.eval
	if _, err := Loop(t.Context(), cfg); err == nil ||
		!strings.Contains(err.Error(), "no metric x among [val_recall@1]") {
		t.Errorf("another metric: %v", err)
	}
	cfg = small(t, 1)
	s.value[1] = math.Inf(1)
	cfg.Eval = s.eval
	if _, err := Loop(t.Context(), cfg); err == nil || !strings.Contains(err.Error(),
		"recall@1 after epoch 1 is +Inf") {
		t.Errorf("no number: %v", err)
	}
	// A run that has ended cannot be asked for its best epoch afterwards.
	cfg = small(t, 1)
	var w written
	cfg.Store = &w
	if _, err := Loop(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	s.value[1] = 1
	again := small(t, 1)
	again.Resume, again.Eval, again.EarlyStopping.Metric = reread(t, w.files[len(w.files)-1]), s.eval, "val_recall@1"
	if _, err := Loop(t.Context(), again); err == nil || !strings.Contains(err.Error(), "was trained without it") {
		t.Errorf("asked too late: %v", err)
	}
}

// slow is a network whose training pass waits, as a large one's takes its time.
type slow struct {
	*nn.Net
	wait func()
}

func (s *slow) Forward(x []float32, n int) *matrix.Dense {
	s.wait()
	return s.Net.Forward(x, n)
}

// TestStoppingIsToldAtOnce, in the middle of a step, which is then taken whole; the
// run goes on to the bits of one that was not stopped.
func TestStoppingIsToldAtOnce(t *testing.T) {
	whole := small(t, 2)
	want, err := Loop(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var w written
	cfg := small(t, 2)
	cfg.Store, cfg.CheckpointInterval = &w, 0
	told := make(chan Event, 1)
	passes := 0
	cfg.Network = &slow{cfg.Network.(*nn.Net), func() {
		if passes++; passes == 2 {
			cancel()
			select {
			case e := <-told:
				if e.Epoch != 1 || e.Step != 1 || e.Steps != 3 {
					t.Errorf("told %+v", e)
				}
			case <-time.After(time.Minute):
				t.Error("nobody was told while the step was under way")
			}
		}
	}}
	n := 0
	cfg.Observe = func(e Event) {
		if e.Stage == Stopping {
			n++
			told <- e
		}
	}
	_, err = Loop(ctx, cfg)
	var stopped *StoppedError
	if !errors.As(err, &stopped) || !errors.Is(err, context.Canceled) || stopped.Epoch != 1 || stopped.Step != 2 ||
		n != 1 {
		t.Fatalf("%v, told %d times", err, n)
	}
	if s := err.Error(); s != "context canceled: stopped in epoch 1 after step 2 of 3" {
		t.Error(s)
	}
	if s := (&StoppedError{Epoch: 3, Epochs: 2}).Where(); s != "stopped after its last epoch" {
		t.Error(s)
	}
	if len(w.files) != 1 {
		t.Fatalf("%d checkpoints", len(w.files))
	}
	again := small(t, 2)
	again.Resume = reread(t, w.files[0])
	got, err := Loop(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	sameRun(t, "stopped", whole.Network, again.Network, want.History, got.History)
}

// TestNobodyIsToldAfterTheEnd, even if the context ends then.
func TestNobodyIsToldAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := small(t, 1)
	var seen []Stage
	cfg.Observe = func(e Event) { seen = append(seen, e.Stage) }
	if _, err := Loop(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	cancel()
	time.Sleep(time.Millisecond)
	if got := fmt.Sprint(seen); got != "[started stepped stepped stepped epoch end]" {
		t.Error(got)
	}
	already, stop := context.WithCancel(t.Context())
	stop()
	cfg, seen = small(t, 1), nil
	cfg.Observe = func(e Event) { seen = append(seen, e.Stage) }
	if _, err := Loop(already, cfg); err == nil || !slices.Contains(seen, Stopping) {
		t.Errorf("%v, told %v", err, seen)
	}
}

func TestStageText(t *testing.T) {
	for s := Started; s <= Stopping; s++ {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again Stage
		if err := again.UnmarshalText(text); err != nil || again != s {
			t.Errorf("%s became %v, %v", text, again, err)
		}
	}
	var s Stage
	if err := s.UnmarshalText([]byte("resting")); err == nil || !strings.Contains(err.Error(), "epoch end") {
		t.Errorf("resting: %v", err)
	}
	if Stage(9).String() != "Stage(9)" || Stage(-1).String() != "Stage(-1)" {
		t.Error("stages that are none")
	}
}

func TestWhatIsMissing(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"Network": func(c *Config) { c.Network = nil }, "Data": func(c *Config) { c.Data = nil },
		"Sampler": func(c *Config) { c.Sampler = nil }, "Objective": func(c *Config) { c.Objective = nil },
		"Optimizer": func(c *Config) { c.Optimizer = nil }, "Labels": func(c *Config) { c.Labels = nil },
		"Epochs is 0":       func(c *Config) { c.Epochs = 0 },
		"IDs has 23":        func(c *Config) { c.IDs = c.IDs[1:] },
		"only 5 labels":     func(c *Config) { c.Labels, c.IDs = c.Labels[:5], nil },
		"ended after 1 of":  func(c *Config) { c.Data = short{c.Data} },
		"could be read":     func(c *Config) { c.Data = short{empty{}} },
		"made 1 embeddings": func(c *Config) { c.Network = wrong{c.Network} },
	} {
		cfg := small(t, 1)
		change(&cfg)
		if _, err := Loop(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// short ends after one batch, empty gives batches of nothing.
type (
	short struct{ Data }
	empty struct{}
	wrong struct{ Network }
)

func (s short) Epoch(ctx context.Context, epoch int, batches [][]int) iter.Seq2[Batch, error] {
	return s.Data.Epoch(ctx, epoch, batches[:1])
}

func (empty) Epoch(_ context.Context, _ int, batches [][]int) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for range batches {
			if !yield(Batch{}, nil) {
				return
			}
		}
	}
}

func (w wrong) Forward([]float32, int) *matrix.Dense { return matrix.New(1, 3) }
func (w wrong) Infer([]float32, int) *matrix.Dense   { return matrix.New(1, 3) }

func TestEmbed(t *testing.T) {
	cfg := small(t, 1)
	x, pos, err := Embed(t.Context(), cfg.Network, cfg.Data, 24, 7)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := Embed(t.Context(), cfg.Network, Rows{X: cfg.Data.(Rows).X, Index: pos}, 24, 0)
	if err != nil || x.Rows != 24 || !slices.Equal(x.Data, all.Data) {
		t.Errorf("%d rows, %v; by sevens and at once they differ", x.Rows, err)
	}
	if x, pos, err := Embed(t.Context(), cfg.Network, empty{}, 24, 7); err != nil || x.Rows != 0 || pos != nil {
		t.Errorf("of nothing that can be read: %v, %v, %v", x, pos, err)
	}
	if _, _, err := Embed(t.Context(), wrong{cfg.Network}, cfg.Data, 24, 7); err == nil {
		t.Error("too few embeddings went through")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Embed(ctx, cfg.Network, cfg.Data, 24, 7); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

func TestConsecutive(t *testing.T) {
	for n, want := range map[int]string{0: "[]", 4: "[[0 1] [2 3]]", 5: "[[0 1] [2 3] [4]]"} {
		if got := fmt.Sprint(consecutiveBatches(0, n, 2)); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// spoilt gives the network's samples a number that is not finite.
type spoilt struct{ Data }

func (s spoilt) Epoch(ctx context.Context, epoch int, batches [][]int) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for b, err := range s.Data.Epoch(ctx, epoch, batches) {
			b.X[0] = float32(math.NaN())
			if !yield(b, err) {
				return
			}
		}
	}
}

func TestStepsThatCannotBeTaken(t *testing.T) {
	cfg := small(t, 1)
	cfg.Data = spoilt{cfg.Data}
	_, err := Loop(t.Context(), cfg)
	var step *StepError
	if !errors.As(err, &step) || step.Epoch != 1 || step.Step != 1 || !errors.Is(err, nn.ErrNotFinite) ||
		!strings.HasPrefix(err.Error(), "epoch 1, step 1: ") {
		t.Errorf("NaN among the data: %v", err)
	}
	cfg = small(t, 1)
	cfg.Objective = steep{cfg.Objective}
	if _, err = Loop(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "first in layer out.") {
		t.Errorf("a gradient of infinity: %v", err)
	}
}

// steep has a gradient beyond all bounds.
type steep struct{ Objective }

func (s steep) Step(ctx context.Context, e *matrix.Dense, b objective.Batch, grad *matrix.Dense) (objective.Result,
	error) {
	r, err := s.Objective.Step(ctx, e, b, grad)
	for i := range grad.Data {
		grad.Data[i] = float32(math.Inf(1))
	}
	return r, err
}

func TestSums(t *testing.T) {
	e := Epoch{Metrics: []Metric{{"test", "fine", "recall@1", 0.5}, {"test", "label", "nmi", 0.25}}}
	for key, want := range map[string]float64{"test_recall@1": 0.5, "test_label_nmi": 0.25} {
		if got, err := e.Metric(key); err != nil || got != want {
			t.Errorf("%s: %v, %v", key, got, err)
		}
	}
	if _, err := e.Metric("seen_nmi"); err == nil || !strings.Contains(err.Error(), "[test_recall@1 test_label_nmi]") {
		t.Errorf("a metric that is not there: %v", err)
	}
	if s := (&Totals{Steps: 4, Loss: 2, Tuples: 8, Active: 2}); s.MeanLoss() != 0.5 || s.ActiveShare() != 0.25 {
		t.Errorf("mean loss %v, active %v", s.MeanLoss(), s.ActiveShare())
	}
	if s := (&Totals{}); s.MeanLoss() != 0 || s.ActiveShare() != 0 {
		t.Errorf("of nothing: mean loss %v, active %v", s.MeanLoss(), s.ActiveShare())
	}
	if s := (&Totals{Steps: 1, Loss: 3, Tuples: 1, Active: 1}); s.MeanLoss() != 3 || s.ActiveShare() != 1 {
		t.Errorf("of one: mean loss %v, active %v", s.MeanLoss(), s.ActiveShare())
	}
}
