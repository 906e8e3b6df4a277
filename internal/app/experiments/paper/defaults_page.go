package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// DefaultsPage is the file of the table of the defaults, in the folder of the reproduction page's
// results.
const DefaultsPage = "defaults.md"

// expandRows replaces a folder of a table of many sets by the folders of its rows.
func expandRows(dirs []string) ([]string, error) {
	var out []string
	for _, dir := range dirs {
		rows, err := RowFolders(dir)
		if err != nil {
			return nil, err
		}
		if rows == nil {
			rows = []string{dir}
		}
		out = append(out, rows...)
	}
	return out, nil
}

// RowFolders lists the folders of finished rows below dir, in the order of the table. It is nil if
// dir is an experiment itself.
func RowFolders(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, ResultsFile)); err == nil {
		return nil, nil
	}
	var out []string
	for _, e := range append(TableRows(DefaultsTable), TableRows(RecipesTable)...) { // which may share names
		row := filepath.Join(dir, e.RowName())
		if slices.Contains(out, row) {
			continue
		}
		_, err := os.Stat(filepath.Join(row, ResultsFile))
		if err == nil {
			out = append(out, row)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return out, nil
}

// FormatTables returns the tables of the finished rows below dir as text.
func FormatTables(table, dir string) (string, error) {
	folders, err := RowFolders(dir)
	if err != nil {
		return "", err
	}
	var rows []*Outcome
	for _, f := range folders {
		out, err := Load(f)
		if err != nil {
			return "", err
		}
		rows = append(rows, out)
	}
	tables := []report.Table{defaultsTable(rows), chosenTable(rows)}
	if table == RecipesTable {
		tables = []report.Table{recipesTable(rows), timesTable(rows)}
	}
	var b strings.Builder
	for _, t := range tables {
		if len(t.Rows) > 0 {
			fmt.Fprintf(&b, "%s\n", t)
		}
	}
	return b.String(), nil
}

// rowOutcomes returns the outcome of every row of the named table, nil for a missing row. Their statements are judged
// together.
func rowOutcomes(table string, outcomes []*Outcome) []*Outcome {
	var rows []*Outcome
	for _, e := range TableRows(table) {
		k := slices.IndexFunc(outcomes, func(out *Outcome) bool { return out.Experiment == e.Name })
		if k < 0 {
			rows = append(rows, nil)
		} else {
			rows = append(rows, outcomes[k])
		}
	}
	judgeOutcomes(rows...)
	return rows
}

// defaultsTable has a line for each measure of each row. A row that did not run has only its name.
func defaultsTable(outcomes []*Outcome) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trained on"}, {Name: "data set"}, {Name: "of the test part"},
		{Name: "raw pixels"}, {Name: "untrained"}, {Name: "default"}, {Name: "gain"}, {Name: "easy"},
		{Name: "without"}, {Name: "easy over without"}, {Name: "not below untrained"}}}
	rows := rowOutcomes(DefaultsTable, outcomes)
	for i, e := range DefaultRows() {
		out := rows[i]
		if out == nil {
			t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.TextCell(e.Stranger.Row),
				report.TextCell(e.Dataset.Title), report.TextCell("not run"), report.BlankCell(),
				report.BlankCell(), report.BlankCell(),
				report.BlankCell(), report.BlankCell(), report.BlankCell(), report.BlankCell(), report.BlankCell()}})
			continue
		}
		for k, m := range e.Measures {
			head := []report.Cell{report.BlankCell(), report.BlankCell()}
			if k == 0 {
				head = []report.Cell{report.TextCell(e.Stranger.Row), report.TextCell(out.Data.On)}
			}
			cells := append(head, report.TextCell(m.Name+" of "+m.Group), out.cell(pixelsArm, k),
				out.cell(untrainedArm, k),
				out.cell(defaultArm, k), out.gain(defaultArm, k), out.cell(easyArm, k), out.cell(plainArm, k),
				out.gain(easyArm, k))
			verdict := report.BlankCell()
			if k == 0 && len(out.Claims) > 0 {
				c := out.Claims[0]
				verdict = report.TextCell(string(c.Verdict))
				if c.Verdict != Holds {
					verdict = report.TextCell(fmt.Sprintf("%s (%s)", c.Verdict, c.Why))
				}
			}
			t.Rows = append(t.Rows, report.Row{Cells: append(cells, verdict)})
		}
	}
	return t
}

// cell is a measure of an arm, or blank.
func (out *Outcome) cell(arm string, measure int) report.Cell {
	k := out.e.arm(arm)
	if k < 0 {
		return report.BlankCell()
	}
	return meanStd(out.Arms[k].Measures[measure].Summary)
}

// gain is an arm's gain over its baseline, or blank.
func (out *Outcome) gain(arm string, measure int) report.Cell {
	k := out.e.arm(arm)
	if k < 0 || out.Arms[k].Measures[measure].Gain == nil {
		return report.BlankCell()
	}
	return report.TextCell(formatGain(out.Arms[k].Measures[measure].Gain))
}

// chosenTable lists what the default runs chose and how long they took.
func chosenTable(outcomes []*Outcome) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trained on"}, {Name: "seeds"}, {Name: "image side, px"},
		{Name: "epoch kept, of"}, {Name: "positives"}, {Name: "a run"}}}
	for _, out := range rowOutcomes(DefaultsTable, outcomes) {
		if out == nil || out.e.arm(defaultArm) < 0 {
			continue
		}
		var sizes, kept, positives []string
		took := 0.0
		runs := out.Arms[out.e.arm(defaultArm)].Settled
		for _, s := range runs {
			sizes = append(sizes, fmt.Sprint(s.Size))
			kept = append(kept, fmt.Sprintf("%d of %d", s.Kept, s.Epochs))
			positives = append(positives, s.Positives)
			took += s.Seconds
		}
		if len(runs) == 0 {
			continue
		}
		mean := time.Duration(took / float64(len(runs)) * float64(time.Second))
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.TextCell(out.e.Stranger.Row),
			report.NumberCell(float64(len(out.Seeds)), 0), report.TextCell(joinUnique(sizes)),
			report.TextCell(strings.Join(kept, ", ")),
			report.TextCell(joinUnique(positives)), report.TextCell(report.FormatDuration(mean))}})
	}
	return t
}

// gainOver is the gain of an arm over another, or blank if one of them did not run.
func (out *Outcome) gainOver(key, arm, other string) report.Cell {
	if out.e.arm(arm) < 0 || out.e.arm(other) < 0 {
		return report.BlankCell()
	}
	gain := out.compareArms(key, arm, other)
	return report.TextCell(formatGain(&gain))
}

// joinUnique joins texts, or returns one of them if all are equal.
func joinUnique(texts []string) string {
	if len(slices.Compact(slices.Clone(texts))) == 1 {
		return texts[0]
	}
	return strings.Join(texts, ", ")
}

// defaultsPage is the page of the table of the defaults.
func defaultsPage(outcomes []*Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What the defaults give

This page measures %[1]skindred train%[1]s without settings on many sets. %[1]skindred reproduce document%[1]s writes it from the
results in [results](results).

    kindred reproduce defaults --set network.pretrained=model.onnx
    kindred reproduce document --from reports/defaults

A row sets only the data and, where its name says so, the label. Photographs start from the network that the command names,
other pictures from random weights. %[1]suntrained%[1]s is that network before training, a pretrained one at its own image size. Each
test image is searched among the others by cosine.

- Numbers are in per cent: mean ± standard deviation over the seeds. p is from a paired t-test over the seeds,
  uncorrected.
- The last column judges "the default is not below the untrained network" by R@1. It holds if the default is above with
  p < 0.05 over at least three seeds, corrected (Holm) for the number of rows, or equal in every seed.
- %[1]skindred reproduce defaults-ROW%[1]s runs one row. Finished runs are kept: after a default has changed, give another %[1]s--out%[1]s.
- An arm may run later, in a folder of its own with %[1]s--arm Untrained --arm NAME%[1]s. It is added if the arms that both folders
  have got the same values to the bit.
`, "`")
	rows := slices.DeleteFunc(rowOutcomes(DefaultsTable, outcomes), func(out *Outcome) bool { return out == nil })
	t := defaultsTable(rows)
	b.WriteString(timedRows(rows))
	fmt.Fprintf(&b, "\n%s", withoutBlank(selectColumns(t, 0, 1, 2, 3, 4, 5, 6, 10)).Markdown())
	if easy := easyRows(t); len(easy.Rows) > 0 {
		text := "Both arms train a loss of pairs: `easy` sets `mine.positives=easy`, `without` sets `ms` from a " +
			"pretrained start and `random` from scratch."
		fmt.Fprintf(&b, "\n## Easy positives\n\n%s\n\n%s", paragraph(text), easy.Markdown())
	}
	if settled := chosenTable(rows); len(settled.Rows) > 0 {
		text := "By seed. The time is wall-clock time on two cores that may have had other work."
		fmt.Fprintf(&b, "\n## The rows, and what their runs chose\n\n%s\n\n%s", paragraph(text),
			selectColumns(withExperiments(settled), 0, 2, 3, 5, 6).Markdown())
		for _, e := range DefaultRows() {
			if e.Stranger.Draw != nil && e.Stranger.Draw.heap != "" {
				fmt.Fprintf(&b, "\n%s", listItem(fmt.Sprintf("`%s` trains on %s.", e.Name, e.Stranger.trainedOn())))
			}
		}
		b.WriteString("\n")
	}
	if sets := furtherSettings(rows); sets != nil {
		fmt.Fprintf(&b, "\n%s\n", paragraph("Also set: `"+strings.Join(sets, "`; `")+"`."))
	}
	for _, out := range rows {
		if out.isQuick() {
			fmt.Fprintf(&b, "\n%s ran in its quick size, which does not show what the defaults give.\n", out.Experiment)
		}
	}
	b.WriteString(recipesSection(outcomes))
	return b.String()
}

// timedRows says which rows were trained within a stated time.
func timedRows(rows []*Outcome) string {
	var names, stated []string
	photos := 0
	for _, out := range rows {
		if out.e.Stranger.Photos {
			photos++
		}
		for _, s := range out.Set {
			if strings.HasPrefix(s, "train.minutes=") {
				names, stated = append(names, out.e.Stranger.Row), append(stated, s)
			}
		}
	}
	if names == nil {
		return ""
	}
	which := "Photographs"
	if len(names) < photos {
		which = "Of photographs the rows " + strings.Join(names, "; ")
	}
	return listItem(fmt.Sprintf("%s ran with `--set %s`, minutes of two cores from the start of a run to its end. "+
		"Without it they train longer.", which, joinUnique(stated))) + "\n"
}

// withExperiments adds the name of each row's experiment.
func withExperiments(t report.Table) report.Table {
	t.Columns = append(t.Columns, report.Column{Name: "experiment"})
	for i, r := range t.Rows {
		k := slices.IndexFunc(DefaultRows(), func(e *Experiment) bool { return e.Stranger.Row == r.Cells[0].String() })
		t.Rows[i].Cells = append(r.Cells, report.TextCell(DefaultRows()[k].Name))
	}
	return t
}

// easyRows are the lines of the table of the defaults in which easy positives were trained
// with, and their columns.
func easyRows(t report.Table) report.Table {
	easy := selectColumns(t, 0, 2, 7, 8, 9)
	name := ""
	var kept []report.Row
	for _, r := range easy.Rows {
		if text := r.Cells[0].String(); text != "" {
			name = text
		}
		if r.Cells[2].String() != "" {
			r.Cells[0] = report.TextCell(name)
			kept = append(kept, r)
			name = ""
		}
	}
	easy.Rows = kept
	return easy
}

// selectColumns is the table with the columns at some positions.
func selectColumns(t report.Table, at ...int) report.Table {
	part := report.Table{}
	for _, k := range at {
		part.Columns = append(part.Columns, t.Columns[k])
	}
	for _, r := range t.Rows {
		var cells []report.Cell
		for _, k := range at {
			cells = append(cells, r.Cells[k])
		}
		part.Rows = append(part.Rows, report.Row{Cells: cells})
	}
	return part
}

// withoutBlank leaves out the columns that have nothing in any row.
func withoutBlank(t report.Table) report.Table {
	var at []int
	for k := range t.Columns {
		if slices.ContainsFunc(t.Rows, func(r report.Row) bool { return r.Cells[k].String() != "" }) {
			at = append(at, k)
		}
	}
	return selectColumns(t, at...)
}

// furtherSettings lists what was set in the rows beyond their data.
func furtherSettings(rows []*Outcome) []string {
	var sets []string
	for _, out := range rows {
		if set := strings.Join(out.Set, ", "); set != "" && !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	return sets
}

// isQuick reports whether a row ran in a size that only checks that everything works.
func (out *Outcome) isQuick() bool {
	return out.Scale != "" && out.Scale != out.e.Scales[0].Name || out.Fast
}

// remarks say in what a row is not whole, and what else was set.
func (out *Outcome) remarks() []string {
	var texts []string
	if out.isQuick() {
		texts = append(texts, "Run in its quick size, which does not show what the defaults give")
	}
	if len(out.Set) > 0 {
		texts = append(texts, fmt.Sprintf("Also set (`%s`)", strings.Join(out.Set, "`, `")))
	}
	if left := out.missingArms(); left != nil {
		texts = append(texts, fmt.Sprintf("Not run (%s)", strings.Join(left, "; ")))
	}
	return texts
}
