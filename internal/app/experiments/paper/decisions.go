package paper

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// decideTrials is how often the fine test classes are divided.
const decideTrials = 4

// decisionTask is the task that calibrates on half of a run's fine test classes and measures
// decisions about the others.
func decisionTask() *Task {
	return &Task{
		Plan: fmt.Sprintf("decisions about fine classes, calibrated on half of them, %d times", decideTrials),
		Judge: func(ctx context.Context, res *run.Result) (*run.Result, error) {
			found, err := scoreDecisions(ctx, res.Test)
			if err != nil {
				return nil, err
			}
			return addScores(res, found), nil
		},
	}
}

// scoreDecisions returns means over the trials. If a calibration cannot promise a rate, no pair matches,
// nothing is recognised, and a set holds all classes.
func scoreDecisions(ctx context.Context, e *run.Embeddings) ([]train.Metric, error) {
	ask := decide.ValidationOptions{FMR: []float64{1e-2, 1e-3}, FPIR: []float64{0.05}, Galleries: []int{20},
		Coverage: []float64{0.95}}
	sum := map[string]float64{}
	add := func(name string, v float64) { sum[name] += v / decideTrials }
	for seed := range uint64(decideTrials) {
		t, err := decide.Validate(ctx, e.X, e.FineLabels(), ask, decide.Options{Seed: seed})
		if err != nil {
			return nil, fmt.Errorf("decisions: %w", err)
		}
		for _, m := range t.Matches {
			add(fmt.Sprintf("false@%g", m.Rate), m.FMR)
			add(fmt.Sprintf("kept@%g", m.Rate), m.TMR)
		}
		if len(t.OpenSets) == 0 {
			return nil, fmt.Errorf("decisions: %d classes are too few for galleries of 20", t.Classes)
		}
		for _, o := range t.OpenSets {
			add(fmt.Sprintf("strangers@%d", o.Gallery), o.FPIR)
			add(fmt.Sprintf("known@%d", o.Gallery), o.TPIR)
		}
		for _, c := range t.Coverages {
			size := c.MeanSize / float64(t.Classes)
			if c.RefusalReason != "" {
				size = 1
			}
			add(fmt.Sprintf("set@%g", c.Requested), size)
		}
		add("ece", t.Reliability.ECE)
	}
	return metrics(run.TestSet.String(), "decided", sum), nil
}

// addDecisionClaims adds the statements that easy positives decide better and that promises are kept.
func (e *Experiment) addDecisionClaims() {
	for _, method := range []string{"Trip+SH", "Dist-Margin", "MS"} {
		easy := "EPS+" + method
		for _, c := range []struct{ text, key string }{
			{"keeps more pairs of a letter at 1 % of false matches than", "test_decided_kept@0.01"},
			{"recognises more drawings among 20 letters than", "test_decided_known@20"},
		} {
			e.Claims = append(e.Claims, Claim{
				Arms: []string{easy, method}, Text: fmt.Sprintf("%s %s %s.", easy, c.text, method),
				Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
					return fmt.Sprintf("%.1f against %.1f", out.meanPercent(easy, c.key),
							out.meanPercent(method, c.key)),
						[]PairedTest{out.compareArms(c.key, easy, method)}
				},
			})
		}
	}
	for _, a := range e.Arms {
		e.Claims = append(e.Claims, Claim{
			Arms: []string{a.Name}, Text: a.Name + " keeps its promise: on new letters less than 1 % of false " +
				"matches and less than 5 % of strangers let in.",
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				matches := out.measure(a.Name, "test_decided_false@0.01")
				let := out.measure(a.Name, "test_decided_strangers@20")
				return fmt.Sprintf("%.2f and %.1f", matches.Mean, let.Mean),
					[]PairedTest{boundTest(matches.Values, 1).negated(), boundTest(let.Values, 5).negated()}
			},
		})
	}
}
