package zoo

import (
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/nn"
)

// head ends a network: from a vector to the embedding.
func head(o Options, name string, init nn.Init) []nn.Layer {
	var l []nn.Layer
	if o.Dropout > 0 && !o.NoHead {
		l = append(l, nn.Layer{Kind: nn.Dropout, Rate: o.Dropout})
	}
	if !o.NoHead {
		l = append(l, nn.Layer{Kind: nn.Dense, Name: name, Out: o.Dim, Init: init})
	}
	if o.HeadNorm {
		l = append(l, nn.Layer{Kind: nn.BatchNorm, Name: "head_bn"})
	}
	if o.Normalize {
		l = append(l, nn.Layer{Kind: nn.L2Normalize})
	}
	return l
}

// WithHead returns network s with an embedding layer "head" at its end, as Dim,
// Dropout, HeadNorm and Normalize of o say. With NoHead only HeadNorm and
// Normalize apply. It is for networks read from files: Network adds a head by
// itself.
func WithHead(s *nn.Spec, o Options) (*nn.Spec, error) {
	if o.Dim == 0 {
		o.Dim = defaultDim
	}
	net := *s
	net.Layers = append(slices.Clone(s.Layers), head(o, "head", nn.InitDefault)...)
	if err := net.Check(); err != nil {
		return nil, fmt.Errorf("with a head: %w", err)
	}
	return &net, nil
}
