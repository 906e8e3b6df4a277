package paper

import (
	"fmt"
	"slices"
)

// Verdict says what runs tell about a statement.
type Verdict string

// The verdicts. A sign alone is not a verdict: a coin has one too.
const (
	// Holds: every comparison behind the statement has its sign, with p < 0.05
	// over three seeds at least.
	Holds Verdict = "holds"
	// Contradicted: a comparison has the other sign, with p < 0.05 over three
	// seeds at least. Where a statement needs k comparisons, the least of the k
	// contrary p is held against 0.05 / k.
	Contradicted Verdict = "contradicted"
	// Undecided is everything else.
	Undecided Verdict = "undecided"
)

// What a verdict needs.
const (
	level       = 0.05
	judgedSeeds = 3
)

// judge weighs the comparisons that a statement needs, each signed so that a gain
// speaks for it. why gives the seeds and p that the verdict rests on, or what is
// missing for one.
func judge(tests []Paired) (v Verdict, why string) {
	if len(tests) == 0 {
		return Undecided, "nothing was measured"
	}
	n := tests[0].Gain.N
	for _, t := range tests {
		if n = min(n, t.Gain.N); n == 0 || !t.Gain.Mean.known() {
			return Undecided, "a number is missing"
		}
	}
	weakest, contrary := tests[0], Paired{P: 1}
	for _, t := range tests {
		if t.weaker(weakest) {
			weakest = t
		}
		if t.Gain.Mean < 0 && t.P < contrary.P {
			contrary = t
		}
	}
	switch {
	case n == 1:
		return Undecided, "one seed"
	case n < judgedSeeds:
		return Undecided, fmt.Sprintf("%d seeds, %d are needed", n, judgedSeeds)
	case float64(contrary.P)*float64(len(tests)) < level:
		v, weakest = Contradicted, contrary
	case weakest.Gain.Mean > 0 && weakest.P < level:
		v = Holds
	default:
		v = Undecided
	}
	where := ""
	if len(tests) > 1 {
		where = fmt.Sprintf(" in the %s of %d comparisons",
			map[bool]string{true: "clearest contrary one", false: "weakest"}[v == Contradicted], len(tests))
	}
	return v, weakest.chance(where) + fmt.Sprintf(", %d seeds", n)
}

// alwaysEqual tells whether there is no gain and no loss in any seed, of enough for a
// verdict.
func alwaysEqual(tests []Paired) bool {
	return len(tests) > 0 && !slices.ContainsFunc(tests, func(t Paired) bool {
		return t.Gain.N < judgedSeeds || t.Gain.Mean != 0 || t.Gain.Std != 0
	})
}

// weaker reports whether t says less for a statement than u: a wrong sign less
// than a right one, an unknown p less than a known one, a high p less than a low.
func (t Paired) weaker(u Paired) bool {
	if a, b := t.Gain.Mean > 0, u.Gain.Mean > 0; a != b {
		return b
	}
	if a, b := t.P.known(), u.P.known(); a != b {
		return b
	}
	return t.P > u.P
}

// chance is p as it is printed; where says in which of several comparisons.
func (t Paired) chance(where string) string {
	switch {
	case !t.P.known() && t.Gain.N > 1 && t.Gain.Std.known():
		return "no p" + where + ", as the gain is the same in every seed"
	case !t.P.known():
		return "p not known" + where
	case t.P < 0.0001:
		return "p < 0.0001" + where
	}
	return fmt.Sprintf("p %#.2g%s", float64(t.P), where)
}
