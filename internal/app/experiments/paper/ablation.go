package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// addAblationClaims adds the claims of an experiment that changes one setting at a time of another experiment's
// arm: that each measured number with the key is below the paper's.
func (e *Experiment) addAblationClaims(of *Experiment, arm, key string) {
	k := slices.IndexFunc(of.Measures, func(m Measure) bool { return m.Key == key })
	published, group := of.Arms[of.arm(arm)].Published[k], of.Measures[k].Group
	for _, change := range e.Arms {
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("%s, %s, is below the paper's %.1f in %s.", arm, change.Name, published, group),
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				m := out.measure(change.Name, key)
				var seeds []string
				for _, v := range m.Values {
					seeds = append(seeds, fmt.Sprintf("%.1f", v))
				}
				return fmt.Sprintf("R@1 %.1f (by seed: %s)", m.Mean, strings.Join(seeds, ", ")),
					[]PairedTest{boundTest(m.Values, published).negated()}
			},
		})
	}
}
