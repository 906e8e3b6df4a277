package onnxnet

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// operator is a node by itself, with attributes as builder.node takes them.
func nodeOf(op string, attrs ...any) *node {
	var b builder
	b.node(op, nil, attrs...)
	return &node{Node: &b.m.Graph.Nodes[0]}
}

func reals(v ...float32) *tensor.Tensor { return tensor.Floats([]int{len(v)}, v) }

// sameArray tells whether arrays have the same shape and about the same values.
func sameArray(a, b *tensor.Tensor) bool {
	if a == nil || b == nil || !slices.Equal(a.Shape, b.Shape) || !slices.Equal(a.Ints, b.Ints) ||
		len(a.Floats) != len(b.Floats) {
		return false
	}
	for i, v := range a.Floats {
		if w := b.Floats[i]; v != w && math.Abs(float64(v-w)) > 1e-6*(1+math.Abs(float64(w))) && (v == v || w == w) {
			return false
		}
	}
	return true
}

// check compares the first of what an operator computes.
func check(t *testing.T, n *node, want *tensor.Tensor, in ...*tensor.Tensor) {
	t.Helper()
	got, err := (&graph{opset: 18}).compute(n, in)
	if err != nil || !sameArray(got[0], want) {
		var have tensor.Tensor
		if err == nil {
			have = *got[0]
		}
		t.Errorf("%s: %v %v %v, want %v %v %v (%v)", n.Op, have.Shape, have.Floats, have.Ints, want.Shape, want.Floats,
			want.Ints, err)
	}
}

// refuse wants an error of an operator with a text.
func refuse(t *testing.T, n *node, text string, in ...*tensor.Tensor) {
	t.Helper()
	if got, err := (&graph{opset: 18}).compute(n, in); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, %v, want %q", n.Op, got, err, text)
	}
}

// Operators of one value, at -2, 0.5 and 3, by their definitions in ONNX.
func TestOneValue(t *testing.T) {
	x := []float64{-2, 0.5, 3}
	e := math.Exp
	sigmoid := func(v float64) float64 { return 1 / (1 + e(-v)) }
	softplus := func(v float64) float64 { return math.Log(1 + e(v)) }
	when := func(positive bool, a, b float64) float64 {
		if positive {
			return a
		}
		return b
	}
	for _, c := range []struct {
		n *node
		f func(v float64) float64
	}{
		{nodeOf("Identity"), func(v float64) float64 { return v }},
		{nodeOf("Neg"), func(v float64) float64 { return -v }},
		{nodeOf("Abs"), math.Abs},
		{nodeOf("Exp"), e},
		{nodeOf("Tanh"), math.Tanh},
		{nodeOf("Erf"), math.Erf},
		{nodeOf("Floor"), math.Floor},
		{nodeOf("Ceil"), math.Ceil},
		{nodeOf("Round"), func(v float64) float64 { return when(v == 0.5, 0, v) }}, // halves to even
		{nodeOf("Reciprocal"), func(v float64) float64 { return 1 / v }},
		{nodeOf("Relu"), func(v float64) float64 { return when(v > 0, v, 0) }},
		{nodeOf("Sigmoid"), sigmoid},
		{nodeOf("Swish"), func(v float64) float64 { return v * sigmoid(v) }},
		{nodeOf("Swish", "alpha", float32(2)), func(v float64) float64 { return v * sigmoid(2*v) }},
		{nodeOf("QuickGelu"), func(v float64) float64 { return v * sigmoid(1.702*v) }},
		{nodeOf("QuickGelu", "alpha", float32(3)), func(v float64) float64 { return v * sigmoid(3*v) }},
		{nodeOf("HardSigmoid"), func(v float64) float64 { return []float64{0.1, 0.6, 1}[slices.Index(x, v)] }},
		{nodeOf("HardSigmoid", "alpha", float32(0.5), "beta", float32(0.25)),
			func(v float64) float64 { return []float64{0, 0.5, 1}[slices.Index(x, v)] }},
		{nodeOf("HardSwish"), func(v float64) float64 { return []float64{-2. / 6, 3.5 / 12, 3}[slices.Index(x, v)] }},
		{nodeOf("Gelu"), plainGelu},
		{nodeOf("Gelu", "approximate", "none"), plainGelu},
		{nodeOf("Gelu", "approximate", "tanh"), tanhGelu},
		{nodeOf("FastGelu"), tanhGelu},
		{nodeOf("LeakyRelu"), func(v float64) float64 { return when(v > 0, v, 0.01*v) }},
		{nodeOf("LeakyRelu", "alpha", float32(0.25)), func(v float64) float64 { return when(v > 0, v, v/4) }},
		{nodeOf("Elu"), func(v float64) float64 { return when(v > 0, v, e(v)-1) }},
		{nodeOf("Elu", "alpha", float32(2)), func(v float64) float64 { return when(v > 0, v, 2*(e(v)-1)) }},
		{nodeOf("Softplus"), softplus},
		{nodeOf("Softsign"), func(v float64) float64 { return []float64{-2. / 3, 1. / 3, 0.75}[slices.Index(x, v)] }},
		{nodeOf("Mish"), func(v float64) float64 { return v * math.Tanh(softplus(v)) }},
		{nodeOf("Sqrt"), func(v float64) float64 { return when(v < 0, math.NaN(), math.Sqrt(math.Abs(v))) }},
		{nodeOf("Log"), func(v float64) float64 { return when(v < 0, math.NaN(), math.Log(math.Abs(v))) }},
	} {
		var in, want []float32
		for _, v := range x {
			in, want = append(in, float32(v)), append(want, float32(c.f(v)))
		}
		check(t, c.n, reals(want...), reals(in...))
	}
	check(t, nodeOf("Softplus"), reals(1000, 0), reals(1000, -1000)) // nothing overflows
	check(t, nodeOf("Neg"), vector([]int64{3, -4}), vector([]int64{-3, 4}))
	check(t, nodeOf("Abs"), vector([]int64{3, 4}), vector([]int64{-3, 4}))
	check(t, nodeOf("Identity"), vector([]int64{1<<62 + 1}), vector([]int64{1<<62 + 1}))
}

func plainGelu(v float64) float64 { return v * 0.5 * math.Erfc(-v/math.Sqrt2) }

func tanhGelu(v float64) float64 {
	return 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*math.Pow(v, 3))))
}

// Operators of two inputs, of either kind, and of more.
func TestTwoValues(t *testing.T) {
	a, b := reals(-2, 3, 5), reals(4, 3, -2)
	for op, want := range map[string]*tensor.Tensor{
		"Add": reals(2, 6, 3), "Sum": reals(2, 6, 3), "Sub": reals(-6, 0, 7), "Mul": reals(-8, 9, -10),
		"Div": reals(-0.5, 1, -2.5), "Pow": reals(16, 27, 0.04), "Min": reals(-2, 3, -2), "Max": reals(4, 3, 5),
		"PRelu": reals(-8, 3, 5), "Equal": vector([]int64{0, 1, 0}), "Less": vector([]int64{1, 0, 0}),
		"LessOrEqual": vector([]int64{1, 1, 0}), "Greater": vector([]int64{0, 0, 1}),
		"GreaterOrEqual": vector([]int64{0, 1, 1}),
	} {
		check(t, nodeOf(op), want, a, b)
	}
	x, y := vector([]int64{-7, 7, 12, -7, 8}), vector([]int64{3, -3, 5, -3, 4})
	for op, want := range map[string][]int64{
		"Add": {-4, 4, 17, -10, 12}, "Sub": {-10, 10, 7, -4, 4}, "Mul": {-21, -21, 60, 21, 32},
		"Div": {-2, -2, 2, 2, 2},
		"Mod": {2, -2, 2, -1, 0}, "Min": {-7, -3, 5, -7, 4}, "Max": {3, 7, 12, -3, 8}, "And": {1, 5, 4, -7, 0},
		"Or": {-5, -1, 13, -3, 12}, "Less": {1, 0, 0, 1, 0},
	} {
		check(t, nodeOf(op), vector(want), x, y)
	}
	refuse(t, nodeOf("Div"), "division of 5 by 0", vector([]int64{5}), vector([]int64{0}))
	refuse(t, nodeOf("Mod"), "division of 5 by 0", vector([]int64{5}), vector([]int64{0}))
	refuse(t, nodeOf("Div"), "by -1 is not defined", vector([]int64{math.MinInt64}), vector([]int64{-1}))
	check(t, nodeOf("Div"), vector([]int64{-5}), vector([]int64{5}), vector([]int64{-1}))
	refuse(t, nodeOf("And"), "is not supported for these types", a, b)
	check(t, nodeOf("Sum"), reals(3, 7, 4), a, b, reals(1, 1, 1))
	check(t, nodeOf("Max"), a, a)
	check(t, nodeOf("Not"), vector([]int64{1, 0}), vector([]int64{0, 1}))
	check(t, nodeOf("IsNaN"), vector([]int64{1, 0}), reals(float32(math.NaN()), 1))
	check(t, nodeOf("Mul"), reals(-4, 6, 10), a, vector([]int64{2})) // of both kinds, spread
	refuse(t, nodeOf("Add"), "left out", a, nil)
	refuse(t, nodeOf("Add"), "do not broadcast", a, reals(1, 2))
}

func TestChoices(t *testing.T) {
	yes := vector([]int64{1, 0, 1})
	check(t, nodeOf("Where"), reals(1, 20, 3), yes, reals(1, 2, 3), reals(10, 20, 30))
	check(t, nodeOf("Where"), vector([]int64{1, 9, 3}), yes, vector([]int64{1, 2, 3}), vector([]int64{9}))
	check(t, nodeOf("Where"), tensor.Floats([]int{2, 1}, []float32{5, 7}), tensor.Integers([]int{2, 1}, []int64{1, 0}),
		reals(5), reals(7))
	check(t, nodeOf("Where"), reals(5, 7, 5), yes, reals(5), vector([]int64{7}))
	column := tensor.Floats([]int{2, 1}, []float32{10, 20})
	check(t, nodeOf("Where"), tensor.Floats([]int{2, 3}, []float32{1, 10, 3, 1, 20, 3}), yes, reals(1, 2, 3),
		column)
	check(t, nodeOf("Where"), tensor.Floats([]int{2, 3}, []float32{10, 2, 10, 20, 2, 20}), yes, column,
		reals(1, 2, 3))
	refuse(t, nodeOf("Where"), "it has no input", yes, reals(1))
	refuse(t, nodeOf("Where"), "it has no input", yes, nil, reals(1))
	refuse(t, nodeOf("Where"), "it has no input", yes, reals(1), nil)
	x := reals(-2, 0.5, 3)
	check(t, nodeOf("Clip"), x, x)
	check(t, nodeOf("Clip"), reals(-1, 0.5, 2), x, reals(-1), reals(2))
	check(t, nodeOf("Clip"), reals(-2, 0.5, 2), x, nil, reals(2))
	check(t, nodeOf("Clip", "min", float32(0), "max", float32(1)), reals(0, 0.5, 1), x)
	check(t, nodeOf("Clip"), vector([]int64{-1, 2}), vector([]int64{-7, 7}), vector([]int64{-1}), vector([]int64{2}))
	refuse(t, nodeOf("Clip"), "not single numbers", x, reals(1, 2))
	check(t, nodeOf("Cast", "to", int(onnx.Int64)), vector([]int64{-2, 0, 3}), x)
	check(t, nodeOf("Cast", "to", int(onnx.Float32)), reals(4, -1), vector([]int64{4, -1}))
	check(t, nodeOf("Cast", "to", int(onnx.Float32)), x, x)
	check(t, nodeOf("CastLike"), vector([]int64{-2, 0, 3}), x, vector([]int64{1}))
	check(t, nodeOf("CastLike"), reals(4), vector([]int64{4}), reals(1))
	refuse(t, nodeOf("CastLike"), "two inputs", x)
	refuse(t, nodeOf("CastLike"), "two inputs", x, nil)
	refuse(t, nodeOf("Relu"), "no input")
	refuse(t, nodeOf("Relu"), "no input", nil)
}
