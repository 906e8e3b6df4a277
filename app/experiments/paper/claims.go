package paper

import (
	"context"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/app/page/report"
)

// Checked is a claim with its verdict.
type Checked struct {
	Text    string  `json:"claim"`
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why"`
	// OtherData reports that the claim is about other data than ours.
	OtherData bool     `json:"other_data,omitempty"`
	Evidence  string   `json:"evidence"`
	Tests     []Paired `json:"tests"` // signed so that a gain speaks for the claim
	notBelow  bool     // see Claim
}

// check judges the experiment's claims.
func (out *Outcome) check(ctx context.Context) {
	out.Claims = nil
	for i := range out.e.Claims {
		c := &out.e.Claims[i]
		evidence, tests := c.Check(ctx, out)
		out.add(c, evidence, tests)
	}
	out.addGains()
	judgeTogether(out)
}

// add adds a claim with its comparisons, not judged yet.
func (out *Outcome) add(claim *Claim, evidence string, tests []Paired) {
	out.Claims = append(out.Claims, Checked{Text: claim.Text, OtherData: out.Data.InsteadOf != "", Evidence: evidence,
		Tests: tests, notBelow: claim.NotBelow})
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
			if !published.known() || published == 0 {
				continue
			}
			test, word := *m.Gain, "ahead of"
			if published < 0 {
				test, word = test.negated(), "behind"
			}
			name := strings.TrimSpace(out.e.Measures[k].Group + " " + out.e.Measures[k].Name)
			evidence := "Ours " + signed(m.Gain.Gain.Mean)
			if out.Data.InsteadOf == "" {
				evidence = "Paper " + signed(published) + ", ours " + signed(m.Gain.Gain.Mean)
			}
			out.add(&Claim{Text: fmt.Sprintf("%s is %s %s in %s.", a.Name, word, a.Baseline, name)}, evidence,
				[]Paired{test})
		}
	}
}

// verdicts lists the verdicts in the order of the pages: bad news first.
func verdicts() []Verdict { return []Verdict{Contradicted, Undecided, Holds} }

// judged returns the claims with verdict v, and a sentence that counts them.
func (out *Outcome) judged(v Verdict) (claims []Checked, sentence string) {
	for _, c := range out.Claims {
		if c.Verdict == v {
			claims = append(claims, c)
		}
	}
	words := map[Verdict][2]string{Holds: {"holds", "hold"}, Contradicted: {"is contradicted", "are contradicted"},
		Undecided: {"is undecided", "are undecided"}}[v]
	word := words[1]
	if len(claims) == 1 {
		word = words[0]
	}
	whose := " of the paper"
	if out.e.Own {
		whose = ""
	}
	sentence = fmt.Sprintf("%d of %d statements%s %s", len(claims), len(out.Claims), whose, word)
	if out.Data.InsteadOf != "" {
		sentence += ", on other data than the paper's"
	}
	return claims, sentence + "."
}

// Statements returns the verdicts as text, one line each.
func (out *Outcome) Statements() string {
	var b strings.Builder
	for _, v := range verdicts() {
		claims, sentence := out.judged(v)
		if claims == nil {
			continue
		}
		b.WriteString(sentence + "\n")
		for _, c := range claims {
			b.WriteString("  " + c.line() + "\n")
		}
	}
	return b.String()
}

// line is the claim with its numbers and the reason for its verdict.
func (c Checked) line() string { return fmt.Sprintf("%s %s; %s.", c.Text, c.Evidence, c.Why) }

// verdictBlocks are the claims as blocks of the page.
func (out *Outcome) verdictBlocks() []report.Block {
	tone := map[Verdict]report.Tone{Holds: report.Good, Contradicted: report.Bad}
	var blocks []report.Block
	for _, v := range verdicts() {
		claims, sentence := out.judged(v)
		if claims == nil {
			continue
		}
		block := report.Verdict{Text: sentence, Tone: tone[v]}
		for _, c := range claims {
			block.Reasons = append(block.Reasons, c.line())
		}
		blocks = append(blocks, block)
	}
	if blocks != nil {
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

// mean returns the mean of a measure over the seeds of an arm, in per cent; NaN
// if there is no such arm or measure.
func (out *Outcome) mean(arm, key string) float64 { return float64(out.measure(arm, key).Mean) }

// ahead compares a measure of two arms.
func (out *Outcome) ahead(key, arm, baseline string) Paired {
	return paired(out.measure(arm, key).Values, out.measure(baseline, key).Values)
}
