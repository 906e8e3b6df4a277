package paper

import (
	"context"
	"fmt"
)

// neighboursAndMaps draws the EPS paper's figures 3 and 6.
func neighboursAndMaps(ctx context.Context, out *Outcome, shown *Shown) error {
	compared := []string{"Dist-Margin", "EPS+Dist-Margin"}
	if err := out.queries(ctx, shown, "After the paper's figure 3: the nearest neighbours of test pictures, "+
		"without and with easy positives, first seed.", compared...); err != nil {
		return err
	}
	return out.maps(ctx, shown, "After the paper's figure 6, first seed: with easy positives a training class "+
		"may stay apart in several groups.", compared...)
}

// easyFindsMore adds the claims that easy positives find more of the classes.
func (e *Experiment) easyFindsMore() {
	classes := e.Measures[0].Group
	for _, m := range []string{"Trip+SH", "Dist-Margin", "MS"} {
		e.Claims = append(e.Claims, Claim{
			Text: "EPS+" + m + " finds more of the " + classes + " than " + m + ".",
			Arms: []string{m, "EPS+" + m},
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				const key = "test_recall@1"
				return fmt.Sprintf("R@1 %.1f against %.1f", out.mean("EPS+"+m, key), out.mean(m, key)),
					[]Paired{out.ahead(key, "EPS+"+m, m)}
			},
		})
	}
}
