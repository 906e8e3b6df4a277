package paper

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// WriteDocument writes the Markdown page of all experiments whose results are kept in the
// folder with the page's name without its extension, and a page for each of them beside its
// results. Before that it copies the results of finished experiments in the folders from to
// that folder (a row of the defaults' table is added to the kept arms of that row if nothing
// else has changed), and updates all results to this program's titles and verdicts. It also
// updates the pages beside it that quote the results (digests). The same results give the
// same bytes. If a folder cannot be read, nothing changes.
func WriteDocument(page string, from ...string) error {
	folder := keptFolder(page)
	var finished []*Outcome
	from, err := expandRows(from)
	if err != nil {
		return err
	}
	for _, dir := range from {
		out, err := Load(dir)
		if err != nil {
			return err
		}
		finished = append(finished, out)
	}
	for i, out := range finished {
		if finished[i], err = out.joinKept(folder); err != nil {
			return err
		}
	}
	for _, out := range finished {
		if err := out.writeKept(folder); err != nil {
			return err
		}
	}
	all, err := readKeptResults(folder)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s holds no results: give folders of finished experiments by --from",
			filepath.Join(folder, resultsFolder))
	}
	for i := range all {
		if all[i], err = all[i].addSubstituteArms(); err != nil {
			return err
		}
		if err := all[i].writeNumbers(folder); err != nil {
			return err
		}
	}
	if err := writeText(filepath.Join(folder, DefaultsPage), defaultsPage(all)); err != nil {
		return err
	}
	if err := writeExcerpts(filepath.Dir(page), all); err != nil {
		return err
	}
	for _, out := range documentedOutcomes(all) {
		path := filepath.Join(folder, resultsFolder, out.Experiment+".md")
		if err := writeText(path, out.document(filepath.Base(page), all)); err != nil {
			return err
		}
	}
	return writeText(page, overview(filepath.Base(folder), all))
}

// keptFolder is the folder of the figures and results behind a page.
func keptFolder(page string) string { return strings.TrimSuffix(page, filepath.Ext(page)) }

// documentedOutcomes are the outcomes with a page of their own: not the rows of a table of
// many sets.
func documentedOutcomes(all []*Outcome) []*Outcome {
	var own []*Outcome
	for _, out := range all {
		if out.e.Stranger == nil {
			own = append(own, out)
		}
	}
	return own
}

// document is the experiment's own page, which stands beside its results. page is the name
// of the page of all experiments, and all are the outcomes that have pages.
func (out *Outcome) document(page string, all []*Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n%s\n", out.Title, paragraph(out.introduction(all)), paragraph("Source: "+out.Source+
		". This page is written by `kindred reproduce document` from ["+out.Experiment+".json]("+out.Experiment+
		".json); [the page of all experiments](../../"+page+") has the rules."))
	fmt.Fprintf(&b, "\n%s\n", codeBlock(out.command()))
	if out.Took > 0 { // experiments that train nothing have no runs to time
		fmt.Fprintf(&b, "\n%s\n", paragraph(fmt.Sprintf("Training and evaluation took %s.%s",
			report.FormatDuration(time.Duration(out.Took*float64(time.Second))), out.describeCopied())))
	}
	if left := out.missingArms(); left != nil {
		fmt.Fprintf(&b, "\n%s\n", paragraph("Not run: "+strings.Join(left, "; ")+"."))
	}
	t := out.narrowTable()
	fmt.Fprintf(&b, "\n## Numbers\n\n%s\n%s\n", t.Markdown(), paragraph(t.Note))
	for _, f := range out.Figures {
		fmt.Fprintf(&b, "\n![%s](../%s)\n\n%s\n", f.Name, out.figureFile(f), paragraph(f.Caption))
	}
	if len(out.Claims) > 0 {
		fmt.Fprintf(&b, "\n## Statements\n\n%s.\n\n%s", capitalize(out.tally()), out.statementTable().Markdown())
	}
	fmt.Fprintf(&b, "\n## Settings\n\n%s", out.settingsText(all))
	return b.String()
}

// Numbers of measures above which a page leaves numbers to the results: gains that statements
// test, and the single arms of a series.
const (
	fewMeasures  = 2
	manyMeasures = 7
)

// sectionOutcome is the outcome of the experiment in whose section out is shown, or nil.
func (out *Outcome) sectionOutcome(all []*Outcome) *Outcome {
	k := slices.IndexFunc(all, func(o *Outcome) bool { return o.Experiment == out.brief().With })
	if k < 0 {
		return nil
	}
	return all[k]
}

// introduction says what is compared, and explains the terms unless another page does.
func (out *Outcome) introduction(all []*Outcome) string {
	first := out.sectionOutcome(all)
	if s := out.e.Space; first == nil && s != nil {
		k := slices.IndexFunc(all, func(o *Outcome) bool { return o != out && o.Experiment == s.Of })
		if k >= 0 {
			first = all[k]
		}
	}
	if first == nil || first.e.Terms != out.e.Terms || out.e.Terms == "" {
		return out.about()
	}
	return strings.TrimSuffix(out.about(), out.e.Terms) + fmt.Sprintf("The page of [%[1]s](%[1]s.md) explains the "+
		"terms.", first.Experiment)
}

// narrowTable is the table as a page shows it.
func (out *Outcome) narrowTable() report.Table {
	n := len(out.e.Measures)
	t := out.Table()
	switch {
	case out.e.Sweep != nil && n == 1:
		t = out.sweepTable(true)
	case out.e.Sweep != nil && n > manyMeasures:
		t = out.seriesTable()
	case n <= fewMeasures && !out.hasPaperData():
		t = out.gainTable()
	case n > fewMeasures && len(out.Claims) > 0 || n > manyMeasures:
		t.Rows = slices.DeleteFunc(t.Rows, func(r report.Row) bool {
			return strings.HasPrefix(r.Cells[0].String(), gainOver)
		})
	}
	note := "In per cent, from one seed."
	if k := len(out.Seeds); k > 1 {
		note = fmt.Sprintf("In per cent: mean ± standard deviation of %d seeds.", k)
	}
	if out.e.Sweep != nil && n > manyMeasures {
		note += fmt.Sprintf(" Each row is the mean over its arms (%s: %s).", out.e.Sweep.X,
			strings.Join(out.sweepValues(), ", "))
	}
	t.Note = note + out.scaleNote()
	return t
}

// hasPaperData reports whether the paper's numbers are about the same data.
func (out *Outcome) hasPaperData() bool {
	return slices.ContainsFunc(out.Arms, func(a ArmOutcome) bool {
		return slices.ContainsFunc(a.Measures, func(m MeasureOutcome) bool { return m.Paper != nil })
	})
}

// gainTable has the gains of the arms beside their measures, not in rows of their own.
func (out *Outcome) gainTable() report.Table {
	t := report.Table{Columns: []report.Column{{Name: ""}}}
	var baselines []string
	for _, a := range out.Arms {
		if a.Baseline != "" && out.e.arm(a.Baseline) >= 0 && !slices.Contains(baselines, a.Baseline) {
			baselines = append(baselines, a.Baseline)
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.TextCell(a.Name)}})
	}
	head := "gain"
	if len(baselines) == 1 {
		head = gainOver + baselines[0]
	}
	for k, m := range out.e.Measures {
		t.Columns = append(t.Columns, report.Column{Name: m.title()})
		if baselines != nil {
			t.Columns = append(t.Columns, report.Column{Name: head})
		}
		best := out.best()[k]
		for i, a := range out.Arms {
			c, gain := meanStd(a.Measures[k].Summary), report.BlankCell()
			if best == i {
				c = c.Marked()
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, c)
			if g := a.Measures[k].Gain; g != nil && baselines != nil {
				text := formatGain(g)
				if len(baselines) > 1 && k == 0 {
					text += " over " + a.Baseline
				}
				gain = report.TextCell(text)
			}
			if baselines != nil {
				t.Rows[i].Cells = append(t.Rows[i].Cells, gain)
			}
		}
	}
	return t
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// codeBlock is a command as a block of Markdown.
func codeBlock(command string) string { return "```text\n" + command + "\n```" }

// command is the command that gave the outcome.
func (out *Outcome) command() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kindred reproduce %s --seeds %d", out.Experiment, len(out.Seeds))
	if out.Scale != "" {
		fmt.Fprintf(&b, " --scale %s", out.Scale)
	}
	if out.Fast {
		b.WriteString(" --fast")
	}
	if len(out.Arms) < len(Find(out.Experiment).Arms) {
		for _, a := range out.Arms {
			fmt.Fprintf(&b, " --arm %q", a.Name)
		}
	}
	for _, s := range out.Set {
		fmt.Fprintf(&b, " --set '%s'", s)
	}
	return b.String()
}

// settingsText says where the settings of the arms are from, and lists those that a sweep
// chose, unless another experiment's page does.
func (out *Outcome) settingsText(all []*Outcome) string {
	if out.chosen == nil {
		if first := out.sectionOutcome(all); first != nil && first.Tuning == out.Tuning {
			return fmt.Sprintf("As in [%[1]s](%[1]s.md#settings).\n", first.Experiment)
		}
		return paragraph(out.Tuning) + "\n"
	}
	s := out.e.Space
	for _, other := range all {
		if other.Experiment == s.Of && other.Scale == out.Scale && other != out {
			return paragraph(fmt.Sprintf("The settings are those of [%[1]s](%[1]s.md#settings). %[2]s", s.Of,
				s.keptText(out.e))) + "\n"
		}
	}
	t := out.chosen.table(out.e)
	for i := range t.Rows {
		c := t.Rows[i].Cells
		t.Rows[i].Cells = []report.Cell{c[0], c[1], c[len(c)-1]}
	}
	t.Columns = []report.Column{t.Columns[0], t.Columns[1], t.Columns[len(t.Columns)-1]}
	return t.Markdown() + "\n" + paragraph(out.chosen.origin(s)+" "+s.keptText(out.e)) +
		"\n\n" + codeBlock(out.chosen.Command) + "\n"
}

// statementTable lists the statements with their verdicts, bad news first.
func (out *Outcome) statementTable() report.Table {
	t := report.Table{Columns: []report.Column{{Name: "verdict"}, {Name: "statement"}, {Name: "numbers"},
		{Name: "test"}}}
	seeds := fmt.Sprintf(", %d seeds", len(out.Seeds))
	for _, v := range verdicts() {
		claims, _ := out.claimsWith(v)
		for _, c := range claims {
			t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.TextCell(string(c.Verdict)),
				report.TextCell(strings.TrimSuffix(c.Text, ".")), report.TextCell(c.Evidence),
				report.TextCell(strings.TrimSuffix(c.Why, seeds))}})
		}
	}
	return t
}

// missingArms names the arms of the experiment that out does not have.
func (out *Outcome) missingArms() []string {
	var left []string
	for _, a := range Find(out.Experiment).Arms {
		if out.e.arm(a.Name) < 0 {
			left = append(left, a.Name)
		}
	}
	return left
}
