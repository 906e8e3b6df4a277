package lookup

import (
	"fmt"
	"slices"
)

// Summary sums up the votes. Items that are the photos have no vote, so it measures how well photos are identified even
// if all of them are items of the gallery.
type Summary struct {
	Mode    string `json:"mode"`           // open or closed
	From    string `json:"from,omitempty"` // where the classes of an open calibration come from
	Named   int    `json:"named"`
	Unknown int    `json:"unknown"`
	// Pictures is the number of decisions about photos that are items of the gallery.
	Pictures int `json:"pictures"`
	// Nearest is the median distance of the nearest item. Needed is the least probability for a label. A gate has
	// Within instead, the largest distance.
	Nearest float64 `json:"nearest"`
	Needed  float64 `json:"needed,omitempty"`
	Within  float64 `json:"within,omitempty"`
	Why     string  `json:"why"`
	// Drift is the share of the gallery's items that would get the label of another class at the calibration's rate. It
	// is 0 if the rate allows that share.
	Drift float64 `json:"drift,omitzero"`
	// Sure is the number of labels with a probability of 0.9 or more.
	Sure  int    `json:"sure"`
	Rates []Rate `json:"rates,omitempty"` // of an open calibration
}

// SureProbability is the least probability of a label that counts as sure in a summary.
const SureProbability = 0.9

// The modes of a calibration.
const (
	ModeOpen   = "open"
	ModeClosed = "closed"
)

// summarize counts the decisions, and computes the effect of other rates.
func summarize(a *Identifier, res *Decisions) *Summary {
	d, says := a.Decider, a.Says
	s := &Summary{Mode: ModeOpen, From: says.ClassSource}
	var nearest, likely []float64
	photos := 1
	for i := range res.Queries {
		q := &res.Queries[i]
		if q.Others != nil {
			s.Pictures++
		}
		v := q.EvaluatedVote()
		if nearest = append(nearest, q.Nearest); v.Unknown {
			s.Unknown++
		} else if s.Named++; v.Probability >= SureProbability {
			s.Sure++
		}
		photos, s.Within, s.Needed = max(photos, len(q.Of)), q.Within, q.NeededProbability
		likely = append(likely, v.Probability)
	}
	slices.Sort(nearest)
	if len(nearest) > 0 {
		s.Nearest = nearest[(len(nearest)-1)/2]
	}
	if d.IsClosed() {
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
	slices.Sort(likely)
	if s.Why = fmt.Sprintf("to admit at most %g %% of unknown photos, ", 100*res.FPIR); d.IsKnownGallery() {
		s.Why += fmt.Sprintf("a label needs a distance of %.4g or less; the median photo has its nearest item at "+
			"%.4g: ", s.Within, s.Nearest)
		if s.Unknown > 0 {
			s.Why += "photos whose nearest item is farther are unknown"
		} else {
			s.Why += "all are nearer"
		}
	} else if len(likely) > 0 {
		s.Why += fmt.Sprintf("a label needs a probability of %.3g or more; the median photo has %.3g", s.Needed,
			likely[len(likely)/2])
	}
	if a.Basis.Estimate {
		s.Why += "; without a bound, so that about every second time more are admitted"
	}
	if t, err := d.UnknownThreshold(photos); err == nil && t.Drift > 0 {
		s.Drift = t.Drift
		s.Why += "; " + t.Condition()
	}
	for _, rate := range SummaryRates() {
		s.Rates = append(s.Rates, newRate(d, rate, photos, res))
	}
	return s
}
