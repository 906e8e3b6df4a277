package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/spell"
)

// identifySummary is what the decisions come to.
type identifySummary struct {
	Mode    string `json:"mode"`           // open or closed
	From    string `json:"from,omitempty"` // where the classes of an open calibration come from
	Named   int    `json:"named"`
	Unknown int    `json:"unknown"`
	// Nearest is the median distance of the nearest item, and Within the one that a label takes; 0 of a closed set.
	Nearest float64 `json:"nearest"`
	Within  float64 `json:"within,omitempty"`
	Why     string  `json:"why"`
	// Drift is the share of the gallery's items that have one of another class within the distance that the
	// calibration promises the rate for, where that is more than it allows.
	Drift float64 `json:"drift,omitzero"`
	// Sure is how many labels have a probability of 0.9 or more.
	Sure  int        `json:"sure"`
	Rates []rateLine `json:"rates,omitempty"` // of an open calibration
}

// sureOf is the probability from which a label counts as sure in a summary.
const sureOf = 0.9

// summary counts the decisions, and says what other rates would give.
func (f *identifyFlags) summary(d *decide.Decider, l *looker, res *identified) *identifySummary {
	s := &identifySummary{Mode: openMode, From: l.says.From}
	var nearest []float64
	photos := 1
	for i := range res.Queries {
		q := &res.Queries[i]
		if nearest = append(nearest, q.Nearest); q.Unknown {
			s.Unknown++
		} else if s.Named++; q.Probability >= sureOf {
			s.Sure++
		}
		photos, s.Within = max(photos, len(q.of)), q.Within
	}
	slices.Sort(nearest)
	if len(nearest) > 0 {
		s.Nearest = nearest[(len(nearest)-1)/2]
	}
	if d.Closed() {
		s.Mode, s.From = closedMode, ""
		s.Why = "every photo gets a label, strangers too: "
		if c := l.says.Closed; !f.opt.Closed && c.Gate != nil {
			s.Why += fmt.Sprintf("the gallery has classes that the calibration does not know (it knows %d)", c.Classes)
		} else if f.opt.Closed {
			s.Why += "--closed asks for it"
		} else {
			s.Why += "the calibration is closed; kindred calibrate says how to tell strangers"
		}
		return s
	}
	way := "all are nearer"
	if s.Unknown > 0 {
		way = "unknown are those whose nearest item is farther"
	}
	s.Why = fmt.Sprintf("for at most %g %% strangers a label takes a distance of %.4g or less, and the median photo "+
		"has its nearest item at %.4g: %s", 100*f.opt.FPIR, s.Within, s.Nearest, way)
	if t, err := d.Unknown(photos); err == nil && t.Drift > 0 {
		s.Drift = t.Drift
		s.Why += "; " + t.Condition()
	}
	for _, rate := range askedRates {
		s.Rates = append(s.Rates, rateOf(d, rate, photos, nearest))
	}
	return s
}

// rateOf is what a rate would give of the queries, whose nearest items lie at the given distances.
func rateOf(d *decide.Decider, rate float64, photos int, nearest []float64) rateLine {
	line := rateLine{FPIR: rate}
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

// printSummary tells people what the decisions come to, beside the results.
func (a *app) printSummary(res *identified) error {
	s := res.Summary
	n := len(res.Queries)
	fmt.Fprintf(a.err, "\n%d of %s named, %d unknown (%s); %s\n", s.Named, spell.Count(n, "decision"), s.Unknown,
		s.Mode, escape.Text(s.Why))
	if s.Mode == closedMode {
		_, err := fmt.Fprintf(a.err, "%d have a probability of %g or more\n", s.Sure, sureOf)
		return err
	}
	if s.From == fromSeen {
		fmt.Fprintln(a.err, "the calibration was learned from classes that training saw: more strangers get in than "+
			"it says")
	}
	w := tabwriter.NewWriter(a.err, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "--fpir\tdistance\tknown named\twithout a bound\tnamed of these %d\n", n)
	for _, r := range s.Rates {
		if r.Refused != "" {
			fmt.Fprintf(w, "%g\t-\t-\t%s\t- (too few classes)\n", r.FPIR, allowed(r))
			continue
		}
		fmt.Fprintf(w, "%g\t%.4g\t%.1f %%\t%s\t%d\n", r.FPIR, r.Distance, 100*r.Known, allowed(r), *r.Named)
	}
	return w.Flush()
}
