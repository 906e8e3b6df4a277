package run

import (
	"fmt"
	"reflect"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/onnxnet"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// networkSpec describes the network of cfg for samples of the given shape. file is
// the network of a file that includes one, else nil.
func networkSpec(cfg *Config, file *onnxnet.Network, h, w, ch int) (*nn.Spec, error) {
	n := &cfg.Network
	if file != nil {
		return fileSpec(cfg, file, h, w, ch)
	}
	input := nn.Shape{H: h, W: w, C: ch}
	spec, err := n.spec(input)
	if err != nil {
		return nil, fmt.Errorf("network %s on samples of %d x %d x %d: %w", n.Name, h, w, ch, err)
	}
	for i := range table.Keys {
		k := &table.Keys[i]
		if k.Idle == nil || table.Unset(cfg, k) || k.Idle(cfg) {
			continue
		}
		without := *cfg
		table.Put(&without, k, nil)
		if other, err := without.Network.spec(input); err == nil && reflect.DeepEqual(other, spec) {
			return nil, fmt.Errorf("%s: network %s has nothing of the kind", k.Name, n.Name)
		}
	}
	return spec, nil
}

// spec is the network by name.
func (n *NetworkConfig) spec(input nn.Shape) (*nn.Spec, error) {
	return zoo.Network(n.Name, zoo.Options{
		Input: input, Dim: n.Dim, Normalize: n.Normalize == On, HeadNorm: n.HeadNorm,
		Width: n.Width, Multiple: n.Multiple, Stem: zoo.Stem(n.Stem), Dropout: n.Dropout, NoHead: n.Dim == 0,
		Pool: zoo.Pool(n.Pool), Patch: n.Patch, Registers: n.Registers, DropPath: n.DropPath,
	})
}

// timmPositions is the value of network.resample for timm's way, which is the usual
// one.
const timmPositions = "timm"

// positions is how tables of position embeddings are made to fit.
func (n *NetworkConfig) positions() zoo.Resample {
	if n.Resample == timmPositions {
		return zoo.ResampleTimm
	}
	return zoo.Resample(n.Resample)
}

// newNetwork makes the network that spec describes, as cfg says to start it.
// The report says how pretrained weights fit, nil without any.
func newNetwork(cfg *Config, file *onnxnet.Network, path string, spec *nn.Spec) (*nn.Net, *zoo.ImportReport, error) {
	n := &cfg.Network
	net, err := nn.New(spec, nn.Options{Seed: cfg.Train.Seed, Freeze: n.prefixes(), FreezeBody: n.frozenBody(),
		FrozenNorm: n.FrozenNorm == On, Precision: nn.Precision(n.Precision)})
	if err != nil {
		return nil, nil, err
	}
	if !n.pretrained() {
		return net, nil, nil
	}
	if file != nil {
		report, err := zoo.Import(net, file.Weights, zoo.ImportOptions{})
		if err != nil {
			err = fmt.Errorf("network.pretrained: %s: %w", n.Pretrained, err)
		}
		return net, report, err
	}
	report, err := importWeights(net, path, n.positions())
	return net, report, err
}

// importWeights starts the network from a file of weights. What the file lacks,
// such as the embedding layer, keeps its fresh values.
func importWeights(net *nn.Net, path string, how zoo.Resample) (*zoo.ImportReport, error) {
	f, err := zoo.ReadWeights(path)
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %w", err)
	}
	report, err := zoo.Import(net, f, zoo.ImportOptions{AdaptInput: true, Positions: how})
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %s: %w", path, err)
	}
	return report, nil
}
