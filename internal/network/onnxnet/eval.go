package onnxnet

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// isElementwise tells operators that compute each value from those at the same
// place of their inputs.
func isElementwise(op string) bool {
	return slices.Contains([]string{"Identity", "Dropout", "Neg", "Abs", "Exp", "Log", "Sqrt", "Erf", "Tanh", "Floor",
		"Ceil", "Round", "Reciprocal", "Relu", "Sigmoid", "Swish", "QuickGelu", "HardSigmoid", "HardSwish", "Gelu",
		"FastGelu", "LeakyRelu", "Elu", "Softplus", "Softsign", "Mish", "Add", "Sum", "Sub", "Mul", "Div", "Pow", "Min",
		"Max", "PRelu", "Mod", "And", "Or", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN", "Not",
		"Clip", "Where", "Cast", "CastLike"}, op)
}

// isMovement tells operators whose result is values of their first input,
// somewhere else.
func isMovement(op string) bool {
	return slices.Contains([]string{"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Gather",
		"Split", "Expand", "Identity", "Dropout", "Tile"}, op)
}

// isReduction tells operators that compute one value from those along some axes.
func isReduction(op string) bool {
	return strings.HasPrefix(op, "Reduce") && operator.Table[op] != nil
}

// computable tells operators that are computed on constants.
func computable(op string) bool {
	switch op {
	case "Constant", "ConstantOfShape", "Shape", "Size", "Concat", "Range":
		return true
	}
	return isElementwise(op) || isMovement(op) || isReduction(op)
}

// compute applies an operator to inputs that are known; those left out are nil.
func (g *graph) compute(n *node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if !computable(n.Op) {
		return nil, fmt.Errorf("%s is not computed on constants", n.Op)
	}
	return operator.Eval(n.Node, g.opset, in)
}

// call reads the attributes and the known inputs of a node by the rules of its operator. Its methods fail as those of
// operators do: infer and step turn this into an error.
func (g *graph) call(n *node) *operator.Call {
	return &operator.Call{State: &operator.State{Opset: g.opset}, Node: n.Node, In: n.known()}
}

// spread repeats a constant to fill a shape.
func spread(t *tensor.Tensor, shape []int) (*tensor.Tensor, error) {
	to, err := tensor.Broadcast(t.Shape, shape)
	if err != nil || !slices.Equal(to, shape) {
		return nil, fmt.Errorf("shape %d does not broadcast to %d", t.Shape, shape)
	}
	sides := make([]int64, len(shape))
	for i, d := range shape {
		sides[i] = int64(d)
	}
	out, err := operator.Eval(&onnx.Node{Op: "Expand"}, 0, []*tensor.Tensor{t, vector(sides)})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// transposed lists the values of a matrix column by column.
func transposed(m *tensor.Tensor) []float32 {
	return operator.Must(operator.Eval(&onnx.Node{Op: "Transpose"}, 0, []*tensor.Tensor{m}))[0].Floats
}

func vector(v []int64) *tensor.Tensor { return tensor.Integers([]int{len(v)}, v) }

func gelu(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 }

func geluTanh(x float64) float64 {
	return x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) / 2
}
