package zoo

import (
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/nn"
)

// network is one that is known by name: its layers for valid options, or the
// transformer that they are made from.
type network struct {
	name        string
	layers      func(o Options) []nn.Layer
	transformer transformer
}

// networks are all of them: a new one is an entry here and its layers in a file of
// its own.
func networks() []network {
	return []network{
		{name: "mnist", layers: mnistLayers},
		{name: "conv4", layers: conv4Layers},
		{name: "mlp", layers: mlpLayers},
		{name: "linear", layers: linearLayers},
		{name: "resnet18", layers: resnet{basicBlock, 1, []int{2, 2, 2, 2}}.layers},
		{name: "resnet34", layers: resnet{basicBlock, 1, []int{3, 4, 6, 3}}.layers},
		{name: "resnet50", layers: resnet{bottleneck, 4, []int{3, 4, 6, 3}}.layers},
		{name: "mobilenet_v1", layers: mobileNet1Layers},
		{name: "mobilenet_v2", layers: mobileNet2Layers},
		{name: "mobilenet_v3_small", layers: mobileNet3{mobileNet3Small(), 1024}.layers},
		{name: "mobilenet_v3_large", layers: mobileNet3{mobileNet3Large(), 1280}.layers},
		{name: "efficientnet_b0", layers: efficientNetLayers},
		{name: convNeXt, layers: convNeXtLayers},
		{name: "bn_inception", layers: inceptionLayers},
		{name: "vit_t16", transformer: transformer{width: 192, patch: 16}},
		{name: "vit_s16", transformer: transformer{width: 384, patch: 16}},
		{name: "vit_b16", transformer: transformer{width: 768, patch: 16}},
		{name: "vit_t14", transformer: transformer{width: 192, patch: 14, scale: 1e-5}},
		{name: "vit_s14", transformer: transformer{width: 384, patch: 14, scale: 1e-5}},
		{name: "vit_b14", transformer: transformer{width: 768, patch: 14, scale: 1e-5}},
		{name: "clip_vit_b32", transformer: transformer{width: 768, patch: 32, kind: clip}},
		{name: "clip_vit_b16", transformer: transformer{width: 768, patch: 16, kind: clip}},
		{name: "dinov3_vit_s16", transformer: dinov3(384, dino3)},
		{name: "dinov3_vit_s16plus", transformer: dinov3(384, gated)},
		{name: "dinov3_vit_b16", transformer: dinov3(768, dino3)},
		{name: "siglip_vit_b16", transformer: transformer{width: 768, patch: 16, kind: siglip}},
		{name: "siglip_vit_so400m14",
			transformer: transformer{width: 1152, patch: 14, depth: 27, heads: 16, hidden: 4304, kind: siglip}},
	}
}

// convNeXt is the network whose activation and last norm its publishers vary.
const convNeXt = "convnext_tiny"

// Networks lists the names that Network knows.
func Networks() []string {
	var names []string
	for _, n := range networks() {
		names = append(names, n.name)
	}
	return names
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
//   - bn_inception: Ioffe and Szegedy 2015, GoogLeNet with batch norm: the Caffe
//     model of the literature on retrieval, with its names in PyTorch,
//     "last_linear" giving the embedding.
//   - vit_t16, vit_s16, vit_b16: transformers of 192, 384 and 768 channels on
//     patches of 16 x 16 (Dosovitskiy et al. 2021), with timm's names, "head"
//     giving the embedding of the class token; also DINO's. vit_t14, vit_s14,
//     vit_b14: patches of 14 x 14 and layer scale, as DINOv2 has them.
//   - clip_vit_b32, clip_vit_b16: CLIP's image tower, with timm's names; "head" is
//     its projection if Dim is that, 512.
//   - dinov3_vit_s16, dinov3_vit_s16plus, dinov3_vit_b16: Simeoni et al. 2025: rotary
//     positions, four registers, layer scale, keys without bias; s16plus has SwiGLU.
//   - siglip_vit_b16, siglip_vit_so400m14: the image towers of SigLIP (Zhai et al. 2023) and
//     SigLIP 2 at one resolution: attention with a learned query gives the features.
//
// The spec returned has passed Check.
func Network(name string, o Options) (*nn.Spec, error) {
	if o.Dim == 0 {
		o.Dim = defaultDim
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("network %s: %w", name, err)
	}
	k, err := enum.Index("network", name, Networks())
	if err != nil {
		return nil, err
	}
	layers, err := networks()[k].buildLayers(o)
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", name, err)
	}
	s := &nn.Spec{Name: name, Input: o.Input, Layers: layers}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s, nil
}

// buildLayers makes the layers, unless an option is one that the network does not have.
func (n *network) buildLayers(o Options) ([]nn.Layer, error) {
	if n.layers == nil {
		return n.transformer.withOptions(o).layers(o)
	}
	padded := strings.HasPrefix(n.name, "mobilenet_") || n.name == "efficientnet_b0"
	switch {
	case o.Pool == PoolClass:
		return nil, fmt.Errorf("pool %q: it has no class token", o.Pool)
	case o.Padding != PaddingDefault && !padded:
		return nil, fmt.Errorf("padding %q: only mobilenet_* and efficientnet_b0 have it", o.Padding)
	case o.Act != "" && n.name != convNeXt:
		return nil, fmt.Errorf("activation %q: only transformers and %s have it", o.Act, convNeXt)
	}
	layers := n.layers(o)
	if o.Padding == PaddingSame || o.Padding == PaddingDefault && n.name == "mobilenet_v1" {
		padSame(layers, o.Input.H, o.Input.W)
	}
	if o.Eps != 0 && n.name != convNeXt {
		setEps(layers, o.Eps)
	}
	return layers, nil
}
