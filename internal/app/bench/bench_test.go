package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(tc.in); got != tc.want {
			t.Errorf("median(%v) = %v, want %v", tc.in, got, tc.want)
		}
	}
}

// TestTurn counts repetitions: one before each turn that does not count, unless
// the work is known to take long.
func TestTurn(t *testing.T) {
	calls := 0
	w := worker{name: "x", work: func() error { calls++; time.Sleep(turnTime); return nil }}
	ms, err := w.runTurn(context.Background())
	if err != nil || calls != 2 || ms < 100 {
		t.Errorf("a first turn: %d calls, %v ms, %v", calls, ms, err)
	}
	w.last = cold
	if _, err := w.runTurn(context.Background()); err != nil || calls != 3 {
		t.Errorf("a turn of long work: %d calls, %v", calls-2, err)
	}
}

func TestRun(t *testing.T) {
	c := Case{Name: "x", Items: 10, Setup: func() (func() error, float64, error) {
		return func() error { time.Sleep(2 * time.Millisecond); return nil }, 2e6, nil
	}}
	r, err := Run(context.Background(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Case != "x" || r.MedianMS < 2 || r.MinMS > r.MedianMS || r.MaxMS < r.MedianMS || r.Peer != nil ||
		r.Ratio != 0 {
		t.Errorf("result %+v", r)
	}
	if want := 10 / r.MedianMS * 1e3; r.PerS != want {
		t.Errorf("%v items a second, want %v", r.PerS, want)
	}
}

func TestRunReportsErrorsAndInterrupts(t *testing.T) {
	boom := errors.New("boom")
	c := Case{Name: "x", Items: 1, Setup: func() (func() error, float64, error) {
		return func() error { return boom }, 0, nil
	}}
	if _, err := Run(context.Background(), c, nil); !errors.Is(err, boom) || !strings.Contains(err.Error(), "bench x") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, c, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
}

func TestSelect(t *testing.T) {
	all := []Case{{Name: "a"}, {Name: "l", Long: true}, {Name: "b"}}
	names := func(cases []Case) (s string) {
		for _, c := range cases {
			s += c.Name
		}
		return s
	}
	if got, err := Select(all, nil); err != nil || names(got) != "ab" || names(all) != "alb" {
		t.Errorf("without names: %v, %v", got, err)
	}
	if got, err := Select(all, []string{"l", "a"}); err != nil || names(got) != "la" {
		t.Errorf("named: %v, %v", got, err)
	}
	if got, err := Select(all, []string{"b"}); err != nil || len(got) != 1 || got[0].Name != "b" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Select(all, []string{"c"}); err == nil || !strings.Contains(err.Error(), "a, l, b") {
		t.Errorf("an unknown case must list the known ones, got %v", err)
	}
}

func TestCaseNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		if seen[c.Name] {
			t.Errorf("case %s twice", c.Name)
		}
		seen[c.Name] = true
		if c.Items < 1 || c.About == "" || c.Setup == nil {
			t.Errorf("case %s is incomplete: %+v", c.Name, c)
		}
	}
}

// TestUnfoldedStep checks that the two MNIST cases differ as their names say.
func TestUnfoldedStep(t *testing.T) {
	steps := map[string][]string{}
	for _, name := range []string{"mnist-step-b128", "mnist-step-b128-unfolded"} {
		picked, err := Select(Cases(), []string{name})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := picked[0].Setup(); err != nil {
			t.Fatal(err)
		}
		times, err := picked[0].Layers(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range times {
			steps[name] = append(steps[name], l.Layer)
		}
	}
	if got := steps["mnist-step-b128"][0]; got != "conv1+conv2" {
		t.Errorf("the folded step begins with %s", got)
	}
	if got := steps["mnist-step-b128-unfolded"]; got[0] != "conv1" || got[1] != "conv2" {
		t.Errorf("the unfolded step begins with %s, %s", got[0], got[1])
	}
}
