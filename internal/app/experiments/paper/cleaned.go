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
	asTheyAre cure = iota
	relabelled
	dropped
	corrected
)

// String returns the arm's name.
func (c cure) String() string {
	return [...]string{"wrong labels", "relabelled by clean", "dropped by clean", "right labels"}[c]
}

// retrain is the task that makes a share of the labels wrong, lets clean judge them in folds,
// applies the cure to scores from 0.5 on, and trains on the result.
func retrain(n noise, folds int, c cure) *Task {
	return onData(fmt.Sprintf("labels wrong: %v, then %v (%d folds)", n, c, folds),
		func(ctx context.Context, m *material, opts run.Options) (*run.Result, error) {
			s, err := m.spoil(ctx, n)
			if err != nil {
				return nil, err
			}
			mended, left, err := s.mend(ctx, c, folds, opts)
			if err != nil {
				return nil, err
			}
			res, err := mended.learn(ctx, opts)
			if err != nil {
				return nil, err
			}
			return scored(res, metrics("train", "labels", map[string]float64{"wrong": left})), nil
		})
}

// mend applies the cure to the labels and returns the share of wrong labels among those left.
func (s *spoiled) mend(ctx context.Context, c cure, folds int, opts run.Options) (*material, float64, error) {
	labels := append([]int64(nil), s.train.Label...)
	out := make([]bool, len(labels))
	switch c {
	case corrected:
		copy(labels, s.truth)
	case relabelled, dropped:
		parts, err := s.folds(ctx, folds, opts)
		if err != nil {
			return nil, 0, err
		}
		j, err := clean.Labels(ctx, s.train.Label, clean.Options{Seed: s.cfg.Train.Seed}, parts...)
		if err != nil {
			return nil, 0, err
		}
		for _, i := range j.Suspects(0.5) {
			labels[i], out[i] = j.Suggested[i], c == dropped
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
	m, err := s.labelled("labels mended", labels, s.classes)
	if err != nil {
		return nil, 0, err
	}
	m, err = m.without(out)
	return m, wrong / kept, err
}

// without leaves out training samples by their positions.
func (m *material) without(out []bool) (*material, error) {
	sel, err := m.selected()
	if err != nil {
		return nil, err
	}
	return m.divided(func(p int) bool { return !out[p] }, sel.Query.Index), nil
}

// mendingHelps adds the statements on training with labels that clean has mended.
func (e *Experiment) mendingHelps() {
	for _, c := range []cure{relabelled, dropped} {
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("Training on labels %v raises the Recall@1 of the test.", c),
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				const key = "test_recall@1"
				return fmt.Sprintf("%.1f against %.1f", out.mean(c.String(), key), out.mean(asTheyAre.String(), key)),
					[]Paired{out.ahead(key, c.String(), asTheyAre.String())}
			},
		})
	}
}
