package paper

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/internal/report"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/run"
)

// extremeBatch is the batch of the experiment: 96 has a whole number of classes
// for every n and fits a training set of 50 classes.
const extremeBatch = 96

// Extreme is figures 3, 4 and 6 of Xuan et al. 2020.
func Extreme() *Experiment {
	e := photos("extreme", birds(), "First and second order with hard negatives", xuan+"section 6, figures 3, 4 and 6",
		"With few samples per class in the batch, the one positive is often far away and the hardest negative near. "+
			"In that case the first-order loss drives triplets towards the singular point where everything is alike "+
			"(S_ap = S_an = 1); "+
			"the second-order loss weights its gradients so that the negative is pushed away first. "+
			"Shown on the triplet scatter diagram over the course of training, and as Recall@1 against n, the number "+
			"of samples per class in a batch.",
		photoScales(append(xuanPaper("0.0025"), "network.dim=512")...), nil)
	e.Scales[0].Set = append(e.Scales[0].Set, "train.epochs=8", "eval.every=2")
	e.Tuning = "The size of the network and of the images were chosen so that the collapse of the first order, one " +
		"of the paper's statements below, shows within minutes. " + photosTuning
	e.Base = append(e.Base, "eval.train=400", "eval.keep=true")
	e.Sweep = &Sweep{X: "samples of a class in the batch, n",
		Caption: fmt.Sprintf("After the paper's figure 4. The batch has %d images.", extremeBatch)}
	e.Fast = photoFast
	for _, order := range []struct{ name, loss string }{{"first order", "nca"}, {"second order", "nca2"}} {
		for _, neg := range []struct{ name, policy string }{{"EPHN", "hard"}, {"EPSHN", "semihard"}} {
			for _, n := range []int{2, 4, 8, 16} {
				series := neg.name + ", " + order.name
				a := Arm{
					Name: fmt.Sprintf("%s, n = %d", series, n), Series: series, At: float64(n),
					Set: []string{
						"loss.name=" + order.loss, "mine.positives=easy", "mine.negatives=" + neg.policy,
						fmt.Sprintf("sample.classes=%d", extremeBatch/n), fmt.Sprintf("sample.per_class=%d", n),
					},
				}
				if order.loss == "nca2" {
					a.Baseline = fmt.Sprintf("%s, first order, n = %d", neg.name, n)
				}
				e.Arms = append(e.Arms, a)
			}
		}
	}
	e.Claims = []Claim{{
		Text: "With hard negatives and n = 2 the second order is ahead of the first.",
		Check: func(out *Outcome) (string, []Paired) {
			const first, second, key = "EPHN, first order, n = 2", "EPHN, second order, n = 2", "test_recall@1"
			return fmt.Sprintf("R@1 %.1f against %.1f", out.mean(second, key), out.mean(first, key)),
				[]Paired{out.ahead(key, second, first)}
		},
	}, {
		Text: "With n = 2 the first order collapses: its loss stays at log 2, that of triplets whose positive and " +
			"negative are equally alike.",
		Check: collapses("EPHN, first order, n = 2"),
	}, {
		Text:  "With n = 2 the first order moves most triplets to the top right, towards the singular point.",
		Check: mostMove("EPHN, first order, n = 2", topRight),
	}, {
		Text:  "With n = 2 the second order moves most triplets to the bottom right.",
		Check: mostMove("EPHN, second order, n = 2", bottomRight),
	}}
	// The arms set the batch, so no scale may.
	for i := range e.Scales {
		e.Scales[i].Set = withoutBatch(e.Scales[i].Set)
	}
	e.Pictures = extremePictures
	return e
}

func withoutBatch(set []string) []string {
	var out []string
	for _, s := range set {
		if !strings.HasPrefix(s, "sample.") {
			out = append(out, s)
		}
	}
	return out
}

// extremePictures draws figure 6, and how triplets moved between snapshots
// (figure 3), of the first seed.
func extremePictures(ctx context.Context, out *Outcome, shown *Shown) error {
	var blocks []report.Block
	moved := report.Table{
		Caption: "Where triplets moved between two snapshots, in per cent of those that moved, first seed",
		Columns: []report.Column{{Name: "arm"}, {Name: "epochs"}, {Name: "top right"}, {Name: "top left"},
			{Name: "bottom left"}, {Name: "bottom right"}},
		Note: "The paper's figure 3: with the first order most of the early movement is to the top right, towards " +
			"the singular point; with the second order it is to the bottom right. A network without pretrained " +
			"weights starts at the singular point itself, so whatever leaves it must first go to the bottom left.",
	}
	for i, arm := range []string{"EPHN, first order, n = 2", "EPHN, second order, n = 2", "EPHN, first order, n = 8",
		"EPHN, second order, n = 8"} {
		folder := out.runFolder(arm)
		if folder == "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the triplets of %s: %w", arm, err)
		}
		snaps, err := readSnapshots(folder)
		if err != nil {
			return err
		}
		steps := report.Steps{Caption: arm + ": nearest positive and nearest negative of every anchor among the kept " +
			"training images, first seed.", Start: -1}
		var panels []report.Figure
		for j, s := range snaps {
			f := s.scatter(fmt.Sprintf("%s, epoch %d", arm, s.epoch))
			steps.Frames = append(steps.Frames, report.Frame{Name: fmt.Sprintf("epoch %d", s.epoch), Figure: f})
			panels = append(panels, f)
			if j > 0 {
				moved.Rows = append(moved.Rows, movement(arm, snaps[j-1], s))
			}
		}
		blocks = append(blocks, steps)
		shown.add(fmt.Sprintf("scatter%d", i+1), steps.Caption, report.Beside(panels...))
	}
	shown.Sections = append(shown.Sections,
		report.Section{Title: "Triplets over training", Blocks: append(blocks, moved)})
	return nil
}

// snapshot is the kept training embeddings after an epoch, on the unit sphere.
type snapshot struct {
	epoch  int
	s      *mat.Dense // similarities of all pairs
	labels []int64
}

func readSnapshots(folder string) ([]*snapshot, error) {
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
		s := &snapshot{epoch: kept.Epoch, s: mat.New(t.X.Rows, t.X.Rows), labels: t.Labels()[0]}
		mat.Gemm(false, true, 1, t.X, t.X, 0, s.s)
		out = append(out, s)
	}
	return out, nil
}

// triplet returns the anchor's nearest positive and nearest negative.
func (s *snapshot) triplet(a int) (pos, neg int, ok bool) {
	pos, neg = -1, -1
	for j, v := range s.s.Row(a) {
		switch {
		case j == a:
		case s.labels[j] == s.labels[a] && (pos < 0 || v > s.s.At(a, pos)):
			pos = j
		case s.labels[j] != s.labels[a] && (neg < 0 || v > s.s.At(a, neg)):
			neg = j
		}
	}
	return pos, neg, pos >= 0 && neg >= 0
}

func (s *snapshot) scatter(title string) report.Triplets {
	f := report.Triplets{Axes: report.Axes{Title: title, X: "S_ap", Y: "S_an"}}
	for a := range s.labels {
		if p, n, ok := s.triplet(a); ok {
			f.AP, f.AN = append(f.AP, float64(s.s.At(a, p))), append(f.AN, float64(s.s.At(a, n)))
		}
	}
	return f
}

// Directions of movement on the scatter diagram, as moves counts them.
const (
	topRight = iota
	topLeft
	bottomLeft
	bottomRight
	directions
)

// collapses checks that the loss of the last epoch is within 0.01 of log 2.
func collapses(arm string) func(*Outcome) (string, []Paired) {
	return func(out *Outcome) (string, []Paired) {
		text := "Loss of the last epoch by seed:"
		var within []Number
		for _, r := range out.Arms[out.e.arm(arm)].Runs {
			loss := r.History[len(r.History)-1].MeanLoss()
			within = append(within, Number(0.01-math.Abs(loss-math.Ln2)))
			text += fmt.Sprintf(" %.4f", loss)
		}
		return text + fmt.Sprintf("; to be within 0.01 of log 2, %.4f", math.Ln2), []Paired{against(within, 0)}
	}
}

// mostMove checks that more triplets move in one direction than in all others
// together, on the mean over a run's snapshots, seed by seed.
func mostMove(arm string, direction int) func(*Outcome) (string, []Paired) {
	return func(out *Outcome) (string, []Paired) {
		var mean [directions]float64
		var shares []Number
		runs := out.Arms[out.e.arm(arm)].Runs
		for _, r := range runs {
			snaps, err := readSnapshots(filepath.Join(out.o.Dir, r.Folder))
			if err != nil {
				return err.Error(), nil
			}
			var moved [directions]float64
			for i := 1; i < len(snaps); i++ {
				for d, share := range moves(snaps[i-1], snaps[i]) {
					moved[d] += share / float64(len(snaps)-1)
				}
			}
			shares = append(shares, Number(moved[direction]))
			for d := range mean {
				mean[d] += moved[d] / float64(len(runs))
			}
		}
		return fmt.Sprintf("Top right %.0f %%, top left %.0f %%, bottom left %.0f %%, bottom right %.0f %% of the "+
			"movements between snapshots, to be above 50 %%",
			mean[topRight], mean[topLeft], mean[bottomLeft], mean[bottomRight]), []Paired{against(shares, 50)}
	}
}

// movement is the row of the table for one step between snapshots.
func movement(arm string, before, after *snapshot) report.Row {
	row := report.Row{Cells: []report.Cell{report.T(arm), report.T(fmt.Sprintf("%d to %d", before.epoch, after.epoch))}}
	for _, share := range moves(before, after) {
		row.Cells = append(row.Cells, report.Num(share, 0))
	}
	return row
}

// moves counts in which direction the triplets of one snapshot had moved by the
// next, in per cent of those that did.
func moves(before, after *snapshot) (count [directions]float64) {
	total := 0.0
	for a := range before.labels {
		p, n, ok := before.triplet(a)
		if !ok {
			continue
		}
		dp, dn := after.s.At(a, p)-before.s.At(a, p), after.s.At(a, n)-before.s.At(a, n)
		if dp == 0 && dn == 0 {
			continue
		}
		total++
		switch {
		case dp >= 0 && dn >= 0:
			count[topRight]++
		case dp < 0 && dn >= 0:
			count[topLeft]++
		case dp < 0:
			count[bottomLeft]++
		default:
			count[bottomRight]++
		}
	}
	for d := range count {
		count[d] *= 100 / max(total, 1)
	}
	return count
}
