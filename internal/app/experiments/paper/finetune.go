package paper

import (
	"context"
	"fmt"
)

// tripletsMarginsAndMS are the methods that are fine-tuned.
func tripletsMarginsAndMS() []string { return []string{"Trip", "Dist-Margin", "MS"} }

// startsBehind adds the statements that every method ends ahead of the pretrained features.
func (e *Experiment) startsBehind() {
	for _, m := range tripletsMarginsAndMS() {
		e.Claims = append(e.Claims, Claim{
			Text: m + " ends ahead of the features it starts from, on new species.",
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				const key, before = "test_recall@1", "Before training"
				return fmt.Sprintf("R@1 %.1f and with easy positives %.1f, against %.1f", out.mean(m, key),
						out.mean("EPS+"+m, key), out.mean(before, key)),
					[]Paired{out.ahead(key, m, before), out.ahead(key, "EPS+"+m, before)}
			},
		})
	}
}

// easyAhead adds the statements on easy positives; ahead says whether they claim a gain or a loss.
func (e *Experiment) easyAhead(ahead bool) {
	for _, m := range tripletsMarginsAndMS() {
		first, second := "EPS+"+m, m
		if !ahead {
			first, second = second, first
		}
		e.Claims = append(e.Claims, Claim{
			Text: first + " is ahead of " + second + " on new species.",
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				const key = "test_recall@1"
				return fmt.Sprintf("R@1 %.1f against %.1f", out.mean(first, key), out.mean(second, key)),
					[]Paired{out.ahead(key, first, second)}
			},
		})
	}
}
