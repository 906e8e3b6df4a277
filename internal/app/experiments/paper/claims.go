package paper

import (
	"context"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// CheckedClaim is a claim with its verdict.
type CheckedClaim struct {
	Text    string  `json:"claim"`
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why"`
	// OtherData reports that the claim is about other data than ours.
	OtherData bool         `json:"other_data,omitempty"`
	Evidence  string       `json:"evidence"`
	Tests     []PairedTest `json:"tests"` // signed so that a gain speaks for the claim
	notBelow  bool         // see Claim
}

// judgeClaims judges the experiment's claims.
func (out *Outcome) judgeClaims(ctx context.Context) {
	out.Claims = nil
	for i := range out.e.Claims {
		c := &out.e.Claims[i]
		evidence, tests := c.Check(ctx, out)
		out.addClaim(c, evidence, tests)
	}
	out.addGains()
	judgeOutcomes(out)
}

// addClaim adds a claim with its comparisons, not judged yet.
func (out *Outcome) addClaim(claim *Claim, evidence string, tests []PairedTest) {
	out.Claims = append(out.Claims, CheckedClaim{Text: claim.Text, OtherData: out.Data.InsteadOf != "",
		Evidence: evidence,
		Tests:    tests, notBelow: claim.NotBelow})
}

// addGains adds the sign of every published gain. The sign is a statement on other data, too;
// the size is not.
func (out *Outcome) addGains() {
	for i, a := range out.Arms {
		base := out.e.arm(a.Baseline)
		if base < 0 {
			continue
		}
		for k, m := range a.Measures {
			published := out.e.published(i, k) - out.e.published(base, k)
			if !published.isKnown() || published == 0 {
				continue
			}
			test, word := *m.Gain, "ahead of"
			if published < 0 {
				test, word = test.negated(), "behind"
			}
			name := strings.TrimSpace(out.e.Measures[k].Group + " " + out.e.Measures[k].Name)
			evidence := "Ours " + formatSigned(m.Gain.Gain.Mean)
			if out.Data.InsteadOf == "" {
				evidence = "Paper " + formatSigned(published) + ", ours " + formatSigned(m.Gain.Gain.Mean)
			}
			out.addClaim(&Claim{Text: fmt.Sprintf("%s is %s %s in %s.", a.Name, word, a.Baseline, name)}, evidence,
				[]PairedTest{test})
		}
	}
}

// verdicts lists the verdicts in the order of the pages: bad news first.
func verdicts() []Verdict { return []Verdict{Contradicted, Undecided, Holds} }

// claimsWith returns the claims with verdict v, and a sentence that counts them.
func (out *Outcome) claimsWith(v Verdict) (claims []CheckedClaim, sentence string) {
	for _, c := range out.Claims {
		if c.Verdict == v {
			claims = append(claims, c)
		}
	}
	words := map[Verdict][2]string{Holds: {"holds", "hold"}, Contradicted: {"is contradicted", "are contradicted"},
		Undecided: {"is undecided", "are undecided"}}[v]
	return claims, out.sentence(len(claims), words[0], words[1])
}

// sentence returns a sentence that says of n of the claims what one does or what many do.
func (out *Outcome) sentence(n int, one, many string) string {
	word, whose := many, " of the paper"
	if n == 1 {
		word = one
	}
	if out.e.Own {
		whose = ""
	}
	text := fmt.Sprintf("%d of %d statements%s %s", n, len(out.Claims), whose, word)
	if out.Data.InsteadOf != "" {
		text += ", on other data than the paper's"
	}
	return text + "."
}

// claimGroup are claims with the same verdict or, with too few seeds for verdicts, on the same side.
type claimGroup struct {
	sentence string
	tone     report.Tone
	lines    []string
}

// claimGroups returns the claims in the order of the pages.
func (out *Outcome) claimGroups() (claimGroups []claimGroup) {
	if out.tooFewSeeds() {
		return out.groupsBySide()
	}
	tone := map[Verdict]report.Tone{Holds: report.Good, Contradicted: report.Bad}
	for _, v := range verdicts() {
		claims, sentence := out.claimsWith(v)
		if claims == nil {
			continue
		}
		g := claimGroup{sentence: sentence, tone: tone[v]}
		for _, c := range claims {
			g.lines = append(g.lines, c.line())
		}
		claimGroups = append(claimGroups, g)
	}
	return claimGroups
}

// tooFewSeeds reports whether the outcome has too few seeds for any verdict.
func (out *Outcome) tooFewSeeds() bool { return len(out.Claims) > 0 && len(out.Seeds) < minSeeds }

// DecidingSeeds returns the number of seeds with which the experiment judges its statements, and whether the outcome
// has too few for any verdict.
func (out *Outcome) DecidingSeeds() (n int, needed bool) {
	return max(minSeeds, out.e.DefaultSeeds(false)), out.tooFewSeeds()
}

// What few seeds show about a claim.
const (
	agrees = iota
	disagrees
	unmeasured
)

// meansSide returns what the means say about a claim.
func (c *CheckedClaim) meansSide() int {
	side := agrees
	for _, t := range c.Tests {
		switch gain := t.Gain.Mean; {
		case !gain.isKnown():
			return unmeasured
		case gain < 0 || gain == 0 && !c.notBelow:
			side = disagrees
		}
	}
	if len(c.Tests) == 0 {
		return unmeasured
	}
	return side
}

// groupsBySide groups the claims by what few seeds show.
func (out *Outcome) groupsBySide() (groups []claimGroup) {
	with := "the numbers of one seed"
	if n := len(out.Seeds); n > 1 {
		with = fmt.Sprintf("the mean of %d seeds", n)
	}
	for side, words := range [][2]string{agrees: {"agrees with " + with, "agree with " + with},
		disagrees:  {"does not agree with " + with, "do not agree with " + with},
		unmeasured: {"was not measured", "were not measured"}} {
		var g claimGroup
		for _, c := range out.Claims {
			if c.meansSide() == side {
				g.lines = append(g.lines, c.Text+" "+c.Evidence+".")
			}
		}
		if g.lines != nil {
			g.sentence = out.sentence(len(g.lines), words[0], words[1])
			groups = append(groups, g)
		}
	}
	return groups
}

// fewSeeds is the remark below claims that too few seeds cannot decide.
const fewSeeds = "So few seeds decide nothing, as a difference may be chance: verdicts need three seeds or more."

// Statements returns the claims as text, one line each.
func (out *Outcome) Statements() string {
	var b strings.Builder
	for _, g := range out.claimGroups() {
		b.WriteString(g.sentence + "\n")
		for _, line := range g.lines {
			b.WriteString("  " + line + "\n")
		}
	}
	if out.tooFewSeeds() {
		b.WriteString(fewSeeds + "\n")
	}
	return b.String()
}

// line is the claim with its numbers and the reason for its verdict.
func (c CheckedClaim) line() string { return fmt.Sprintf("%s %s; %s.", c.Text, c.Evidence, c.Why) }

// verdictBlocks are the claims as blocks of the page.
func (out *Outcome) verdictBlocks() []report.Block {
	var blocks []report.Block
	for _, g := range out.claimGroups() {
		blocks = append(blocks, report.Verdict{Text: g.sentence, Tone: g.tone, Reasons: g.lines})
	}
	switch {
	case blocks == nil:
	case out.tooFewSeeds():
		blocks = append(blocks, report.Text(fewSeeds+" "+verdictRule))
	default:
		blocks = append(blocks, report.Text(verdictRule))
	}
	return blocks
}

// verdictRule explains the verdicts to a reader.
const verdictRule = "A statement holds if our numbers have its sign with p < 0.05 over at least three seeds. It is " +
	"contradicted if they have the opposite sign, by the same test, and otherwise undecided. p is from a paired " +
	"t-test over the seeds, corrected (Holm) for the statements of the experiment."

// measure returns a measure of an arm. Without such an arm or measure it has no seeds.
func (out *Outcome) measure(arm, key string) *MeasureOutcome {
	for i := range out.Arms {
		if out.Arms[i].Name != arm {
			continue
		}
		for k := range out.Arms[i].Measures {
			if m := &out.Arms[i].Measures[k]; m.Key == key {
				return m
			}
		}
	}
	return &MeasureOutcome{Key: key, Summary: summarize(nil)}
}

// meanPercent returns the mean of a measure over the seeds of an arm, in per cent; NaN
// if there is no such arm or measure.
func (out *Outcome) meanPercent(arm, key string) float64 { return float64(out.measure(arm, key).Mean) }

// compareArms compares a measure of two arms.
func (out *Outcome) compareArms(key, arm, baseline string) PairedTest {
	return pairedTest(out.measure(arm, key).Values, out.measure(baseline, key).Values)
}
