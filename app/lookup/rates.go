package lookup

import (
	"fmt"

	"github.com/kindred-ml/kindred/decide"
)

// SummaryRates returns the shares of unknown photos that summaries have a line for.
func SummaryRates() []float64 { return []float64{0.01, 0.05, 0.1, 0.2, 0.5} }

// Rate is a share of unknown photos admitted, with its distance and its effect.
type Rate struct {
	FPIR     float64 `json:"fpir"`
	Distance float64 `json:"distance,omitempty"`
	// Known is the share of the calibration's known photos that get a label. Allowed is the share that the distances
	// would give a label without a bound.
	Known   float64  `json:"known"`
	Allowed *float64 `json:"allowed,omitempty"`
	Named   *int     `json:"named,omitempty"` // number of queries that get a label
	Refused string   `json:"refused,omitempty"`
}

// GateRates returns the rates of a gate, for a gallery like that of the calibration.
func GateRates(g *decide.Gate) []Rate {
	var out []Rate
	for _, rate := range SummaryRates() {
		line := Rate{FPIR: rate}
		if t, err := g.Unknown(rate, g.Items); err == nil {
			line.Distance, line.Known = t.Distance, t.TrueMatch
		} else {
			line.Refused = err.Error()
		}
		if t, ok := g.Allows(rate, g.Items); ok {
			line.Allowed = &t.TrueMatch
		}
		out = append(out, line)
	}
	return out
}

// rateOf returns the effect of a rate on the queries, whose nearest items lie at the given distances.
func rateOf(d *decide.Decider, rate float64, photos int, nearest []float64) Rate {
	line := Rate{FPIR: rate}
	if t, ok := d.Allows(rate); ok {
		line.Allowed = &t.TrueMatch
	}
	t, err := d.At(rate, photos)
	if err != nil {
		line.Refused = err.Error()
		return line
	}
	named := 0
	for _, v := range nearest {
		if v <= t.Distance {
			named++
		}
	}
	line.Distance, line.Known, line.Named = t.Distance, t.TrueMatch, &named
	return line
}

// AllowedText returns the last column of a line of rates.
func (r *Rate) AllowedText() string {
	if r.Allowed == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**r.Allowed)
}
