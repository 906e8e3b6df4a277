package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// threeArms is a comparison of seconds on rows.
const threeArms = `
set:
  data: {name: rows}
  network: {name: linear, dim: 3}
  sample: {classes: 3, batches: 3}
  train.epochs: 2
  eval.recall: [1]
arms:
  - {name: Triplet, set: {loss.name: triplet}}
  - {name: MS, set: {loss.name: multisimilarity, loss.alpha: 4.0}}
  - {name: ArcFace, set: {loss.name: arcface}}
`

func parseComparison(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := ParseComparison("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// givenScores is a runner with given scores by the name of a run, of arm/seedN or arm/seedN/foldN.
type givenScores map[string]float64

func (g givenScores) Run(_ context.Context, j Job) (Result, error) {
	v, ok := g[j.Name]
	if !ok {
		return Result{}, fmt.Errorf("no run %s was expected", j.Name)
	}
	return Result{Epochs: j.Until, Metrics: map[string]float64{j.Metric: v, "test_map@r": v / 2}}, nil
}

func scoresOf(runs map[string][]float64) givenScores {
	g := givenScores{}
	for arm, scores := range runs {
		for k, v := range scores {
			g[fmt.Sprintf("%s/seed%d", arm, k+1)] = v
		}
	}
	return g
}

func isNear(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-12 }

// TestCompareNumbers compares with scipy 1.10.1: ttest_rel of each pair, and std with ddof=1. The corrected p are
// Holm's: the smallest times 3, the next times 2, the largest.
func TestCompareNumbers(t *testing.T) {
	c, err := Compare(t.Context(), parseComparison(t, threeArms), Options{Dir: t.TempDir(), Runner: runnerOf(scoresOf(
		map[string][]float64{"triplet": {0.611, 0.624, 0.598}, "ms": {0.587, 0.601, 0.589},
			"arcface": {0.604, 0.619, 0.601}}))})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		arm, other             string
		gain, std, p, adjusted float64
		verdict                string
	}{
		{"MS", "Triplet", -0.018666666666666682, 0.00838649708360609, 0.06117411539923844, 0.12234823079847687,
			Undecided},
		{"ArcFace", "Triplet", -0.0030000000000000027, 0.005291502622129186, 0.4296481745279699, 0.4296481745279699,
			Undecided},
		{"ArcFace", "MS", 0.01566666666666668, 0.0032145502536643214, 0.013744834522481387, 0.04123450356744416, Ahead},
	}
	if len(c.Tests) != len(want) || c.Folds != 0 {
		t.Fatalf("%+v", c)
	}
	for k, w := range want {
		got := c.Tests[k]
		if got.Arm != w.arm || got.Other != w.other || !isNear(&got.Gain, w.gain) || !isNear(got.Std, w.std) ||
			!isNear(got.P, w.p) || !isNear(got.Corrected, w.adjusted) || got.Verdict != w.verdict || got.N != 3 {
			t.Errorf("%+v, want %+v", got, w)
		}
		if (got.Why == "") != (got.Verdict != Undecided) {
			t.Errorf("%s: %q", got.Verdict, got.Why)
		}
	}
	if got := c.Tests[0]; got.SeedsNeeded != 5 || !strings.Contains(got.Why, "about 5 seeds would decide") {
		t.Errorf("%+v", got)
	}
	for _, a := range c.Arms {
		if a.Best {
			t.Errorf("%s is not ahead of all", a.Name)
		}
	}
	s, ok := c.Arms[0].Mean(c.Column())
	if want := 0.611; !ok || !isClose(s.Mean, want) || !isClose(s.Std, 0.013) || s.N != 3 {
		t.Errorf("%+v", s)
	}
}

// TestCompareFolds: the value of a seed is the mean of its folds, and one arm is best if it is ahead of each.
func TestCompareFolds(t *testing.T) {
	g := givenScores{}
	for k, base := range []float64{0.5, 0.52, 0.49, 0.51} {
		for fold, more := range []float64{-0.1, 0.1} {
			for arm, gain := range map[string]float64{"triplet": 0, "ms": 0.1 + 0.001*float64(k), "arcface": 0.05 -
				0.001*float64(k)} {
				g[fmt.Sprintf("%s/seed%d/fold%d", arm, k+1, fold+1)] = base + more + gain
			}
		}
	}
	c, err := Compare(t.Context(), parseComparison(t, threeArms+"folds: 3\nuse: 2\nseeds: 4\n"),
		Options{Dir: t.TempDir(), Runner: runnerOf(g)})
	if err != nil {
		t.Fatal(err)
	}
	if c.Folds != 2 || !c.Arms[1].Best || c.Arms[0].Best || c.Arms[2].Best || c.Tests[2].Verdict != Behind {
		t.Errorf("%+v", c)
	}
	if r := c.Arms[0].Runs[1]; r.Seed != 2 || !isClose(r.Metrics["test_recall@1"], 0.52) || len(r.Folds) != 2 ||
		!isClose(r.Folds[0], 0.42) {
		t.Errorf("%+v", r)
	}
}

// TestCompareUndecided: few seeds, equal scores and equal differences decide nothing, whatever their size.
func TestCompareUndecided(t *testing.T) {
	run := func(seeds int, ms []float64) ArmTest {
		t.Helper()
		two := strings.Replace(threeArms, "  - {name: ArcFace, set: {loss.name: arcface}}\n", "", 1)
		c, err := Compare(t.Context(), parseComparison(t, two+fmt.Sprintf("seeds: %d\n", seeds)),
			Options{Dir: t.TempDir(), Runner: runnerOf(scoresOf(map[string][]float64{
				"triplet": {0.25, 0.5, 0.75}, "ms": ms}))})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(c); err != nil || c.Arms[0].Best || c.Arms[1].Best {
			t.Errorf("%s, %v", text, err)
		}
		return c.Tests[0]
	}
	for _, c := range []struct {
		seeds  int
		ms     []float64
		why    string
		needed int
	}{
		{1, []float64{1}, "1 of at least 3 seeds", 3}, {2, []float64{0.9, 0.9}, "2 of at least 3 seeds", 3},
		{3, []float64{0.25, 0.5, 0.75}, "the same score in every seed", 0},
		{3, []float64{0.5, 0.75, 1}, "the same difference in every seed", 0},
		{3, []float64{0.26, 0.49, 0.75}, "too small beside its spread", 0},
	} {
		if got := run(c.seeds, c.ms); got.Verdict != Undecided || !strings.Contains(got.Why, c.why) ||
			got.SeedsNeeded != c.needed {
			t.Errorf("%d seeds, %v: %+v", c.seeds, c.ms, got)
		}
	}
}

// withoutTimes is a comparison without its times.
func withoutTimes(t *testing.T, c *Comparison) string {
	t.Helper()
	for i := range c.Arms {
		for k := range c.Arms[i].Runs {
			c.Arms[i].Runs[k].Seconds = 0
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCompareResumes: a comparison that was stopped again and again has the bits of one that was not, and more seeds
// repeat nothing.
func TestCompareResumes(t *testing.T) {
	p := parseComparison(t, threeArms+"folds: 2\nseeds: 2\n")
	whole := t.TempDir()
	o := Options{Dir: whole, Jobs: 3, Local: Local{Dataset: newRows()}}
	out, err := Compare(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	want := withoutTimes(t, out)
	dir, stops := t.TempDir(), 0
	for {
		ctx, stop := context.WithCancel(t.Context())
		var done atomic.Int32
		got, err := Compare(ctx, p, Options{Dir: dir, Local: Local{Dataset: newRows()}, OnEvent: func(e Event) {
			if e.Done && int(done.Add(1)) == 3*(stops+1) {
				stop()
			}
		}})
		stop()
		if err == nil {
			if withoutTimes(t, got) != want {
				t.Error("a comparison that was stopped differs")
			}
			break
		}
		if stops++; !errors.Is(err, context.Canceled) || stops > 20 {
			t.Fatal(err)
		}
	}
	if stops == 0 {
		t.Error("it was never stopped")
	}
	more := parseComparison(t, threeArms+"folds: 2\nseeds: 3\n")
	got, err := Compare(t.Context(), more, Options{Dir: dir, Local: Local{Dataset: newRows()}, OnEvent: func(Event) {}})
	if err != nil || len(got.Arms[2].Runs) != 3 {
		t.Errorf("one more seed: %v", err)
	}
	if _, err := Compare(t.Context(), p, Options{Dir: dir, Runner: runnerOf(refusingRunner{})}); err != nil {
		t.Errorf("fewer seeds: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ComparisonFile))
	if err != nil || !strings.Contains(string(text), "p_holm") {
		t.Errorf("%s, %v", text, err)
	}
	other := parseComparison(t, strings.Replace(threeArms, "4.0", "5.0", 1)+"folds: 2\nseeds: 2\n")
	if _, err := Compare(t.Context(), other, Options{Dir: dir, Runner: runnerOf(refusingRunner{})}); err == nil ||
		!strings.Contains(err.Error(), "arms has changed") {
		t.Errorf("another plan: %v", err)
	}
	if _, err := Run(t.Context(), parsePlanText(t, smallPlan),
		Options{Dir: dir, Runner: runnerOf(refusingRunner{})}); err == nil {
		t.Error("a sweep in the folder of a comparison")
	}
}

// TestCompareFails: the error names the run, and a mistake of the last arm is found before the first run.
func TestCompareFails(t *testing.T) {
	p := parseComparison(t, threeArms)
	p.Arms[2].Set = []Setting{{Key: "data.fold", Value: `"5/100"`}}
	told := 0
	_, err := Compare(t.Context(), p, Options{Dir: t.TempDir(), Local: Local{Dataset: newRows()},
		OnEvent: func(Event) { told++ }})
	if err == nil || !strings.Contains(err.Error(), "before the first run, arm ArcFace: ") || told > 0 {
		t.Errorf("%v after %d events", err, told)
	}
	_, err = Compare(t.Context(), parseComparison(t, threeArms), Options{Dir: t.TempDir(), Runner: RunnerFunc(
		func(_ context.Context, j Job) (Result, error) {
			if j.Name == "ms/seed2" {
				return Result{Failed: "the loss is NaN"}, nil
			}
			return givenScores{j.Name: 0.5}.Run(t.Context(), j)
		})})
	if err == nil || err.Error() != "run ms/seed2: the loss is NaN" {
		t.Error(err)
	}
	_, err = Compare(t.Context(), parseComparison(t, threeArms), Options{Dir: t.TempDir(), Runner: RunnerFunc(
		func(_ context.Context, j Job) (Result, error) {
			return Result{Metrics: map[string]float64{"loss": 1}}, nil
		})})
	if err == nil || !strings.Contains(err.Error(), "has no test_recall@1") {
		t.Error(err)
	}
}

func TestParseComparison(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"arms:", "ranges: {train.lr: [0.1, 0.2]}\narms:", `plan.yaml:8: the plan of a comparison, which has no ` +
			`search, has no key "ranges"`},
		{"set: {loss.name: triplet}", "set: {loss.name: triplet}, stop: never", `an arm has no key "stop"`},
		{"  - {name: MS, set: {loss.name: multisimilarity, loss.alpha: 4.0}}\n  - {name: ArcFace, set: {loss.name: " +
			"arcface}}\n", "", "needs two arms or more"},
		{"name: MS", "name: triplet", `two arms would have the folder "triplet"`},
		{"arms:", "seeds: 0\narms:", "a comparison needs at least 1, and 3 for a verdict"},
		{"arms:", "folds: 2\nuse: 3\narms:", "3 folds are more than the plan has, 2"},
		{"arms:", "use: 1\narms:", "1 folds are more than the plan has, 0"},
		{"arms:", "metric: nmi\narms:", "arm Triplet: metric nmi is not measured"},
		{"train.epochs: 2", "train.budget: 1m", "train.minutes and train.budget are not allowed"},
		{"loss.alpha: 4.0", "data.split: stratified:0.5",
			`arm Triplet has data.split "", but arm MS "stratified:0.5": all arms must be tested on the same images`},
		{"loss.alpha: 4.0", "loss.alhpa: 4.0", "plan.yaml:10"},
		{"loss.alpha: 4.0", "train.seed: 4", "train.seed cannot be set"},
	} {
		_, err := ParseComparison("plan.yaml", []byte(strings.Replace(threeArms, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
	// Arms may differ in the settings of training and in its images.
	for _, to := range []string{"data.size: 32", "data.train_classes: 3", "train.epochs: 1", "eval.every: 2"} {
		parseComparison(t, strings.Replace(threeArms, "loss.alpha: 4.0", to, 1))
	}
	_, err := ParsePlan("plan.yaml", []byte(threeArms))
	if err == nil || !strings.Contains(err.Error(), "to compare arms as") {
		t.Error(err)
	}
}
