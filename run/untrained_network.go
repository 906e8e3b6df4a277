package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// untrainedNet is the pretrained network at its own image size. Training has to beat its score,
// whatever size the run trains at.
type untrainedNet struct {
	*bareNet
	scored []*scoredSet
}

// newUntrained makes the untrained network. It returns nil if training uses the same image size
// and adds no embedding layer, because epoch 0 of the run is then the same network.
func (p *plan) newUntrained() (u *untrainedNet, err error) {
	if !p.scoresUntrained() || p.start.side == 0 || p.cfg.Data.Size == p.start.side && p.cfg.Network.Dim == 0 {
		return nil, nil
	}
	u = &untrainedNet{}
	if u.bareNet, err = p.start.newBareNet(&p.cfg, p.start.side); err != nil {
		return nil, err
	}
	if u.scored, err = newScoredSets(p.split, u.cfg, false); err != nil {
		return nil, err
	}
	shareEvaluation(p.opts.Ranks, u.scored)
	return u, nil
}

// mayKeep reports whether the run may end with the untrained network. It may not if the
// configuration asks for an embedding layer, which the untrained network lacks, unless that layer starts as wccn.
func (u *untrainedNet) mayKeep(c *Config) bool {
	return c.Network.Dim == 0 || c.Network.Head == wccnHead && c.Network.Dim == u.net.Dim()
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
	if p.network.net, err = w.appendTo(p.network.net, opt); err != nil {
		return err
	}
	p.network.trained, t.numWCCNSamples = p.network.net, w.samples
	for _, s := range p.feeds.scored { // these scores are of the network without the layer
		s.q, s.g, s.d = nil, nil, nil
	}
	if p.untrained != nil {
		p.untrained.net = p.network.net
	}
	return nil
}

const (
	// wccnShrinkage is the weight of the identity in wccn. Values from 3 to 10 work equally well.
	wccnShrinkage = 5
	// minWCCNFreedom is the least difference of the numbers of samples and classes for computing wccn.
	minWCCNFreedom = 10
	// wccnLayerName is the name of the wccn layer.
	wccnLayerName = "wccn"
)

// wccn is a linear layer that is not trained but computed from the features of training samples:
//
//	y = T (x - m),   T'T = (1 + k) v (S + k v I)^-1
//
// m is the mean of the features, S their covariance within classes (n - classes degrees of freedom), v the mean
// variance of S, and k is wccnShrinkage. The factor about preserves lengths. Directions in which samples of one class
// differ count less. A few samples of each class suffice, and other classes gain too. The method is within-class
// covariance normalisation (Hatch, Kajarekar and Stolcke 2006), shrunk as in regularised discriminant analysis
// (Friedman 1989).
type wccn struct {
	weight  *matrix.Dense // T
	bias    []float32     // -T m
	samples int           // number of samples that the layer was computed from
}

// newWCCN computes the layer from n x d features and the labels of the rows. It returns nil if
// there are too few samples to estimate how samples of a class differ.
func newWCCN(x *matrix.Dense, labels []int64) *wccn {
	n, d := x.Rows, x.Cols
	classes := map[int64]int{} // index in means
	var of []int
	for _, y := range labels {
		if _, ok := classes[y]; !ok {
			classes[y] = len(classes)
		}
		of = append(of, classes[y])
	}
	if n-len(classes) < minWCCNFreedom {
		return nil
	}
	means, counts := mat.NewDense(len(classes), d, nil), make([]float64, len(classes))
	all := make([]float64, d)
	for i, k := range of {
		counts[k]++
		mean := means.RawRowView(k)
		for j, v := range x.Row(i) {
			mean[j] += float64(v)
			all[j] += float64(v)
		}
	}
	apart := matrix.New(n, d)
	for i, k := range of {
		mean, row := means.RawRowView(k), apart.Row(i)
		for j, v := range x.Row(i) {
			row[j] = float32(float64(v) - mean[j]/counts[k])
		}
	}
	s := matrix.New(d, d)
	matrix.Gemm(true, false, 1/float32(n-len(classes)), apart, apart, 0, s)
	t := inverseRoot(s)
	if t == nil {
		return nil
	}
	w := &wccn{weight: t, bias: make([]float32, d), samples: n}
	for i := range w.bias {
		sum := 0.0
		for j, v := range t.Row(i) {
			sum -= float64(v) * all[j] / float64(n)
		}
		w.bias[i] = float32(sum)
	}
	return w
}

// inverseRoot returns T for the covariance S, which it shrinks in place. T is triangular, because
// only T'T counts. It is nil if the variance is zero.
func inverseRoot(s *matrix.Dense) *matrix.Dense {
	d := s.Rows
	trace := 0.0
	for i := range d {
		trace += float64(s.Row(i)[i]) / float64(d)
	}
	if !(trace > 0) || math.IsInf(trace, 0) {
		return nil
	}
	shrunk := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			shrunk.SetSym(i, j, float64(s.Row(i)[j])/trace)
		}
		shrunk.SetSym(i, i, shrunk.At(i, i)+wccnShrinkage)
	}
	var root mat.Cholesky
	if !root.Factorize(shrunk) {
		return nil
	}
	var lower, inverse mat.TriDense
	root.LTo(&lower)
	if err := inverse.InverseTri(&lower); err != nil {
		return nil
	}
	t := matrix.New(d, d)
	for i := range d {
		for j := range i + 1 {
			t.Row(i)[j] = float32(inverse.At(i, j) * math.Sqrt(1+wccnShrinkage))
		}
	}
	return t
}

// reduced returns a layer of n values, the principal components of the layer's output for the rows of x.
func (w *wccn) reduced(x *matrix.Dense, n int) (*wccn, error) {
	values, err := principalDirections(w.apply(x), n)
	if err != nil {
		return nil, err
	}
	axes, weight, bias := matrix.FromSlice(n, x.Cols, values), matrix.New(n, x.Cols), matrix.New(n, 1)
	matrix.Gemm(false, false, 1, axes, w.weight, 0, weight)
	matrix.Gemm(false, false, 1, axes, matrix.FromSlice(x.Cols, 1, w.bias), 0, bias)
	return &wccn{weight: weight, bias: bias.Data, samples: w.samples}, nil
}

// apply returns the layer's output for the rows of x.
func (w *wccn) apply(x *matrix.Dense) *matrix.Dense {
	y := matrix.New(x.Rows, w.weight.Rows)
	matrix.Gemm(false, true, 1, x, w.weight, 0, y)
	for i := range y.Rows {
		for j, b := range w.bias {
			y.Row(i)[j] += b
		}
	}
	return y
}

// appendTo returns net followed by the layer and a normalisation. Its parameters are copies.
func (w *wccn) appendTo(net *nn.Net, opt nn.Options) (*nn.Net, error) {
	spec := *net.Spec()
	spec.Layers = append(slices.Clone(spec.Layers), nn.Layer{Kind: nn.Dense, Name: wccnLayerName, Out: w.weight.Rows},
		nn.Layer{Kind: nn.L2Normalize})
	out, err := nn.New(&spec, opt)
	if err != nil {
		return nil, fmt.Errorf("adding layer wccn to the network: %w", err)
	}
	for _, p := range net.Params() {
		copy(out.Param(p.Name).Value, p.Value)
	}
	copy(out.Param(wccnLayerName+".weight").Value, w.weight.Data)
	copy(out.Param(wccnLayerName+".bias").Value, w.bias)
	return out, nil
}

// computeWCCN makes the layer for the network that the run ends with. It returns nil if the run computes none.
func (t *trainer) computeWCCN(ctx context.Context) (*wccn, error) {
	p := t.plan
	k := slices.IndexFunc(p.feeds.scored, func(s *scoredSet) bool { return s.set == ValidationSet })
	if k < 0 {
		return nil, nil
	}
	s := p.feeds.scored[k]
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
func (t *trainer) computeWCCNFrom(ctx context.Context, s *scoredSet, net train.Network, cfg *Config) (*wccn, error) {
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
		feed, err := newFeed(sampleEvenly(p.split.Train, maxDistractors), cfg.Data, cfg.Train.Seed, false,
			p.passesBytes() && p.untrained == nil)
		if err != nil {
			return nil, err
		}
		if from, err = embedFeed(ctx, net, feed, cfg.Eval.Batch); err != nil {
			return nil, err
		}
		t.wccnData = from
	}
	w := newWCCN(from.X, from.Labels())
	if w == nil {
		return nil, nil
	}
	distance, err := eval.ParseDistance(p.cfg.Eval.Distance)
	if err != nil {
		return nil, err
	}
	var values [2][]float64 // without the layer, with it
	for i, x := range []*matrix.Dense{s.q.X, eval.NormalizeRows(w.apply(s.q.X))} {
		m := newMargins(x, s.q.FineLabels(), distance)
		if err := m.addEachOther(ctx); err != nil {
			return nil, err
		}
		values[i] = p.groupMeans(s, m.values())
	}
	if train.ComparePairs(values[1], values[0]).P <= 0.05 {
		return nil, nil
	}
	return w, nil
}

// withWCCN returns the set with its embeddings behind the layer.
func (s *scoredSet) withWCCN(w *wccn) *scoredSet {
	out := *s
	for _, e := range []**Embeddings{&out.q, &out.g, &out.d} {
		if *e != nil {
			behind := **e
			behind.X = eval.NormalizeRows(w.apply(behind.X))
			*e = &behind
		}
	}
	return &out
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
	if n < 3 || spec.Layers[n-2].Name != wccnLayerName {
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
	w := newWCCN(matrix.FromSlice(len(labels), e.X.Cols, values), labels)
	if w == nil {
		return nil, errors.New("too few training samples are left to compute layer wccn")
	}
	out := *e
	out.X = eval.NormalizeRows(w.apply(e.X))
	return &out, nil
}
