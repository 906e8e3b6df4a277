package paper

import (
	"strings"
	"testing"
)

// TestWhyStartsFromTheTable compares the arm that changes nothing with the table's, plan
// by plan, so that its runs can be reused, and every other arm with it.
func TestWhyStartsFromTheTable(t *testing.T) {
	for _, c := range []struct {
		why, of *Experiment
		arm     string
	}{{MNISTWhy(), MNIST(), "Trip+EPS"}, {OmniglotWhy(), Omniglot(), "EPS+Trip+SH"}} {
		plan := func(e *Experiment, arm string) string {
			o, err := Options{}.resolve(e)
			if err != nil {
				t.Fatal(err)
			}
			a := &e.Arms[e.arm(arm)]
			cfg, err := e.config(a, 1, o.settings(a))
			if err != nil {
				t.Fatal(err)
			}
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
			if more := len(a.Set) - len(c.why.Arms[0].Set); changed != more || len(got) != len(was) {
				t.Errorf("%s, %s: %d lines of the plan are other than as chosen, want %d", c.why.Name, a.Name, changed,
					more)
			}
		}
	}
}
