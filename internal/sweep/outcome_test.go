package sweep

import (
	"math"
	"testing"
)

func isClose(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestBetween reckons the share of the variance between groups by hand.
func TestBetween(t *testing.T) {
	for _, c := range []struct {
		groups map[int][]float64
		want   float64
	}{
		// SST 17.5, SSW 4, so that MSW is 4/4: (17.5 - 4 - 1) / 17.5.
		{map[int][]float64{0: {1, 2, 3}, 5: {4, 5, 6}}, 12.5 / 17.5},
		// SST 167 - 31²/7, SSW 0.5 + 2 + 0.5, MSW 3/(7 - 3).
		{map[int][]float64{0: {1, 2}, 1: {4, 5, 6}, 2: {7, 6}}, (208./7 - 3 - 1.5) / (208. / 7)},
		{map[int][]float64{0: {1, 3}, 1: {2, 2}}, 0}, // less than chance
		{map[int][]float64{0: {1, 3, 4}}, 0}, {map[int][]float64{0: {1}, 1: {3}}, 0}, {nil, 0},
		{map[int][]float64{0: {2, 2}, 1: {2, 2}}, 0},
	} {
		if got := explainedVariance(c.groups); !isClose(got, c.want) {
			t.Errorf("%v: %v, want %v", c.groups, got, c.want)
		}
	}
}

// TestImportance: trials are grouped by thirds of an interval and by listed values, and
// compared after the first rung.
func TestImportance(t *testing.T) {
	out := &Outcome{Plan: &Plan{Epochs: 4, Reduction: 2, First: 2, Arms: []Arm{{Name: "a"}}, Ranges: []Range{
		{Key: "x", High: 3}, {Key: "c", Values: []string{"1", "2"}}}}, Arms: []ArmOutcome{{}}}
	for i, x := range []string{"0", "0.9", "1.1", "1.9", "2.1", "3"} {
		third := float64(i / 2)
		out.Arms[0].Trials = append(out.Arms[0].Trials, &Trial{Set: []Setting{{Key: "x", Value: x}, {Key: "c",
			Value: []string{"1", "2"}[i%2]}}, Scores: []Score{{1, float64(i)}, {2, third}, {4, float64(-i * i)}}})
	}
	out.Arms[0].Trials = append(out.Arms[0].Trials, &Trial{Set: out.Arms[0].Trials[0].Set, Failed: "no scores"})
	got := out.Importance(0)
	if len(got) != 2 || got[0] != (Importance{"x", 1}) || got[1] != (Importance{"c", 0}) {
		t.Errorf("%+v", got)
	}
}

// TestSummaries: mean and standard deviation (n - 1) of every metric over the seeds.
func TestSummaries(t *testing.T) {
	a := ArmOutcome{}
	for _, v := range []float64{1, 2, 4} {
		a.Runs = append(a.Runs, SeedRun{Metrics: map[string]float64{"test_recall@1": v, "test_nmi": 0.5}})
	}
	a.Test = summarize(a.Runs)
	if len(a.Test) != 2 || a.Test[0] != (Summary{"test_nmi", 0.5, 0, 3}) || a.Test[1].N != 3 ||
		!isClose(a.Test[1].Mean, 7./3) || !isClose(a.Test[1].Std, math.Sqrt(7./3)) {
		t.Errorf("%+v", a.Test)
	}
	p := &Plan{Metric: "recall@1"}
	if got := a.TestText(p); got != "2.3333 ± 1.5275" {
		t.Errorf("%s", got)
	}
	a.Runs = a.Runs[1:]
	a.Test = summarize(a.Runs)
	if got := a.TestText(p); got != "3.0000 ± 1.4142" {
		t.Errorf("of two seeds %s", got)
	}
	a.Runs = a.Runs[1:]
	a.Test = summarize(a.Runs)
	if got := a.TestText(p); got != "4.0000" || a.Test[1].Std != 0 {
		t.Errorf("of one seed %s, %+v", got, a.Test)
	}
	if got := a.TestText(&Plan{Metric: "label:recall@1"}); got != "" {
		t.Errorf("a metric that was not measured: %s", got)
	}
}
