package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Outcome is the result of a sweep, as in sweep.json.
type Outcome struct {
	Plan *Plan        `json:"plan"`
	Arms []ArmOutcome `json:"arms"`
	// Failed lists the trials that could not be trained to the end of their rung, arm by arm.
	// The winner is the best of the others; a failed trial might have been better.
	Failed []Failure `json:"failed,omitempty"`
}

// Failure is a trial that failed.
type Failure struct {
	Arm   string `json:"arm"`
	Trial int    `json:"trial"`
	Until int    `json:"until"` // the epoch that it should have reached
	Error string `json:"error"`
}

func (f Failure) String() string {
	return fmt.Sprintf("%s: trial %d failed before epoch %d: %s", f.Arm, f.Trial, f.Until, f.Error)
}

// failures lists the trials that failed.
func (out *Outcome) failures() (list []Failure) {
	for _, a := range out.Arms {
		for _, t := range a.Trials {
			if t.hasFailed() {
				list = append(list, Failure{a.Name, t.Number, t.Epochs, t.Failed})
			}
		}
	}
	return list
}

// ArmOutcome is the result of one arm.
type ArmOutcome struct {
	Name   string   `json:"name"`
	Trials []*Trial `json:"trials"`
	// Spent is the number of epochs of the budget that were used, on every fold; Seconds is
	// the time of training and scoring.
	Spent   int     `json:"spent_epochs"`
	Seconds float64 `json:"seconds"`
	// Winner is the number of the best trial, and Config its whole configuration.
	Winner int    `json:"winner"`
	Config string `json:"config"`
	// Runs are the winner's runs on the whole training part, Test summarises their test
	// scores.
	Runs []SeedRun `json:"runs"`
	Test []Summary `json:"test"`
}

// SeedRun is a run of a winner, tested once, or the runs of a seed in a comparison.
type SeedRun struct {
	Seed    uint64             `json:"seed"`
	Metrics map[string]float64 `json:"metrics"`
	Seconds float64            `json:"seconds"`
	// Folds are the metric's scores on the folds whose mean Metrics has, in a comparison with folds.
	Folds []float64 `json:"folds,omitempty"`
}

// Summary is a metric over the seeds. Std, the standard deviation (n - 1), is 0 for
// one seed.
type Summary struct {
	Metric string  `json:"metric"`
	Mean   float64 `json:"mean"`
	Std    float64 `json:"std"`
	N      int     `json:"n"`
}

// BestTrial returns the winning trial.
func (a *ArmOutcome) BestTrial() *Trial { return a.Trials[a.Winner-1] }

// RankedTrials returns the arm's trials, the best first: trials that got further come first, then
// higher scores; failed trials come last.
func (a *ArmOutcome) RankedTrials() []*Trial {
	out := slices.Clone(a.Trials)
	slices.SortStableFunc(out, compareTrials)
	return out
}

// Ranges returns the ranges of an arm, in the order of its trials' settings.
func (out *Outcome) Ranges(arm int) []Range { return out.Plan.rangesOf(&out.Plan.Arms[arm]) }

// Importance is the share of the differences between the trials of an arm that a range explains: see
// Outcome.Importance.
type Importance struct {
	Key   string  `json:"key"`
	Share float64 `json:"share"`
}

// Importance is the share of the variance of an arm's scores, after the first rung, that
// lies between thirds of a range, or between listed values, minus the share expected by
// chance (epsilon squared); at least 0. It considers one range at a time, and is coarse
// with few trials.
func (out *Outcome) Importance(arm int) []Importance {
	p, a := out.Plan, &out.Arms[arm]
	ranges := out.Ranges(arm)
	first := p.rungs(&p.Arms[arm])[0]
	var list []Importance
	for i := range ranges {
		groups := map[int][]float64{}
		for _, t := range a.Trials {
			for _, s := range t.Scores {
				if s.Epoch != first {
					continue
				}
				g := slices.Index(ranges[i].Values, t.Set[i].Value)
				if ranges[i].Values == nil {
					g = min(int(3*ranges[i].PlaceOf(t.Set[i].Value)), 2)
				}
				groups[g] = append(groups[g], s.Value)
			}
		}
		list = append(list, Importance{ranges[i].Key, explainedVariance(groups)})
	}
	return list
}

// explainedVariance returns epsilon squared: (SSB - (k-1) MSW) / SST over k groups.
func explainedVariance(groups map[int][]float64) float64 {
	var all []float64
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, groups[k]...)
	}
	k, n := float64(len(groups)), float64(len(all))
	if k < 2 || n <= k {
		return 0
	}
	total := sumOfSquares(all)
	within := 0.0
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		within += sumOfSquares(groups[g])
	}
	if total <= 0 {
		return 0
	}
	return max(0, (total-within-(k-1)*within/(n-k))/total)
}

// sumOfSquares returns the sum of squares about the mean.
func sumOfSquares(x []float64) (s float64) {
	m := sum(x) / float64(len(x))
	for _, v := range x {
		s += (v - m) * (v - m)
	}
	return s
}

// summarize summarises the metrics of runs.
func summarize(runs []SeedRun) (out []Summary) {
	for _, m := range slices.Sorted(maps.Keys(runs[0].Metrics)) {
		var v []float64
		for _, r := range runs {
			v = append(v, r.Metrics[m])
		}
		s := Summary{Metric: m, Mean: sum(v) / float64(len(v)), N: len(v)}
		if len(v) > 1 {
			s.Std = math.Sqrt(sumOfSquares(v) / float64(len(v)-1))
		}
		out = append(out, s)
	}
	return out
}

// TestText returns the plan's metric on the test: "0.7012 ± 0.0031".
func (a *ArmOutcome) TestText(p *Plan) string {
	for _, s := range a.Test {
		switch {
		case s.Metric != p.Column():
		case s.N > 1:
			return fmt.Sprintf("%.4f ± %.4f", s.Mean, s.Std)
		default:
			return fmt.Sprintf("%.4f", s.Mean)
		}
	}
	return ""
}
