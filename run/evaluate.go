package run

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/train"
)

// evaluate scores all sets after an epoch.
func (t *trainer) evaluate(ctx context.Context, epoch int, last bool) ([]train.Metric, error) {
	if last && epoch == 0 {
		if err := t.fallBack(ctx); err != nil {
			return nil, err
		}
	}
	return t.evaluateAs(ctx, t.scored, t.trained, &t.cfg, epoch, last)
}

// evaluateValidation scores the validation set if the best epoch is chosen by it, and all
// sets otherwise.
func (t *trainer) evaluateValidation(ctx context.Context) ([]train.Metric, error) {
	var sets []*scored
	for _, s := range t.scored {
		if s.set == ValidationSet && t.cfg.validated() {
			sets = append(sets, s)
		}
	}
	if sets == nil {
		sets = t.scored
	}
	return scoreAll(ctx, sets, t.trained, &t.cfg, false)
}

// evaluateAs scores sets by a network, and keeps the embeddings that the run folder is to
// hold.
func (t *trainer) evaluateAs(ctx context.Context, sets []*scored, net train.Network, cfg *Config, epoch int,
	last bool) ([]train.Metric, error) {
	out, err := scoreAll(ctx, sets, net, cfg, last)
	if err != nil {
		return nil, t.unscored(epoch, err)
	}
	for _, s := range sets {
		before := epoch == 0 && s.set == TestSet // to show beside what came of it
		if (t.cfg.Eval.Keep || before) && t.record != nil {
			if err := t.record.writeSnapshot(epoch, s.set, s.q); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// unscored adds the way out to the error of an evaluation.
func (t *trainer) unscored(epoch int, err error) error {
	device := (*train.DeviceError)(nil)
	if t.record == nil || epoch == 0 || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &device) {
		return err
	}
	return option.Errorf("%w\nthe trained network is kept in %s; %s goes on from there, with %s if something else "+
		"is to be measured", err, t.opts.Dir, optResume.With(t.opts.Dir),
		overrides.With("eval.metrics=... (or eval.recall)"))
}

// paired is train.Best.Paired: the margin (marginMetric) of each validation sample, by the
// network as it stands; with epoch 0 by the untrained one. Samples that were taken together
// (data.group) count as one, by their mean.
func (t *trainer) paired(ctx context.Context, epoch int) ([]float64, error) {
	sets, net, cfg := t.scored, t.trained, &t.cfg
	if u := t.untrained; epoch == 0 && u != nil && u.keeps(cfg) {
		sets, net, cfg = u.scored, u.net, u.cfg
	}
	distance, err := rank.ParseDistance(cfg.Eval.Distance)
	if err != nil {
		return nil, err
	}
	s := sets[slices.IndexFunc(sets, func(s *scored) bool { return s.set == ValidationSet })]
	if err := s.embedAll(ctx, net, cfg.Eval.Batch); err != nil {
		return nil, err
	}
	margin, err := s.margin(ctx, distance)
	if err != nil {
		return nil, err
	}
	return t.byGroup(s, margin), nil
}

// byGroup is the mean of the values of each group of the samples of s, as last embedded; NaN counts as none.
func (t *built) byGroup(s *scored, values []float64) []float64 {
	var groups [][]float64
	place := map[int]int{} // in groups
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		of := s.query.Index[s.q.Pos[i]]
		if t.sel.Groups != nil {
			of = t.sel.Groups[of]
		}
		k, ok := place[of]
		if !ok {
			k = len(groups)
			place[of], groups = k, append(groups, nil)
		}
		groups[k] = append(groups[k], v)
	}
	out := make([]float64, len(groups))
	for k, g := range groups {
		out[k] = meanKnown(g)
	}
	return out
}
