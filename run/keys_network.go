package run

import (
	"fmt"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run/internal/keys"
)

// networkKeys describe the network and its start.
var networkKeys = []key{
	{Name: "network.name",
		Help: "network: conv4, resnet50, mobilenet_v2, vit_s16 and others (a wrong name prints the list); empty: " +
			"chosen from the data",
		Values: zoo.Networks(), UseRecorded: alwaysRecorded,
		Inapplicable: func(c *Config) string {
			if c.Network.includesNetwork() {
				return c.Network.Pretrained + " includes its own network: leave network.name out"
			}
			return ""
		}},
	{Name: "network.dim",
		Help:   "length of the embedding; 0: the features of a pretrained network or a frozen body, else 128",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: alwaysRecorded},
	{Name: "network.normalize", Help: "divide embeddings by their length; auto: yes, except below 4 dimensions",
		Values: switches, UseRecorded: alwaysRecorded},
	{Name: "network.pretrained",
		Help: "weights to start from: a name of 'kindred weights list', a file (.safetensors, .pth, or .onnx with " +
			"its network), a folder with model.safetensors, or none; of several, with commas between, the best " +
			"is kept; empty: for photographs without network.name a network of the weights folder or a fetched one, " +
			"else none",
		UseRecorded: alwaysRecorded},
	{Name: "network.cut", Help: "last node or tensor to use of an .onnx file; empty: the one before the classifier",
		Inapplicable: func(c *Config) string {
			if !c.Network.includesNetwork() {
				return "only with an ONNX file as network.pretrained"
			}
			return ""
		}},
	{Name: "network.head",
		Help: "start of the embedding layer: random, pca (principal components of the training features), identity " +
			"(the features); empty: identity on a frozen body of the same length, pca from a pretrained start with " +
			"enough samples and features, else random",
		Values: []string{randomHead, pcaHead, identityHead, wccnHead}, Checks: []check{keys.OneOf},
		UseRecorded: alwaysRecorded},
	{Name: "network.head_norm", Help: "batch norm on the embedding"},
	{Name: "network.width",
		Help:   "filters of conv4 (0: 64), hidden units of mlp (0: 512), channels of a transformer (0: as in its name)",
		Checks: []check{keys.AtLeast(0)}},
	{Name: "network.multiple",
		Help:   "width multiplier of resnet*, mobilenet_*, efficientnet_b0, convnext_tiny, bn_inception; 0: 1",
		Checks: []check{keys.NonNegative}},
	{Name: "network.stem", Help: "stem of residual networks: large, small; empty: chosen from the image size",
		Values: []string{string(zoo.StemLarge), string(zoo.StemSmall)}},
	{Name: "network.pool",
		Help: "how positions become one vector: mean, gem (generalised mean with a trained power; not for " +
			"transformers), cls (a transformer's class token); empty: the network's own",
		Values: []string{string(zoo.PoolMean), string(zoo.PoolGEM), string(zoo.PoolClass)},
		Checks: []check{keys.OneOf}, Inapplicable: checkNamedNetwork,
		AllowUnused: func(c *Config) bool { return c.Network.Pool != string(zoo.PoolGEM) }},
	{Name: "network.patch", Help: "side in pixels of a transformer's patches; 0: as in its name",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork},
	{Name: "network.registers", Help: "tokens of a transformer besides the class token",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork, AllowUnused: neverIdle},
	{Name: "network.depth", Help: "blocks of a transformer; 0: the pretrained network's, else as in its name",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork},
	{Name: "network.heads",
		Help:   "heads of a transformer's attention; 0: the pretrained network's, else as in its name",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork},
	{Name: "network.hidden",
		Help:   "units of a transformer's perceptrons; 0: the pretrained network's, else four for each channel",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork},
	{Name: "network.act",
		Help: "activation of a transformer or of convnext_tiny: gelu, gelu_tanh, quick_gelu and others; empty: the " +
			"pretrained network's, else as in its name",
		Values: activations(), Checks: []check{keys.OneOf}, Inapplicable: checkNamedNetwork},
	{Name: "network.eps",
		Help:   "epsilon of norms (convnext_tiny: of the last norm); 0: the pretrained network's, else as in its name",
		Checks: []check{keys.Fraction}, Inapplicable: checkNamedNetwork},
	{Name: "network.padding",
		Help: "padding of mobilenet_* and efficientnet_b0: symmetric, same (TensorFlow's); empty: the pretrained " +
			"network's, else as in its name",
		Values: []string{string(zoo.PaddingSymmetric), string(zoo.PaddingSame)}, Checks: []check{keys.OneOf},
		Inapplicable: checkNamedNetwork},
	{Name: "network.resample",
		Help: "how pretrained position embeddings are fitted to data.size: timm, dino, torch (as Hugging Face); " +
			"empty: the pretrained network's, else timm",
		Values: []string{defaultPositionResampling, string(zoo.ResampleDINO), string(zoo.ResampleTorch)},
		Checks: []check{keys.OneOf}},
	{Name: "network.drop_path",
		Help: "probability that training skips the last block's branches for an image (stochastic depth), growing " +
			"from 0 at the first block; transformers, convnext_tiny, efficientnet_b0",
		Checks: []check{keys.Fraction}, Inapplicable: checkNamedNetwork, AllowUnused: neverIdle},
	{Name: "network.dropout", Help: "share of values dropped before the embedding layer",
		Checks: []check{keys.Fraction}},
	{Name: "network.freeze",
		Help: "prefixes of names of parameters that are not trained; body: all before the embedding layer, whose " +
			"features are computed once and kept",
		Values: []string{wholeBody}},
	{Name: "network.lora",
		Help: "adapters of a transformer's linear layers (LoRA), such as {rank: 8}: only these and the embedding " +
			"layer are trained; alpha 0: 2 rank; rank 0: none",
		Checks: []check{func(v any, _ []string, bad report) {
			if l := v.(LoRA); l != (LoRA{}) && l.Rank < 1 {
				bad("rank is %d: must be at least 1", l.Rank)
			} else if l.Alpha < 0 {
				bad("alpha is %v: must not be negative", l.Alpha)
			}
		}},
		Inapplicable: func(c *Config) string {
			if len(c.Network.Freeze) > 0 {
				return "adapters leave all layers before the embedding layer as they are: leave network.freeze out"
			}
			return ""
		}},
	{Name: "network.precision",
		Help: "arithmetic of products: float32, bfloat16 (faster with AMX or AVX512_BF16, two or three digits); " +
			"empty: float32. kindred quantize writes int8",
		Values: []string{"float32", string(nn.BFloat16), string(nn.Int8)}, Checks: []check{keys.OneOf}},
	{Name: "network.frozen_norm",
		Help:   "batch norm keeps its running statistics fixed in training; auto: true from a pretrained start",
		Values: switches, UseRecorded: alwaysRecorded},
}

// activations lists the values of network.act.
func activations() (names []string) {
	for _, kind := range zoo.Activations() {
		names = append(names, string(kind))
	}
	return names
}

// checkNamedNetwork refuses settings of a network by name if a file includes its own network.
func checkNamedNetwork(c *Config) string {
	if c.Network.includesNetwork() {
		return fmt.Sprintf("only for networks by name: %s includes its own network", c.Network.Pretrained)
	}
	return ""
}

// neverIdle is the Idle of a key whose value is an error for networks that do not use it.
func neverIdle(*Config) bool { return false }
