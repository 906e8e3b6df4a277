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

	"github.com/kindred-ml/kindred/app/page/report"
)

// DefaultsPage is the file, in the folder of the reproduction page's results, with the
// table of what the defaults give.
const DefaultsPage = "defaults.md"

// withRows puts the rows' folders in the place of a folder that holds those of a table of
// many sets.
func withRows(dirs []string) ([]string, error) {
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

// RowFolders lists the folders below dir with finished rows of a table of many sets, in its
// order; none if dir holds an experiment itself.
func RowFolders(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, ResultsFile)); err == nil {
		return nil, nil
	}
	var out []string
	for _, e := range append(Rows(DefaultsTable), Rows(RecipesTable)...) { // which may share names
		row := filepath.Join(dir, e.Row())
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

// Tables are those of the named table whose rows' finished folders are below dir, as text.
func Tables(table, dir string) (string, error) {
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
	tables := []report.Table{defaultsTable(rows), settledTable(rows), weightsTable(rows)}
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

// rowsOf finds the outcome of every row of the named table among outcomes: nil for one that
// is not there.
func rowsOf(table string, outcomes []*Outcome) []*Outcome {
	var rows []*Outcome
	for _, e := range Rows(table) {
		k := slices.IndexFunc(outcomes, func(out *Outcome) bool { return out.Experiment == e.Name })
		if k < 0 {
			rows = append(rows, nil)
		} else {
			rows = append(rows, outcomes[k])
		}
	}
	return rows
}

// defaultsTable has a line for each measure of each row. A row that did not run has its
// name alone.
func defaultsTable(outcomes []*Outcome) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trained on"}, {Name: "data set"}, {Name: "of the test part"},
		{Name: "raw pixels"}, {Name: "untrained"}, {Name: "default"}, {Name: "gain"}, {Name: "easy"},
		{Name: "without"}, {Name: "easy over without"}, {Name: "not below untrained"}}}
	rows := rowsOf(DefaultsTable, outcomes)
	for i, e := range Defaults() {
		out := rows[i]
		if out == nil {
			t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.T(e.Stranger.Row),
				report.T(e.Dataset.Title), report.T("not run"), report.Blank(), report.Blank(), report.Blank(),
				report.Blank(), report.Blank(), report.Blank(), report.Blank(), report.Blank()}})
			continue
		}
		for k, m := range e.Measures {
			head := []report.Cell{report.Blank(), report.Blank()}
			if k == 0 {
				head = []report.Cell{report.T(e.Stranger.Row), report.T(out.Data.On)}
			}
			cells := append(head, report.T(m.Name+" of "+m.Group), out.cell(pixelsArm, k), out.cell(untrainedArm, k),
				out.cell(defaultArm, k), out.gain(defaultArm, k), out.cell(easyArm, k), out.cell(plainArm, k),
				out.gain(easyArm, k))
			verdict := report.Blank()
			if k == 0 && len(out.Claims) > 0 {
				verdict = report.T(string(out.Claims[0].Verdict))
			}
			t.Rows = append(t.Rows, report.Row{Cells: append(cells, verdict)})
		}
	}
	return t
}

// cell is a measure of an arm; blank if the outcome lacks it.
func (out *Outcome) cell(arm string, measure int) report.Cell {
	k := out.e.arm(arm)
	if k < 0 {
		return report.Blank()
	}
	return meanStd(out.Arms[k].Measures[measure].Summary)
}

// gain is that of an arm over its baseline; blank if the outcome lacks one of them.
func (out *Outcome) gain(arm string, measure int) report.Cell {
	k := out.e.arm(arm)
	if k < 0 || out.Arms[k].Measures[measure].Gain == nil {
		return report.Blank()
	}
	return report.T(gainText(out.Arms[k].Measures[measure].Gain))
}

// settledTable says what the default runs chose by themselves and how long they took.
func settledTable(outcomes []*Outcome) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trained on"}, {Name: "seeds"}, {Name: "image side, px"},
		{Name: "epoch kept, of"}, {Name: "positives"}, {Name: "a run"}}}
	for _, out := range rowsOf(DefaultsTable, outcomes) {
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
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.T(out.e.Stranger.Row),
			report.Num(float64(len(out.Seeds)), 0), report.T(once(sizes)), report.T(strings.Join(kept, ", ")),
			report.T(once(positives)), report.T(report.Duration(mean))}})
	}
	return t
}

// weightsTable compares what can be kept of one training: the average of the weights,
// which is the default, those of the last step, and a place on the straight line from the
// start. It has the rows in which one of the others ran beside the default.
func weightsTable(outcomes []*Outcome) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trained on"}, {Name: "of the test part"}, {Name: "average"},
		{Name: "last step"}, {Name: "average over last step"}, {Name: "on the line"},
		{Name: "average over line"}}}
	for _, out := range rowsOf(DefaultsTable, outcomes) {
		if out == nil || out.e.arm(defaultArm) < 0 || out.e.arm(lastArm) < 0 && out.e.arm(lineArm) < 0 {
			continue
		}
		for k, m := range out.e.Measures {
			head := report.Blank()
			if k == 0 {
				head = report.T(out.e.Stranger.Row)
			}
			t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{head, report.T(m.Name + " of " + m.Group),
				out.cell(defaultArm, k), out.cell(lastArm, k), out.gainOver(m.Key, defaultArm, lastArm),
				out.cell(lineArm, k), out.gainOver(m.Key, defaultArm, lineArm)}})
		}
	}
	return t
}

// gainOver is what an arm gains over another; blank if one of them did not run.
func (out *Outcome) gainOver(key, arm, other string) report.Cell {
	if out.e.arm(arm) < 0 || out.e.arm(other) < 0 {
		return report.Blank()
	}
	gain := out.ahead(key, arm, other)
	return report.T(gainText(&gain))
}

// once joins texts, or is the one that all of them are.
func once(texts []string) string {
	if len(slices.Compact(slices.Clone(texts))) == 1 {
		return texts[0]
	}
	return strings.Join(texts, ", ")
}

// defaultsPage is the page of the table of the defaults.
func defaultsPage(outcomes []*Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What a stranger gets

This page is written by %[1]skindred reproduce document%[1]s from the results in [results](results); edits here are lost. It is
the page to look at before a default changes.

    kindred reproduce defaults --set network.pretrained=model.onnx
    kindred reproduce document --from reports/defaults

Each row is what %[1]skindred train%[1]s makes of a set of pictures when nothing is set but the data and, where the row says so,
the label to train with. So the size of the images, the network, the loss, the rate, the length and the validation part are the
defaults'. Photographs start from the network that the command names; other pictures from random weights. %[1]seasy%[1]s is the
same with %[1]smine.positives=easy%[1]s, %[1]swithout%[1]s the same with the positives that the loss has if they are not easy
(%[1]sms%[1]s from a pretrained start, %[1]srandom%[1]s from scratch). Grey images from scratch have triplets of one view
in both, where the default has SupCon with spread of two. %[1]suntrained%[1]s trains nothing: photographs are embedded by the
pretrained network as it is, at the image size it was made for, as %[1]skindred embed --network%[1]s does; other pictures by the
random network, and %[1]sraw pixels%[1]s stand beside it. One function scores all, on one test part. Where the default chose the
very positives of %[1]seasy%[1]s or %[1]swithout%[1]s, that column has the default's runs, as the same settings give the same network.

- In per cent: mean ± standard deviation (n - 1) over the seeds; p from a paired t-test over the seeds, not corrected for the
  number of rows.
- The last column is the verdict on "the default is not below the untrained network", by R@1 of what is scored. It holds if the
  default is above with p < 0.05 over at least three seeds, or equal in every one of them; it is contradicted if the default is
  below with p < 0.05; otherwise it is undecided.
- A row runs alone as %[1]skindred reproduce defaults-ROW%[1]s, and a set that is not there is left out. A finished run is kept: once
  a default has changed, give another %[1]s--out%[1]s or remove the row's folder.
- An arm that is run later, in a folder of its own with %[1]s--arm Untrained --arm NAME%[1]s, is kept beside the others if what both
  ran has the same values to the bit.

`, "`")
	rows := slices.DeleteFunc(rowsOf(DefaultsTable, outcomes), func(out *Outcome) bool { return out == nil })
	fmt.Fprintf(&b, "%s\n", defaultsTable(rows).Markdown())
	if settled := settledTable(rows); len(settled.Rows) > 0 {
		fmt.Fprintf(&b, "\nWhat the default runs chose, by seed, and how long one took by the wall's clock on two "+
			"cores that may have had other work too:\n\n%s\n", settled.Markdown())
	}
	if weights := weightsTable(rows); len(weights.Rows) > 0 {
		fmt.Fprintf(&b, "\nWhich weights of a training are kept: their average over three epochs, which is the "+
			"default, those of the last step (`train.average=none`), or the best place on the straight line from the "+
			"start to the average (`train.line=4`). The images that validate choose the epoch of all three, and the "+
			"place:\n\n%s\n", weights.Markdown())
	}
	b.WriteString(recipesSection(outcomes))
	b.WriteString("\n## The rows\n")
	for i, e := range Defaults() {
		fmt.Fprintf(&b, "\n**%s** (`%s`). %s", e.Stranger.Row, e.Name, e.Stranger.about())
		if out := rowsOf(DefaultsTable, outcomes)[i]; out != nil {
			fmt.Fprintf(&b, "%s\n", out.remarks())
			for _, c := range out.Claims {
				fmt.Fprintf(&b, "\n- **%s** %s\n", c.Verdict, c.line())
			}
		} else {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// remarks say in what a row is not the whole one.
func (out *Outcome) remarks() string {
	var b strings.Builder
	if out.Scale != "" && out.Scale != out.e.Scales[0].Name || out.Fast {
		b.WriteString(" Run in its quick size, which says nothing of the defaults.")
	}
	if len(out.Set) > 0 {
		fmt.Fprintf(&b, " Set beside that: %s.", strings.Join(out.Set, ", "))
	}
	if left := out.notRun(); left != nil {
		fmt.Fprintf(&b, " Not run: %s.", strings.Join(left, "; "))
	}
	return b.String()
}
