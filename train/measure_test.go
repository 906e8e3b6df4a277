package train

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/matrix"
)

// TestPaceLeavesNoTrace: a run after Pace has the bits of one without it, whole or in pieces.
func TestPaceLeavesNoTrace(t *testing.T) {
	for _, chunk := range []int{0, 2} {
		plain, paced := small(t, 3), small(t, 3)
		plain.MicroBatch, paced.MicroBatch = chunk, chunk
		before := weights(paced.Network)
		probe, err := New(paced)
		if err != nil {
			t.Fatal(err)
		}
		if step, err := probe.MeasureStep(t.Context(), time.Hour); err != nil || step <= 0 {
			t.Fatalf("a step takes %v, %v", step, err)
		}
		if !slices.Equal(before, weights(paced.Network)) {
			t.Errorf("chunk %d: weights or statistics differ after Pace", chunk)
		}
		a, err1 := Loop(t.Context(), plain)
		b, err2 := Loop(t.Context(), paced)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		sameRun(t, "after Pace", plain.Network, paced.Network, a.History, b.History)
	}
}

// broken is a Network whose embeddings are too few.
type broken struct{ Network }

func (b broken) Forward(x []float32, n int) *matrix.Dense {
	return b.Network.Forward(x, n).RowRange(0, n-1)
}

// TestPaceFails: what cannot be timed is an error, and leaves no trace either.
func TestPaceFails(t *testing.T) {
	cfg := small(t, 3)
	before, draws := weights(cfg.Network), cfg.Sampler.State()
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		change func(*Config)
		ctx    context.Context
	}{
		"a broken network": {func(c *Config) { c.Network = broken{c.Network} }, t.Context()},
		"no data":          {func(c *Config) { c.Data = Rows{X: matrix.New(0, 5), Index: []int{}} }, ended},
		"interrupted":      {func(*Config) {}, ended},
		"a resumed run": {func(c *Config) {
			var w written
			other := small(t, 1)
			other.Store = &w
			if _, err := Loop(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			again := small(t, 3)
			*c = again
			c.Resume = reread(t, w.files[len(w.files)-1])
		}, t.Context()},
	} {
		one := cfg
		c.change(&one)
		probe, err := New(one)
		if err != nil {
			t.Fatal(err)
		}
		if step, err := probe.MeasureStep(c.ctx, time.Hour); err == nil {
			t.Errorf("%s: a step takes %v, without an error", name, step)
		}
	}
	if !slices.Equal(before, weights(cfg.Network)) || cfg.Sampler.State() != draws {
		t.Error("a failed Pace left a trace")
	}
}

// TestDeadline: a run ends after an evaluation if there is no time until the next one, and goes on from
// there to the same bits. It ends within an epoch if the time has passed, and scores what it has.
func TestDeadline(t *testing.T) {
	var w written
	cfg := small(t, 3)
	s := &scores{net: cfg.Network, value: []float64{0, 1, 2, 3}}
	cfg.Eval, cfg.Store, cfg.EvalEvery, cfg.Deadline = s.eval, &w, 1, time.Now().Add(3*time.Second)
	cfg.Observe = func(e Event) {
		if e.Stage == Stepped {
			time.Sleep(600 * time.Millisecond) // an epoch has three steps
		}
	}
	res, err := Loop(t.Context(), cfg)
	if err != nil || !res.Late || len(res.History) != 1 || res.History[0].Steps != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	if !slices.Equal(s.asked, []string{"1 true"}) {
		t.Errorf("scored as %v", s.asked)
	}
	more, whole := small(t, 3), small(t, 3)
	more.Resume = reread(t, w.files[len(w.files)-1])
	a, err1 := Loop(t.Context(), whole)
	b, err2 := Loop(t.Context(), more)
	if err1 != nil || err2 != nil || b.Late {
		t.Fatal(err1, err2, b)
	}
	if len(a.History) != 3 || len(b.History) != 3 || !slices.Equal(weights(whole.Network), weights(more.Network)) {
		t.Error("a run that goes on after its deadline is another one")
	}

	past := small(t, 3)
	s = &scores{net: past.Network, value: []float64{0, 1, 2, 3}}
	past.Eval, past.Deadline = s.eval, time.Now().Add(-time.Hour)
	res, err = Loop(t.Context(), past)
	if err != nil || !res.Late || len(res.History) != 1 || res.History[0].Steps != 1 ||
		!slices.Equal(s.asked, []string{"1 true"}) {
		t.Errorf("after the deadline: %+v, %v, scored as %v", res, err, s.asked)
	}
	past = small(t, 1)
	past.Deadline = time.Now().Add(time.Hour)
	if res, err = Loop(t.Context(), past); err != nil || res.Late {
		t.Errorf("before the deadline: %+v, %v", res, err)
	}
}
