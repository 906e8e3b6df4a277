package paper

import (
	"fmt"
	"slices"
	"strings"
)

// found says, in a paragraph for each outcome on cures, which arms are ahead of the baseline, which
// are behind it, and for which no difference is shown, by the first measure.
func found(outcomes []*Outcome) string {
	var b strings.Builder
	for _, out := range outcomes {
		if out.of("cures") {
			b.WriteString(out.found() + "\n\n")
		}
	}
	return strings.TrimSpace(b.String())
}

func (out *Outcome) found() string {
	m := out.e.Measures[0]
	order := make([]int, len(out.Arms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return int(max(-1, min(1, 1e6*(out.Arms[j].Measures[0].Mean-out.Arms[i].Measures[0].Mean))))
	})
	base := 0 // the baseline comes first
	var groups [3][]string
	for _, i := range order {
		if i == base {
			continue
		}
		p := out.compare(i, base, 0)
		v, _ := judge([]Paired{p})
		k := map[Verdict]int{Holds: 0, Contradicted: 1, Undecided: 2}[v]
		groups[k] = append(groups[k], fmt.Sprintf("%s %.1f (%s, %s)", out.Arms[i].Name, out.Arms[i].Measures[0].Mean,
			signed(p.Gain.Mean), p.chance("")))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** (`kindred reproduce %s --scale %s`, %d seeds, %s of %s): %s has %.1f.", out.Data.On,
		out.Experiment, out.Scale, len(out.Seeds), m.Name, m.Group, out.Arms[base].Name,
		out.Arms[base].Measures[0].Mean)
	for k, what := range []string{"Ahead of it", "Behind it", "No difference to it is shown for"} {
		if groups[k] != nil {
			fmt.Fprintf(&b, " %s: %s.", what, strings.Join(groups[k], "; "))
		}
	}
	first, second := order[0], order[1]
	p := out.compare(first, second, 0)
	v, _ := judge([]Paired{p})
	if v == Holds {
		fmt.Fprintf(&b, " %s is also ahead of %s (%s).", out.Arms[first].Name,
			out.Arms[second].Name, p.chance(""))
	} else {
		fmt.Fprintf(&b, " Between %s and %s no difference is shown (%s).", out.Arms[first].Name,
			out.Arms[second].Name, p.chance(""))
	}
	if left := out.notRun(); left != nil {
		fmt.Fprintf(&b, " Not run: %s.", strings.Join(left, "; "))
	}
	return b.String()
}
