package lookup

import (
	"fmt"
	"slices"
)

// Summary sums up the decisions.
type Summary struct {
	Mode    string `json:"mode"`           // open or closed
	From    string `json:"from,omitempty"` // where the classes of an open calibration come from
	Named   int    `json:"named"`
	Unknown int    `json:"unknown"`
	// Nearest is the median distance of the nearest item. Within is the largest distance for a label; 0 if closed.
	Nearest float64 `json:"nearest"`
	Within  float64 `json:"within,omitempty"`
	Why     string  `json:"why"`
	// Drift is the share of the gallery's items that have an item of another class within the distance of the
	// calibration's rate. It is 0 if the rate allows that share.
	Drift float64 `json:"drift,omitzero"`
	// Sure is the number of labels with a probability of 0.9 or more.
	Sure  int    `json:"sure"`
	Rates []Rate `json:"rates,omitempty"` // of an open calibration
}

// Sure is the least probability of a label that counts as sure in a summary.
const Sure = 0.9

// The modes of a calibration.
const (
	ModeOpen   = "open"
	ModeClosed = "closed"
)

// summarise counts the decisions, and computes the effect of other rates.
func summarise(a *Identifier, res *Decisions) *Summary {
	d, says := a.Decider, a.Says
	s := &Summary{Mode: ModeOpen, From: says.From}
	var nearest []float64
	photos := 1
	for i := range res.Queries {
		q := &res.Queries[i]
		if nearest = append(nearest, q.Nearest); q.Unknown {
			s.Unknown++
		} else if s.Named++; q.Probability >= Sure {
			s.Sure++
		}
		photos, s.Within = max(photos, len(q.Of)), q.Within
	}
	slices.Sort(nearest)
	if len(nearest) > 0 {
		s.Nearest = nearest[(len(nearest)-1)/2]
	}
	if d.Closed() {
		s.Mode, s.From = ModeClosed, ""
		s.Why = "every photo gets a label, unknown photos too: "
		if c := says.Closed; !a.Basis.Closed && c.Gate != nil {
			s.Why += fmt.Sprintf("the gallery has classes that the calibration does not know (it knows %d)", c.Classes)
		} else if a.Basis.Closed {
			s.Why += "because of --closed"
		} else {
			s.Why += "the calibration is closed; kindred calibrate prints how to recognise unknown photos"
		}
		return s
	}
	way := "all are nearer"
	if s.Unknown > 0 {
		way = "photos whose nearest item is farther are unknown"
	}
	s.Why = fmt.Sprintf("to admit at most %g %% of unknown photos, a label needs a distance of %.4g or less; the "+
		"median photo has its nearest item at %.4g: %s", 100*res.FPIR, s.Within, s.Nearest, way)
	if t, err := d.Unknown(photos); err == nil && t.Drift > 0 {
		s.Drift = t.Drift
		s.Why += "; " + t.Condition()
	}
	for _, rate := range SummaryRates() {
		s.Rates = append(s.Rates, rateOf(d, rate, photos, nearest))
	}
	return s
}
