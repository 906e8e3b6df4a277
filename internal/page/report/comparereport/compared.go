// Package comparereport writes the result of a comparison of arms: tables for a terminal, LaTeX and CSV, a
// figure, and the page.
package comparereport

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/runs"
	"github.com/kindred-ml/kindred/internal/sweep"
)

// Files are the files that Write writes, in a comparison's folder.
var Files = []string{sweep.ReportFile, "compare.tex", "compare.svg", "compare.png", "scores.csv", "tests.csv"}

// Write writes Files to a folder. command is the command line that makes the comparison again.
func Write(c *sweep.Comparison, dir, command string) error {
	if err := Page(c, command).WriteFile(filepath.Join(dir, sweep.ReportFile)); err != nil {
		return err
	}
	for _, name := range []string{"compare.svg", "compare.png"} {
		if err := figure.WriteFigure(filepath.Join(dir, name), Figure(c)); err != nil {
			return err
		}
	}
	for name, write := range map[string]func(io.Writer) error{
		"compare.tex": func(w io.Writer) error {
			_, err := io.WriteString(w,
				"% needs \\usepackage{booktabs}\n"+ScoreTable(c).LaTeX()+"\n"+TestTable(c).LaTeX())
			return err
		},
		"scores.csv": func(w io.Writer) error { return writeScores(w, c) },
		"tests.csv":  func(w io.Writer) error { return writeTests(w, c) },
	} {
		if err := atomic.WriteFile(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return nil
}

// commonMetrics returns the columns that all arms have: that of the tests first.
func commonMetrics(c *sweep.Comparison) []string {
	out := []string{c.Column()}
	for _, s := range c.Arms[0].Scores {
		if s.Metric == c.Column() {
			continue
		}
		if !slices.ContainsFunc(c.Arms, func(a sweep.ComparedArm) bool { _, ok := a.Mean(s.Metric); return !ok }) {
			out = append(out, s.Metric)
		}
	}
	return out
}

// metricUnit returns the factor, the number of decimals and the name of the unit of a column.
func metricUnit(column string) (factor float64, digits int, name string) {
	if runs.IsPercent(column) {
		return 100, 1, ", %"
	}
	return 1, 4, ""
}

// metricTitle returns the name of a column in words: "recall@1, %".
func metricTitle(column string) string {
	_, _, name := metricUnit(column)
	return strings.ReplaceAll(strings.TrimPrefix(column, "test_"), "_", " ") + name
}

// ScoreTable returns the table of the scores: a row for each arm.
func ScoreTable(c *sweep.Comparison) report.Table {
	t := report.Table{Caption: "Scores", Columns: []report.Column{{Name: "arm"}}, Note: scoreNote(c)}
	for _, m := range commonMetrics(c) {
		t.Columns = append(t.Columns, report.Column{Name: metricTitle(m)})
	}
	for i := range c.Arms {
		a := &c.Arms[i]
		row := report.Row{Cells: []report.Cell{report.NameCell(a.Name)}}
		for _, m := range commonMetrics(c) {
			s, _ := a.Mean(m)
			factor, digits, _ := metricUnit(m)
			cell := report.MeanStdCell(factor*s.Mean, factor*s.Std, s.N, digits)
			if a.Best && m == c.Column() {
				cell = cell.Marked()
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// scoreNote says how to read the table of the scores.
func scoreNote(c *sweep.Comparison) string {
	n := len(c.Arms[0].Runs)
	note := fmt.Sprintf("Mean ± standard deviation (n - 1) over %d seeds", n)
	if n == 1 {
		note = "One seed"
	}
	if c.Folds > 0 {
		note += fmt.Sprintf("; the score of a seed is the mean over %d folds of the training part", c.Folds)
	}
	note += "."
	if slices.ContainsFunc(c.Arms, func(a sweep.ComparedArm) bool { return a.Best }) {
		return note + " The marked arm is ahead of each other arm by the tests."
	}
	return note + " No arm is marked, as none is ahead of each other arm by the tests."
}

// TestTable returns the table of the tests: a row for every two arms.
func TestTable(c *sweep.Comparison) report.Table {
	factor, digits, name := metricUnit(c.Column())
	if factor == 100 {
		name = ", points"
	}
	t := report.Table{Caption: "Differences in " + metricTitle(c.Column()), Columns: []report.Column{{Name: "arm"},
		{Name: "minus"}, {Name: "gain" + name}, {Name: "p"}, {Name: "p (Holm)"}, {Name: "seeds to decide"},
		{Name: "verdict"}},
		Note: fmt.Sprintf("Student's paired t-test over %d seeds, two-sided; p (Holm) is corrected for %s. "+
			"A difference counts if that is below 0.05 with 3 seeds or more. Seeds to decide: about as many decide "+
			"it, if mean and spread stay as they are.", c.Tests[0].N, enum.Count(len(c.Tests), "test"))}
	for i := range c.Tests {
		a := &c.Tests[i]
		std := 0.0
		if a.Std != nil {
			std = *a.Std
		}
		verdict, needed := VerdictText(a), report.BlankCell()
		if a.SeedsNeeded > 0 {
			verdict, needed = a.Verdict, report.NumberCell(float64(a.SeedsNeeded), 0)
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.NameCell(a.Arm), report.NameCell(a.Other),
			report.MeanStdCell(factor*a.Gain, factor*std, a.N, digits).Signed(), probabilityCell(a.P),
			probabilityCell(a.Corrected),
			needed, report.TextCell(verdict)}})
	}
	return t
}

// probabilityCell returns p as a cell.
func probabilityCell(p *float64) report.Cell {
	switch {
	case p == nil:
		return report.BlankCell()
	case *p < 0.0001:
		return report.TextCell("< 0.0001")
	}
	return report.NumberCell(*p, 4)
}

// VerdictText returns the verdict of a test in words.
func VerdictText(t *sweep.ArmTest) string {
	switch t.Verdict {
	case sweep.Ahead:
		return t.Arm + " is ahead"
	case sweep.Behind:
		return t.Other + " is ahead"
	}
	return "undecided: " + t.Why
}

// Figure draws the metric of the tests: a bar for each arm.
func Figure(c *sweep.Comparison) figure.Figure {
	factor, _, _ := metricUnit(c.Column())
	f := figure.Bars{Axes: figure.Axes{Y: metricTitle(c.Column()), Width: max(260, 70*float64(len(c.Arms)))},
		Series: []string{""}, Values: [][]float64{nil}, Err: [][]float64{nil}}
	for i := range c.Arms {
		s, _ := c.Arms[i].Mean(c.Column())
		f.Groups = append(f.Groups, c.Arms[i].Name)
		f.Values[0], f.Err[0] = append(f.Values[0], factor*s.Mean), append(f.Err[0], factor*s.Std)
	}
	return f
}

// Page returns the page of a comparison.
func Page(c *sweep.Comparison, command string) report.Page {
	decided := 0
	finding := report.Verdict{}
	for i := range c.Tests {
		t := &c.Tests[i]
		if t.Verdict != sweep.Undecided {
			decided++
		}
		finding.Reasons = append(finding.Reasons, t.Arm+" and "+t.Other+": "+VerdictText(t)+".")
	}
	finding.Text = fmt.Sprintf("%d of %d differences are decided.", decided, len(c.Tests))
	if k := slices.IndexFunc(c.Arms, func(a sweep.ComparedArm) bool { return a.Best }); k >= 0 {
		finding.Text, finding.Tone = c.Arms[k].Name+" is ahead of each other arm.", report.Good
	}
	where := "the test part"
	if c.Folds > 0 {
		where = fmt.Sprintf("%d folds of the training part", c.Folds)
	}
	page := report.Page{Title: "Arms compared", Lead: fmt.Sprintf("%d arms, %d seeds each, scored on %s. Pairs are "+
		"the runs of the same seed.", len(c.Arms), len(c.Arms[0].Runs), where), Sections: []report.Section{
		{Title: "Result", Blocks: []report.Block{finding, ScoreTable(c), report.Figures{Items: []report.Captioned{{
			Figure: Figure(c), Caption: "Mean and standard deviation over the seeds."}}}, report.Code(command)}},
		{Title: "Tests", Blocks: []report.Block{TestTable(c)}}, {Title: "Seeds", Blocks: []report.Block{seedTable(c)}}}}
	return page
}

// seedTable returns the table of the metric of the tests: a row for each seed.
func seedTable(c *sweep.Comparison) report.Table {
	factor, digits, _ := metricUnit(c.Column())
	t := report.Table{Caption: metricTitle(c.Column()), Columns: []report.Column{{Name: "seed"}}}
	for i := range c.Arms {
		t.Columns = append(t.Columns, report.Column{Name: c.Arms[i].Name, Named: true})
	}
	for k, r := range c.Arms[0].Runs {
		row := report.Row{Cells: []report.Cell{report.TextCell(fmt.Sprint(r.Seed))}}
		for i := range c.Arms {
			row.Cells = append(row.Cells, report.NumberCell(factor*c.Arms[i].Runs[k].Metrics[c.Column()], digits))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// writeScores writes the scores of every run: arm, seed, metric, value.
func writeScores(w io.Writer, c *sweep.Comparison) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"arm", "seed", "metric", "value"}}
	for _, a := range c.Arms {
		for _, r := range a.Runs {
			for _, m := range slices.Sorted(maps.Keys(r.Metrics)) {
				rows = append(rows, []string{a.Name, fmt.Sprint(r.Seed), m, formatExact(r.Metrics[m])})
			}
		}
	}
	return out.WriteAll(rows)
}

// writeTests writes the tests.
func writeTests(w io.Writer, c *sweep.Comparison) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"arm", "other", "metric", "gain", "std", "n", "p", "p_holm", "verdict", "seeds_needed"}}
	optional := func(v *float64) string {
		if v == nil {
			return ""
		}
		return formatExact(*v)
	}
	for _, t := range c.Tests {
		needed := ""
		if t.SeedsNeeded > 0 {
			needed = fmt.Sprint(t.SeedsNeeded)
		}
		rows = append(rows, []string{t.Arm, t.Other, c.Column(), formatExact(t.Gain), optional(t.Std), fmt.Sprint(t.N),
			optional(t.P), optional(t.Corrected), t.Verdict, needed})
	}
	return out.WriteAll(rows)
}

// formatExact prints a number so that it reads back with all bits.
func formatExact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
