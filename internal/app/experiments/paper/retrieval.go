package paper

import (
	"context"
	"fmt"
)

// drawNeighboursAndMaps draws the EPS paper's figures 3 and 6.
func drawNeighboursAndMaps(ctx context.Context, out *Outcome, shown *Illustrations) error {
	compared := []string{"Dist-Margin", "EPS+Dist-Margin"}
	if err := out.queries(ctx, shown, "After the paper's figure 3: the nearest neighbours of test pictures, "+
		"without and with easy positives, first seed.", compared...); err != nil {
		return err
	}
	return out.maps(ctx, shown, "After the paper's figure 6, first seed: with easy positives a training class "+
		"may stay apart in several groups.", compared...)
}

// addRetrievalClaims adds the claims that easy positives find more of the classes.
func (e *Experiment) addRetrievalClaims() {
	classes := e.Measures[0].Group
	for _, m := range []string{"Trip+SH", "Dist-Margin", "MS"} {
		e.Claims = append(e.Claims, Claim{
			Text: "EPS+" + m + " finds more of the " + classes + " than " + m + ".",
			Arms: []string{m, "EPS+" + m},
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				const key = "test_recall@1"
				return fmt.Sprintf("R@1 %.1f against %.1f", out.meanPercent("EPS+"+m, key), out.meanPercent(m, key)),
					[]PairedTest{out.compareArms(key, "EPS+"+m, m)}
			},
		})
	}
}
