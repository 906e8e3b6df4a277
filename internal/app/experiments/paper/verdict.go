package paper

import (
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/holm"
	"github.com/kindred-ml/kindred/internal/compute/ttest"
)

// Verdict says what the runs show about a statement.
type Verdict string

// The verdicts. A sign alone decides nothing. p is corrected (Holm) for the statements that are judged together.
const (
	// Holds: every comparison that the statement needs has its sign, with p < 0.05 over at least
	// three seeds.
	Holds Verdict = "holds"
	// Contradicted: a comparison has the opposite sign, with p < 0.05 over at least three seeds. If
	// a statement needs k comparisons, the smallest contrary p counts k times.
	Contradicted Verdict = "contradicted"
	// Undecided: everything else.
	Undecided Verdict = "undecided"
)

// What a verdict needs: this level, and this many seeds.
const (
	significanceLevel = ttest.Level
	minSeeds          = ttest.MinPairs
)

// finding is what the comparisons of one statement show.
type finding struct {
	verdict Verdict // by the signs
	p       float64 // of the verdict; NaN if none is possible
	// decisive and weakest are the comparisons that a verdict and its absence are due to. missing is the reason why
	// there is no verdict, if the numbers or the seeds do not suffice for one.
	decisive, weakest PairedTest
	n, comparisons    int
	missing           string
}

// newFinding examines the comparisons that a statement needs, each signed so that a gain supports it.
func newFinding(tests []PairedTest) finding {
	f := finding{verdict: Holds, p: math.NaN(), comparisons: len(tests)}
	if len(tests) == 0 {
		f.missing = "nothing was measured"
		return f
	}
	f.n = tests[0].Gain.N
	for _, t := range tests {
		if f.n = min(f.n, t.Gain.N); f.n == 0 || !t.Gain.Mean.isKnown() {
			f.missing = "a number is missing"
			return f
		}
	}
	contrary := PairedTest{P: 1}
	f.weakest = tests[0]
	for _, t := range tests {
		if t.isWeaker(f.weakest) {
			f.weakest = t
		}
		if t.Gain.Mean < 0 && t.P < contrary.P {
			contrary = t
		}
	}
	f.decisive = f.weakest
	switch {
	case f.n == 1:
		f.missing = "one seed"
	case f.n < minSeeds:
		f.missing = fmt.Sprintf("%d seeds, %d are needed", f.n, minSeeds)
	case contrary.P < 1:
		f.verdict, f.p, f.decisive = Contradicted, min(1, float64(contrary.P)*float64(len(tests))), contrary
	case f.weakest.Gain.Mean > 0:
		f.p = float64(f.weakest.P)
	}
	return f
}

// judgeTests judges the comparisons that one statement needs. why has the seeds and the p of the verdict, or what is
// missing.
func judgeTests(tests []PairedTest) (v Verdict, why string) {
	f := newFinding(tests)
	return f.judge(f.p, 1)
}

// judge returns the verdict with p corrected for a number of statements.
func (f finding) judge(corrected float64, statements int) (v Verdict, why string) {
	if f.missing != "" {
		return Undecided, f.missing
	}
	t, where := f.weakest, "weakest"
	if v = Undecided; corrected < significanceLevel {
		v, t = f.verdict, f.decisive
		if v == Contradicted {
			where = "clearest contrary one"
		}
	}
	if where = fmt.Sprintf(" in the %s of %d comparisons", where, f.comparisons); f.comparisons == 1 {
		where = ""
	}
	why = t.describeP(where)
	if statements > 1 && !math.IsNaN(corrected) {
		why += fmt.Sprintf(", corrected %s", PairedTest{P: Number(corrected)}.describeP("")[2:])
	}
	return v, why + fmt.Sprintf(", %d seeds", f.n)
}

// correctForMultiple corrects p for their number. Those that are not known do not count.
func correctForMultiple(p []float64) (corrected []float64, count int) {
	var known []float64
	for _, v := range p {
		if !math.IsNaN(v) {
			known = append(known, v)
		}
	}
	by := holm.Correct(known)
	corrected = slices.Clone(p)
	for i, v := range p {
		if !math.IsNaN(v) {
			corrected[i], by = by[0], by[1:]
		}
	}
	return corrected, len(known)
}

// judgeOutcomes judges all statements of some outcomes, with p corrected for their number. It skips missing outcomes.
func judgeOutcomes(outcomes ...*Outcome) {
	var claims []*CheckedClaim
	var found []finding
	var p []float64
	for _, out := range outcomes {
		if out == nil {
			continue
		}
		for i := range out.Claims {
			c := &out.Claims[i]
			claims, found = append(claims, c), append(found, newFinding(c.Tests))
			p = append(p, found[len(found)-1].p)
		}
	}
	corrected, n := correctForMultiple(p)
	for i, c := range claims {
		c.Verdict, c.Why = found[i].judge(corrected[i], n)
		if c.notBelow && isAlwaysEqual(c.Tests) {
			c.Verdict, c.Why = Holds, fmt.Sprintf("the same in each of %d seeds", c.Tests[0].Gain.N)
		}
	}
}

// isAlwaysEqual reports whether all values are equal in every seed, with enough seeds for a verdict.
func isAlwaysEqual(tests []PairedTest) bool {
	return len(tests) > 0 && !slices.ContainsFunc(tests, func(t PairedTest) bool {
		return t.Gain.N < minSeeds || t.Gain.Mean != 0 || t.Gain.Std != 0
	})
}

// isWeaker reports whether t supports a statement less than u: a wrong sign less than a right one, an
// unknown p less than a known one, a high p less than a low one.
func (t PairedTest) isWeaker(u PairedTest) bool {
	if a, b := t.Gain.Mean > 0, u.Gain.Mean > 0; a != b {
		return b
	}
	if a, b := t.P.isKnown(), u.P.isKnown(); a != b {
		return b
	}
	return t.P > u.P
}

// describeP is p as text; where says in which of several comparisons.
func (t PairedTest) describeP(where string) string {
	switch {
	case t.isConstant():
		return "no p" + where + ", as the gain is the same in every seed"
	case !t.P.isKnown():
		return "p not known" + where
	case t.P < 0.0001:
		return "p < 0.0001" + where
	}
	return fmt.Sprintf("p %#.2g%s", float64(t.P), where)
}

// isConstant reports whether the gain does not differ between the seeds, so that it has no p.
func (t PairedTest) isConstant() bool { return !t.P.isKnown() && t.Gain.N > 1 && t.Gain.Std.isKnown() }
