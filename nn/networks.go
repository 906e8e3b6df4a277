package nn

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kindred-ml/kindred/internal/spell"
)

// NetworkOptions are the choices of the named networks. The zero value of each
// is its default.
type NetworkOptions struct {
	Input     Shape   // of the images, or 1 x 1 x n for vectors of features; required
	Dim       int     // length of the embedding; 0: 128
	Normalize bool    // L2-normalise the embedding
	HeadNorm  bool    // batch norm on the embedding, before normalisation
	Width     int     // conv4: filters (0: 64); mlp: hidden units (0: 512); transformers: channels
	Multiple  float64 // resnet*, mobilenet_*, efficientnet_b0, convnext_tiny, bn_inception: width multiplier; 0: 1
	Stem      Stem    // of residual networks, mobilenet_* and efficientnet_b0
	Pool      Pool    // of all but mnist, conv4, mlp and linear
	Dropout   float64 // before the embedding layer; 0: none
	// NoHead leaves the embedding layer out: the network makes its features, as
	// many as it has. Dim and Dropout mean nothing then.
	NoHead bool

	// Of transformers; 0 is what the network's name says, and else Heads is a head
	// for 64 channels, Registers and LayerScale none.
	Patch      int     // pixels of a patch's side
	Depth      int     // blocks
	Heads      int     // of attention
	Registers  int     // tokens beside the class token
	LayerScale float64 // what the scales of branches start from

	// DropPath is the probability with which the last block's branches are left
	// out for an image in training; it grows to that from 0 at the first. Of
	// transformers, convnext_tiny and efficientnet_b0.
	DropPath float64
}

// Stem says how a residual network or MobileNet begins. It reads and writes its
// text.
type Stem string

const (
	// StemAuto is StemLarge for images of at least 96 pixels, else StemSmall.
	StemAuto Stem = ""
	// StemLarge is the published one: ResNet's 7 x 7 convolution of stride 2 and 3
	// x 3 maximum pool of stride 2, MobileNet's convolution of stride 2.
	StemLarge Stem = "large"
	// StemSmall keeps small images large: ResNet starts with a 3 x 3 convolution
	// of stride 1 and no pool, MobileNet's first convolution has stride 1.
	StemSmall Stem = "small"
)

// defaultDim is the length of an embedding for which none is set.
const defaultDim = 128

// Pool says how the positions of a convolutional network or transformer become
// one vector of features. It reads and writes its text.
type Pool string

const (
	// PoolDefault is the network's own: the mean over positions, or a transformer's
	// class token.
	PoolDefault Pool = ""
	// PoolMean is the mean over positions, of a transformer over the image's own.
	PoolMean Pool = "mean"
	// PoolGEM is the generalised mean with a trained power (Radenovic et al. 2018);
	// transformers do not have it.
	PoolGEM Pool = "gem"
	// PoolClass is a transformer's class token.
	PoolClass Pool = "cls"
)

func pools() []Pool { return []Pool{PoolDefault, PoolMean, PoolGEM, PoolClass} }

func stems() []Stem { return []Stem{StemAuto, StemLarge, StemSmall} }

// Networks lists the names that Network knows.
func Networks() []string {
	return []string{"mnist", "conv4", "mlp", "linear", "resnet18", "resnet34", "resnet50",
		"mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny",
		"bn_inception",
		"vit_t16", "vit_s16", "vit_b16", "vit_t14", "vit_s14", "vit_b14", "clip_vit_b32", "clip_vit_b16"}
}

// Network returns the description of a named network:
//
//   - mnist: Levi et al. 2021, appendix C: 3 x 3 convolutions with 32 and 64
//     filters (valid), ReLU, batch norm, 2 x 2 maximum pool, dense 128, dense Dim.
//   - conv4: four blocks of 3 x 3 convolution (Width filters), batch norm, ReLU
//     and 2 x 2 maximum pool, then dense Dim (Vinyals et al. 2016).
//   - mlp: dense Width, ReLU, dense Dim. linear: dense Dim.
//   - resnet18, resnet34, resnet50: He et al. 2015, as torchvision builds them
//     (stride in the 3 x 3 convolution), with "fc" giving the embedding.
//   - mobilenet_v1: Howard et al. 2017, with TensorFlow's paddings and epsilon and
//     timm's names, "classifier" giving the embedding.
//   - mobilenet_v2: Sandler et al. 2018, as torchvision builds it, with
//     "classifier.1" giving the embedding.
//   - mobilenet_v3_small, mobilenet_v3_large: Howard et al. 2019, as torchvision
//     builds them, with "classifier.3" giving the embedding.
//   - efficientnet_b0: Tan and Le 2019, as torchvision builds it, with
//     "classifier.1" giving the embedding.
//   - convnext_tiny: Liu et al. 2022, as torchvision builds it, with
//     "classifier.2" giving the embedding.
//   - bn_inception: Ioffe and Szegedy 2015, GoogLeNet with batch norm, as the Caffe
//     model that the literature on retrieval uses, with the names it has in PyTorch,
//     "last_linear" giving the embedding.
//   - vit_t16, vit_s16, vit_b16: transformers of 192, 384 and 768 channels on
//     patches of 16 x 16 (Dosovitskiy et al. 2021), with timm's names, "head"
//     giving the embedding of the class token; also DINO's. vit_t14, vit_s14,
//     vit_b14: patches of 14 x 14 and layer scale, as DINOv2 has them.
//   - clip_vit_b32, clip_vit_b16: CLIP's image tower, with timm's names; "head" is
//     its projection if Dim is that, 512.
//
// The spec returned has passed Check.
func Network(name string, o NetworkOptions) (*Spec, error) {
	if o.Dim == 0 {
		o.Dim = defaultDim
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("network %s: %w", name, err)
	}
	if _, ok := transformerOf(name, o); o.Pool == PoolClass && !ok && slices.Contains(Networks(), name) {
		return nil, fmt.Errorf("network %s: pool %q: it has no class token", name, o.Pool)
	}
	var layers []Layer
	switch name {
	case "mnist":
		layers = mnistLayers(o)
	case "conv4":
		layers = conv4Layers(o)
	case "mlp":
		layers = []Layer{{Kind: Flatten}, {Kind: Dense, Name: "fc1", Out: or(o.Width, 512)}, {Kind: ReLU}}
		layers = append(layers, head(o, "fc2", InitDefault)...)
	case "linear":
		layers = append([]Layer{{Kind: Flatten}}, head(o, "fc", InitDefault)...)
	case "resnet18":
		layers = resnetLayers(o, basicBlock, 1, []int{2, 2, 2, 2})
	case "resnet34":
		layers = resnetLayers(o, basicBlock, 1, []int{3, 4, 6, 3})
	case "resnet50":
		layers = resnetLayers(o, bottleneck, 4, []int{3, 4, 6, 3})
	case "mobilenet_v1":
		layers = mobileNet1Layers(o)
	case "mobilenet_v2":
		layers = mobileNetLayers(o)
	case "mobilenet_v3_small", "mobilenet_v3_large":
		layers = mobileNet3Layers(o, name == "mobilenet_v3_small")
	case "efficientnet_b0":
		layers = efficientNetLayers(o)
	case "convnext_tiny":
		layers = convNeXtLayers(o)
	case "bn_inception":
		layers = inceptionLayers(o)
	default:
		t, ok := transformerOf(name, o)
		if !ok {
			_, err := spell.Index("network", name, Networks())
			return nil, err
		}
		var err error
		if layers, err = t.layers(o); err != nil {
			return nil, fmt.Errorf("network %s: %w", name, err)
		}
	}
	s := &Spec{Name: name, Input: o.Input, Layers: layers}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s, nil
}

// check tests the options that do not depend on the network.
func (o *NetworkOptions) check() error {
	for _, v := range []struct {
		name      string
		n, atMost int
	}{
		{"patch", o.Patch, 1 << 14}, {"width", o.Width, 1 << 20}, {"depth", o.Depth, maxDepth},
		{"heads", o.Heads, 1 << 20},
		{"registers", o.Registers, 1024},
	} {
		if v.n < 0 || v.n > v.atMost {
			return fmt.Errorf("%s %d; it must be in 0..%d", v.name, v.n, v.atMost)
		}
	}
	if !(o.Multiple >= 0 && o.Multiple <= 64) {
		return fmt.Errorf("width multiplier %v; it must be in 0..64", o.Multiple)
	}
	if !(o.DropPath >= 0 && o.DropPath < 1) {
		return fmt.Errorf("drop path %v; it must be at least 0 and below 1", o.DropPath)
	}
	if err := checkName("pool", o.Pool, pools()); err != nil {
		return err
	}
	return checkName("stem", o.Stem, stems())
}

// multiple is the width multiplier.
func (o *NetworkOptions) multiple() float64 {
	if o.Multiple == 0 {
		return 1
	}
	return o.Multiple
}

// pool makes one vector of an image's positions.
func (o *NetworkOptions) pool() Layer {
	if o.Pool == PoolGEM {
		return Layer{Kind: GEMPool, Name: "pool.p"}
	}
	return Layer{Kind: GlobalAvgPool}
}

// firstStride is that of a MobileNet's first convolution.
func (o *NetworkOptions) firstStride() int {
	if o.largeStem() {
		return 2
	}
	return 1
}

func or(n, otherwise int) int {
	if n != 0 {
		return n
	}
	return otherwise
}

// head ends a network: from a vector to the embedding.
func head(o NetworkOptions, name string, init Init) []Layer {
	var l []Layer
	if o.Dropout > 0 && !o.NoHead {
		l = append(l, Layer{Kind: Dropout, Rate: o.Dropout})
	}
	if !o.NoHead {
		l = append(l, Layer{Kind: Dense, Name: name, Out: o.Dim, Init: init})
	}
	if o.HeadNorm {
		l = append(l, Layer{Kind: BatchNorm, Name: "head_bn"})
	}
	if o.Normalize {
		l = append(l, Layer{Kind: L2Normalize})
	}
	return l
}

func mnistLayers(o NetworkOptions) []Layer {
	return append([]Layer{
		{Kind: Conv, Name: "conv1", Out: 32, Kernel: 3},
		{Kind: Conv, Name: "conv2", Out: 64, Kernel: 3},
		{Kind: ReLU},
		{Kind: BatchNorm, Name: "bn"},
		{Kind: MaxPool, Kernel: 2},
		{Kind: Flatten},
		{Kind: Dense, Name: "fc1", Out: 128},
	}, head(o, "fc2", InitDefault)...)
}

func conv4Layers(o NetworkOptions) []Layer {
	var l []Layer
	for i := 1; i <= 4; i++ {
		n := strconv.Itoa(i)
		l = append(l,
			Layer{Kind: Conv, Name: "conv" + n, Out: or(o.Width, 64), Kernel: 3, Pad: 1, NoBias: true},
			Layer{Kind: BatchNorm, Name: "bn" + n},
			Layer{Kind: ReLU},
			Layer{Kind: MaxPool, Kernel: 2})
	}
	l = append(l, Layer{Kind: Flatten})
	return append(l, head(o, "fc", InitDefault)...)
}

func (o *NetworkOptions) largeStem() bool {
	return o.Stem == StemLarge || o.Stem == StemAuto && min(o.Input.H, o.Input.W) >= 96
}

// resnetLayers builds a residual network: four stages of blocks whose inner
// widths are 64, 128, 256, 512 (times Multiple) and whose outputs are expand times that.
func resnetLayers(o NetworkOptions, block func(width, out, stride int) []Layer, expand int, blocks []int) []Layer {
	base := 64
	if o.Multiple != 0 {
		base = max(1, int(math.Round(64*o.Multiple)))
	}
	var l []Layer
	if o.largeStem() {
		l = append(l, resConv("conv1", base, 7, 2), Layer{Kind: BatchNorm, Name: "bn1"}, Layer{Kind: ReLU},
			Layer{Kind: MaxPool, Kernel: 3, Stride: 2, Pad: 1})
	} else {
		l = append(l, resConv("conv1", base, 3, 1), Layer{Kind: BatchNorm, Name: "bn1"}, Layer{Kind: ReLU})
	}
	channels := base
	for i, n := range blocks {
		width := base << i
		stage := Layer{Kind: Sequential, Name: "layer" + strconv.Itoa(i+1)}
		for b := range n {
			step := 1
			if i > 0 && b == 0 {
				step = 2
			}
			r := Layer{Kind: Residual, Name: strconv.Itoa(b), Layers: block(width, width*expand, step)}
			if step != 1 || channels != width*expand {
				r.Shortcut = []Layer{{Kind: Sequential, Name: "downsample", Layers: []Layer{
					resConv("0", width*expand, 1, step), {Kind: BatchNorm, Name: "1"}}}}
			}
			channels = width * expand
			stage.Layers = append(stage.Layers, r, Layer{Kind: ReLU})
		}
		l = append(l, stage)
	}
	l = append(l, o.pool())
	return append(l, head(o, "fc", InitDefault)...)
}

// resConv is a convolution that keeps the size at stride 1.
func resConv(name string, out, kernel, stride int) Layer {
	return Layer{Kind: Conv, Name: name, Out: out, Kernel: kernel, Stride: stride, Pad: kernel / 2, NoBias: true,
		Init: InitKaimingOut}
}

func basicBlock(width, out, stride int) []Layer {
	return []Layer{
		resConv("conv1", width, 3, stride), {Kind: BatchNorm, Name: "bn1"}, {Kind: ReLU},
		resConv("conv2", out, 3, 1), {Kind: BatchNorm, Name: "bn2"},
	}
}

func bottleneck(width, out, stride int) []Layer {
	return []Layer{
		resConv("conv1", width, 1, 1), {Kind: BatchNorm, Name: "bn1"}, {Kind: ReLU},
		resConv("conv2", width, 3, stride), {Kind: BatchNorm, Name: "bn2"}, {Kind: ReLU},
		resConv("conv3", out, 1, 1), {Kind: BatchNorm, Name: "bn3"},
	}
}

// mobileNetLayers builds MobileNet v2 with torchvision's names: features.N for
// the blocks, features.N.conv.* within them.
func mobileNetLayers(o NetworkOptions) []Layer {
	multiple := o.multiple()
	channels := divisible(32 * multiple)
	features := []Layer{convNormAct("0", channels, 3, o.firstStride(), 0)}
	stages := []struct{ expand, channels, blocks, stride int }{
		{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
	}
	for _, s := range stages {
		out := divisible(float64(s.channels) * multiple)
		for b := range s.blocks {
			step := 1
			if b == 0 {
				step = s.stride
			}
			hidden := channels * s.expand
			var conv []Layer
			if s.expand != 1 {
				conv = append(conv, convNormAct(strconv.Itoa(len(conv)), hidden, 1, 1, 0))
			}
			conv = append(conv, convNormAct(strconv.Itoa(len(conv)), hidden, 3, step, -1))
			n := len(conv)
			conv = append(conv, resConv(strconv.Itoa(n), out, 1, 1), Layer{Kind: BatchNorm, Name: strconv.Itoa(n + 1)})
			kind := Sequential
			if step == 1 && channels == out {
				kind = Residual
			}
			features = append(features, Layer{Kind: kind, Name: strconv.Itoa(len(features)),
				Layers: []Layer{{Kind: Sequential, Name: "conv", Layers: conv}}})
			channels = out
		}
	}
	last := divisible(1280 * max(1, multiple))
	features = append(features, convNormAct(strconv.Itoa(len(features)), last, 1, 1, 0))
	return append([]Layer{{Kind: Sequential, Name: "features", Layers: features}, o.pool()},
		head(o, "classifier.1", InitSmall)...)
}

func convNormAct(name string, out, kernel, stride, groups int) Layer {
	return convNorm(name, out, kernel, stride, groups, Layer{Kind: BatchNorm}, ReLU6)
}

// divisible rounds to the nearest multiple of 8, but not below 90% of x: how
// MobileNet scales its widths.
func divisible(x float64) int {
	n := max(8, int(x+4)/8*8)
	if float64(n) < 0.9*x {
		n += 8
	}
	return n
}
