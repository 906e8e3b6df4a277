package onnxnet

import "github.com/kindred-ml/kindred/nn"

// writers say how the kinds of layers are written. Those that opset 17 has no operator
// for are written in pieces.
var writers = map[nn.Kind]func(u *use) (wire, error){
	nn.Conv:  func(u *use) (wire, error) { return u.windowed("Conv", intAttr("group", u.l.Groups)) },
	nn.Dense: (*use).weighted, nn.Linear: (*use).weighted, nn.Attention: (*use).attention,
	nn.BatchNorm: (*use).batchNorm, nn.LayerNorm: (*use).layerNorm,

	nn.MaxPool: func(u *use) (wire, error) { return u.windowed("MaxPool") },
	nn.AvgPool: func(u *use) (wire, error) {
		return u.windowed("AveragePool", intAttr("count_include_pad", map[bool]int{false: 1}[u.l.NoPad]))
	},
	nn.GlobalAvgPool: (*use).averaged, nn.GEMPool: (*use).generalizedMean, nn.AttentionPool: (*use).attentionPool,

	nn.Flatten: func(u *use) (wire, error) { return u.bring(u.x, asVector), nil },
	nn.Tokens:  (*use).tokens, nn.TakeToken: (*use).token, nn.Positions: (*use).positions, nn.Rotary: (*use).rotary,
	nn.Scale: func(u *use) (wire, error) { return u.affine("Mul") },
	nn.Shift: func(u *use) (wire, error) { return u.affine("Add") },

	nn.Residual: func(u *use) (wire, error) { return u.join("Add") },
	nn.Multiply: func(u *use) (wire, error) { return u.join("Mul") },
	nn.Concat:   (*use).concat, nn.Channels: (*use).channels, nn.Shuffle: (*use).shuffle,

	nn.Operators: (*use).operators,

	nn.Dropout: (*use).nothing, nn.StochasticDepth: (*use).nothing, nn.L2Normalize: (*use).unit,

	nn.ReLU: func(u *use) (wire, error) { return u.x.named(u.of("Relu", u.x.name)), nil },
	nn.ReLU6: func(u *use) (wire, error) {
		return u.x.named(u.op("Clip", []string{u.x.name, u.number(0), u.number(6)})), nil
	},
	nn.SiLU:      func(u *use) (wire, error) { return u.gated(u.x.name) },
	nn.HardSwish: func(u *use) (wire, error) { return u.x.named(u.of("HardSwish", u.x.name)), nil },
	nn.Sigmoid:   func(u *use) (wire, error) { return u.x.named(u.of("Sigmoid", u.x.name)), nil },
	nn.HardSigmoid: func(u *use) (wire, error) {
		return u.x.named(u.of("HardSigmoid", u.x.name, floatAttr("alpha", 1.0/6), floatAttr("beta", 0.5))), nil
	},
	nn.GELU: (*use).gelu, nn.GELUTanh: (*use).geluTanh,
	nn.QuickGELU: func(u *use) (wire, error) { return u.gated(u.mul(u.x.name, u.number(1.702))) },
}

// readers make layers of the operators that have one input which depends on the image.
// What is computed from pieces, as activations are, is recognised by its values.
var readers = map[string]func(*lifter, *stretch, *node) error{
	"Pad":                (*lifter).pad,
	"Conv":               (*lifter).conv,
	"MaxPool":            (*lifter).pool,
	"AveragePool":        (*lifter).pool,
	"GlobalAveragePool":  (*lifter).globalPool,
	"GlobalMaxPool":      (*lifter).globalPool,
	"ReduceMean":         (*lifter).globalPool,
	"ReduceMax":          (*lifter).globalPool,
	"BatchNormalization": (*lifter).batchNorm,
	"LayerNormalization": (*lifter).layerNorm,
	"LpNormalization":    (*lifter).unit,
	"Gemm":               (*lifter).gemm,
	"MatMul":             (*lifter).matMul,
	"Add":                (*lifter).affine,
	"Sub":                (*lifter).affine,
	"Mul":                (*lifter).affine,
	"Div":                (*lifter).affine,
}
