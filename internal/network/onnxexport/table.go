package onnxexport

import "github.com/kindred-ml/kindred/nn"

// writers say how the kinds of layers are written. Those that opset 17 has no operator
// for are written in pieces.
var writers = map[nn.Kind]func(u *layerWriter) wire{
	nn.Conv:  func(u *layerWriter) wire { return u.windowOp("Conv", intAttr("group", u.l.Groups)) },
	nn.Dense: (*layerWriter).linear, nn.Linear: (*layerWriter).linear, nn.Attention: (*layerWriter).attention,
	nn.BatchNorm: (*layerWriter).batchNorm, nn.LayerNorm: (*layerWriter).layerNorm,

	nn.MaxPool: func(u *layerWriter) wire { return u.windowOp("MaxPool") },
	nn.AvgPool: func(u *layerWriter) wire {
		return u.windowOp("AveragePool", intAttr("count_include_pad", map[bool]int{false: 1}[u.l.NoPad]))
	},
	nn.GlobalAvgPool: (*layerWriter).meanPositions, nn.GEMPool: (*layerWriter).generalizedMean,
	nn.AttentionPool: (*layerWriter).attentionPool,

	nn.Flatten: func(u *layerWriter) wire { return u.convert(u.x, asVector) },
	nn.Tokens:  (*layerWriter).tokens, nn.TakeToken: (*layerWriter).token, nn.Positions: (*layerWriter).positions,
	nn.Rotary: (*layerWriter).rotary,
	nn.Scale:  func(u *layerWriter) wire { return u.affine("Mul") },
	nn.Shift:  func(u *layerWriter) wire { return u.affine("Add") },

	nn.Residual: func(u *layerWriter) wire { return u.join("Add") },
	nn.Multiply: func(u *layerWriter) wire { return u.join("Mul") },
	nn.Concat:   (*layerWriter).concat, nn.Channels: (*layerWriter).channels, nn.Shuffle: (*layerWriter).shuffle,

	nn.Operators: (*layerWriter).operators,

	nn.Dropout: (*layerWriter).passThrough, nn.StochasticDepth: (*layerWriter).passThrough,
	nn.L2Normalize: (*layerWriter).unitNorm,

	nn.ReLU: func(u *layerWriter) wire { return u.x.named(u.unaryOp("Relu", u.x.name)) },
	nn.ReLU6: func(u *layerWriter) wire {
		return u.x.named(u.op("Clip", []string{u.x.name, u.number(0), u.number(6)}))
	},
	nn.SiLU:      func(u *layerWriter) wire { return u.gated(u.x.name) },
	nn.HardSwish: func(u *layerWriter) wire { return u.x.named(u.unaryOp("HardSwish", u.x.name)) },
	nn.Sigmoid:   func(u *layerWriter) wire { return u.x.named(u.unaryOp("Sigmoid", u.x.name)) },
	nn.HardSigmoid: func(u *layerWriter) wire {
		return u.x.named(u.unaryOp("HardSigmoid", u.x.name, floatAttr("alpha", 1.0/6), floatAttr("beta", 0.5)))
	},
	nn.GELU: (*layerWriter).gelu, nn.GELUTanh: (*layerWriter).geluTanh,
	nn.QuickGELU: func(u *layerWriter) wire { return u.gated(u.mul(u.x.name, u.number(1.702))) },
}
