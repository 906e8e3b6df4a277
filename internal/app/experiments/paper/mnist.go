package paper

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/maps"
	"github.com/kindred-ml/kindred/run"
)

// drawMNIST draws the paper's figure 2 for the first seed: both embeddings of the test
// pictures, coloured by digit, and their diagnosis.
func drawMNIST(ctx context.Context, out *Outcome, shown *Illustrations) error {
	section := report.Section{Title: "The two embeddings"}
	album := out.album(ctx)
	defer album.Close()
	for _, part := range []struct {
		set                  run.Set
		file, title, caption string
	}{
		{run.SeenSet, "figure2", "digits 0-5", "After the paper's figure 2: test pictures of the digits 0-5, " +
			"coloured by digit. Training knew only their parity."},
		{run.TestSet, "unseen", "digits 6-9", "Test pictures of the digits 6-9, which training never saw."},
	} {
		caption := fmt.Sprintf("%s Seed %d of %d.", part.caption, out.Seeds[0], len(out.Seeds))
		section.Blocks = append(section.Blocks, report.Text(caption))
		var panels []figure.Figure
		for _, a := range out.Arms {
			r := a.Runs[0]
			m, err := readMap(filepath.Join(out.o.Dir, r.Folder), part.set)
			if err != nil {
				return err
			}
			m.Title = a.Name + ", " + part.title
			m.Caption = fmt.Sprintf("%s, seed %d: %d test pictures.", a.Name, r.Seed, len(m.X))
			panels = append(panels, figure.Scatter{Axes: figure.Axes{Title: m.Title, Bare: true}, X: m.X, Y: m.Y,
				Class: m.Columns[0].Class, Names: m.Columns[0].Names, Label: true})
			if err := album.AddThumbs(ctx, &m); err != nil {
				return err
			}
			section.Blocks = append(section.Blocks, m)
		}
		shown.add(part.file, caption, figure.PanelRow(panels...))
	}
	told, err := out.diagnosis(ctx, run.SeenSet,
		"Test pictures of the digits 0-5, first seed. The classes are even and odd. If a digit is found within its "+
			"parity, the samples of the class are ordered by digit.", "Triplet", "Trip+EPS")
	if err != nil {
		return err
	}
	shown.Sections = append(shown.Sections, section, told)
	return nil
}

// readMap reads two-dimensional embeddings with their fine labels as a map.
func readMap(folder string, set run.Set) (report.Map, error) {
	l, err := readKept(folder, set)
	if err != nil {
		return report.Map{}, err
	}
	if l, err = l.Select("label"); err != nil {
		return report.Map{}, fmt.Errorf("%s: %w", folder, err)
	}
	if l.X.Cols != 2 {
		return report.Map{}, fmt.Errorf("%s: %d dimensions, a picture of the plane needs 2", folder, l.X.Cols)
	}
	var x, y []float64
	for i := range l.X.Rows {
		x, y = append(x, float64(l.X.At(i, 0))), append(y, float64(l.X.At(i, 1)))
	}
	return maps.NewMap(l, x, y), nil
}
