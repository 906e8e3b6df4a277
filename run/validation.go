package run

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/run/internal/validation"
	"github.com/kindred-ml/kindred/train"
)

// distractorMetric is Recall@1 of the validation samples among each other, with training
// samples of other classes as distractors:
//
//	share of queries whose nearest item, of the other validation samples and of the
//	training samples with another label than the query's, has the query's label
//
// Training samples of the query's own class are left out, because the network has learned them
// and finds them easily. Without distractors, a few validation classes are told apart from the
// start, and plain Recall@1 stays near its ceiling.
const distractorMetric = "recall@1+distractors"

// marginMetric measures by how much the nearest item of a query's class is nearer than the
// nearest item of another class. The gallery is that of distractorMetric or, without
// distractors, the training samples:
//
//	mean over the queries of tanh((s - t) / u)
//
// s is the nearness of the nearest item with the query's label, and t the nearness of the
// nearest item with another label. Nearness is the similarity or minus the squared distance. u
// is the standard deviation of the nearness over all pairs of different labels, so that scaling
// all distances does not change the measure. Unlike Recall@1 it has no ceiling that a few easy
// classes reach, and does not jump when one sample changes. Unlike MAP@R it does not rise when
// a class is merely pulled together. It chooses the kept epoch.
const (
	marginMetric            = "margin"
	marginDistractorsMetric = "margin+distractors"
)

// Keys of these metrics among the scores.
var (
	distractorKey        = validationKey(distractorMetric)
	marginKey            = validationKey(marginMetric)
	marginDistractorsKey = validationKey(marginDistractorsMetric)
	validationMAPKey     = validationKey((eval.Metric{Kind: validationMetric}).String())
)

func validationKey(name string) string {
	m := validationScore(name, 0)
	return m.Key()
}

func validationScore(name string, v float64) train.Metric {
	return train.Metric{Set: ValidationSet.String(), Column: fineColumn, Name: name, Value: v}
}

// maxDistractors is the largest number of training samples that are embedded as distractors.
const maxDistractors = 5000

// addDistractors adds training samples to the gallery of the validation samples.
func (s *scoredSet) addDistractors(cfg *Config, training *data.Part, bytes bool) (err error) {
	if s.set != ValidationSet || s.gallery != nil ||
		cfg.Train.Best != distractorKey && cfg.Train.Best != marginDistractorsKey {
		return nil
	}
	s.distractorFeed, err = newFeed(sampleEvenly(training, maxDistractors), cfg.Data, cfg.Train.Seed, false, bytes)
	return err
}

// validate scores the last embeddings of the validation samples by the metrics of this file.
func (s *scoredSet) validate(ctx context.Context, cfg *Config, distance eval.Distance) ([]train.Metric, error) {
	name, out := marginMetric, []train.Metric(nil)
	if s.d != nil {
		name = marginDistractorsMetric
		found, err := validation.SearchWithDistractors(ctx, s.q.rows(), s.d.rows(), distance)
		if err != nil {
			return nil, fmt.Errorf("the %s samples in their gallery: %w", s.set, err)
		}
		out = append(out, validationScore(distractorMetric, validation.HitRate(found)))
	} else if cfg.Train.Best != marginKey {
		return nil, nil
	}
	m, err := s.queryMargins(ctx, distance)
	return append(out, validationScore(name, validation.MeanNotNaN(m))), err
}

// queryMargins returns the value of marginMetric for each validation sample, as last embedded. It is
// NaN if the sample's gallery lacks its label or other labels.
func (s *scoredSet) queryMargins(ctx context.Context, distance eval.Distance) ([]float64, error) {
	return validation.QueryMargins(ctx, s.q.rows(), s.g.rows(), s.d.rows(), distance)
}

// pairedMargins implements train.EarlyStopping.Paired. It returns the margin (marginMetric) of each validation sample
// by the current network, or for epoch 0 by the untrained network with the layer that would be computed for
// it (wccn). Samples that were taken together (data.group) count as one sample with their mean.
func (t *trainer) pairedMargins(ctx context.Context, epoch int) ([]float64, error) {
	p := t.plan
	sets, net, cfg := p.feeds.scored, p.network.trained, &p.cfg
	if u := p.untrained; epoch == 0 && u != nil && u.mayKeep(cfg) {
		sets, net, cfg = u.scored, u.net, u.cfg
	}
	distance, err := eval.ParseDistance(cfg.Eval.Distance)
	if err != nil {
		return nil, err
	}
	s := sets[slices.IndexFunc(sets, func(s *scoredSet) bool { return s.set == ValidationSet })]
	if err := s.embedAll(ctx, net, cfg.Eval.Batch); err != nil {
		return nil, err
	}
	if epoch == 0 && t.computesWCCN() {
		w, err := t.computeWCCNFrom(ctx, s, net, cfg)
		if err != nil {
			return nil, err
		}
		if w != nil {
			s = s.withWCCN(w)
		}
	}
	margin, err := s.queryMargins(ctx, distance)
	if err != nil {
		return nil, err
	}
	return p.groupMeans(s, margin), nil
}

// groupMeans returns the mean of the values of each group of the samples of s, as last embedded. It skips NaN.
func (p *plan) groupMeans(s *scoredSet, values []float64) []float64 {
	var groups [][]float64
	place := map[int]int{} // index in groups
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		of := s.query.Index[s.q.Pos[i]]
		if p.split.Groups != nil {
			of = p.split.Groups[of]
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
		out[k] = validation.MeanNotNaN(g)
	}
	return out
}
