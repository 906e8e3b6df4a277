// Package operator computes the operators of ONNX on tensors of any axes.
//
// An operator is a function of a [Call], which has the inputs and the attributes of its node. It fails by [Fail]
// where these are not what ONNX allows; [Catch] turns this into an error at the run of the node.
package operator

import "github.com/kindred-ml/kindred/internal/format/onnx"

// microsoft is the domain of the operators that ONNX Runtime's optimizer writes.
const microsoft = "com.microsoft"

// Lookup finds the operator of a node in a table, or the zero value. Names of the table have the domain in front
// where it is not ONNX's own.
func Lookup[T any](table map[string]T, n *onnx.Node) (op T) {
	switch n.Domain {
	case "", "ai.onnx":
		if op, ok := table[n.Op]; ok {
			return op
		}
		return table[microsoft+"."+n.Op] // some writers leave the domain out
	case microsoft:
		return table[microsoft+"."+n.Op]
	}
	return op
}

// Table has the operators of this package: those that take tensors of any axes and need nothing of the graph
// around them.
var Table = map[string]Operator{
	"Abs": unary, "Acos": unary, "Acosh": unary, "Asin": unary, "Asinh": unary, "Atan": unary, "Atanh": unary,
	"Ceil": unary, "Celu": unary, "Cos": unary, "Cosh": unary, "Elu": unary, "Erf": unary, "Exp": unary,
	"Floor": unary, "Gelu": unary, "HardSigmoid": unary, "HardSwish": unary, "LeakyRelu": unary, "Log": unary,
	"Mish": unary, "Neg": unary, "Reciprocal": unary, "Relu": unary, "Round": unary, "Selu": unary,
	"Shrink": unary, "Sigmoid": unary, "Sign": unary, "Sin": unary, "Sinh": unary, "Softplus": unary,
	"Softsign": unary, "Sqrt": unary, "Swish": unary, "Tan": unary, "Tanh": unary, "ThresholdedRelu": unary,
	"Clip": clip, "Identity": identity, "Dropout": identity, "Cast": cast, "CastLike": cast,
	"Not": not, "IsNaN": isNaN, "IsInf": isInf, "BitwiseNot": bitwiseNot,

	"Add": twoInputs, "Sub": twoInputs, "Mul": twoInputs, "Div": twoInputs,
	"Pow": twoInputs, "Mod": twoInputs, "PRelu": twoInputs,
	"Min": variadic, "Max": variadic, "Sum": variadic, "Mean": variadic,
	"And": twoInputs, "Or": twoInputs, "Xor": twoInputs,
	"BitwiseAnd": twoInputs, "BitwiseOr": twoInputs, "BitwiseXor": twoInputs,
	"BitShift": twoInputs, "Equal": twoInputs, "Less": twoInputs, "LessOrEqual": twoInputs,
	"Greater": twoInputs, "GreaterOrEqual": twoInputs, "Where": where,

	"ReduceSum": reduce, "ReduceMean": reduce, "ReduceMax": reduce, "ReduceMin": reduce, "ReduceProd": reduce,
	"ReduceL1": reduce, "ReduceL2": reduce, "ReduceSumSquare": reduce, "ReduceLogSum": reduce,
	"ReduceLogSumExp": reduce, "ArgMax": argExtreme, "ArgMin": argExtreme, "CumSum": cumSum, "TopK": topK,
	"Softmax": softmax, "LogSoftmax": softmax, "Hardmax": softmax,

	"Constant": constant, "ConstantOfShape": constantOfShape, "Shape": shapeOf, "Size": sizeOf, "Range": rangeOp,
	"EyeLike": eyeLike, "OneHot": oneHot, "NonZero": nonZero, "Compress": compress,
	"Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Transpose": transpose,
	"Slice": slice, "Gather": gather, "GatherElements": gatherElements, "GatherND": gatherND, "Split": split,
	"Expand": expand, "Tile": tile, "Concat": concat, "Pad": pad, "DepthToSpace": depthToSpace,
	"SpaceToDepth": spaceToDepth, "ScatterElements": scatterElements, "Scatter": scatterElements,
	"ScatterND": scatterND, "Trilu": trilu, "ReverseSequence": reverseSequence, "CenterCropPad": centerCropPad,

	"GlobalAveragePool": globalPool, "GlobalMaxPool": globalPool, "GlobalLpPool": globalPool,
	"BatchNormalization": batchNorm, "InstanceNormalization": groupNorm, "GroupNormalization": groupNorm,
	"LayerNormalization": layerNorm, "RMSNormalization": layerNorm, "LpNormalization": lpNorm, "LRN": lrn,
	"SimplifiedLayerNormalization": layerNorm, // ONNX Runtime writes it without a domain
	"MeanVarianceNormalization":    meanVariance,

	"QuantizeLinear": quantize, "DequantizeLinear": dequantize, "DynamicQuantizeLinear": dynamicQuantize,

	"SequenceEmpty": sequenceEmpty, "SequenceConstruct": sequenceConstruct,
	"SequenceInsert": sequenceInsert, "SequenceErase": sequenceErase, "SequenceAt": sequenceAt,
	"SequenceLength": sequenceLength, "ConcatFromSequence": concatFromSequence,
	"SplitToSequence": splitToSequence,

	"com.microsoft.Gelu": unary, "com.microsoft.FastGelu": biasGelu, "com.microsoft.QuickGelu": unary,
	"com.microsoft.BiasGelu": biasGelu, "com.microsoft.SkipLayerNormalization": skipLayerNorm,
	"com.microsoft.SkipSimplifiedLayerNormalization": skipLayerNorm,
}
