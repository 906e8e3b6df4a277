package runs

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// idleVerdict returns a note on the epochs of each run in which fewer than 1 % of the tuples
// were active; false without such epochs.
func (c *Comparison) idleVerdict() (report.Verdict, bool) {
	v := report.Verdict{Text: "In some epochs fewer than 1 % of the tuples were active: there was almost nothing to " +
		"learn from.", Tone: report.Bad}
	for _, g := range c.Groups {
		for _, r := range g.Runs {
			tuples, active := r.Values["tuples"], r.Values["active"]
			found, last := 0, 0
			for i := range min(len(tuples), len(active), len(r.Values["epoch"])) {
				if 100*active[i] < tuples[i] || tuples[i] == 0 {
					found, last = found+1, i
				}
			}
			if found > 0 {
				v.Reasons = append(v.Reasons, fmt.Sprintf("%s: %d of %d epochs; in epoch %.0f %.0f of %.0f tuples, "+
					"while %.0f samples had no positive in their batch and %.0f no negative",
					r.Name(), found, len(tuples), r.Values["epoch"][last], active[last], tuples[last],
					r.valueAt("no_positive", last), r.valueAt("no_negative", last)))
			}
		}
	}
	return v, len(v.Reasons) > 0
}

// valueAt returns a value of a column, or 0 for a missing value.
func (r *Run) valueAt(column string, i int) float64 {
	if vs := r.Values[column]; i < len(vs) && vs[i] == vs[i] {
		return vs[i]
	}
	return 0
}
