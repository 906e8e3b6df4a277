package paper

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/compute/holm"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// Outcome is an experiment's result: the contents of report.html, as data.
type Outcome struct {
	Experiment string       `json:"experiment"`
	Title      string       `json:"title"`
	Source     string       `json:"source"`
	Data       Data         `json:"data"`
	Tuning     string       `json:"tuning"`
	Seeds      []uint64     `json:"seeds"`
	Fast       bool         `json:"fast,omitempty"`
	Scale      string       `json:"scale,omitempty"`
	Set        []string     `json:"set,omitempty"` // settings beyond the scale
	Arms       []ArmOutcome `json:"arms"`
	Took       float64      `json:"seconds"`         // of training and evaluation, all runs
	Taken      int          `json:"taken,omitempty"` // runs copied from other experiments
	// Minutes is the training time of each run in a row of the table of recipes.
	Minutes float64        `json:"minutes,omitempty"`
	Claims  []CheckedClaim `json:"claims,omitempty"`
	// Figures are the files that Write wrote beside the page.
	Figures []NamedFigure `json:"figures,omitempty"`

	e *Experiment
	o Options
	// chosen is what a sweep chose for the scale, or nil.
	chosen *TunedSettings
}

// ArmOutcome is the result of one arm over all seeds.
type ArmOutcome struct {
	Name     string           `json:"name"`
	Measures []MeasureOutcome `json:"measures"`
	Baseline string           `json:"baseline,omitempty"`
	Runs     []*Run           `json:"runs,omitempty"`
	// Chosen are the settings that a sweep chose, as the runs had them.
	Chosen []string `json:"chosen,omitempty"`
	// Settled is what the runs chose by themselves, one per seed, in a row of the table of the
	// defaults.
	Settled []Settled `json:"settled,omitempty"`
}

// MeasureOutcome is one measure of an arm, in per cent.
type MeasureOutcome struct {
	Key    string   `json:"key"`
	Values []Number `json:"values,omitempty"` // one per seed
	Summary
	// Paper is the published number, if it is about the same data.
	Paper *Number     `json:"paper,omitempty"`
	Gain  *PairedTest `json:"gain,omitempty"` // against the baseline
}

func newOutcome(ctx context.Context, e *Experiment, runs []*Run, o Options, d Data) (*Outcome, error) {
	scale, err := e.scale(o.Scale)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Experiment: e.Name, Data: d, Scale: scale.Name, Set: o.Set, Fast: o.Fast, e: e, o: o,
		chosen: o.chosen}
	for s := range o.Seeds {
		out.Seeds = append(out.Seeds, o.Seed+uint64(s))
	}
	var took time.Duration
	for i := range e.Arms {
		a := &e.Arms[i]
		ao := ArmOutcome{Name: a.Name, Chosen: o.chosen.arm(a.tunedArm())}
		for _, r := range runs {
			if r.Arm != a.Name {
				continue
			}
			ao.Runs = append(ao.Runs, r)
			took += r.Duration
			if r.Settled != nil {
				ao.Settled = append(ao.Settled, *r.Settled)
			}
			if r.From != "" {
				out.Taken++
			}
		}
		for _, m := range e.Measures {
			mo := MeasureOutcome{Key: m.Key}
			for _, r := range ao.Runs {
				v, err := r.measureValue(m)
				if err != nil {
					return nil, err
				}
				mo.Values = append(mo.Values, Number(v))
			}
			ao.Measures = append(ao.Measures, mo)
		}
		out.Arms = append(out.Arms, ao)
	}
	out.Took = took.Seconds()
	if e.Table() == RecipesTable {
		out.Minutes = cmp.Or(o.Minutes, DefaultMinutes)
	}
	out.describe()
	out.compute()
	out.judgeClaims(ctx)
	return out, nil
}

// describe sets the fields that the experiment determines.
func (out *Outcome) describe() {
	out.Title = out.e.Title + ", " + out.Data.String()
	out.Source, out.Tuning = out.e.Source, out.e.Tuning
	if out.chosen != nil {
		out.Tuning = out.chosen.origin(out.e.Space) + " Found by: " + out.chosen.Command + ". " +
			out.e.Space.keptText(out.e)
	}
	for i := range out.Arms {
		a := &out.Arms[i]
		a.Baseline = out.e.Arms[i].Baseline
		for k := range a.Measures {
			a.Measures[k].Paper = nil
			if p := out.e.published(i, k); p.isKnown() && out.Data.InsteadOf == "" {
				a.Measures[k].Paper = &p
			}
		}
	}
}

// compute summarizes the values by seed and compares the arms.
func (out *Outcome) compute() {
	for i := range out.Arms {
		for k := range out.Arms[i].Measures {
			m := &out.Arms[i].Measures[k]
			m.Summary = summarize(m.Values)
		}
	}
	for i := range out.Arms {
		base := out.e.arm(out.Arms[i].Baseline)
		if base < 0 {
			continue
		}
		for k := range out.Arms[i].Measures {
			p := pairedTest(out.Arms[i].Measures[k].Values, out.Arms[base].Measures[k].Values)
			out.Arms[i].Measures[k].Gain = &p
		}
	}
}

// Table has our numbers beside the paper's, which are left out if they are about other data.
func (out *Outcome) Table() report.Table {
	t := report.Table{Columns: []report.Column{{Name: ""}}}
	printed := make([]bool, len(out.e.Measures)) // measures that the paper has
	best := out.best()
	for k, m := range out.e.Measures {
		for _, a := range out.Arms {
			printed[k] = printed[k] || a.Measures[k].Paper != nil
		}
		t.Columns = append(t.Columns, report.Column{Name: m.Name, Group: m.Group})
		if printed[k] {
			t.Columns = append(t.Columns, report.Column{Name: "paper", Group: m.Group})
		}
	}
	for i, a := range out.Arms {
		row := report.Row{Cells: []report.Cell{report.TextCell(a.Name)}}
		for k, m := range a.Measures {
			c := meanStd(m.Summary)
			if best[k] == i {
				c = c.Marked()
			}
			row.Cells = append(row.Cells, c)
			if printed[k] {
				row.Cells = append(row.Cells, paperCell(m.Paper))
			}
		}
		t.Rows = append(t.Rows, row)
		base := out.e.arm(a.Baseline)
		if base < 0 {
			continue
		}
		gain := report.Row{Cells: []report.Cell{report.TextCell(gainOver + a.Baseline)}}
		for k, m := range a.Measures {
			gain.Cells = append(gain.Cells, report.TextCell(formatGain(m.Gain)))
			if !printed[k] {
				continue
			}
			c := report.BlankCell()
			if b := out.Arms[base].Measures[k]; m.Paper != nil && b.Paper != nil {
				c = report.PublishedCell(float64(*m.Paper-*b.Paper), 1).Signed()
			}
			gain.Cells = append(gain.Cells, c)
		}
		t.Rows = append(t.Rows, gain)
	}
	t.Note = out.note(slices.ContainsFunc(best, func(i int) bool { return i >= 0 }))
	return t
}

// gainOver begins the names of the rows of gains.
const gainOver = "gain over "

// note says how to read the table's numbers.
func (out *Outcome) note(marked bool) string {
	note := "In per cent, from one seed: the spread is not known, and no difference can be told from chance."
	if n := len(out.Seeds); n > 1 {
		note = fmt.Sprintf("In per cent: mean ± standard deviation (n - 1) over %d seeds; p from a paired t-test "+
			"over the seeds, uncorrected.", n)
	}
	if marked {
		note += fmt.Sprintf(" A marked number is ahead of those of all other arms with p < %g, corrected for the "+
			"number of arms and measures.", significanceLevel)
	}
	if out.Data.InsteadOf != "" {
		note += " The paper's numbers are for other data and are not shown."
	}
	note += out.scaleNote()
	if len(out.Set) > 0 {
		note += fmt.Sprintf(" Also set: %s.", strings.Join(out.Set, ", "))
	}
	if out.Fast {
		note += " This is a fast run, on a subset and with few epochs: it only checks that everything works."
	}
	return note
}

// scaleNote says what the scale is, after a space; "" in experiments of one scale.
func (out *Outcome) scaleNote() string {
	s, err := out.e.scale(out.Scale)
	if err != nil || s.Name == "" || out.Fast {
		return ""
	}
	return fmt.Sprintf(" Scale %s: %s.", s.Name, s.About)
}

// best returns for each measure the arm that is significantly ahead of every other arm, or -1. The highest mean alone
// does not count. p is that against the closest arm, times the number of other arms, any of which could have been
// ahead, and corrected for the number of measures.
func (out *Outcome) best() []int {
	best, p := make([]int, len(out.e.Measures)), make([]float64, len(out.e.Measures))
	for k, m := range out.e.Measures {
		best[k], p[k] = -1, 1
		for i := range out.Arms {
			var tests []PairedTest
			for j := range out.Arms {
				if j == i {
					continue
				}
				gain := out.compare(i, j, k)
				if slices.Contains(out.e.Lower, m.Key) {
					gain = gain.negated()
				}
				tests = append(tests, gain)
			}
			if f := newFinding(tests); f.verdict == Holds && !math.IsNaN(f.p) {
				best[k], p[k] = i, min(1, f.p*float64(len(tests)))
			}
		}
	}
	for k, v := range holm.Correct(p) {
		if v >= significanceLevel {
			best[k] = -1
		}
	}
	return best
}

// compare tests arm i against arm j. Without values by seed it returns the kept gain of an arm over
// its baseline, if there is one.
func (out *Outcome) compare(i, j, measure int) PairedTest {
	a, b := &out.Arms[i].Measures[measure], &out.Arms[j].Measures[measure]
	switch {
	case a.Values != nil || b.Values != nil:
		return pairedTest(a.Values, b.Values)
	case a.Gain != nil && out.Arms[i].Baseline == out.Arms[j].Name:
		return *a.Gain
	case b.Gain != nil && out.Arms[j].Baseline == out.Arms[i].Name:
		return b.Gain.negated()
	}
	return PairedTest{Gain: Summary{Mean: a.Mean - b.Mean, Std: missing, N: min(a.N, b.N)}, P: missing}
}

// paperCell is a published number, or blank.
func paperCell(v *Number) report.Cell {
	if v == nil {
		return report.BlankCell()
	}
	return report.PublishedCell(float64(*v), 1)
}

// formatSigned prints a gain as tables do.
func formatSigned(v Number) string { return report.NumberCell(float64(v), 1).Signed().String() }

func formatGain(p *PairedTest) string {
	s := formatSigned(p.Gain.Mean)
	if p.isConstant() {
		return s + " (the same in every seed)"
	}
	if p.Gain.N > 1 {
		s += " (" + p.describeP("") + ")"
	}
	return s
}
