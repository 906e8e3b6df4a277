package paper

import (
	"context"
	"fmt"
)

// tripletsMarginsAndMS are the methods that are fine-tuned.
func tripletsMarginsAndMS() []string { return []string{"Trip", "Dist-Margin", "MS"} }

// addStartClaims adds the statements that every method ends ahead of the pretrained features.
func (e *Experiment) addStartClaims() {
	for _, m := range tripletsMarginsAndMS() {
		e.Claims = append(e.Claims, Claim{
			Text: m + " ends ahead of the features it starts from, on new species.",
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				const key, before = "test_recall@1", "Before training"
				return fmt.Sprintf("R@1 %.1f and with easy positives %.1f, against %.1f", out.meanPercent(m, key),
						out.meanPercent("EPS+"+m, key), out.meanPercent(before, key)),
					[]PairedTest{out.compareArms(key, m, before), out.compareArms(key, "EPS+"+m, before)}
			},
		})
	}
}

// addEasyClaims adds the statements on easy positives; ahead says whether they claim a gain or a loss.
func (e *Experiment) addEasyClaims(ahead bool) {
	for _, m := range tripletsMarginsAndMS() {
		first, second := "EPS+"+m, m
		if !ahead {
			first, second = second, first
		}
		e.Claims = append(e.Claims, Claim{
			Text: first + " is ahead of " + second + " on new species.",
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				const key = "test_recall@1"
				return fmt.Sprintf("R@1 %.1f against %.1f", out.meanPercent(first, key), out.meanPercent(second, key)),
					[]PairedTest{out.compareArms(key, first, second)}
			},
		})
	}
}
