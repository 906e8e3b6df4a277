package lookup

import (
	"fmt"

	"github.com/kindred-ml/kindred/decide"
)

// SummaryRates returns the shares of unknown photos that summaries have a line for.
func SummaryRates() []float64 { return []float64{0.01, 0.05, 0.1, 0.2, 0.5} }

// Rate is a share of unknown photos admitted, with its effect, and the probability that a label needs or the distance
// of a gate.
type Rate struct {
	FPIR     float64 `json:"fpir"`
	Distance float64 `json:"distance,omitempty"`
	Needed   float64 `json:"needed,omitempty"`
	// Known is the share of the calibration's known photos that get a label. Allowed is the share that would get one
	// without a bound.
	Known   float64  `json:"known"`
	Allowed *float64 `json:"allowed,omitempty"`
	Named   *int     `json:"named,omitempty"` // number of queries that get a label
	Refused string   `json:"refused,omitempty"`
}

// GateRates returns the rates of a gate, for a gallery like that of the calibration.
func GateRates(g *decide.StrangerGate) []Rate {
	var out []Rate
	for _, rate := range SummaryRates() {
		line := Rate{FPIR: rate}
		if t, err := g.UnknownThreshold(rate, g.Items); err == nil {
			line.Distance, line.Known = t.Distance, t.TrueMatch
		} else {
			line.Refused = err.Error()
		}
		if t, ok := g.EstimatedThreshold(rate, g.Items); ok {
			line.Allowed = &t.TrueMatch
		}
		out = append(out, line)
	}
	return out
}

// newRate returns the effect of a rate on decisions.
func newRate(d *decide.Decider, rate float64, photos int, res *Decisions) Rate {
	line := Rate{FPIR: rate}
	if t, ok := d.EstimatedThreshold(rate); ok {
		line.Allowed = &t.TrueMatch
	}
	t, err := d.ThresholdAt(rate, photos)
	if err != nil {
		line.Refused = err.Error()
		return line
	}
	named := 0
	for i := range res.Queries {
		if d.AcceptsLabel(t, res.Queries[i].Nearest, res.Queries[i].score) {
			named++
		}
	}
	line.Distance, line.Needed, line.Known, line.Named = t.Distance, d.NeededProbability(t), t.TrueMatch, &named
	return line
}

// AllowedText returns the last column of a line of rates.
func (r *Rate) AllowedText() string {
	if r.Allowed == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**r.Allowed)
}
