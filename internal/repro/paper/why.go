package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// MNISTWhy looks for what keeps easy positives on MNIST from the level of the paper's
// table 1: one setting at a time is other than in MNIST.
func MNISTWhy() *Experiment {
	e := why(MNIST(), "Trip+EPS", "seen_recall@1", []Arm{
		{Name: "squared distance", Change: []string{"loss.distance=squared"}},
		{Name: "margin 1", Change: []string{"loss.margin=1"}},
		{Name: "batches of 2 x 16", Change: []string{"sample.per_class=16"}},
		{Name: "constant rate", Change: []string{"train.schedule=constant"}},
		{Name: "12 epochs", Change: []string{"train.epochs=12"}},
		{Name: "Conv4 of 32 filters", Change: []string{"network.name=conv4", "network.width=32"}},
	})
	e.Name, e.Source = "mnist-why", "kindred, docs/design/mnist.md"
	return e
}

// OmniglotWhy does the same for EPS+Trip+SH in the paper's table 3.
func OmniglotWhy() *Experiment {
	e := why(Omniglot(), "EPS+Trip+SH", "test_recall@1", []Arm{
		{Name: "Euclidean distance", Change: []string{"loss.distance=euclidean"}},
		{Name: "margin 0.2", Change: []string{"loss.margin=0.2"}},
		{Name: "batches of 8 x 14", Change: []string{"sample.per_class=14"}},
		{Name: "constant rate", Change: []string{"train.schedule=constant"}},
		{Name: "16 epochs", Change: []string{"train.epochs=16"}},
	})
	e.Name, e.Source = "omniglot-why", "kindred, docs/design/experiments.md"
	return e
}

// why compares an arm of e, with the settings that a sweep chose for it at the usual
// scale, with itself after one change at a time. Its statements ask whether the paper's
// number of the measure with the key lies above each.
func why(e *Experiment, arm, key string, changes []Arm) *Experiment {
	const asChosen = "as chosen"
	a := e.Arms[e.arm(arm)]
	k := slices.IndexFunc(e.Measures, func(m Measure) bool { return m.Key == key })
	published, group := a.Published[k], e.Measures[k].Group
	e.About = fmt.Sprintf("The paper reports a Recall@1 of %.1f in %s for %s and leaves settings open. Each arm "+
		"changes one of those that this arm of %s was trained with.", published, group, arm, e.Name)
	e.settingsOf(e.Name, fmt.Sprintf("All arms have those of %s. What they change was thought up beforehand, and "+
		"nothing is chosen by this table.", arm))
	e.Title = "What the level of " + arm + " hangs on"
	e.Own, e.Seeds, e.Pictures, e.Claims = true, 0, nil, nil
	if len(e.Scales) > 0 {
		e.Scales = e.Scales[:1]
	}
	e.Measures = slices.DeleteFunc(e.Measures, func(m Measure) bool { return m.Name != "R@1" })
	e.Arms = []Arm{{Name: asChosen, Set: a.Set, Tuned: arm}}
	for _, change := range changes {
		change.Set, change.Tuned, change.Baseline = a.Set, arm, asChosen
		e.Arms = append(e.Arms, change)
	}
	for _, change := range e.Arms {
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("%s, %s: below the paper's %.1f in %s.", arm, change.Name, published, group),
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				m := out.measure(change.Name, key)
				var seeds []string
				for _, v := range m.Values {
					seeds = append(seeds, fmt.Sprintf("%.1f", v))
				}
				return fmt.Sprintf("R@1 %.1f (by seed: %s)", m.Mean, strings.Join(seeds, ", ")),
					[]Paired{against(m.Values, published).negated()}
			},
		})
	}
	return e
}
