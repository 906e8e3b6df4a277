package zoo

import (
	"cmp"
	"math"
	"strconv"

	"github.com/kindred-ml/kindred/nn"
)

// convNeXtLayers builds ConvNeXt-T with torchvision's names. The norm of the
// pooled features, "classifier.0", belongs to the body.
func convNeXtLayers(o Options) []nn.Layer {
	last, act := cmp.Or(o.Eps, 1e-6), cmp.Or(o.Act, nn.GELU)
	norm := func(name string) nn.Layer { return nn.Layer{Kind: nn.LayerNorm, Name: name, Eps: 1e-6} }
	conv := func(name string, out, kernel int) nn.Layer {
		return nn.Layer{Kind: nn.Conv, Name: name, Out: out, Kernel: kernel, Stride: kernel, Init: nn.InitTruncated}
	}
	width := max(1, int(math.Round(96*o.multiple())))
	features := []nn.Layer{{Kind: nn.Sequential, Name: "0", Layers: []nn.Layer{conv("0", width, 4), norm("1")}}}
	blocks, done := []int{3, 3, 9, 3}, 0
	for i, n := range blocks {
		if i > 0 {
			width *= 2
			features = append(features, nn.Layer{Kind: nn.Sequential, Name: strconv.Itoa(len(features)),
				Layers: []nn.Layer{norm("0"), conv("1", width, 2)}})
		}
		stage := nn.Layer{Kind: nn.Sequential, Name: strconv.Itoa(len(features))}
		for b := range n {
			l := []nn.Layer{
				{Kind: nn.Sequential, Name: "block", Layers: []nn.Layer{
					{Kind: nn.Conv, Name: "0", Out: width, Kernel: 7, Pad: 3, Groups: -1, Init: nn.InitTruncated},
					norm("2"),
					{Kind: nn.Linear, Name: "3", Out: 4 * width, Init: nn.InitTruncated}, {Kind: act},
					{Kind: nn.Linear, Name: "5", Out: width, Init: nn.InitTruncated}}},
				{Kind: nn.Scale, Name: "layer_scale", Start: 1e-6},
			}
			if rate := o.DropPath * float64(done) / 17; rate > 0 {
				l = append(l, nn.Layer{Kind: nn.StochasticDepth, Rate: rate})
			}
			stage.Layers = append(stage.Layers, nn.Layer{Kind: nn.Residual, Name: strconv.Itoa(b), Layers: l})
			done++
		}
		features = append(features, stage)
	}
	return append([]nn.Layer{{Kind: nn.Sequential, Name: "features", Layers: features}, o.pool(),
		{Kind: nn.LayerNorm, Name: "classifier.0", Eps: last}},
		head(o, "classifier.2", nn.InitTruncated)...)
}
