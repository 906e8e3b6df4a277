package paper

import (
	"context"
	"fmt"
)

// tripletsMarginsAndMS are the ways to choose tuples that are fine-tuned.
func tripletsMarginsAndMS() []string { return []string{"Trip", "Dist-Margin", "MS"} }

// startsBehind are the statements that every way to choose tuples ends ahead of the
// pretrained features.
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

// easyAhead are the statements on easy positives; ahead says which side of the question
// they take.
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
