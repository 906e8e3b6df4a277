package run

import (
	"fmt"

	"github.com/kindred-ml/kindred/format/torchfile"
	"github.com/kindred-ml/kindred/nn"
)

// networkSpec describes the network of cfg for samples of the given shape.
func networkSpec(cfg *Config, h, w, ch int) (*nn.Spec, error) {
	n := &cfg.Network
	spec, err := nn.Network(n.Name, nn.NetworkOptions{
		Input: nn.Shape{H: h, W: w, C: ch}, Dim: n.Dim, Normalize: n.Normalize == On, HeadNorm: n.HeadNorm,
		Width: n.Width, Multiple: n.Multiple, Stem: nn.Stem(n.Stem), Dropout: n.Dropout,
	})
	if err != nil {
		return nil, fmt.Errorf("network %s on samples of %d x %d x %d: %w", n.Name, h, w, ch, err)
	}
	return spec, nil
}

// newNetwork makes the network that spec describes, as cfg says to start it.
// The report says how pretrained weights fit, nil without any.
func newNetwork(cfg *Config, spec *nn.Spec) (*nn.Net, *nn.ImportReport, error) {
	n := &cfg.Network
	net, err := nn.New(spec, nn.Options{Seed: cfg.Train.Seed, Freeze: n.Freeze, FrozenNorm: n.FrozenNorm})
	if err != nil {
		return nil, nil, err
	}
	if n.Pretrained == "" {
		return net, nil, nil
	}
	report, err := importWeights(net, n.Pretrained)
	return net, report, err
}

// importWeights starts the network from a file of weights. What the file lacks,
// such as the embedding layer, keeps its fresh values.
func importWeights(net *nn.Net, path string) (*nn.ImportReport, error) {
	f, err := torchfile.ReadWeights(path)
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %w", err)
	}
	report, err := net.Import(f, nn.ImportOptions{AdaptInput: true})
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %s: %w", path, err)
	}
	return report, nil
}
