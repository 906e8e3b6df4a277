package paper

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/app/page/report"
)

// recipesTable has a line for each measure of each row. A row that did not run has its name
// alone.
func recipesTable(outcomes []*Outcome) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trained on"}, {Name: "data set"}, {Name: "of the test part"},
		{Name: "untrained"}, {Name: "kindred"}}}
	for _, r := range recipes() {
		t.Columns = append(t.Columns, report.Column{Name: r.arm})
	}
	for _, r := range recipes() {
		t.Columns = append(t.Columns, report.Column{Name: "kindred over " + r.arm})
	}
	rows := rowsOf(RecipesTable, outcomes)
	for i, e := range Rows(RecipesTable) {
		out := rows[i]
		if out == nil {
			cells := []report.Cell{report.T(e.Stranger.Row), report.T(e.Dataset.Title), report.T("not run")}
			for len(cells) < len(t.Columns) {
				cells = append(cells, report.Blank())
			}
			t.Rows = append(t.Rows, report.Row{Cells: cells})
			continue
		}
		for k, m := range e.Measures {
			cells := []report.Cell{report.Blank(), report.Blank()}
			if k == 0 {
				cells = []report.Cell{report.T(e.Stranger.Row), report.T(out.Data.On)}
			}
			cells = append(cells, report.T(m.Name+" of "+m.Group), out.cell(untrainedArm, k), out.cell(kindredArm, k))
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

// timesTable says how long the runs of the table of recipes took and which epochs they kept.
func timesTable(outcomes []*Outcome) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "trained on"}, {Name: "minutes each"}, {Name: "trained by"},
		{Name: "image side, px"}, {Name: "steps"}, {Name: "epoch kept, of"}, {Name: "a run"}, {Name: "by"}}}
	for _, out := range rowsOf(RecipesTable, outcomes) {
		if out == nil {
			continue
		}
		head := []report.Cell{report.T(out.e.Stranger.Row), report.T(fmt.Sprint(out.Minutes))}
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
			t.Rows = append(t.Rows, report.Row{Cells: append(head, report.T(a.Name), report.T(once(sizes)),
				report.T(once(steps)), report.T(once(kept)), report.T(report.Duration(mean)), report.T(once(peers)))})
			head = []report.Cell{report.Blank(), report.Blank()}
		}
	}
	return t
}

// recipesSection is what the page of the defaults says of the recipes of others.
func recipesSection(outcomes []*Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
## Beside the recipes of others

    kindred reproduce recipes --peer bench/recipes.py --minutes 10 --set network.pretrained=model.onnx
    kindred reproduce document --from reports/recipes

%[1]skindred%[1]s is what %[1]skindred train%[1]s makes of a set in so many minutes of two cores: it is then stopped
and ended by %[1]s--finish%[1]s. The recipes train the same ONNX network in PyTorch with the numbers of their
toolkits' examples, as a user would copy them; the losses are written from the papers
([bench/recipes.py](../../bench/recipes.py) names the examples):

- **Multi-similarity**, of pytorch-metric-learning: the multi-similarity loss with its miner, a linear layer of 64
  values on the features, Adam at 1e-5 for the network and 1e-4 for the layer, 4 images of each of 8 classes in a
  batch.
- **Multi-similarity on the features**: the same without the layer, which begins at random, and with Adam at 1e-4.
- **Hard triplets**, of open-metric-learning: the triplet loss over the hardest triplets with margin 0.15, Adam at
  1e-4, 4 images of each of 16 classes in a batch.
- **ArcFace**, of open-metric-learning: m 0.4, s 64, Adam at 1e-4, batches of 128 in random order.

All have the division and the image size that kindred chose. The recipes get the images at that size, ready in
memory, and change them in training by a random crop (16 %% of the area or more, in the recipes of
open-metric-learning 20 %% or more) and by mirroring. What is kept is chosen by the rule of %[1]skindred train%[1]s
([training.md](../training.md)) and the same validation images: the epoch with the highest margin, or else the
untrained network at its own image size. The minutes begin when the images and the network are ready, with the score
of the untrained network, and include every evaluation but the last; kindred's also include reading the images.
Measuring the image size is outside of them, as the recipes get the result. None looks at the test part meanwhile,
but that kindred scores two images of each class, which decide nothing. One function scores all by cosine. The run
ends with an error if the script's embeddings before training are not kindred's (cosine below 0.999).

`, "`")
	rows := slices.DeleteFunc(rowsOf(RecipesTable, outcomes), func(out *Outcome) bool { return out == nil })
	fmt.Fprintf(&b, "%s\n", recipesTable(rows).Markdown())
	if times := timesTable(rows); len(times.Rows) > 0 {
		fmt.Fprintf(&b, "\nThe runs, by seed, and how long one took until its network was chosen:\n\n%s\n",
			times.Markdown())
	}
	for _, out := range rows {
		fmt.Fprintf(&b, "\n**%s** (`%s`).%s\n\n", out.e.Stranger.Row, out.Experiment, out.remarks())
		for _, c := range out.Claims {
			fmt.Fprintf(&b, "- **%s** %s\n", c.Verdict, c.line())
		}
	}
	return b.String()
}
