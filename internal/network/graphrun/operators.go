package graphrun

import (
	"maps"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// operatorOf looks up the operator of a node, nil if it is not computed.
func operatorOf(n *onnx.Node) operator {
	switch n.Domain {
	case "", "ai.onnx":
		if op := onnxOperators[n.Op]; op != nil {
			return op
		}
		return microsoftOperators[n.Op] // some writers leave the domain out
	case "com.microsoft":
		return microsoftOperators[n.Op]
	}
	return nil
}

// Operators lists the operators of ONNX that are computed.
func Operators() []string { return slices.Sorted(maps.Keys(onnxOperators)) }

// Extensions lists the operators of the domain com.microsoft that are computed.
func Extensions() []string { return slices.Sorted(maps.Keys(microsoftOperators)) }

// onnxOperators are the operators of ONNX itself.
var onnxOperators = map[string]operator{
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
	"Greater":        twoInputs,
	"GreaterOrEqual": twoInputs, "Where": where,

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

	"Conv": convolution, "ConvTranspose": convTranspose, "MaxPool": pool2, "AveragePool": pool2, "LpPool": pool2,
	"GlobalAveragePool": globalPool, "GlobalMaxPool": globalPool, "GlobalLpPool": globalPool,
	"BatchNormalization": batchNorm, "InstanceNormalization": groupNorm, "GroupNormalization": groupNorm,
	"LayerNormalization": layerNorm, "RMSNormalization": layerNorm, "LpNormalization": lpNorm, "LRN": lrn,
	"SimplifiedLayerNormalization": layerNorm, // ONNX Runtime writes it without a domain
	"MeanVarianceNormalization":    meanVariance,
	"MatMul":                       matMul, "Gemm": gemm, "Einsum": einsum, "Attention": attention,
	"RotaryEmbedding": rotary,
	"Resize":          resize, "Upsample": resize, "GridSample": gridSample, "AffineGrid": affineGrid,
	"QuantizeLinear": quantize, "DequantizeLinear": dequantize, "DynamicQuantizeLinear": dynamicQuantize,
	"MatMulInteger": matMulInteger, "ConvInteger": convInteger, "QLinearConv": qlinearConv,
	"QLinearMatMul": qlinearMatMul, "Col2Im": col2Im,

	"If": branch, "Loop": loop, "SequenceEmpty": sequenceEmpty, "SequenceConstruct": sequenceConstruct,
	"SequenceInsert": sequenceInsert, "SequenceErase": sequenceErase, "SequenceAt": sequenceAt,
	"SequenceLength": sequenceLength, "ConcatFromSequence": concatFromSequence,
	"SplitToSequence": splitToSequence,
}

// microsoftOperators are operators that ONNX Runtime's optimizer writes.
var microsoftOperators = map[string]operator{
	"Gelu": unary, "FastGelu": biasGelu, "QuickGelu": unary, "BiasGelu": biasGelu, "FusedMatMul": matMul,
	"FusedConv": convolution, "FusedGemm": gemm, "SkipLayerNormalization": skipLayerNorm,
	"SkipSimplifiedLayerNormalization": skipLayerNorm,
}
