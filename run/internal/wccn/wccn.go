// Package wccn computes the last layer of a network from features of training samples, without training it:
// within-class covariance normalisation.
package wccn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

const (
	// shrinkage is the weight of the identity. Values from 3 to 10 work equally well.
	shrinkage = 5
	// MinFreedom is the least difference of the numbers of samples and classes for a layer.
	MinFreedom = 10
	// LayerName is the name of the layer in a network.
	LayerName = "wccn"
)

// Layer is a linear layer that is not trained but computed from the features of training Samples:
//
//	y = T (x - m),   T'T = (1 + k) v (S + k v I)^-1
//
// m is the mean of the features, S their covariance within classes (n - classes degrees of freedom), v the mean
// variance of S, and k is the shrinkage. The factor about preserves lengths. Directions in which samples of one class
// differ count less. A few samples of each class suffice, and other classes gain too. The method is within-class
// covariance normalisation (Hatch, Kajarekar and Stolcke 2006), shrunk as in regularised discriminant analysis
// (Friedman 1989).
type Layer struct {
	Weight  *matrix.Dense // T
	Bias    []float32     // -T m
	Samples int           // number of samples that the layer was computed from
}

// New computes the layer from n x d features and the labels of the rows. It returns nil if
// there are too few samples to estimate how samples of a class differ.
func New(x *matrix.Dense, labels []int64) *Layer {
	n, d := x.Rows, x.Cols
	of, classes := lists.Rank[int](labels)
	if n-len(classes) < MinFreedom {
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
	w := &Layer{Weight: t, Bias: make([]float32, d), Samples: n}
	for i := range w.Bias {
		sum := 0.0
		for j, v := range t.Row(i) {
			sum -= float64(v) * all[j] / float64(n)
		}
		w.Bias[i] = float32(sum)
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
		shrunk.SetSym(i, i, shrunk.At(i, i)+shrinkage)
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
			t.Row(i)[j] = float32(inverse.At(i, j) * math.Sqrt(1+shrinkage))
		}
	}
	return t
}

// Reduced returns a layer of n values, the principal components of the layer's output for the rows of x.
func (w *Layer) Reduced(x *matrix.Dense, n int) (*Layer, error) {
	values, err := PrincipalDirections(w.Apply(x), n)
	if err != nil {
		return nil, err
	}
	axes, weight, bias := matrix.FromSlice(n, x.Cols, values), matrix.New(n, x.Cols), matrix.New(n, 1)
	matrix.Gemm(false, false, 1, axes, w.Weight, 0, weight)
	matrix.Gemm(false, false, 1, axes, matrix.FromSlice(x.Cols, 1, w.Bias), 0, bias)
	return &Layer{Weight: weight, Bias: bias.Data, Samples: w.Samples}, nil
}

// Apply returns the layer's output for the rows of x.
func (w *Layer) Apply(x *matrix.Dense) *matrix.Dense {
	y := matrix.New(x.Rows, w.Weight.Rows)
	matrix.Gemm(false, true, 1, x, w.Weight, 0, y)
	for i := range y.Rows {
		for j, b := range w.Bias {
			y.Row(i)[j] += b
		}
	}
	return y
}

// AppendTo returns net followed by the layer and a normalisation. Its parameters are copies.
func (w *Layer) AppendTo(net *nn.Net, opt nn.Options) (*nn.Net, error) {
	spec := *net.Spec()
	spec.Layers = append(slices.Clone(spec.Layers), nn.Layer{Kind: nn.Dense, Name: LayerName, Out: w.Weight.Rows},
		nn.Layer{Kind: nn.L2Normalize})
	out, err := nn.New(&spec, opt)
	if err != nil {
		return nil, fmt.Errorf("adding layer wccn to the network: %w", err)
	}
	for _, p := range net.Params() {
		copy(out.Param(p.Name).Value, p.Value)
	}
	copy(out.Param(LayerName+".weight").Value, w.Weight.Data)
	copy(out.Param(LayerName+".bias").Value, w.Bias)
	return out, nil
}

// PrincipalDirections returns the k eigenvectors of X'X with the largest eigenvalues, one after the
// other. The rows are not centred, because cosine similarity refers to the origin.
func PrincipalDirections(x *matrix.Dense, k int) ([]float32, error) {
	c := mat.NewSymDense(x.Cols, nil)
	row := mat.NewVecDense(x.Cols, nil)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			row.SetVec(j, float64(v))
		}
		c.SymRankOne(c, 1, row)
	}
	var e mat.EigenSym
	if !e.Factorize(c, true) {
		return nil, errors.New("network.head: the features have no principal components")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	var out []float32
	for j := range k {
		col := x.Cols - 1 - j
		for i := range x.Cols {
			out = append(out, float32(v.At(i, col)))
		}
	}
	return out, nil
}
