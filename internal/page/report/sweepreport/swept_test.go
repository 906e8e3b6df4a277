package sweepreport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/sweep"
)

// newOutcome is the outcome of a made-up sweep: the higher the rate the better, and the
// last trial failed.
func newOutcome(t *testing.T, trials int) *sweep.Outcome {
	t.Helper()
	p, err := sweep.ParsePlan("plan.yaml", []byte(`
set: {data.name: "a <b>", train.epochs: 3}
ranges: {train.lr: {low: 0.1, high: 0.9, step: 0.1}, mine.positives: [easy, random]}
arms: [{name: "one <i>"}, {name: two}]
`))
	if err != nil {
		t.Fatal(err)
	}
	out := &sweep.Outcome{Plan: p}
	for _, a := range p.Arms {
		arm := sweep.ArmOutcome{Name: a.Name, Winner: 1, Spent: 9, Seconds: 70, Config: "train: {lr: 1}"}
		for n := range trials {
			rate := 0.9 - 0.1*float64(n)
			tr := &sweep.Trial{Number: n + 1, Epochs: 3, Score: rate, Set: []sweep.Setting{
				{Key: "train.lr", Value: fmt.Sprintf("%.1f", rate)}, {Key: "mine.positives", Value: `"easy"`}}}
			for e := range 3 {
				tr.Scores = append(tr.Scores, sweep.Score{Epoch: e + 1, Value: rate * float64(e+1) / 3})
			}
			if n > 0 && n == trials-1 {
				tr.Failed, tr.Scores, tr.Score = "fold 1: the loss is NaN", nil, 0
				out.Failed = append(out.Failed, sweep.Failure{Arm: a.Name, Trial: n + 1, Until: 3, Error: tr.Failed})
			}
			arm.Trials = append(arm.Trials, tr)
		}
		arm.Test = []sweep.Summary{{Metric: "test_recall@1", Mean: 0.612, Std: 0.01, N: 3}}
		out.Arms = append(out.Arms, arm)
	}
	return out
}

func TestPage(t *testing.T) {
	for _, n := range []int{1, 2, 8} {
		html, err := Page(newOutcome(t, n), "kindred sweep plan.yaml --out x").HTML()
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(html), "\u00a0", " ")
		for _, want := range []string{"61.2 ± 1.0", "90.0", "1 min 10 s", "one &lt;i&gt;", "train.lr 0.9",
			fmt.Sprintf("Trial 1 of %d won", n), "share of the variance", "best recall@1 so far"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d trials: the page lacks %q", n, want)
			}
		}
		if strings.Contains(text, "<i>") || strings.Contains(text, "http:") && strings.Contains(text, "src=\"http") {
			t.Error("a name is markup, or the page needs a network")
		}
		if n > 1 != strings.Contains(text, "Trials that failed") || n > 1 != strings.Contains(text, "the loss is NaN") {
			t.Errorf("%d trials: failed trials are not told apart", n)
		}
	}
}
