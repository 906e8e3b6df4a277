package paper

import (
	"fmt"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/report"
)

// Checked is a claim with what became of it.
type Checked struct {
	Text     string `json:"claim"`
	Holds    bool   `json:"holds"`
	Evidence string `json:"evidence"`
}

// check compares the outcome with the experiment's claims, and the direction of
// every gain with that of the published one.
func (out *Outcome) check() {
	for _, c := range out.e.Claims {
		holds, evidence := c.Check(out)
		out.Claims = append(out.Claims, Checked{c.Text, holds, evidence})
	}
	for _, a := range out.Arms {
		if a.Baseline == "" {
			continue
		}
		base := &out.Arms[out.e.arm(a.Baseline)]
		for k, m := range a.Measures {
			if m.Paper == nil || base.Measures[k].Paper == nil {
				continue
			}
			published := *m.Paper - *base.Measures[k].Paper
			word := "ahead of"
			if published < 0 {
				word = "behind"
			}
			name := strings.TrimSpace(out.e.Measures[k].Group + " " + out.e.Measures[k].Name)
			out.Claims = append(out.Claims, Checked{
				Text:     fmt.Sprintf("%s is %s %s in %s.", a.Name, word, a.Baseline, name),
				Holds:    published*m.Gain.Gain.Mean > 0,
				Evidence: fmt.Sprintf("paper %+.1f, ours %s", published, gainText(m.Gain)),
			})
		}
	}
}

// verdicts shows the claims on the page: first those that our numbers
// contradict.
func (out *Outcome) verdicts() []report.Block {
	var good, bad []string
	for _, c := range out.Claims {
		line := c.Text + " " + c.Evidence
		if c.Holds {
			good = append(good, line)
		} else {
			bad = append(bad, line)
		}
	}
	var blocks []report.Block
	if bad != nil {
		blocks = append(blocks, report.Verdict{Text: fmt.Sprintf("%d of the papers' %d statements are not what we see.", len(bad), len(bad)+len(good)), Reasons: bad, Tone: report.Bad})
	}
	if good != nil {
		blocks = append(blocks, report.Verdict{Text: fmt.Sprintf("%d of the papers' %d statements hold here.", len(good), len(bad)+len(good)), Reasons: good, Tone: report.Good})
	}
	return blocks
}

// mean returns the mean of a measure over the seeds of an arm, in per cent; NaN
// if there is no such arm or measure.
func (out *Outcome) mean(arm, key string) float64 {
	for _, a := range out.Arms {
		if a.Name != arm {
			continue
		}
		for _, m := range a.Measures {
			if m.Key == key {
				return m.Mean
			}
		}
	}
	return math.NaN()
}
