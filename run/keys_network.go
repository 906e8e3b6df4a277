package run

import (
	"fmt"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// networkKeys describe the network and its start.
var networkKeys = []key{
	{
		name: "network.name", at: func(c *Config) any { return &c.Network.Name },
		help: "a network by name: conv4, resnet50, mobilenet_v2, vit_s16 and others, which a wrong name lists; " +
			"empty: chosen from the data",
		values: zoo.Networks(), begun: always,
		only: func(c *Config) string {
			if c.Network.includesNetwork() {
				return c.Network.Pretrained + " brings its own network: leave the name out"
			}
			return ""
		},
	},
	{
		name: "network.dim", at: func(c *Config) any { return &c.Network.Dim },
		help: "length of the embedding; 0: 128, or the features of a pretrained network as they are; on a frozen " +
			"body as many as it has features",
		checks: []check{atLeast(0)}, begun: always,
	},
	{
		name: "network.normalize", at: func(c *Config) any { return &c.Network.Normalize },
		help:  "divide embeddings by their length; auto: yes, but not for fewer than 4 dimensions",
		begun: always,
	},
	{
		name: "network.pretrained", at: func(c *Config) any { return &c.Network.Pretrained },
		help: "weights to start from: a name of 'kindred weights list', a file (.safetensors, .pth as PyTorch saves " +
			"it, or .onnx, which brings its network with it) or none; empty: for photographs, if network.name is " +
			"not set, what is in the weights folder or can be fetched, else none",
		begun: always,
	},
	{
		name: "network.cut", at: func(c *Config) any { return &c.Network.Cut },
		help: "of an .onnx file: the node or tensor that the network ends with; empty: before the classifier",
		only: func(c *Config) string {
			if !c.Network.includesNetwork() {
				return "only for a network.pretrained that is a file of ONNX"
			}
			return ""
		},
	},
	{
		name: "network.head", at: func(c *Config) any { return &c.Network.Head },
		help: "how the embedding layer starts: random, pca (the principal components of the training samples' " +
			"features), identity (the features themselves); empty: identity on a frozen body whose features are " +
			"as many as the embedding has values, pca from a pretrained start, where there are enough of both, " +
			"else random",
		values: []string{randomHead, pcaHead, identityHead}, checks: []check{listed}, begun: always,
	},
	{
		name: "network.head_norm", at: func(c *Config) any { return &c.Network.HeadNorm },
		help: "batch norm on the embedding",
	},
	{
		name: "network.width", at: func(c *Config) any { return &c.Network.Width },
		help:   "filters of conv4 (0: 64), hidden units of mlp (0: 512)",
		checks: []check{atLeast(0)},
	},
	{
		name: "network.multiple", at: func(c *Config) any { return &c.Network.Multiple },
		help:   "width multiplier of resnet*, mobilenet_*, efficientnet_b0, convnext_tiny, bn_inception; 0: 1",
		checks: []check{notNegative},
	},
	{
		name: "network.stem", at: func(c *Config) any { return &c.Network.Stem },
		help:   "stem of residual networks: large, small; empty: chosen from the image size",
		values: []string{string(zoo.StemLarge), string(zoo.StemSmall)},
	},
	{
		name: "network.pool", at: func(c *Config) any { return &c.Network.Pool },
		help: "how positions become one vector: mean, gem (generalised mean of a trained power; not transformers), " +
			"cls (a transformer's class token); empty: the network's own",
		values: []string{string(zoo.PoolMean), string(zoo.PoolGEM), string(zoo.PoolClass)}, checks: []check{listed},
		only: byName, idle: func(c *Config) bool { return c.Network.Pool != string(zoo.PoolGEM) },
	},
	{
		name: "network.patch", at: func(c *Config) any { return &c.Network.Patch },
		help:   "side in pixels of a transformer's patches; 0: by its name",
		checks: []check{atLeast(0)}, only: byName,
	},
	{
		name: "network.registers", at: func(c *Config) any { return &c.Network.Registers },
		help:   "tokens of a transformer besides the class token",
		checks: []check{atLeast(0)}, only: byName, idle: never,
	},
	{
		name: "network.resample", at: func(c *Config) any { return &c.Network.Resample },
		help:   "how pretrained position embeddings are made to fit data.size: timm, dino; empty: timm",
		values: []string{timmPositions, string(zoo.ResampleDINO)}, checks: []check{listed},
	},
	{
		name: "network.drop_path", at: func(c *Config) any { return &c.Network.DropPath },
		help: "probability that training leaves out the last block's branches for an image (stochastic depth), " +
			"growing from 0 at the first block; transformers, convnext_tiny, efficientnet_b0",
		checks: []check{share}, only: byName, idle: never,
	},
	{
		name: "network.dropout", at: func(c *Config) any { return &c.Network.Dropout },
		help:   "share of values dropped before the embedding layer",
		checks: []check{share},
	},
	{
		name: "network.freeze", at: func(c *Config) any { return &c.Network.Freeze },
		help: "prefixes of the names of parameters that are not trained; body: all before the embedding layer, " +
			"whose features are then computed once and kept",
		values: []string{wholeBody},
	},
	{
		name: "network.precision", at: func(c *Config) any { return &c.Network.Precision },
		help: "arithmetic of convolutions, dense and linear layers and attention: float32, bfloat16 (faster on " +
			"processors with AMX or AVX512_BF16, to two or three digits); empty: float32. int8 is that of a run " +
			"which kindred quantize has written, for evaluation",
		values: []string{"float32", string(nn.BFloat16), string(nn.Int8)}, checks: []check{listed},
	},
	{
		name: "network.frozen_norm", at: func(c *Config) any { return &c.Network.FrozenNorm },
		help:  "batch norm keeps its running statistics fixed in training; auto: from a pretrained start",
		begun: always,
	},
}

// byName refuses what describes a network where a file brings one.
func byName(c *Config) string {
	if c.Network.includesNetwork() {
		return fmt.Sprintf("only for networks by name: %s brings its own", c.Network.Pretrained)
	}
	return ""
}

// never is the idle of a key that no network ignores.
func never(*Config) bool { return false }
