package paper

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// addPositivesClaims adds the claims on the number of positives.
func (e *Experiment) addPositivesClaims() {
	e.Claims = []Claim{
		{Text: "The letters get better with every step from no easy positives to 27, with four alphabets or more in " +
			"the batch.", Check: checkRises(0, 27)},
		{Text: "The letters get better from 27 to 55 positives, with two alphabets in the batch.",
			Check: checkRises(27, 55)},
	}
}

// checkRises checks that the letters get better with every step of the sweep from lo to hi.
func checkRises(lo, hi float64) func(context.Context, *Outcome) (string, []PairedTest) {
	return func(_ context.Context, out *Outcome) (string, []PairedTest) {
		const key = "test_recall@1"
		before := ""
		var values []string
		var tests []PairedTest
		for _, a := range out.e.Arms {
			if a.At < lo || a.At > hi {
				continue
			}
			if before != "" {
				tests = append(tests, out.compareArms(key, a.Name, before))
			}
			values = append(values, fmt.Sprintf("%.1f with %g", out.meanPercent(a.Name, key), a.At))
			before = a.Name
		}
		return "Letters R@1: " + strings.Join(values, ", "), tests
	}
}

// addFitClaim adds the claim on the training set.
func (e *Experiment) addFitClaim() {
	e.Claims = []Claim{{
		Text: "Without EPS the training languages are fitted almost perfectly.",
		Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
			const almost = 98
			m := out.measure("Trip+SH", "train_label_recall@1")
			return fmt.Sprintf("Languages R@1 %.1f on the training set, to be above %d", m.Mean, almost),
				[]PairedTest{boundTest(m.Values, almost)}
		},
	}}
}

// addTrimClaim adds the claim on trimming.
func (e *Experiment) addTrimClaim() {
	e.Claims = []Claim{{
		Text: "The best trimming gains less than easy positives do.",
		Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
			const key = "test_recall@1"
			var text []string
			var tests []PairedTest
			for _, m := range []string{"Trip+SH", "Dist-Margin"} {
				best := math.Inf(-1)
				for _, a := range out.e.Arms {
					if a.Series == m && a.At > 0 {
						best = max(best, out.meanPercent(a.Name, key))
						tests = append(tests, out.compareArms(key, "EPS+"+m, a.Name))
					}
				}
				text = append(text, fmt.Sprintf("%s: letters R@1 %.1f, trimmed at best %.1f, with EPS %.1f", m,
					out.meanPercent(m, key), best, out.meanPercent("EPS+"+m, key)))
			}
			return strings.Join(text, "; "), tests
		},
	}}
}
