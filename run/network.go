package run

import (
	"fmt"

	"github.com/kindred-ml/kindred/format/torchfile"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/onnxnet"
)

// networkSpec describes the network of cfg for samples of the given shape. own is
// the network of a file that brings one, else nil.
func networkSpec(cfg *Config, own *onnxnet.Network, h, w, ch int) (*nn.Spec, error) {
	n := &cfg.Network
	if own != nil {
		return ownSpec(cfg, own, h, w, ch)
	}
	spec, err := nn.Network(n.Name, nn.NetworkOptions{
		Input: nn.Shape{H: h, W: w, C: ch}, Dim: n.Dim, Normalize: n.Normalize == On, HeadNorm: n.HeadNorm,
		Width: n.Width, Multiple: n.Multiple, Stem: nn.Stem(n.Stem), Dropout: n.Dropout, NoHead: n.Dim == 0,
	})
	if err != nil {
		return nil, fmt.Errorf("network %s on samples of %d x %d x %d: %w", n.Name, h, w, ch, err)
	}
	return spec, nil
}

// newNetwork makes the network that spec describes, as cfg says to start it.
// The report says how pretrained weights fit, nil without any.
func newNetwork(cfg *Config, own *onnxnet.Network, path string, spec *nn.Spec) (*nn.Net, *nn.ImportReport, error) {
	n := &cfg.Network
	net, err := nn.New(spec, nn.Options{Seed: cfg.Train.Seed, Freeze: n.prefixes(), FreezeBody: n.frozenBody(),
		FrozenNorm: n.FrozenNorm == On, Precision: nn.Precision(n.Precision)})
	if err != nil {
		return nil, nil, err
	}
	if !n.pretrained() {
		return net, nil, nil
	}
	if own != nil {
		report, err := net.Import(own.Weights, nn.ImportOptions{})
		if err != nil {
			err = fmt.Errorf("network.pretrained: %s: %w", n.Pretrained, err)
		}
		return net, report, err
	}
	report, err := importWeights(net, path)
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
