package nn

import (
	"math"
	"strconv"
)

// convNeXtLayers builds ConvNeXt-T with torchvision's names. The norm of the
// pooled features, "classifier.0", belongs to the body.
func convNeXtLayers(o NetworkOptions) []Layer {
	norm := func(name string) Layer { return Layer{Kind: LayerNorm, Name: name, Eps: 1e-6} }
	conv := func(name string, out, kernel int) Layer {
		return Layer{Kind: Conv, Name: name, Out: out, Kernel: kernel, Stride: kernel, Init: InitTruncated}
	}
	width := max(1, int(math.Round(96*o.multiple())))
	features := []Layer{{Kind: Sequential, Name: "0", Layers: []Layer{conv("0", width, 4), norm("1")}}}
	blocks, done := []int{3, 3, 9, 3}, 0
	for i, n := range blocks {
		if i > 0 {
			width *= 2
			features = append(features, Layer{Kind: Sequential, Name: strconv.Itoa(len(features)),
				Layers: []Layer{norm("0"), conv("1", width, 2)}})
		}
		stage := Layer{Kind: Sequential, Name: strconv.Itoa(len(features))}
		for b := range n {
			l := []Layer{
				{Kind: Sequential, Name: "block", Layers: []Layer{
					{Kind: Conv, Name: "0", Out: width, Kernel: 7, Pad: 3, Groups: -1, Init: InitTruncated}, norm("2"),
					{Kind: Linear, Name: "3", Out: 4 * width, Init: InitTruncated}, {Kind: GELU},
					{Kind: Linear, Name: "5", Out: width, Init: InitTruncated}}},
				{Kind: Scale, Name: "layer_scale", Start: 1e-6},
			}
			if rate := o.DropPath * float64(done) / 17; rate > 0 {
				l = append(l, Layer{Kind: StochasticDepth, Rate: rate})
			}
			stage.Layers = append(stage.Layers, Layer{Kind: Residual, Name: strconv.Itoa(b), Layers: l})
			done++
		}
		features = append(features, stage)
	}
	return append([]Layer{{Kind: Sequential, Name: "features", Layers: features}, o.pool(), norm("classifier.0")},
		head(o, "classifier.2", InitTruncated)...)
}
