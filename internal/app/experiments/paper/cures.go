package paper

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/run"
)

// collapsing is the arm with which all others are compared.
const collapsing = "Triplet"

// addCureClaims adds the statements that each cure keeps more of the fine classes, and the diagnosis of a
// set.
func (e *Experiment) addCureClaims(set run.Set) {
	key := e.Measures[0].Key
	for _, a := range e.Arms[1:] {
		e.Claims = append(e.Claims, Claim{
			Arms: []string{collapsing, a.Name},
			Text: fmt.Sprintf("%s keeps more of the fine classes than %s.", a.Name, collapsing),
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				return fmt.Sprintf("R@1 %.1f against %.1f", out.meanPercent(a.Name, key),
						out.meanPercent(collapsing, key)),
					[]PairedTest{out.compareArms(key, a.Name, collapsing)}
			},
		})
	}
	e.Pictures = func(ctx context.Context, out *Outcome, shown *Illustrations) error {
		var names []string
		for _, a := range out.Arms {
			names = append(names, a.Name)
		}
		told, err := out.diagnosis(ctx, set, "First seed. Classes are the coarse labels.", names...)
		if err != nil {
			return err
		}
		shown.Sections = append(shown.Sections, told)
		return nil
	}
}
