package paper

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/run"
)

// cure says what happens to the wrong labels before the last training.
type cure int

const (
	keepLabels cure = iota
	relabel
	dropWrong
	knownLabels
)

// String returns the arm's name.
func (c cure) String() string {
	return [...]string{"wrong labels", "relabelled by clean", "dropped by clean", "right labels"}[c]
}

// retrain is the task that makes a share of the labels wrong, lets clean judge them in folds,
// applies the cure to scores from 0.5 on, and trains on the result.
func retrain(n labelNoise, folds int, c cure) *Task {
	return newMaterialTask(fmt.Sprintf("labels wrong: %v, then %v (%d folds)", n, c, folds),
		func(ctx context.Context, m *material, opts run.Options) (*run.Result, error) {
			s, err := m.addNoise(ctx, n)
			if err != nil {
				return nil, err
			}
			mended, left, err := s.applyCure(ctx, c, folds, opts)
			if err != nil {
				return nil, err
			}
			res, err := mended.trainOn(ctx, opts)
			if err != nil {
				return nil, err
			}
			return addScores(res, metrics("train", "labels", map[string]float64{"wrong": left})), nil
		})
}

// applyCure applies the cure to the labels and returns the share of wrong labels among those left.
func (s *noisyMaterial) applyCure(ctx context.Context, c cure, folds int, opts run.Options) (
	*material, float64, error) {
	labels := append([]int64(nil), s.train.Label...)
	out := make([]bool, len(labels))
	switch c {
	case knownLabels:
		copy(labels, s.truth)
	case relabel, dropWrong:
		parts, err := s.trainFolds(ctx, folds, opts)
		if err != nil {
			return nil, 0, err
		}
		j, err := clean.FindLabelErrors(ctx, s.train.Label, clean.Options{Seed: s.cfg.Train.Seed}, parts...)
		if err != nil {
			return nil, 0, err
		}
		for _, i := range j.Suspects(0.5) {
			labels[i], out[i] = j.Suggested[i], c == dropWrong
		}
	}
	wrong, kept := 0.0, 0.0
	for i, y := range labels {
		if !out[i] {
			kept++
			if y != s.truth[i] {
				wrong++
			}
		}
	}
	m, err := s.withLabels("labels mended", labels, s.classes)
	if err != nil {
		return nil, 0, err
	}
	m, err = m.leaveOut(out)
	return m, wrong / kept, err
}

// leaveOut leaves out training samples by their positions.
func (m *material) leaveOut(out []bool) (*material, error) {
	sel, err := m.selected()
	if err != nil {
		return nil, err
	}
	return m.withSplit(func(p int) bool { return !out[p] }, sel.Query.Index), nil
}

// addMendingClaims adds the statements on training with labels that clean has mended.
func (e *Experiment) addMendingClaims() {
	for _, c := range []cure{relabel, dropWrong} {
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("Training on labels %v raises the Recall@1 of the test.", c),
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				const key = "test_recall@1"
				return fmt.Sprintf("%.1f against %.1f", out.meanPercent(c.String(), key),
						out.meanPercent(keepLabels.String(), key)),
					[]PairedTest{out.compareArms(key, c.String(), keepLabels.String())}
			},
		})
	}
}
