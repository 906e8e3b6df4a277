package paper

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/run"
)

// planConfig returns the configuration of an arm at the usual scale, with seed 1.
func planConfig(t *testing.T, e *Experiment, arm string) run.Config {
	t.Helper()
	o, err := Options{}.resolve(e)
	if err != nil {
		t.Fatal(err)
	}
	a := &e.Arms[e.arm(arm)]
	cfg, err := e.config(a, 1, o.settings(a))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestWhyStartsFromTheTable compares, plan by plan, the arm that changes nothing with the arm of
// the table, so that its runs can be reused, and every other arm with it.
func TestWhyStartsFromTheTable(t *testing.T) {
	for _, c := range []struct {
		why, of *Experiment
		arm     string
	}{{Find("mnist-why"), Find("mnist"), "Trip+EPS"}, {Find("omniglot-why"), Find("omniglot"), "EPS+Trip+SH"}} {
		plan := func(e *Experiment, arm string) string {
			cfg := planConfig(t, e, arm)
			return string(cfg.YAML())
		}
		same := plan(c.why, "as chosen")
		if want := plan(c.of, c.arm); same != want {
			t.Errorf("%s as chosen:\n%s\nnot\n%s", c.why.Name, same, want)
		}
		for _, a := range c.why.Arms[1:] {
			got, was := strings.Split(plan(c.why, a.Name), "\n"), strings.Split(same, "\n")
			changed := 0
			for i := range min(len(got), len(was)) {
				if got[i] != was[i] {
					changed++
				}
			}
			if more := len(a.Change); changed != more || len(got) != len(was) {
				t.Errorf("%s, %s: %d lines of the plan are other than as chosen, want %d", c.why.Name, a.Name, changed,
					more)
			}
		}
	}
}

// TestChangedSettings: if a sweep chose settings at the usual scale, the arms of a figure have
// them, except for the setting that the figure is about.
func TestChangedSettings(t *testing.T) {
	of := Find("omniglot")
	for _, e := range []*Experiment{Find("omniglot-positives"), Find("trimmed")} {
		for _, a := range e.Arms {
			got, want := planConfig(t, e, a.Name), planConfig(t, of, a.tunedArm())
			switch {
			case e.Name == "trimmed" && a.At > 0:
				if got.Loss["trim"] != a.At {
					t.Errorf("%s trims %v", a.Name, got.Loss["trim"])
				}
				delete(got.Loss, "trim")
			case e.Name == "omniglot-positives" && a.At > 0:
				if s := got.Sample; float64(s.PerClass-1) != a.At || s.Classes*s.PerClass != 112 {
					t.Errorf("%s: a batch of %d x %d", a.Name, s.Classes, s.PerClass)
				}
				got.Sample = want.Sample
			}
			if string(got.YAML()) != string(want.YAML()) {
				t.Errorf("%s, %s:\n%s\nnot those of %s:\n%s", e.Name, a.Name, got.YAML(), a.tunedArm(), want.YAML())
			}
		}
	}
}
