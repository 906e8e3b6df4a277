package paper

import (
	"fmt"
	"slices"
	"strings"
)

// describeCures says, in a paragraph for each outcome on cures, which arms are ahead of the baseline, which
// are behind it, and for which no difference is shown, by the first measure. p is corrected for the arms. Arms are not
// compared with each other, because the same seeds would choose the arms and test them.
func describeCures(outcomes []*Outcome) string {
	var b strings.Builder
	for _, out := range outcomes {
		if out.isOfFamily("cures") {
			b.WriteString(out.describeCure() + "\n\n")
		}
	}
	return strings.TrimSpace(b.String())
}

func (out *Outcome) describeCure() string {
	m := out.e.Measures[0]
	order := make([]int, len(out.Arms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return int(max(-1, min(1, 1e6*(out.Arms[j].Measures[0].Mean-out.Arms[i].Measures[0].Mean))))
	})
	const base = 0 // the baseline comes first
	order = slices.DeleteFunc(order, func(i int) bool { return i == base })
	var p []float64
	for _, i := range order {
		p = append(p, float64(out.compare(i, base, 0).P))
	}
	p, n := correctForMultiple(p)
	var groups [3][]string
	for k, i := range order {
		t := out.compare(i, base, 0)
		t.P = Number(p[k])
		v, _ := judgeTests([]PairedTest{t})
		g := map[Verdict]int{Holds: 0, Contradicted: 1, Undecided: 2}[v]
		groups[g] = append(groups[g], fmt.Sprintf("%s %.1f (%s, %s)", out.Arms[i].Name, out.Arms[i].Measures[0].Mean,
			formatSigned(t.Gain.Mean), t.describeP("")))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** (`kindred reproduce %s --scale %s`, %d seeds, %s of %s; p corrected for %d comparisons): "+
		"%s has %.1f.", out.Data.On, out.Experiment, out.Scale, len(out.Seeds), m.Name, m.Group, n, out.Arms[base].Name,
		out.Arms[base].Measures[0].Mean)
	for k, what := range []string{"Ahead of it", "Behind it", "No difference to it is shown for"} {
		if groups[k] != nil {
			fmt.Fprintf(&b, " %s: %s.", what, strings.Join(groups[k], "; "))
		}
	}
	if left := out.missingArms(); left != nil {
		fmt.Fprintf(&b, " Not run: %s.", strings.Join(left, "; "))
	}
	return b.String()
}
