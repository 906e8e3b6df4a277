package run

import (
	"context"
	"errors"
	"math"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/run/internal/validation"
	"github.com/kindred-ml/kindred/run/internal/wccn"
	"github.com/kindred-ml/kindred/train"
)

// evaluate scores all sets after an epoch.
func (t *trainer) evaluate(ctx context.Context, epoch int, last bool) ([]train.Metric, error) {
	p := t.plan
	if last && epoch == 0 {
		if err := t.returnUntrained(ctx); err != nil {
			return nil, err
		}
	}
	if epoch == 0 && !last && t.pace != nil && p.untrained == nil { // fitMinutes has made this evaluation
		return t.pace.scores, t.writeScored(p.feeds.scored, epoch)
	}
	return t.evaluateSets(ctx, p.feeds.scored, p.network.trained, &p.cfg, epoch, last)
}

// evaluateValidation scores the validation set if it chooses the best epoch, and otherwise all
// sets.
func (t *trainer) evaluateValidation(ctx context.Context) ([]train.Metric, error) {
	p := t.plan
	sets := p.feeds.scored
	if s := findSet(sets, ValidationSet); s != nil && p.cfg.choosesByValidation() {
		sets = []*scoredSet{s}
	}
	return scoreAll(ctx, sets, p.network.trained, &p.cfg, false)
}

// evaluateSets scores sets by a network, and writes embeddings to the run folder.
func (t *trainer) evaluateSets(ctx context.Context, sets []*scoredSet, net train.Network, cfg *Config, epoch int,
	last bool) ([]train.Metric, error) {
	out, err := scoreAll(ctx, sets, net, cfg, last)
	if err != nil {
		return nil, t.evaluationError(epoch, err)
	}
	return out, t.writeScored(sets, epoch)
}

// writeScored writes the embeddings of scored sets to the run folder, as far as they are kept.
func (t *trainer) writeScored(sets []*scoredSet, epoch int) error {
	for _, s := range sets {
		before := epoch == 0 && s.set == TestSet // for comparison with the trained network
		if (t.plan.cfg.Eval.Keep || before) && t.record != nil {
			if err := t.record.WriteSnapshot(epoch, s.set.String(), s.q.recorded()); err != nil {
				return err
			}
		}
	}
	return nil
}

// evaluationError adds advice to the error of an evaluation.
func (t *trainer) evaluationError(epoch int, err error) error {
	device := (*train.DeviceError)(nil)
	if t.record == nil || epoch == 0 || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &device) {
		return err
	}
	return option.Errorf("%w\nthe trained network is kept in %s: continue with %s, and with %s to measure something "+
		"else", err, t.plan.opts.Dir, record.OptResume.WithValue(t.plan.opts.Dir),
		overrides.WithValue("eval.metrics=... (or eval.recall)"))
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
	s := findSet(sets, ValidationSet)
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

// scoreUntrained scores the untrained network. With last, the run ends with that network.
func (t *trainer) scoreUntrained(ctx context.Context, last bool) ([]train.Metric, error) {
	p := t.plan
	if last {
		if err := t.returnUntrained(ctx); err != nil {
			return nil, err
		}
	} else if t.pace != nil { // fitMinutes has made this evaluation
		return t.pace.scores, t.writeScored(p.untrained.scored, 0)
	}
	return t.evaluateSets(ctx, p.untrained.scored, p.untrained.net, p.untrained.cfg, 0, last)
}

// returnUntrained ends the run with the untrained network, with a wccn layer if that can be computed.
// The network that the run trains has the weights of its start.
func (t *trainer) returnUntrained(ctx context.Context) error {
	p := t.plan
	if t.keptUntrained {
		return nil
	}
	t.keptUntrained = true
	if !t.computesWCCN() {
		return nil
	}
	if u := p.untrained; u != nil {
		t.trainedSize = p.cfg.Data.Size
		p.cfg.Data = u.cfg.Data
		p.network.net, p.network.trained, p.feeds.scored = u.net, u.net, u.scored
	}
	w, err := t.computeWCCN(ctx)
	if err != nil || w == nil {
		return err
	}
	opt := nn.Options{FrozenNorm: true, Precision: nn.Precision(p.cfg.Network.Precision)}
	if p.network.net, err = p.network.net.MergeLoRA(); err != nil {
		return err
	}
	if p.network.net, err = w.AppendTo(p.network.net, opt); err != nil {
		return err
	}
	p.network.trained, t.numWCCNSamples = p.network.net, w.Samples
	for _, s := range p.feeds.scored { // these scores are of the network without the layer
		s.q, s.g, s.d = nil, nil, nil
	}
	if p.untrained != nil {
		p.untrained.net = p.network.net
	}
	return nil
}

// computeWCCN makes the layer for the network that the run ends with. It returns nil if the run computes none.
func (t *trainer) computeWCCN(ctx context.Context) (*wccn.Layer, error) {
	p := t.plan
	s := findSet(p.feeds.scored, ValidationSet)
	if s == nil {
		return nil, nil
	}
	if s.q == nil { // resumed after the last epoch
		if err := s.embedAll(ctx, p.network.trained, p.cfg.Eval.Batch); err != nil {
			return nil, err
		}
	}
	return t.computeWCCNFrom(ctx, s, p.network.trained, &p.cfg)
}

// computeWCCNFrom makes the layer from training samples as the network embeds them: those in the gallery of
// the validation samples s, if there are any. It returns nil if the validation part does not choose the
// epoch, or if the layer makes the margins of the validation samples among each other smaller (p < 0.05, as in paired).
func (t *trainer) computeWCCNFrom(ctx context.Context, s *scoredSet, net train.Network, cfg *Config) (
	*wccn.Layer, error) {
	p := t.plan
	if !p.cfg.choosesByValidation() || p.cfg.Network.Normalize != On {
		return nil, nil
	}
	from := s.d
	if from == nil {
		from = s.g
	}
	if from == nil {
		from = t.wccnData
	}
	if from == nil {
		// The untrained network at its own image size is no engine's.
		f, err := newFeed(sampleEvenly(p.split.Train, maxDistractors), cfg.Data, cfg.Train.Seed, false,
			p.passesBytes() && p.untrained == nil)
		if err != nil {
			return nil, err
		}
		if from, err = embedFeed(ctx, net, f, cfg.Eval.Batch); err != nil {
			return nil, err
		}
		t.wccnData = from
	}
	w := wccn.New(from.X, from.Labels())
	if w == nil {
		return nil, nil
	}
	distance, err := eval.ParseDistance(p.cfg.Eval.Distance)
	if err != nil {
		return nil, err
	}
	var values [2][]float64 // without the layer, with it
	for i, x := range []*matrix.Dense{s.q.X, eval.NormalizeRows(w.Apply(s.q.X))} {
		rows := &validation.Rows{X: x, Labels: s.q.FineLabels()}
		margins, err := validation.QueryMargins(ctx, rows, nil, nil, distance)
		if err != nil {
			return nil, err
		}
		values[i] = p.groupMeans(s, margins)
	}
	if train.ComparePairs(values[1], values[0]).P <= 0.05 {
		return nil, nil
	}
	return w, nil
}

// computesWCCN reports whether the run may end with the untrained network, to which it then adds a computed layer.
func (t *trainer) computesWCCN() bool {
	p := t.plan
	if u := p.untrained; u != nil {
		return u.mayKeep(&p.cfg)
	}
	return p.cfg.Network.Dim == 0 && p.start.side > 0
}

// WithoutWCCN returns the model without the layer that its run computed from training samples (wccn), or nil if
// its network has no such layer.
func (m *Model) WithoutWCCN() (*Model, error) {
	spec := *m.Net.Spec()
	n := len(spec.Layers)
	if n < 3 || spec.Layers[n-2].Name != wccn.LayerName {
		return nil, nil
	}
	spec.Layers = spec.Layers[:n-2]
	net, err := nn.New(&spec, nn.Options{FrozenNorm: true, Precision: nn.Precision(m.Config.Network.Precision)})
	if err != nil {
		return nil, err
	}
	for _, p := range net.Params() {
		copy(p.Value, m.Net.Param(p.Name).Value)
	}
	bare := m.Copy()
	bare.Net = net
	return bare, nil
}

// RecomputeWCCN applies a computed layer (wccn) to embeddings of a model without one. The layer is computed from the
// samples at the positions that from accepts, with their training labels.
func (e *Embeddings) RecomputeWCCN(from func(pos int) bool) (*Embeddings, error) {
	var values []float32
	var labels []int64
	for row, pos := range e.Pos {
		if from(pos) {
			values, labels = append(values, e.X.Row(row)...), append(labels, e.Part.Label[pos])
		}
	}
	w := wccn.New(matrix.FromSlice(len(labels), e.X.Cols, values), labels)
	if w == nil {
		return nil, errors.New("too few training samples are left to compute layer wccn")
	}
	out := *e
	out.X = eval.NormalizeRows(w.Apply(e.X))
	return &out, nil
}
