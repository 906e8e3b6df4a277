package bench

import (
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// networkPass is a network whose passes are timed: evaluation, and forward and
// backward in training.
type networkPass struct {
	name, title, network string
	n, side              int
	options              zoo.Options
	trains16             bool // the peer can also train it in bfloat16
}

func networkPasses() []networkPass {
	resnet := zoo.Options{Dim: 1000, Stem: zoo.StemLarge}
	mobile := zoo.Options{Dim: 128, Multiple: 0.75, Stem: zoo.StemLarge}
	return []networkPass{
		{"resnet18", "ResNet-18", "resnet18", 16, 224, resnet, true},
		{"resnet50", "ResNet-50", "resnet50", 16, 224, resnet, true},
		// PyTorch 1.13 has no gradient of ReLU6 in bfloat16.
		{"mobilenet_v1_075", "MobileNet v1 times 0.75", "mobilenet_v1", 32, 128, mobile, false},
		{"mobilenet_v1_075", "MobileNet v1 times 0.75", "mobilenet_v1", 32, 224, mobile, false},
		{"vit_s16", "ViT-S/16", "vit_s16", 16, 224, zoo.Options{NoHead: true}, true},
	}
}

// newCase returns the case of one of the passes.
func (p networkPass) newCase(training bool, precision nn.Precision) Case {
	mode, what := "infer", "evaluation"
	if training {
		mode, what = "train", "forward and backward pass in training"
	}
	name := fmt.Sprintf("%s-%d-%s-b%d", p.name, p.side, mode, p.n)
	switch precision {
	case nn.BFloat16:
		name, what = name+"-bf16", what+" in bfloat16"
	case nn.Int8:
		name, what = name+"-int8", what+" in 8 bits"
	}
	var net *nn.Net
	var pixels []float32
	var grad *matrix.Dense
	pass := func() error {
		if !training {
			net.Infer(pixels, p.n)
			return nil
		}
		net.Forward(pixels, p.n)
		net.Backward(grad)
		return nil
	}
	var network func() (*nn.Net, []float32, int)
	if !training && precision != nn.BFloat16 { // which an exported network does not have
		network = func() (*nn.Net, []float32, int) { return net, pixels, p.n }
	}
	return Case{
		Name:    name,
		Network: network,
		About:   fmt.Sprintf("%s of %s on %d colour pictures of %d x %d", what, p.title, p.n, p.side, p.side),
		Items:   p.n,
		Setup: func() (func() error, float64, error) {
			o := p.options
			o.Input = nn.Shape{H: p.side, W: p.side, C: 3}
			spec, err := zoo.Network(p.network, o)
			if err != nil {
				return nil, 0, err
			}
			pixels = uniformValues(p.n*spec.Input.Len(), 1)
			if net, err = newNetwork(spec, precision, pixels, p.n); err != nil {
				return nil, 0, err
			}
			net.SetConstant(!training) // as kindred embed has it
			grad = matrix.New(p.n, net.Dim())
			for i := range grad.Data {
				grad.Data[i] = 1
			}
			return pass, 0, nil
		},
		Layers: func(runs int) ([]nn.LayerTime, error) {
			var t nn.Profile
			net.SetProfile(&t)
			defer net.SetProfile(nil)
			for range runs {
				if err := pass(); err != nil {
					return nil, err
				}
			}
			if training {
				return t.Train, nil
			}
			return t.Infer, nil
		},
	}
}

// newNetwork makes a network of the given precision. An 8-bit network is calibrated on
// the pictures.
func newNetwork(spec *nn.Spec, precision nn.Precision, pixels []float32, n int) (*nn.Net, error) {
	if precision != nn.Int8 {
		return nn.New(spec, nn.Options{Seed: 1, Precision: precision})
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		return nil, err
	}
	c, err := nn.NewCalibration(net)
	if err != nil {
		return nil, err
	}
	c.Add(pixels, n)
	q, err := c.Quantization(nn.RangeChoice{Percentile: 100})
	if err != nil {
		return nil, err
	}
	return net.Quantized(q)
}
