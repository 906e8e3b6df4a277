package paper

import (
	"fmt"
	"slices"
)

// Verdict says what the runs show about a statement.
type Verdict string

// The verdicts. A sign alone decides nothing.
const (
	// Holds: every comparison that the statement needs has its sign, with p < 0.05 over at least
	// three seeds.
	Holds Verdict = "holds"
	// Contradicted: a comparison has the opposite sign, with p < 0.05 over at least three seeds. If
	// a statement needs k comparisons, the smallest contrary p must be below 0.05 / k.
	Contradicted Verdict = "contradicted"
	// Undecided: everything else.
	Undecided Verdict = "undecided"
)

// What a verdict needs: this level, and this many seeds.
const (
	level       = 0.05
	judgedSeeds = 3
)

// judge judges the comparisons that a statement needs, each signed so that a gain supports it. why
// has the seeds and the p of the verdict, or what is missing.
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

// alwaysEqual reports whether all values are equal in every seed, with enough seeds for a verdict.
func alwaysEqual(tests []Paired) bool {
	return len(tests) > 0 && !slices.ContainsFunc(tests, func(t Paired) bool {
		return t.Gain.N < judgedSeeds || t.Gain.Mean != 0 || t.Gain.Std != 0
	})
}

// weaker reports whether t supports a statement less than u: a wrong sign less than a right one, an
// unknown p less than a known one, a high p less than a low one.
func (t Paired) weaker(u Paired) bool {
	if a, b := t.Gain.Mean > 0, u.Gain.Mean > 0; a != b {
		return b
	}
	if a, b := t.P.known(), u.P.known(); a != b {
		return b
	}
	return t.P > u.P
}

// chance is p as text; where says in which of several comparisons.
func (t Paired) chance(where string) string {
	switch {
	case t.sameInEverySeed():
		return "no p" + where + ", as the gain is the same in every seed"
	case !t.P.known():
		return "p not known" + where
	case t.P < 0.0001:
		return "p < 0.0001" + where
	}
	return fmt.Sprintf("p %#.2g%s", float64(t.P), where)
}

// sameInEverySeed reports whether the gain does not differ between the seeds, so that it has no p.
func (t Paired) sameInEverySeed() bool { return !t.P.known() && t.Gain.N > 1 && t.Gain.Std.known() }
