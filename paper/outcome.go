package paper

import (
	"fmt"
	"math"
	"time"

	"github.com/kindred-ml/kindred/report"
)

// Outcome is an experiment's result: what report.html shows, as data.
type Outcome struct {
	Experiment string       `json:"experiment"`
	Title      string       `json:"title"`
	Source     string       `json:"source"`
	Seeds      []uint64     `json:"seeds"`
	Fast       bool         `json:"fast,omitempty"`
	Scale      string       `json:"scale,omitempty"`
	Set        []string     `json:"set,omitempty"` // what was set beyond the scale
	Arms       []ArmOutcome `json:"arms"`
	Took       float64      `json:"seconds"` // of training and evaluation, all runs
	Claims     []Checked    `json:"claims,omitempty"`
	// Figures are the files that Write made beside the page.
	Figures []NamedFigure `json:"figures,omitempty"`

	e *Experiment
	o Options
}

// ArmOutcome is what one arm came to over all seeds.
type ArmOutcome struct {
	Name     string           `json:"name"`
	Measures []MeasureOutcome `json:"measures"`
	Baseline string           `json:"baseline,omitempty"`
	Runs     []*Run           `json:"runs"`
}

// MeasureOutcome is one measure of an arm, in per cent.
type MeasureOutcome struct {
	Key    string    `json:"key"`
	Values []float64 `json:"values"` // one per seed
	Summary
	Paper *float64 `json:"paper,omitempty"`
	Gain  *Paired  `json:"gain,omitempty"` // against the baseline
}

func newOutcome(e *Experiment, runs []*Run, o Options) (*Outcome, error) {
	scale, err := e.scale(o.Scale)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Scale: scale.Name, Set: o.asked, Experiment: e.Name, Title: e.Title, Source: e.Source, Fast: o.Fast, e: e, o: o}
	for s := range o.Seeds {
		out.Seeds = append(out.Seeds, o.Seed+uint64(s))
	}
	var took time.Duration
	for i := range e.Arms {
		a := &e.Arms[i]
		ao := ArmOutcome{Name: a.Name, Baseline: a.Baseline}
		for _, r := range runs {
			if r.Arm == a.Name {
				ao.Runs = append(ao.Runs, r)
				took += r.Took
			}
		}
		for k, m := range e.Measures {
			mo := MeasureOutcome{Key: m.Key}
			for _, r := range ao.Runs {
				v, err := r.value(m)
				if err != nil {
					return nil, err
				}
				mo.Values = append(mo.Values, v)
			}
			mo.Summary = summarize(mo.Values)
			if a.Published != nil && !math.IsNaN(a.Published[k]) {
				mo.Paper = &a.Published[k]
			}
			ao.Measures = append(ao.Measures, mo)
		}
		out.Arms = append(out.Arms, ao)
	}
	for i := range out.Arms {
		base := e.arm(out.Arms[i].Baseline)
		if base < 0 {
			continue
		}
		for k := range out.Arms[i].Measures {
			p := paired(out.Arms[i].Measures[k].Values, out.Arms[base].Measures[k].Values)
			out.Arms[i].Measures[k].Gain = &p
		}
	}
	out.Took = took.Seconds()
	out.check()
	return out, nil
}

// Table sets our numbers and the paper's side by side.
func (out *Outcome) Table() report.Table {
	t := report.Table{Columns: []report.Column{{Name: ""}}}
	printed := make([]bool, len(out.e.Measures)) // measures that the paper has
	for k, m := range out.e.Measures {
		for _, a := range out.Arms {
			printed[k] = printed[k] || a.Measures[k].Paper != nil
		}
		t.Columns = append(t.Columns, report.Column{Name: m.Name, Group: m.Group, Best: report.Highest})
		if printed[k] {
			t.Columns = append(t.Columns, report.Column{Name: "paper", Group: m.Group})
		}
	}
	for _, a := range out.Arms {
		row := report.Row{Cells: []report.Cell{report.T(a.Name)}}
		for k, m := range a.Measures {
			row.Cells = append(row.Cells, report.MeanStd(m.Mean, m.Std, m.N, 1))
			if printed[k] {
				row.Cells = append(row.Cells, paperCell(m.Paper))
			}
		}
		t.Rows = append(t.Rows, row)
		if a.Baseline == "" {
			continue
		}
		gain := report.Row{Cells: []report.Cell{report.T("gain over " + a.Baseline)}}
		for k, m := range a.Measures {
			gain.Cells = append(gain.Cells, report.T(gainText(m.Gain)))
			if !printed[k] {
				continue
			}
			var diff *float64
			if base := out.Arms[out.e.arm(a.Baseline)].Measures[k]; m.Paper != nil && base.Paper != nil {
				d := *m.Paper - *base.Paper
				diff = &d
			}
			gain.Cells = append(gain.Cells, paperCell(diff))
		}
		t.Rows = append(t.Rows, gain)
	}
	t.Note = "In per cent."
	if n := len(out.Seeds); n > 1 {
		t.Note = fmt.Sprintf("In per cent: mean ± standard deviation over %d seeds; p from a paired t-test over the seeds.", n)
	}
	if out.Fast {
		t.Note += " A fast run on a subset: the direction counts, not the decimals."
	}
	return t
}

// paperCell is a published number, or blank.
func paperCell(v *float64) report.Cell {
	if v == nil {
		return report.Blank()
	}
	return report.Paper(*v, 1)
}

func gainText(p *Paired) string {
	s := fmt.Sprintf("%+.1f", p.Gain.Mean)
	if p.Gain.N > 1 {
		s += fmt.Sprintf(" (p %.2g)", p.P)
	}
	return s
}
