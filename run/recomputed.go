package run

import (
	"errors"

	"github.com/kindred-ml/kindred/eval/rank"
	dense "github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
)

// WithoutComputed returns the model without the layer that its run computed from training samples (wccn); nil if its
// network has none.
func (m *Model) WithoutComputed() (*Model, error) {
	spec := *m.Net.Spec()
	n := len(spec.Layers)
	if n < 3 || spec.Layers[n-2].Name != wccnLayer {
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
	bare := *m
	bare.Net = net
	return &bare, nil
}

// Recomputed puts a layer (wccn) behind embeddings of a model without one. It is computed from some of the samples:
// those at the positions that from names, by their training labels.
func (e *Embedded) Recomputed(from func(pos int) bool) (*Embedded, error) {
	var values []float32
	var labels []int64
	for row, pos := range e.Pos {
		if from(pos) {
			values, labels = append(values, e.X.Row(row)...), append(labels, e.Part.Label[pos])
		}
	}
	w := newWCCN(dense.Of(len(labels), e.X.Cols, values), labels)
	if w == nil {
		return nil, errors.New("too few training samples are left to compute the layer of their covariance from")
	}
	out := *e
	out.X = rank.Normalized(w.of(e.X))
	return &out, nil
}
