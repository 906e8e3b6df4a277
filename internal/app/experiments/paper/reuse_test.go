package paper

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/train"
)

// TestReuse copies a finished run with the same settings from another folder and trains the missing
// ones.
func TestReuse(t *testing.T) {
	home, e := writeDigits(t, 8), Find("mnist")
	e.Space = nil // settings that were chosen go by an arm's name
	o := Options{Dir: t.TempDir(), Seeds: 2, Seed: 1, Home: home, Set: append(slices.Clone(tinyRun), "train.epochs=1")}
	first, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	// The second seed of Triplet was not finished.
	if err := os.Remove(filepath.Join(o.Dir, "runs", "triplet-seed2", resultFile)); err != nil {
		t.Fatal(err)
	}
	other := Find("mnist")
	other.Space = nil
	other.Arms[1].Name = "another name"
	other.Arms[1].Set = append(slices.Clone(other.Arms[1].Set), "loss.margin=0.2") // as it is already
	again := o
	again.Dir, again.Reuse = t.TempDir(), []string{t.TempDir(), o.Dir}
	trained := map[string]bool{}
	again.Observe = func(arm string, seed uint64, _ train.Event) { trained[arm+string(rune('0'+seed))] = true }
	out, err := Reproduce(t.Context(), other, again)
	if err != nil {
		t.Fatal(err)
	}
	if len(trained) != 1 || !trained["Triplet2"] {
		t.Errorf("trained again: %v", trained)
	}
	for i, a := range out.Arms {
		for k, m := range a.Measures {
			if !slices.Equal(m.Values, first.Arms[i].Measures[k].Values) {
				t.Errorf("%s, %s: %v, where it was run %v", a.Name, m.Key, m.Values, first.Arms[i].Measures[k].Values)
			}
		}
	}
	if r := out.Arms[1].Runs[0]; r.Arm != "another name" || !strings.HasPrefix(r.From, o.Dir) ||
		r.Folder != filepath.Join("runs", "another-name-seed1") {
		t.Errorf("a run taken over: arm %q, from %q, folder %q", r.Arm, r.From, r.Folder)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(again.Dir, ReportFile))
	if err != nil || !strings.Contains(string(page), "3 of the 4 runs were copied") {
		t.Errorf("the page does not say what was taken over (%v)", err)
	}
	// Kept like any other.
	again.Observe = func(arm string, seed uint64,
		_ train.Event) {
		t.Errorf("%s, seed %d was trained again", arm, seed)
	}
	if _, err := Reproduce(t.Context(), other, again); err != nil {
		t.Fatal(err)
	}
	again.Dir, again.Reuse = t.TempDir(), []string{filepath.Join(t.TempDir(), "none")}
	if _, err := Reproduce(t.Context(), other, again); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestJudgedReuse finds sub-classes in runs of another experiment: nothing is trained, and the
// scores are those of its own runs.
func TestJudgedReuse(t *testing.T) {
	home := writeDigits(t, 12)
	o := Options{Dir: t.TempDir(), Seeds: 2, Seed: 1, Home: home, Set: append(slices.Clone(tinyRun), "train.epochs=1")}
	if _, err := Reproduce(t.Context(), Find("mnist"), o); err != nil {
		t.Fatal(err)
	}
	judged := o
	judged.Arms = []string{"Triplet", "Trip+EPS"}
	judged.Dir = t.TempDir()
	own, err := Reproduce(t.Context(), Find("discover-mnist"), judged)
	if err != nil {
		t.Fatal(err)
	}
	judged.Reuse, judged.Dir = []string{o.Dir}, t.TempDir()
	judged.Observe = func(arm string, seed uint64, ev train.Event) {
		if ev.Stage == train.Stepped {
			t.Errorf("%s, seed %d was trained again", arm, seed)
		}
	}
	for range 2 { // the second time from the result
		out, err := Reproduce(t.Context(), Find("discover-mnist"), judged)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range out.Arms {
			for k, m := range a.Measures {
				if !slices.Equal(m.Values, own.Arms[i].Measures[k].Values) {
					t.Errorf("%s, %s: %v, trained here %v", a.Name, m.Key, m.Values, own.Arms[i].Measures[k].Values)
				}
			}
			for _, r := range a.Runs {
				if !strings.HasPrefix(r.From, o.Dir) || r.Arm != a.Name || !strings.Contains(r.Plan, taskMark) {
					t.Errorf("%s, seed %d: from %q, plan\n%s", r.Arm, r.Seed, r.From, r.Plan)
				}
			}
		}
		if out.Taken != 4 {
			t.Errorf("%d of 4 runs are said to be another experiment's", out.Taken)
		}
	}
}
