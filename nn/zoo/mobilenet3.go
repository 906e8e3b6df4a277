package zoo

import (
	"strconv"

	"github.com/kindred-ml/kindred/nn"
)

// inverted is a row of torchvision's tables of MobileNet v3 and EfficientNet: a
// block that widens, convolves each channel, weighs channels and narrows.
type inverted struct {
	kernel, wide, out, stride int
	squeeze                   int // of squeeze and excite; 0: none
	act, gate                 nn.Kind
}

// layers builds a block with torchvision's names: block.0 and on within it. in is
// the number of channels that come in.
func (b inverted) layers(in int, norm nn.Layer, drop float64) []nn.Layer {
	var l []nn.Layer
	next := func() string { return strconv.Itoa(len(l)) }
	if b.wide != in {
		l = append(l, convNorm(next(), b.wide, 1, 1, 0, norm, b.act))
	}
	l = append(l, convNorm(next(), b.wide, b.kernel, b.stride, -1, norm, b.act))
	if b.squeeze > 0 {
		act := b.act
		if b.gate == nn.HardSigmoid {
			act = nn.ReLU
		}
		l = append(l, nn.Layer{Kind: nn.Multiply, Name: next(), Layers: []nn.Layer{
			{Kind: nn.GlobalAvgPool},
			{Kind: nn.Conv, Name: "fc1", Out: b.squeeze, Kernel: 1, Init: nn.InitKaimingOut}, {Kind: act},
			{Kind: nn.Conv, Name: "fc2", Out: b.wide, Kernel: 1, Init: nn.InitKaimingOut}, {Kind: b.gate}}})
	}
	l = []nn.Layer{{Kind: nn.Sequential, Name: "block", Layers: append(l, convNorm(next(), b.out, 1, 1, 0, norm, ""))}}
	if drop > 0 {
		l = append(l, nn.Layer{Kind: nn.StochasticDepth, Rate: drop})
	}
	return l
}

// kind is the kind of the layer that holds the block.
func (b inverted) kind(in int) nn.Kind {
	if b.stride == 1 && b.out == in {
		return nn.Residual
	}
	return nn.Sequential
}

// convNorm is a convolution with its norm and activation, if any, named by their
// places as torchvision does.
func convNorm(name string, out, kernel, stride, groups int, norm nn.Layer, act nn.Kind) nn.Layer {
	conv := resConv("0", out, kernel, stride)
	conv.Groups = groups
	norm.Name = "1"
	l := []nn.Layer{conv, norm}
	if act != "" {
		l = append(l, nn.Layer{Kind: act})
	}
	return nn.Layer{Kind: nn.Sequential, Name: name, Layers: l}
}

// mobileNet3 is a MobileNet v3: its blocks, and the width of the layer before the
// embedding.
type mobileNet3 struct {
	blocks []inverted
	last   int
}

// layers builds it with torchvision's names.
func (m mobileNet3) layers(o Options) []nn.Layer {
	multiple := o.multiple()
	width := func(n int) int { return divisible(float64(n) * multiple) }
	norm := nn.Layer{Kind: nn.BatchNorm, Eps: 1e-3, Momentum: 0.01}
	channels := width(16)
	features := []nn.Layer{convNorm("0", channels, 3, o.firstStride(), 0, norm, nn.HardSwish)}
	for _, b := range m.blocks {
		b.wide, b.out, b.gate = width(b.wide), width(b.out), nn.HardSigmoid
		if b.squeeze > 0 {
			b.squeeze = divisible(float64(b.wide / 4))
		}
		features = append(features, nn.Layer{Kind: b.kind(channels), Name: strconv.Itoa(len(features)),
			Layers: b.layers(channels, norm, 0)})
		channels = b.out
	}
	features = append(features, convNorm(strconv.Itoa(len(features)), 6*channels, 1, 1, 0, norm, nn.HardSwish))
	return append([]nn.Layer{{Kind: nn.Sequential, Name: "features", Layers: features}, o.pool(),
		{Kind: nn.Dense, Name: "classifier.0", Out: width(m.last), Init: nn.InitSmall}, {Kind: nn.HardSwish}},
		head(o, "classifier.3", nn.InitSmall)...)
}

// The tables of Howard et al. 2019. squeeze 1 stands for a quarter of wide.

func mobileNet3Large() []inverted {
	const relu, swish = nn.ReLU, nn.HardSwish
	row := func(kernel, wide, out, squeeze int, act nn.Kind, stride int) inverted {
		return inverted{kernel: kernel, wide: wide, out: out, stride: stride, squeeze: squeeze, act: act}
	}
	return []inverted{
		row(3, 16, 16, 0, relu, 1), row(3, 64, 24, 0, relu, 2), row(3, 72, 24, 0, relu, 1), row(5, 72, 40, 1, relu, 2),
		row(5, 120, 40, 1, relu, 1), row(5, 120, 40, 1, relu, 1), row(3, 240, 80, 0, swish, 2),
		row(3, 200, 80, 0, swish, 1), row(3, 184, 80, 0, swish, 1), row(3, 184, 80, 0, swish, 1),
		row(3, 480, 112, 1, swish, 1), row(3, 672, 112, 1, swish, 1), row(5, 672, 160, 1, swish, 2),
		row(5, 960, 160, 1, swish, 1), row(5, 960, 160, 1, swish, 1),
	}
}

func mobileNet3Small() []inverted {
	const relu, swish = nn.ReLU, nn.HardSwish
	row := func(kernel, wide, out, squeeze int, act nn.Kind, stride int) inverted {
		return inverted{kernel: kernel, wide: wide, out: out, stride: stride, squeeze: squeeze, act: act}
	}
	return []inverted{
		row(3, 16, 16, 1, relu, 2), row(3, 72, 24, 0, relu, 2), row(3, 88, 24, 0, relu, 1),
		row(5, 96, 40, 1, swish, 2),
		row(5, 240, 40, 1, swish, 1), row(5, 240, 40, 1, swish, 1), row(5, 120, 48, 1, swish, 1),
		row(5, 144, 48, 1, swish, 1), row(5, 288, 96, 1, swish, 2), row(5, 576, 96, 1, swish, 1),
		row(5, 576, 96, 1, swish, 1),
	}
}

// efficientNetLayers builds EfficientNet-B0 with torchvision's names.
func efficientNetLayers(o Options) []nn.Layer {
	multiple := o.multiple()
	width := func(n int) int { return divisible(float64(n) * multiple) }
	norm := nn.Layer{Kind: nn.BatchNorm}
	channels := width(32)
	features := []nn.Layer{convNorm("0", channels, 3, o.firstStride(), 0, norm, nn.SiLU)}
	stages := []struct{ expand, kernel, stride, out, blocks int }{
		{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2}, {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3}, {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4},
		{6, 3, 1, 320, 1},
	}
	const total = 16
	done := 0
	for _, s := range stages {
		stage := nn.Layer{Kind: nn.Sequential, Name: strconv.Itoa(len(features))}
		for i := range s.blocks {
			b := inverted{kernel: s.kernel, wide: divisible(float64(channels * s.expand)), out: width(s.out), stride: 1,
				squeeze: max(1, channels/4), act: nn.SiLU, gate: nn.Sigmoid}
			if i == 0 {
				b.stride = s.stride
			}
			l := nn.Layer{Kind: b.kind(channels), Name: strconv.Itoa(i)}
			drop := 0.0
			if l.Kind == nn.Residual {
				drop = o.DropPath * float64(done) / total
			}
			l.Layers = b.layers(channels, norm, drop)
			stage.Layers = append(stage.Layers, l)
			channels = b.out
			done++
		}
		features = append(features, stage)
	}
	features = append(features, convNorm(strconv.Itoa(len(features)), 4*channels, 1, 1, 0, norm, nn.SiLU))
	return append([]nn.Layer{{Kind: nn.Sequential, Name: "features", Layers: features}, o.pool()},
		head(o, "classifier.1", nn.InitDefault)...)
}
