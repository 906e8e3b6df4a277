package paper

import (
	"context"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/image/draw"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/internal/compute/detection"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// labelNoise says how labels are made wrong: a share of them, drawn at random.
type labelNoise struct {
	share float64
	// alike gives an item the label of one of the two classes whose means are nearest to its own
	// class's, instead of any other class.
	alike bool
}

// String is "10 % at random" or "10 % to look-alikes".
func (n labelNoise) String() string {
	how := "at random"
	if n.alike {
		how = "to look-alikes"
	}
	return fmt.Sprintf("%g %% %s", 100*n.share, how)
}

// apply changes labels of a number of classes, and returns which.
func (n labelNoise) apply(labels []int64, classes int, alike [][]int, seed uint64) (noisy []int64, wrong []bool) {
	rng := rand.New(rand.NewPCG(seed, 0x3a6e))
	noisy, wrong = slices.Clone(labels), make([]bool, len(labels))
	for _, i := range rng.Perm(len(labels))[:int(math.Round(n.share*float64(len(labels))))] {
		y := labels[i]
		if n.alike {
			noisy[i] = int64(alike[y][rng.IntN(len(alike[y]))])
		} else {
			noisy[i] = (y + 1 + rng.Int64N(int64(classes-1))) % int64(classes)
		}
		wrong[i] = true
	}
	return noisy, wrong
}

// untrainedFeatures are the features of training samples before any training: those of the pretrained network,
// or the pictures in 16 x 16 greys.
func (m *material) untrainedFeatures(ctx context.Context) (*matrix.Dense, error) {
	if m.cfg.Network.Pretrained != "" {
		model, err := importNetwork(ctx, m.cfg.Network.Pretrained, pretrainedInput(m.cfg.Data))
		if err != nil {
			return nil, err
		}
		model.Cache, _ = home.Features()
		e, err := model.EmbedPart(ctx, m.train)
		if err != nil {
			return nil, err
		}
		return eval.NormalizeRows(e.X), nil
	}
	const side = 16
	names := make([]string, m.train.Len())
	for p, i := range m.train.Index {
		names[p] = m.set.Names[i]
	}
	read, err := photo.NewReader(ctx, m.set, names)
	if err != nil {
		return nil, err
	}
	x := matrix.New(len(names), side*side)
	small := image.NewGray(image.Rect(0, 0, side, side))
	for i := range names {
		im, err := read(i)
		if err != nil {
			return nil, err
		}
		draw.BiLinear.Scale(small, small.Bounds(), im, im.Bounds(), draw.Src, nil)
		for j, v := range small.Pix {
			x.Row(i)[j] = float32(v) / 255
		}
	}
	return x, nil
}

// pretrainedInput prepares pictures for a pretrained network without training.
func pretrainedInput(d run.DataConfig) run.DataConfig { return run.DataConfig{Size: d.Size} }

// noisyMaterial is material with wrong labels.
type noisyMaterial struct {
	*material
	classes []string
	truth   []int64 // by position in train
	wrong   []bool
}

func (m *material) addNoise(ctx context.Context, n labelNoise) (*noisyMaterial, error) {
	truth, classes := renumberLabels(m.train.Label, m.train.LabelClasses)
	x, err := m.untrainedFeatures(ctx)
	if err != nil {
		return nil, err
	}
	if x.Rows != len(truth) {
		return nil, fmt.Errorf("%d of %d samples could not be read", len(truth)-x.Rows, len(truth))
	}
	y := make([]int, len(truth))
	for i, c := range truth {
		y[i] = int(c)
	}
	noisy, wrong := n.apply(truth, len(classes), detection.ConfusableClasses(x, y, len(classes), 2), m.cfg.Train.Seed)
	out, err := m.withLabels("labels with mistakes", noisy, classes)
	return &noisyMaterial{out, classes, truth, wrong}, err
}

// renumberLabels renumbers the occurring labels from 0.
func renumberLabels(labels []int64, names []string) (of []int64, classes []string) {
	number := map[int64]int64{}
	for _, y := range labels {
		if _, ok := number[y]; !ok {
			number[y] = int64(len(classes))
			classes = append(classes, names[y])
		}
		of = append(of, number[y])
	}
	return of, classes
}

// labelJudge is a method that finds wrong labels: its name in the keys of scores, and in tables.
type labelJudge struct{ key, name string }

// precision is the key of the method's precision.
func (j labelJudge) precision() string { return "train_" + j.key + "_precision" }

// labelJudges are package clean and the methods that it is compared with.
func labelJudges() []labelJudge {
	return []labelJudge{{"clean", "clean"}, {"neighbours", "neighbours"}, {"confident", "confident learning"}}
}

// scoreJudges scores how well package clean and the other methods find wrong labels.
func (s *noisyMaterial) scoreJudges(ctx context.Context, folds []clean.Fold) ([]train.Metric, error) {
	labels := s.train.Label
	j, err := clean.FindLabelErrors(ctx, labels, clean.Options{Seed: s.cfg.Train.Seed}, folds...)
	if err != nil {
		return nil, err
	}
	neighbours, err := clean.Disagreement(ctx, labels, 0, folds...)
	if err != nil {
		return nil, err
	}
	confident, err := clean.ConfidentLearning(ctx, labels, folds...)
	if err != nil {
		return nil, err
	}
	var out []train.Metric
	for _, by := range []struct {
		name  string
		score []float64
	}{{"clean", j.Raw}, {"neighbours", neighbours}, {"confident", confident}} {
		precision, area := detection.PrecisionAndArea(by.score, s.wrong)
		out = append(out, metrics("train", by.name, map[string]float64{"precision": precision, "auroc": area})...)
	}
	brier, ece := detection.CalibrationError(j.Score, s.wrong)
	return append(out, metrics("train", "score", map[string]float64{"brier": brier, "ece": ece,
		"share": j.WrongShare})...), nil
}

// noiseTask is the task of training on wrong labels and finding them, in the embedding of the
// network that was trained on them or, with folds, of networks that were each trained without a
// part.
func noiseTask(n labelNoise, folds int) *Task {
	plan := "labels wrong: " + n.String()
	if folds > 0 {
		plan += fmt.Sprintf(", judged in %d folds", folds)
	}
	return newMaterialTask(plan, func(ctx context.Context, m *material, opts run.Options) (*run.Result, error) {
		s, err := m.addNoise(ctx, n)
		if err != nil {
			return nil, err
		}
		if folds > 0 {
			parts, err := s.trainFolds(ctx, folds, opts)
			if err != nil {
				return nil, err
			}
			scores, err := s.scoreJudges(ctx, parts)
			return untrainedResult(scores), err
		}
		res, err := s.trainOn(ctx, opts)
		if err != nil {
			return nil, err
		}
		e, err := s.embed(ctx, res)
		if err != nil {
			return nil, err
		}
		scores, err := s.scoreJudges(ctx, []clean.Fold{{X: e.X}})
		if err != nil {
			return nil, err
		}
		return addScores(res, scores), nil
	})
}

// untrainedNoiseTask is the task of finding wrong labels in features that saw no label.
func untrainedNoiseTask(n labelNoise) *Task {
	return newMaterialTask("labels wrong: "+n.String()+", judged without training",
		func(ctx context.Context, m *material, opts run.Options) (*run.Result, error) {
			s, err := m.addNoise(ctx, n)
			if err != nil {
				return nil, err
			}
			x, err := m.untrainedFeatures(ctx)
			if err != nil {
				return nil, err
			}
			scores, err := s.scoreJudges(ctx, []clean.Fold{{X: x}})
			return untrainedResult(scores), err
		})
}

// trainFolds trains n times, each time without one of n parts of every class.
func (s *noisyMaterial) trainFolds(ctx context.Context, n int, opts run.Options) ([]clean.Fold, error) {
	rng := rand.New(rand.NewPCG(s.cfg.Train.Seed, 0xf01d))
	held := make([]int, s.train.Len())
	next := map[int64]int{}
	for _, p := range rng.Perm(len(held)) {
		y := s.train.Label[p]
		held[p] = next[y] % n
		next[y]++
	}
	var out []clean.Fold
	for k := range n {
		f := clean.Fold{}
		var items []int
		for p, i := range s.train.Index {
			if held[p] == k {
				f.HeldOut, items = append(f.HeldOut, p), append(items, i)
			}
		}
		part := s.withSplit(func(p int) bool { return held[p] != k }, items)
		c := &part.cfg
		c.Train.Best, c.Eval.Every, c.Eval.Train = "none", c.Train.NumEpochs(), 0
		res, err := part.trainOn(ctx, withoutEvents(opts))
		if err != nil {
			return nil, fmt.Errorf("without fold %d: %w", k+1, err)
		}
		e, err := s.embed(ctx, res)
		if err != nil {
			return nil, err
		}
		f.X = e.X
		out = append(out, f)
	}
	return out, nil
}

// trimmedName is the method that leaves out the tuples with the highest loss: the same share as the
// wrong labels.
const trimmedName = "trimmed"

// addWrongLabelClaims adds the claims on finding wrong labels; first names the method with random
// positives.
func (e *Experiment) addWrongLabelClaims(first string) {
	const precision = "train_clean_precision"
	noises, easy := labelNoises(), "EPS+"+first
	// over adds a claim that compares two arms or two keys by their means over all noises.
	over := func(text string, a, b func(n labelNoise) (arm, key string)) {
		e.Claims = append(e.Claims, Claim{Text: text, Check: func(_ context.Context, out *Outcome) (string,
			[]PairedTest) {
			mean := func(of func(n labelNoise) (string, string)) []Number {
				var sum []Number
				for _, n := range noises {
					values := out.measure(of(n)).Values
					if sum == nil {
						sum = make([]Number, len(values))
					}
					for i, v := range values {
						sum[i] += v / Number(len(noises))
					}
				}
				return sum
			}
			x, y := mean(a), mean(b)
			return fmt.Sprintf("mean precision %.1f against %.1f", summarize(x).Mean, summarize(y).Mean),
				[]PairedTest{pairedTest(x, y)}
		}})
	}
	arm := func(name, suffix, key string) func(n labelNoise) (string, string) {
		return func(n labelNoise) (string, string) { return name + suffix + ", " + n.String(), key }
	}
	over("clean finds more wrong labels with easy positives than with random ones.", arm(easy, "", precision),
		arm(first, "", precision))
	over("clean finds more wrong labels with easy positives than with trimming.", arm(easy, "", precision),
		arm(trimmedName, "", precision))
	over("With easy positives, clean finds more wrong labels in folds.", arm(easy, ", folds", precision),
		arm(easy, "", precision))
	over("In folds, clean finds more wrong labels with easy positives than with random ones.",
		arm(easy, ", folds", precision), arm(first, ", folds", precision))
	for _, peer := range []struct{ key, name string }{{"neighbours", "the neighbours' disagreement"},
		{"confident", "confident learning"}} {
		over("clean is ahead of "+peer.name+", with easy positives and folds.", arm(easy, ", folds", precision),
			arm(easy, ", folds", "train_"+peer.key+"_precision"))
	}
}

// labelNoises are the ways in which the experiments make labels wrong.
func labelNoises() []labelNoise {
	return []labelNoise{{0.05, false}, {0.1, false}, {0.2, false}, {0.05, true}, {0.1, true}, {0.2, true}}
}
