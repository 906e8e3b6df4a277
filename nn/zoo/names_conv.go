package zoo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/nn"
)

// convNeXtDepths returns the blocks of a ConvNeXt's stages, or nil for features
// of another kind.
func convNeXtDepths(features []nn.Layer) []int {
	var depths []int
	for i := 1; i < len(features); i += 2 {
		blocks := features[i].Layers
		if len(blocks) == 0 || len(blocks[0].Layers) < 2 || blocks[0].Layers[1].Name != "layer_scale" {
			return nil
		}
		depths = append(depths, len(blocks))
	}
	return depths
}

// convNeXtNamings are the other names of ConvNeXt, which has torchvision's.
func convNeXtNamings(depths []int) []naming {
	timm, facebook, hugging := newNaming("timm"), newNaming("Facebook"), newNaming("Hugging Face")
	for theirs, ours := range map[string]string{"stem.0": "features.0.0", "stem.1": "features.0.1",
		"head.norm": "classifier.0", "head.fc": "classifier.2"} {
		timm.add(theirs, ours)
	}
	for theirs, ours := range map[string]string{"downsample_layers.0.0": "features.0.0",
		"downsample_layers.0.1": "features.0.1", "norm": "classifier.0", "head": "classifier.2"} {
		facebook.add(theirs, ours)
	}
	for theirs, ours := range map[string]string{"embeddings.patch_embeddings": "features.0.0",
		"embeddings.layernorm": "features.0.1", "layernorm": "classifier.0", "classifier": "classifier.2"} {
		hugging.add(theirs, ours)
	}
	for i, n := range depths {
		for k := range 2 {
			ours := fmt.Sprintf("features.%d.%d", 2*i, k)
			if i > 0 {
				timm.add(fmt.Sprintf("stages.%d.downsample.%d", i, k), ours)
				facebook.add(fmt.Sprintf("downsample_layers.%d.%d", i, k), ours)
				hugging.add(fmt.Sprintf("encoder.stages.%d.downsampling_layer.%d", i, k), ours)
			}
		}
		for b := range n {
			ours := fmt.Sprintf("features.%d.%d.", 2*i+1, b)
			block := func(d *naming, theirs string, parts ...string) {
				for k, part := range []string{"block.0", "block.2", "block.3", "block.5", "layer_scale"} {
					d.add(theirs+parts[k], ours+part)
				}
			}
			block(&timm, fmt.Sprintf("stages.%d.blocks.%d.", i, b), "conv_dw", "norm", "mlp.fc1", "mlp.fc2", "gamma")
			block(&facebook, fmt.Sprintf("stages.%d.%d.", i, b), "dwconv", "norm", "pwconv1", "pwconv2", "gamma")
			block(&hugging, fmt.Sprintf("encoder.stages.%d.layers.%d.", i, b), "dwconv", "layernorm", "pwconv1",
				"pwconv2", "layer_scale_parameter")
		}
	}
	return []naming{timm, facebook, hugging}
}

// stagesOf returns how many blocks timm counts in each stage of a MobileNet that
// torchvision numbers throughout, or nil.
func stagesOf(name string) []int {
	switch name {
	case "mobilenet_v2":
		return []int{1, 2, 3, 4, 3, 3, 1}
	case "mobilenet_v3_large":
		return []int{1, 2, 3, 4, 2, 3}
	case "mobilenet_v3_small":
		return []int{1, 2, 3, 2, 3}
	}
	return nil
}

// timmMobileNet are timm's names of MobileNet v2, v3 and EfficientNet, which have
// torchvision's: blocks.STAGE.BLOCK, and the convolutions of a block by what they
// do.
func timmMobileNet(name string, features []nn.Layer) (naming, bool) {
	d := newNaming("timm")
	stages := stagesOf(name)
	last := len(features) - 1
	if last < 2 || stages == nil && name != "efficientnet_b0" {
		return d, false
	}
	d.add("conv_stem", "features.0.0")
	d.add("bn1", "features.0.1")
	if name == "efficientnet_b0" {
		for i, stage := range features[1:last] {
			for b := range stage.Layers {
				d.addBlock(&stage.Layers[b], fmt.Sprintf("blocks.%d.%d.", i, b), fmt.Sprintf("features.%d.%d.", i+1, b))
			}
		}
	} else {
		at := 1
		for i, n := range stages {
			for b := 0; b < n && at < last; b++ {
				d.addBlock(&features[at], fmt.Sprintf("blocks.%d.%d.", i, b), fmt.Sprintf("features.%d.", at))
				at++
			}
		}
	}
	end := fmt.Sprintf("features.%d.", last)
	if strings.HasPrefix(name, "mobilenet_v3") {
		block := fmt.Sprintf("blocks.%d.0.", len(stages))
		d.add(block+"conv", end+"0")
		d.add(block+"bn1", end+"1")
		d.add("conv_head", "classifier.0")
		d.add("classifier", "classifier.3")
		return d, true
	}
	d.add("conv_head", end+"0")
	d.add("bn2", end+"1")
	d.add("classifier", "classifier.1")
	return d, true
}

// addBlock names the parts of a block: one that widens has three convolutions,
// one that does not two.
func (d *naming) addBlock(block *nn.Layer, theirs, ours string) {
	var convs, norms, gates []string
	var walk func(layers []nn.Layer, prefix string)
	walk = func(layers []nn.Layer, prefix string) {
		for i := range layers {
			l := &layers[i]
			switch path := prefix + l.Name; l.Kind {
			case nn.Conv:
				convs = append(convs, path)
			case nn.BatchNorm:
				norms = append(norms, path)
			case nn.Multiply:
				gates = append(gates, path)
			case nn.Sequential:
				walk(l.Layers, path+".")
			}
		}
	}
	walk(block.Layers, ours)
	names := []string{"conv_pw", "conv_dw", "conv_pwl"}
	if len(convs) == 2 {
		names = []string{"conv_dw", "conv_pw"}
	}
	for i := range min(len(convs), len(names), len(norms)) {
		d.add(theirs+names[i], convs[i])
		d.add(theirs+fmt.Sprintf("bn%d", i+1), norms[i])
	}
	for _, g := range slices.Concat(gates) {
		d.add(theirs+"se.conv_reduce", g+".fc1")
		d.add(theirs+"se.conv_expand", g+".fc2")
	}
}
