package zoo

import (
	"strconv"

	"github.com/kindred-ml/kindred/nn"
)

// mobileNet1Layers builds MobileNet v1 as TensorFlow trained it, with timm's
// names: conv_stem, then blocks.STAGE.BLOCK of a depthwise and a pointwise
// convolution.
func mobileNet1Layers(o Options) []nn.Layer {
	multiple := o.multiple()
	width := func(n int) int { return max(1, int(float64(n)*multiple)) }
	channels := width(32)
	l := mobileNet1Conv("conv_stem", "bn1", channels, 3, o.firstStride(), 0)
	stages := []struct{ out, blocks, stride int }{{64, 1, 1}, {128, 2, 2}, {256, 2, 2}, {512, 6, 2}, {1024, 2, 2}}
	body := nn.Layer{Kind: nn.Sequential, Name: "blocks"}
	for i, s := range stages {
		stage := nn.Layer{Kind: nn.Sequential, Name: strconv.Itoa(i)}
		for b := range s.blocks {
			stride := 1
			if b == 0 {
				stride = s.stride
			}
			stage.Layers = append(stage.Layers, nn.Layer{Kind: nn.Sequential, Name: strconv.Itoa(b), Layers: append(
				mobileNet1Conv("conv_dw", "bn1", channels, 3, stride, -1),
				mobileNet1Conv("conv_pw", "bn2", width(s.out), 1, 1, 0)...)})
			channels = width(s.out)
		}
		body.Layers = append(body.Layers, stage)
	}
	return append(append(l, body, o.pool()), head(o, "classifier", nn.InitSmall)...)
}

// mobileNet1Conv is a convolution with its norm and activation.
func mobileNet1Conv(name, norm string, out, kernel, stride, groups int) []nn.Layer {
	c := resConv(name, out, kernel, stride)
	c.Groups = groups
	return []nn.Layer{c, {Kind: nn.BatchNorm, Name: norm, Eps: 1e-3}, {Kind: nn.ReLU6}}
}
