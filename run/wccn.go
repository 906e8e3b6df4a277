package run

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/eval/rank"
	dense "github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

const (
	// wccnShrinkage is the weight of the identity in wccn. From 3 to 10 it is worth the same.
	wccnShrinkage = 5
	// wccnFreedom is the least number of samples, less the number of classes, that wccn is computed from.
	wccnFreedom = 10
	// wccnLayer is the name of its layer.
	wccnLayer = "wccn"
)

// wccn is a linear layer that is computed from the features of training samples, not trained:
//
//	y = T (x - m),   T'T = (1 + k) v (S + k v I)^-1
//
// m is the mean of the features, S their covariance within classes (n - classes degrees of freedom), v its mean
// variance and k wccnShrinkage; the factor keeps lengths about as they are. Directions in which samples of one class
// differ count less. A few samples of each class suffice, and classes that it does not see gain too. It is
// within-class covariance normalisation (Hatch, Kajarekar and Stolcke 2006), shrunk as in regularised discriminant
// analysis (Friedman 1989).
type wccn struct {
	weight  *dense.Dense // T
	bias    []float32    // -T m
	samples int          // that it was computed from
}

// newWCCN computes it from n x d features and the labels of the rows; nil if they do not tell how
// samples of a class differ.
func newWCCN(x *dense.Dense, labels []int64) *wccn {
	n, d := x.Rows, x.Cols
	classes := map[int64]int{} // places in means
	var of []int
	for _, y := range labels {
		if _, ok := classes[y]; !ok {
			classes[y] = len(classes)
		}
		of = append(of, classes[y])
	}
	if n-len(classes) < wccnFreedom {
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
	apart := dense.New(n, d)
	for i, k := range of {
		mean, row := means.RawRowView(k), apart.Row(i)
		for j, v := range x.Row(i) {
			row[j] = float32(float64(v) - mean[j]/counts[k])
		}
	}
	s := dense.New(d, d)
	dense.Gemm(true, false, 1/float32(n-len(classes)), apart, apart, 0, s)
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

// inverseRoot is T for the covariance S, which it shrinks: a triangle, as only T'T counts. It is nil
// without any variance.
func inverseRoot(s *dense.Dense) *dense.Dense {
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
	t := dense.New(d, d)
	for i := range d {
		for j := range i + 1 {
			t.Row(i)[j] = float32(inverse.At(i, j) * math.Sqrt(1+wccnShrinkage))
		}
	}
	return t
}

// of is the layer's output for the rows of x.
func (w *wccn) of(x *dense.Dense) *dense.Dense {
	y := dense.New(x.Rows, w.weight.Rows)
	dense.Gemm(false, true, 1, x, w.weight, 0, y)
	for i := range y.Rows {
		for j, b := range w.bias {
			y.Row(i)[j] += b
		}
	}
	return y
}

// after is net followed by the layer and a normalisation. Its parameters are copies.
func (w *wccn) after(net *nn.Net, opt nn.Options) (*nn.Net, error) {
	spec := *net.Spec()
	spec.Layers = append(slices.Clone(spec.Layers), nn.Layer{Kind: nn.Dense, Name: wccnLayer, Out: w.weight.Rows},
		nn.Layer{Kind: nn.L2Normalize})
	out, err := nn.New(&spec, opt)
	if err != nil {
		return nil, fmt.Errorf("the network with a layer of its features' covariance: %w", err)
	}
	for _, p := range net.Params() {
		copy(out.Param(p.Name).Value, p.Value)
	}
	copy(out.Param(wccnLayer+".weight").Value, w.weight.Data)
	copy(out.Param(wccnLayer+".bias").Value, w.bias)
	return out, nil
}

// compute makes the layer for the run's network from the training samples that validation is searched among, as paired
// last embedded them. It is nil if there are none, if the validation part does not choose the epoch, or if the layer
// makes the margins of the validation samples among each other smaller (p < 0.05, as in paired).
func (t *trainer) compute(ctx context.Context) (*wccn, error) {
	k := slices.IndexFunc(t.scored, func(s *scored) bool { return s.set == ValidationSet })
	if k < 0 || !t.cfg.validated() || t.cfg.Network.Normalize != On {
		return nil, nil
	}
	s := t.scored[k]
	if s.q == nil { // resumed after the last epoch
		if err := s.embedAll(ctx, t.trained, t.cfg.Eval.Batch); err != nil {
			return nil, err
		}
	}
	from := s.d
	if from == nil {
		from = s.g
	}
	if from == nil {
		return nil, nil
	}
	w := newWCCN(from.X, from.Label())
	if w == nil {
		return nil, nil
	}
	distance, err := rank.ParseDistance(t.cfg.Eval.Distance)
	if err != nil {
		return nil, err
	}
	var values [2][]float64 // without the layer, with it
	for i, x := range []*dense.Dense{s.q.X, rank.Normalized(w.of(s.q.X))} {
		m := newMargins(x, s.q.Fine(), distance)
		if err := m.addEachOther(ctx); err != nil {
			return nil, err
		}
		values[i] = t.byGroup(s, m.values())
	}
	if train.ComparePairs(values[1], values[0]).P <= 0.05 {
		return nil, nil
	}
	return w, nil
}
