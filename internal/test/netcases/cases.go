// Package netcases holds descriptions of small networks for tests, with every kind of
// layer, alone and in the combinations that an engine may fuse.
package netcases

import (
	"maps"

	"github.com/kindred-ml/kindred/nn"
)

// Layers returns networks with every layer, on odd sizes, strides, paddings and groups,
// alone and in the combinations that the engine fuses. Each ends with a dense layer if
// its output is not a vector. In cases with "conv conv" in the name, two convolutions
// are computed as one, because they have enough channels between them; "conv, conv" are
// computed separately. Long: it is a table.
func Layers() map[string]*nn.Spec {
	img := func(h, w, c int, layers ...nn.Layer) *nn.Spec {
		return &nn.Spec{Name: "case", Input: nn.Shape{H: h, W: w, C: c}, Layers: layers}
	}
	end := []nn.Layer{{Kind: nn.Flatten}, {Kind: nn.Dense, Name: "end", Out: 3}}
	with := func(h, w, c int, layers ...nn.Layer) *nn.Spec { return img(h, w, c, append(layers, end...)...) }
	conv := func(name string, out, kernel, stride, pad, groups int) nn.Layer {
		return nn.Layer{Kind: nn.Conv, Name: name, Out: out, Kernel: kernel, Stride: stride, Pad: pad, Groups: groups}
	}
	plain := func(name string, out int) nn.Layer {
		return nn.Layer{Kind: nn.Conv, Name: name, Out: out, Kernel: 3, Pad: 1, NoBias: true}
	}
	bn := func(name string) nn.Layer { return nn.Layer{Kind: nn.BatchNorm, Name: name} }
	relu, relu6 := nn.Layer{Kind: nn.ReLU}, nn.Layer{Kind: nn.ReLU6}
	cases := map[string]*nn.Spec{
		"dense": img(1, 1, 5, nn.Layer{Kind: nn.Dense, Name: "a", Out: 4, NoBias: true},
			nn.Layer{Kind: nn.Dense, Name: "b", Out: 2}),
		"dense relu": img(1, 1, 5, nn.Layer{Kind: nn.Dense, Name: "a", Out: 7}, relu,
			nn.Layer{Kind: nn.Dense, Name: "b", Out: 2}),
		"conv":             with(5, 7, 3, conv("c", 4, 3, 1, 0, 0)),
		"conv stride":      with(7, 6, 2, conv("c", 5, 3, 2, 1, 0)),
		"conv wide pad":    with(4, 3, 1, conv("c", 3, 5, 3, 2, 0)),
		"conv 1x1 stride":  with(5, 5, 3, conv("c", 4, 1, 2, 0, 0)),
		"conv groups":      with(5, 4, 6, conv("c", 4, 3, 1, 1, 2)),
		"conv depthwise":   with(5, 5, 3, conv("a", 3, 1, 1, 0, 0), conv("c", 3, 3, 2, 1, -1)),
		"conv conv":        with(7, 6, 1, conv("a", 6, 3, 1, 0, 0), conv("b", 4, 3, 1, 0, 0)),
		"conv conv padded": with(6, 7, 2, conv("a", 4, 3, 1, 1, 0), conv("b", 3, 2, 2, 0, 0), relu),
		"conv conv relu norm": with(8, 8, 1, conv("a", 6, 3, 1, 0, 0), conv("b", 4, 3, 1, 0, 0), relu, bn("n"),
			nn.Layer{Kind: nn.MaxPool, Kernel: 2}),
		"conv conv no bias": with(7, 6, 1, nn.Layer{Kind: nn.Conv, Name: "a", Out: 6, Kernel: 3, NoBias: true},
			nn.Layer{Kind: nn.Conv, Name: "b", Out: 4, Kernel: 3, NoBias: true}),
		"conv, conv":      with(7, 6, 1, conv("a", 3, 3, 1, 0, 0), conv("b", 4, 3, 1, 0, 0)),
		"conv relu":       with(5, 5, 2, conv("c", 4, 3, 1, 1, 0), relu),
		"conv norm":       with(4, 5, 2, plain("c", 3), bn("n")),
		"conv norm relu":  with(4, 5, 2, plain("c", 3), bn("n"), relu),
		"conv norm relu6": with(4, 5, 2, plain("c", 3), bn("n"), relu6),
		"conv bias norm":  with(4, 5, 2, conv("c", 3, 3, 1, 1, 0), bn("n"), relu),
		"conv relu norm":  with(4, 5, 2, conv("c", 3, 3, 1, 1, 0), relu, bn("n")),
		"conv relu norm pool": with(6, 6, 1, conv("c", 3, 3, 1, 1, 0), relu, bn("n"),
			nn.Layer{Kind: nn.MaxPool, Kernel: 2}),
		"block": with(6, 7, 2, plain("c", 4), bn("n"), relu, nn.Layer{Kind: nn.MaxPool, Kernel: 2}),
		"two blocks": with(9, 9, 1, plain("a", 3), bn("an"), relu, nn.Layer{Kind: nn.MaxPool, Kernel: 2},
			plain("b", 4), bn("bn"), relu, nn.Layer{Kind: nn.MaxPool, Kernel: 2}),
		"norm first":       with(3, 3, 2, bn("n"), conv("c", 2, 2, 1, 0, 0)),
		"norm of a vector": img(1, 1, 4, nn.Layer{Kind: nn.Dense, Name: "a", Out: 3}, bn("n")),
		"norm after flatten": img(2, 3, 2, plain("c", 2), nn.Layer{Kind: nn.Flatten}, bn("n"),
			nn.Layer{Kind: nn.Dense, Name: "b", Out: 2}),
		"max pool overlapping": with(7, 5, 2, conv("c", 3, 1, 1, 0, 0),
			nn.Layer{Kind: nn.MaxPool, Kernel: 3, Stride: 2, Pad: 1}),
		"max pool thirds": with(6, 4, 2, conv("c", 3, 1, 1, 0, 0),
			nn.Layer{Kind: nn.MaxPool, Kernel: 3, Stride: 2, Pad: 1}),
		"max pool halves": with(7, 5, 2, conv("c", 3, 1, 1, 0, 0), nn.Layer{Kind: nn.MaxPool, Kernel: 2}),
		"average pool": with(6, 5, 2, conv("c", 3, 1, 1, 0, 0),
			nn.Layer{Kind: nn.AvgPool, Kernel: 3, Stride: 2, Pad: 1}),
		"global average pool": img(3, 4, 2, conv("c", 3, 2, 1, 0, 0), nn.Layer{Kind: nn.GlobalAvgPool},
			nn.Layer{Kind: nn.Dense, Name: "b", Out: 2}),
		"relu twice": with(3, 3, 2, conv("c", 3, 1, 1, 0, 0), relu6, relu),
		"dropout":    with(3, 3, 2, conv("c", 3, 2, 1, 0, 0), nn.Layer{Kind: nn.Dropout, Rate: 0.4}),
		"l2 normalise": img(1, 1, 4, nn.Layer{Kind: nn.Dense, Name: "a", Out: 5},
			nn.Layer{Kind: nn.L2Normalize}),
		"residual": with(4, 4, 3, conv("x", 3, 1, 1, 0, 0),
			nn.Layer{Kind: nn.Residual, Layers: []nn.Layer{conv("a", 3, 3, 1, 1, 0), relu, conv("b", 3, 3, 1, 1, 0)}},
			relu),
		"residual of activation": with(4, 4, 2, conv("x", 3, 1, 1, 0, 0),
			nn.Layer{Kind: nn.Residual, Layers: []nn.Layer{relu}}),
		"residual norm": with(4, 4, 2, plain("x", 3), bn("xn"), relu,
			nn.Layer{Kind: nn.Residual, Name: "r", Layers: []nn.Layer{
				plain("a", 3), bn("an"), relu, plain("b", 3), bn("bn")}}, relu),
		"residual downsample": with(5, 5, 2, plain("x", 3), bn("xn"), relu, nn.Layer{Kind: nn.Residual, Name: "r",
			Layers:   []nn.Layer{conv("a", 4, 3, 2, 1, 0), bn("an"), relu, plain("b", 4), bn("bn")},
			Shortcut: []nn.Layer{conv("s", 4, 1, 2, 0, 0), bn("sn")}}, relu),
		"nested residual": with(3, 3, 2, plain("x", 3), nn.Layer{Kind: nn.Residual, Name: "r", Layers: []nn.Layer{
			{Kind: nn.Residual, Name: "i", Layers: []nn.Layer{plain("a", 3), bn("an")}}, relu, plain("b", 3),
			bn("bn")}}),
		"residual linear": with(4, 4, 2, plain("x", 3), bn("xn"),
			nn.Layer{Kind: nn.Residual, Name: "r", Layers: []nn.Layer{
				plain("a", 5), bn("an"), relu6, {Kind: nn.Conv, Name: "d", Out: 5, Kernel: 3, Pad: 1, Groups: -1,
					NoBias: true}, bn("dn"), relu6, plain("b", 3), bn("bn")}}),
	}
	for _, more := range []map[string]*nn.Spec{aloneCases(), activationCases(), productCases(), imageCases(),
		tokenCases(),
		branchCases()} {
		maps.Copy(cases, more)
	}
	return cases
}
