package zoo

import (
	"strconv"

	"github.com/kindred-ml/kindred/nn"
)

// mobileNet2Layers builds MobileNet v2 with torchvision's names: features.N for
// the blocks, features.N.conv.* within them.
func mobileNet2Layers(o Options) []nn.Layer {
	multiple := o.multiple()
	channels := divisible(32 * multiple)
	features := []nn.Layer{convNormAct("0", channels, 3, o.firstStride(), 0)}
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
			var conv []nn.Layer
			if s.expand != 1 {
				conv = append(conv, convNormAct(strconv.Itoa(len(conv)), hidden, 1, 1, 0))
			}
			conv = append(conv, convNormAct(strconv.Itoa(len(conv)), hidden, 3, step, -1))
			n := len(conv)
			conv = append(conv, resConv(strconv.Itoa(n), out, 1, 1),
				nn.Layer{Kind: nn.BatchNorm, Name: strconv.Itoa(n + 1)})
			kind := nn.Sequential
			if step == 1 && channels == out {
				kind = nn.Residual
			}
			features = append(features, nn.Layer{Kind: kind, Name: strconv.Itoa(len(features)),
				Layers: []nn.Layer{{Kind: nn.Sequential, Name: "conv", Layers: conv}}})
			channels = out
		}
	}
	last := divisible(1280 * max(1, multiple))
	features = append(features, convNormAct(strconv.Itoa(len(features)), last, 1, 1, 0))
	return append([]nn.Layer{{Kind: nn.Sequential, Name: "features", Layers: features}, o.pool()},
		head(o, "classifier.1", nn.InitSmall)...)
}

func convNormAct(name string, out, kernel, stride, groups int) nn.Layer {
	return convNorm(name, out, kernel, stride, groups, nn.Layer{Kind: nn.BatchNorm}, nn.ReLU6)
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
