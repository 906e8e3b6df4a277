package paper

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/app/experiments/theory/field"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// addSecondOrderClaims adds the statements on the second order of the loss.
func (e *Experiment) addSecondOrderClaims() {
	e.Claims = []Claim{{
		Text: "With hard negatives and n = 2 the second order is ahead of the first.",
		Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
			const first, second, key = "EPHN, first order, n = 2", "EPHN, second order, n = 2", "test_recall@1"
			return fmt.Sprintf("R@1 %.1f against %.1f", out.meanPercent(second, key), out.meanPercent(first, key)),
				[]PairedTest{out.compareArms(key, second, first)}
		},
	}, {
		Text: "With n = 2 the first order collapses: its loss stays at log 2, that of triplets whose positive and " +
			"negative are equally alike.",
		Check: checkCollapse("EPHN, first order, n = 2"),
	}, {
		Text:  "With n = 2 the first order moves most triplets to the top right, towards the singular point.",
		Check: checkMostMove("EPHN, first order, n = 2", field.TopRight),
	}, {
		Text:  "With n = 2 the second order moves most triplets to the bottom right.",
		Check: checkMostMove("EPHN, second order, n = 2", field.BottomRight),
	}}
}

// drawExtreme draws figure 6, and how the triplets moved between snapshots (figure 3), for the
// first seed.
func drawExtreme(ctx context.Context, out *Outcome, shown *Illustrations) error {
	var blocks []report.Block
	movements := report.Table{
		Caption: "Where triplets moved between two snapshots, in per cent of those that moved, first seed",
		Columns: []report.Column{{Name: "arm"}, {Name: "epochs"}},
		Note: "The paper's figure 3: with the first order most of the early movement is to the top right, towards " +
			"the singular point; with the second order it is to the bottom right. A network without pretrained " +
			"weights starts at the singular point itself, so triplets leave it to the bottom left first.",
	}
	for _, d := range field.Directions() {
		movements.Columns = append(movements.Columns, report.Column{Name: d.String()})
	}
	for i, arm := range []string{"EPHN, first order, n = 2", "EPHN, second order, n = 2", "EPHN, first order, n = 8",
		"EPHN, second order, n = 8"} {
		folder := out.runFolder(arm)
		if folder == "" {
			continue
		}
		snaps, err := readSnapshots(ctx, folder)
		if err != nil {
			return fmt.Errorf("the triplets of %s: %w", arm, err)
		}
		steps := report.Steps{Caption: arm + ": nearest positive and nearest negative of every anchor among the kept " +
			"training images, first seed.", Start: -1}
		var panels []figure.Figure
		for j, s := range snaps {
			f := s.figure(fmt.Sprintf("%s, epoch %d", arm, s.epoch))
			steps.Frames = append(steps.Frames, report.Frame{Name: fmt.Sprintf("epoch %d", s.epoch), Figure: f})
			panels = append(panels, f)
			if j > 0 {
				row, err := movementRow(arm, snaps[j-1], s)
				if err != nil {
					return err
				}
				movements.Rows = append(movements.Rows, row)
			}
		}
		blocks = append(blocks, steps)
		shown.add(fmt.Sprintf("scatter%d", i+1), steps.Caption, figure.PanelRow(panels...))
	}
	shown.Sections = append(shown.Sections,
		report.Section{Title: "Triplets over training", Blocks: append(blocks, movements)})
	return nil
}

// snapshot holds the kept training embeddings of an epoch, with the nearest positive and negative
// of each.
type snapshot struct {
	epoch   int
	x       *matrix.Dense
	scatter field.Scatter
}

func readSnapshots(ctx context.Context, folder string) ([]*snapshot, error) {
	f, err := run.Open(folder)
	if err != nil {
		return nil, err
	}
	snaps, err := f.Snapshots(run.TrainSet)
	if err != nil {
		return nil, err
	}
	var out []*snapshot
	for _, kept := range snaps {
		t, err := kept.Embeddings()
		if err != nil {
			return nil, err
		}
		if t, err = t.Coarse("", ""); err != nil {
			return nil, fmt.Errorf("%s: %w", kept.Path(), err)
		}
		s, err := newSnapshot(ctx, kept.Epoch, t.X, t.Labels()[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kept.Path(), err)
		}
		out = append(out, s)
	}
	return out, nil
}

func newSnapshot(ctx context.Context, epoch int, x *matrix.Dense, labels []int64) (*snapshot, error) {
	anchors := make([]int, x.Rows)
	for i := range anchors {
		anchors[i] = i
	}
	scatter, err := field.Nearest(ctx, x, labels, anchors)
	return &snapshot{epoch, x, scatter}, err
}

// tripletMoves returns where the triplets of one snapshot were in the next one.
func tripletMoves(before, after *snapshot) (field.Moves, error) {
	then, err := before.scatter.At(after.x)
	if err != nil {
		return field.Moves{}, err
	}
	return field.CompareMoves(before.scatter, then), nil
}

// figure draws the triplets.
func (s *snapshot) figure(title string) figure.Triplets {
	return figure.Triplets{Axes: figure.Axes{Title: title, X: "S_ap", Y: "S_an"}, AP: s.scatter.AP, AN: s.scatter.AN}
}

// checkCollapse checks that the loss of the last epoch is within 0.01 of log 2.
func checkCollapse(arm string) func(context.Context, *Outcome) (string, []PairedTest) {
	return func(_ context.Context, out *Outcome) (string, []PairedTest) {
		text := "Loss of the last epoch by seed:"
		var within []Number
		for _, r := range out.Arms[out.e.arm(arm)].Runs {
			loss := r.History[len(r.History)-1].MeanLoss()
			within = append(within, Number(0.01-math.Abs(loss-math.Ln2)))
			text += fmt.Sprintf(" %.4f", loss)
		}
		return text + fmt.Sprintf("; to be within 0.01 of log 2, %.4f", math.Ln2), []PairedTest{boundTest(within, 0)}
	}
}

// checkMostMove checks that more triplets move in one direction than in all others together, as the mean
// over a run's snapshots, seed by seed.
func checkMostMove(arm string, direction field.Direction) func(context.Context, *Outcome) (string, []PairedTest) {
	return func(ctx context.Context, out *Outcome) (string, []PairedTest) {
		var mean [4]float64 // in per cent, by direction
		var shares []Number
		runs := out.Arms[out.e.arm(arm)].Runs
		for _, r := range runs {
			snaps, err := readSnapshots(ctx, filepath.Join(out.o.Dir, r.Folder))
			if err != nil {
				return err.Error(), nil
			}
			var own [4]float64
			for i := 1; i < len(snaps); i++ {
				m, err := tripletMoves(snaps[i-1], snaps[i])
				if err != nil {
					return err.Error(), nil
				}
				for d := range own {
					own[d] += 100 * m.Share(field.Direction(d)) / float64(len(snaps)-1)
				}
			}
			shares = append(shares, Number(own[direction]))
			for d := range mean {
				mean[d] += own[d] / float64(len(runs))
			}
		}
		return fmt.Sprintf("Top right %.0f %%, top left %.0f %%, bottom left %.0f %%, bottom right %.0f %% of the "+
			"movements between snapshots, to be above 50 %%", mean[field.TopRight], mean[field.TopLeft],
			mean[field.BottomLeft], mean[field.BottomRight]), []PairedTest{boundTest(shares, 50)}
	}
}

// movementRow is the row of the table for one step between snapshots.
func movementRow(arm string, before, after *snapshot) (report.Row, error) {
	m, err := tripletMoves(before, after)
	row := report.Row{Cells: []report.Cell{report.TextCell(arm),
		report.TextCell(fmt.Sprintf("%d to %d", before.epoch, after.epoch))}}
	for _, d := range field.Directions() {
		row.Cells = append(row.Cells, report.NumberCell(100*m.Share(d), 0))
	}
	return row, err
}
