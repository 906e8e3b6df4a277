package onnxnet

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

func dataType(v int64) onnx.DataType { return onnx.DataType(min(max(v, 0), 99)) }

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
func (g *graph) compute(n *node, in []*array) ([]*array, error) {
	if !computable(n.Op) {
		return nil, fmt.Errorf("%s is not computed on constants", n.Op)
	}
	given := make([]*tensor.Tensor, len(in))
	for i, x := range in {
		if x != nil {
			given[i] = x.tensor()
		}
	}
	made, err := operator.Eval(n.Node, g.opset, given)
	if err != nil {
		return nil, err
	}
	var out []*array
	for _, t := range made {
		out = append(out, &array{shape: t.Shape, ints: t.Ints, reals: t.Floats})
	}
	return out, nil
}

// tensor is the array as the executor takes it.
func (a *array) tensor() *tensor.Tensor {
	if a.isReal() {
		return tensor.Floats(a.shape, a.reals)
	}
	return tensor.Integers(a.shape, a.ints)
}

func shapeOf(a *attrs, shape []int) (*array, error) {
	bound := func(v int64) int64 {
		if v < 0 {
			v += int64(len(shape))
		}
		return min(max(v, 0), int64(len(shape)))
	}
	from, to := bound(a.int("start", 0)), bound(a.int("end", int64(len(shape))))
	out := []int64{}
	for i := from; i < to; i++ {
		out = append(out, int64(shape[i]))
	}
	return vector(out), nil
}

// joinedShape is the shape of a Concat's output.
func joinedShape(a *attrs, shapes [][]int) (shape []int, axis int, err error) {
	if len(shapes) == 0 {
		return nil, 0, errors.New("it has no input")
	}
	shape = slices.Clone(shapes[0])
	if axis, err = tensor.AxisOf(a.int("axis", 0), len(shape)); err != nil {
		return nil, 0, err
	}
	for _, s := range shapes[1:] {
		if len(s) != len(shape) {
			return nil, 0, fmt.Errorf("shapes %d and %d are joined", shape, s)
		}
		for i := range s {
			if i != axis && s[i] != shape[i] {
				return nil, 0, fmt.Errorf("shapes %d and %d are joined along axis %d", shape, s, axis)
			}
		}
		shape[axis] += s[axis]
	}
	_, err = count(shape)
	return shape, axis, err
}

// reduceAxes returns the axes that a reduction goes over and what is left.
func (g *graph) reduceAxes(n *node, shape []int, in []*array) (axes, to []int, err error) {
	a := attrs{node: n.Node}
	want, ok, err := numbers(n, in, 1, "axes")
	if err != nil {
		return nil, nil, err
	}
	if axes, err = tensor.AxesOf(want, len(shape)); err != nil {
		return nil, nil, err
	}
	if (!ok || len(axes) == 0) && a.int("noop_with_empty_axes", 0) == 0 {
		axes = nil
		for i := range shape {
			axes = append(axes, i)
		}
	}
	to = []int{}
	for i, d := range shape {
		switch {
		case !slices.Contains(axes, i):
			to = append(to, d)
		case a.int("keepdims", 1) != 0:
			to = append(to, 1)
		}
	}
	return axes, to, a.err
}

// numbers returns the integers that an input holds, or, up to some opset, an
// attribute; ok is false if neither is there.
func numbers(n *node, in []*array, at int, attr string) (v []int64, ok bool, err error) {
	if at < len(in) && in[at] != nil {
		if in[at].isReal() {
			return nil, false, fmt.Errorf("its input %d holds no integers", at)
		}
		return in[at].ints, true, nil
	}
	if at < len(n.in) && n.in[at] != nil {
		return nil, false, fmt.Errorf("its input %q is computed from the image", n.in[at].name)
	}
	a := attrs{node: n.Node}
	v = a.ints(attr)
	return v, v != nil, a.err
}

// bounds returns the bounds of a Clip, which are attributes up to opset 10 and inputs later.
func bounds(n *node, in []*array) (lo, hi float64, err error) {
	a := attrs{node: n.Node}
	lo, hi = float64(a.float("min", float32(math.Inf(-1)))), float64(a.float("max", float32(math.Inf(1))))
	for i, to := range []*float64{&lo, &hi} {
		if i+1 >= len(in) || in[i+1] == nil {
			continue
		}
		if in[i+1].len() != 1 {
			return 0, 0, errors.New("its bounds are not single numbers")
		}
		*to = in[i+1].value(0)
	}
	return lo, hi, a.err
}

// product multiplies sides that count has let through.
func product(shape []int) int {
	p := 1
	for _, d := range shape {
		p *= d
	}
	return p
}

// rsqrt is 1/sqrt(n).
func rsqrt(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

func gelu(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 }

func geluTanh(x float64) float64 {
	return x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) / 2
}
