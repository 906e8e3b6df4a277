package published

import (
	"regexp"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// architecture is what the names of timm's networks mean beyond the shapes of their weights.
type architecture struct {
	names   *regexp.Regexp
	act     nn.Kind
	eps     float64
	heads   map[int]int // by the number of channels, where it is not one for each 64
	padding zoo.Padding
}

// wideHeads are the heads of transformers of more than 64 channels a head.
func wideHeads() map[int]int { return map[int]int{1152: 16, 1280: 16, 1408: 16, 1664: 16} }

// architectures lists timm's networks that have the layers of package nn/zoo. Others have weights of the same names
// and shapes that are computed otherwise, so a name that is not here is refused. The first that fits counts.
func architectures() []architecture {
	name := func(text string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + text + `)$`) }
	const sizes = `(?:xsmall|tiny|small|medium|betwixt|base|large|huge|giant|gigantic)`
	return []architecture{
		{names: name(`vit_` + sizes + `_patch\d+(?:_plus)?_clip_quickgelu_\d+`), act: nn.QuickGELU, eps: 1e-5,
			heads: wideHeads()},
		{names: name(`vit_` + sizes + `_patch\d+(?:_plus)?_clip_\d+`), act: nn.GELU, eps: 1e-5, heads: wideHeads()},
		{names: name(`vit_base_patch32_siglip_256|vit_large_patch16_siglip_512|vit_so400m_patch16_siglip_\d+`),
			act: nn.GELUTanh, eps: 1e-6, heads: wideHeads()},
		{names: name(`vit_giantopt_patch16_siglip_\d+`), act: nn.GELUTanh, eps: 1e-6, heads: map[int]int{1536: 16}},
		{names: name(`vit_(?:base|large|so400m)_patch\d+_siglip_\d+`), act: nn.GELU, eps: 1e-6, heads: wideHeads()},
		{names: name(`vit_(?:small|base|large)_patch14_(?:reg4_)?dinov2`), act: nn.GELU, eps: 1e-6},
		{names: name(`vit_(?:tiny|small|base|large)_patch16_dinov3(?:_qkvb)?`), act: nn.GELU, eps: 1e-5},
		{names: name(`vit_(?:small|huge)_plus_patch16_dinov3(?:_qkvb)?`), act: nn.SiLU, eps: 1e-5},
		{names: name(`vit_base_patch(?:16|32)_plus_\d+|vit_small_patch16_36x1_\d+|flexivit_(?:small|base|large)`),
			act: nn.GELU, eps: 1e-6},
		{names: name(`(?:vit|deit3?)_` + sizes + `_patch\d+_\d+(?:_dino|_in21k|_miil)?`), act: nn.GELU, eps: 1e-6,
			heads: wideHeads()},
		{names: name(`tf_(?:mobilenetv3_(?:small|large)_\d+|efficientnet_b0)`), eps: 1e-3, padding: zoo.PaddingSame},
		{names: name(`mobilenetv3_(?:small|large)_\d+|mobilenetv[12]_\d+|efficientnet_b0`), eps: 1e-5,
			padding: zoo.PaddingSymmetric},
		{names: name(`(?:tv_|gluon_|ssl_|swsl_)?resnet(?:18|34|50)(?:_v1b)?`), eps: 1e-5},
		{names: name(`convnext_tiny(?:_in22k|_in22ft1k|_384_in22ft1k)?`), act: nn.GELU, eps: 1e-6},
	}
}

// architectureOf finds what a name of timm means; nil if it is not known here.
func architectureOf(name string) *architecture {
	for _, a := range architectures() {
		if a.names.MatchString(name) {
			return &a
		}
	}
	return nil
}

// activations are the names of transformers and timm.
func activations() map[string]nn.Kind {
	return map[string]nn.Kind{"quick_gelu": nn.QuickGELU, "gelu": nn.GELU, "gelu_python": nn.GELU,
		"gelu_pytorch_tanh": nn.GELUTanh, "gelu_new": nn.GELUTanh, "gelu_fast": nn.GELUTanh, "gelu_tanh": nn.GELUTanh,
		"gelu_accurate": nn.GELUTanh, "relu": nn.ReLU, "relu6": nn.ReLU6, "silu": nn.SiLU, "swish": nn.SiLU,
		"sigmoid": nn.Sigmoid}
}
