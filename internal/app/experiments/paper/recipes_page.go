package paper

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// recipesTable has a line for each measure of each row. A row that did not run has only its name.
func recipesTable(outcomes []*Outcome) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trained on"}, {Name: "data set"}, {Name: "of the test part"},
		{Name: "untrained"}, {Name: "kindred"}}}
	for _, r := range recipes() {
		t.Columns = append(t.Columns, report.Column{Name: r.arm})
	}
	for _, r := range recipes() {
		t.Columns = append(t.Columns, report.Column{Name: "kindred over " + r.arm})
	}
	rows := rowOutcomes(RecipesTable, outcomes)
	for i, e := range TableRows(RecipesTable) {
		out := rows[i]
		if out == nil {
			cells := []report.Cell{report.TextCell(e.Stranger.Row), report.TextCell(e.Dataset.Title),
				report.TextCell("not run")}
			for len(cells) < len(t.Columns) {
				cells = append(cells, report.BlankCell())
			}
			t.Rows = append(t.Rows, report.Row{Cells: cells})
			continue
		}
		for k, m := range e.Measures {
			cells := []report.Cell{report.BlankCell(), report.BlankCell()}
			if k == 0 {
				cells = []report.Cell{report.TextCell(e.Stranger.Row), report.TextCell(out.Data.On)}
			}
			cells = append(cells, report.TextCell(m.Name+" of "+m.Group), out.cell(untrainedArm, k),
				out.cell(kindredArm, k))
			for _, r := range recipes() {
				cells = append(cells, out.cell(r.arm, k))
			}
			for _, r := range recipes() {
				cells = append(cells, out.gainOver(m.Key, kindredArm, r.arm))
			}
			t.Rows = append(t.Rows, report.Row{Cells: cells})
		}
	}
	return t
}

// timesTable lists how long the runs of the table of recipes took and which epochs they kept.
func timesTable(outcomes []*Outcome) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trained on"}, {Name: "minutes each"}, {Name: "trained by"},
		{Name: "image side, px"}, {Name: "steps"}, {Name: "epoch kept, of"}, {Name: "a run"}, {Name: "by"}}}
	for _, out := range rowOutcomes(RecipesTable, outcomes) {
		if out == nil {
			continue
		}
		head := []report.Cell{report.TextCell(out.e.Stranger.Row), report.TextCell(fmt.Sprint(out.Minutes))}
		for _, a := range out.Arms {
			if a.Name == untrainedArm || len(a.Settled) == 0 {
				continue
			}
			var sizes, steps, kept, peers []string
			took := 0.0
			for _, s := range a.Settled {
				sizes, steps = append(sizes, fmt.Sprint(s.Size)), append(steps, fmt.Sprint(s.Steps))
				kept = append(kept, fmt.Sprintf("%d of %d", s.Kept, s.Epochs))
				peers = append(peers, s.Peer)
				took += s.Seconds
			}
			mean := time.Duration(took / float64(len(a.Settled)) * float64(time.Second))
			t.Rows = append(t.Rows, report.Row{Cells: append(head, report.TextCell(a.Name),
				report.TextCell(joinUnique(sizes)),
				report.TextCell(joinUnique(steps)), report.TextCell(joinUnique(kept)),
				report.TextCell(report.FormatDuration(mean)), report.TextCell(joinUnique(peers)))})
			head = []report.Cell{report.BlankCell(), report.BlankCell()}
		}
	}
	return t
}

// recipesSection is the section on the recipes of other toolkits in the page of the defaults.
func recipesSection(outcomes []*Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
## Beside the recipes of others

    kindred reproduce recipes --peer bench/recipes.py --minutes 10 --set network.pretrained=model.onnx
    kindred reproduce document --from reports/recipes

%[1]skindred%[1]s is %[1]skindred train%[1]s, stopped after that many minutes of two cores and ended by %[1]s--finish%[1]s. The recipes train
the same ONNX network in PyTorch with the numbers of their toolkits' examples
([bench/recipes.py](../../bench/recipes.py) names them):

- **Multi-similarity** (pytorch-metric-learning): the loss with its miner, a linear layer of 64 values on the features,
  Adam at 1e-5 for the network and 1e-4 for the layer, 4 images of each of 8 classes in a batch.
- **Multi-similarity on the features**: without the layer, and with Adam at 1e-4.
- **Hard triplets** (open-metric-learning): the hardest triplets, margin 0.15, Adam at 1e-4, 4 images of each of 16
  classes.
- **ArcFace** (open-metric-learning): m 0.4, s 64, Adam at 1e-4, batches of 128 in random order.

All have the division, the image size and the validation images of kindred, whose rule ([training.md](../training.md))
chooses the epoch. The recipes get the images ready in memory and augment them by mirroring and a random crop (at least
16 %% of the area, for open-metric-learning 20 %%). The minutes include every evaluation except the last; kindred's also
include reading the images. The run ends with an error if the script's embeddings before training differ from kindred's
(cosine below 0.999).

`, "`")
	rows := slices.DeleteFunc(rowOutcomes(RecipesTable, outcomes), func(out *Outcome) bool { return out == nil })
	t := recipesTable(rows)
	var left []string
	t.Rows = slices.DeleteFunc(t.Rows, func(r report.Row) bool {
		if r.Cells[2].String() != "not run" {
			return false
		}
		left = append(left, r.Cells[0].String())
		return true
	})
	b.WriteString(withoutBlank(t).Markdown())
	if left != nil {
		fmt.Fprintf(&b, "\nNot run: %s.\n", strings.Join(left, "; "))
	}
	if times := timesTable(rows); len(times.Rows) > 0 {
		var peers []string
		for _, r := range times.Rows {
			if p := r.Cells[7].String(); p != "" && !slices.Contains(peers, p) {
				peers = append(peers, p)
			}
		}
		fmt.Fprintf(&b, "\n%s\n\n%s", paragraph("The runs by seed, and how long one took until its network was chosen "+
			"(recipes: "+strings.Join(peers, "; ")+"):"), selectColumns(times, 0, 1, 2, 3, 4, 5, 6).Markdown())
	}
	for _, out := range rows {
		text := fmt.Sprintf("`%s`: of the statements that kindred train is above a recipe in %s of %s (p corrected "+
			"for all rows), %s.",
			out.Experiment, out.e.Measures[0].Name, out.e.Measures[0].Group, out.tally())
		for _, remark := range out.remarks() {
			text += " " + remark + "."
		}
		fmt.Fprintf(&b, "\n%s\n", paragraph(text))
	}
	return b.String()
}
