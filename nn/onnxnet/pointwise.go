package onnxnet

import (
	"errors"
	"fmt"
	"math"
)

// isElementwise tells operators that compute each value from those at the same
// place of their inputs.
func isElementwise(op string) bool {
	return oneValue(op, &attrs{}) != nil || twoReals(op) != nil || twoInts(op) != nil || compared(op) != nil ||
		op == "Clip" || op == "Where" || op == "Cast" || op == "CastLike"
}

// oneValue is the function of an operator with one input, nil for others.
// This is a table: one line an operator.
func oneValue(op string, a *attrs) func(float64) float64 {
	float := func(name string, otherwise float32) float64 {
		if a.node == nil {
			return 0
		}
		return float64(a.float(name, otherwise))
	}
	gate := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	switch op {
	case "Identity", "Dropout":
		return func(x float64) float64 { return x }
	case "Neg":
		return func(x float64) float64 { return -x }
	case "Abs":
		return math.Abs
	case "Exp":
		return math.Exp
	case "Log":
		return math.Log
	case "Sqrt":
		return math.Sqrt
	case "Erf":
		return math.Erf
	case "Tanh":
		return math.Tanh
	case "Floor":
		return math.Floor
	case "Ceil":
		return math.Ceil
	case "Round":
		return math.RoundToEven
	case "Reciprocal":
		return func(x float64) float64 { return 1 / x }
	case "Relu":
		return func(x float64) float64 { return max(x, 0) }
	case "Sigmoid":
		return gate
	case "Swish":
		alpha := float("alpha", 1)
		return func(x float64) float64 { return x * gate(alpha*x) }
	case "QuickGelu":
		alpha := float("alpha", 1.702)
		return func(x float64) float64 { return x * gate(alpha*x) }
	case "HardSigmoid":
		alpha, beta := float("alpha", 0.2), float("beta", 0.5)
		return func(x float64) float64 { return min(max(alpha*x+beta, 0), 1) }
	case "HardSwish":
		return func(x float64) float64 { return x * min(max(x/6+0.5, 0), 1) }
	case "Gelu", "FastGelu":
		if op == "FastGelu" || a.node != nil && a.text("approximate", "none") == "tanh" {
			return geluTanh
		}
		return gelu
	case "LeakyRelu":
		alpha := float("alpha", 0.01)
		return func(x float64) float64 { return max(x, 0) + alpha*min(x, 0) }
	case "Elu":
		alpha := float("alpha", 1)
		return func(x float64) float64 { return max(x, 0) + alpha*math.Expm1(min(x, 0)) }
	case "Softplus":
		return func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
	case "Softsign":
		return func(x float64) float64 { return x / (1 + math.Abs(x)) }
	case "Mish":
		return func(x float64) float64 { return x * math.Tanh(max(x, 0)+math.Log1p(math.Exp(-math.Abs(x)))) }
	}
	return nil
}

// rsqrt is 1/sqrt(n).
func rsqrt(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

func gelu(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 }

func geluTanh(x float64) float64 {
	return x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) / 2
}

func twoReals(op string) func(a, b float64) float64 {
	switch op {
	case "Add", "Sum":
		return func(a, b float64) float64 { return a + b }
	case "Sub":
		return func(a, b float64) float64 { return a - b }
	case "Mul":
		return func(a, b float64) float64 { return a * b }
	case "Div":
		return func(a, b float64) float64 { return a / b }
	case "Pow":
		return math.Pow
	case "Min":
		return func(a, b float64) float64 { return min(a, b) }
	case "Max":
		return func(a, b float64) float64 { return max(a, b) }
	case "PRelu":
		return func(a, b float64) float64 { return max(a, 0) + b*min(a, 0) }
	}
	return nil
}

func twoInts(op string) func(a, b int64) (int64, error) {
	ok := func(f func(a, b int64) int64) func(a, b int64) (int64, error) {
		return func(a, b int64) (int64, error) { return f(a, b), nil }
	}
	divided := func(f func(a, b int64) int64) func(a, b int64) (int64, error) {
		return func(a, b int64) (int64, error) {
			if b == 0 || b == -1 && a == math.MinInt64 {
				return 0, fmt.Errorf("%d divided by %d", a, b)
			}
			return f(a, b), nil
		}
	}
	switch op {
	case "Add", "Sum":
		return ok(func(a, b int64) int64 { return a + b })
	case "Sub":
		return ok(func(a, b int64) int64 { return a - b })
	case "Mul":
		return ok(func(a, b int64) int64 { return a * b })
	case "Div":
		return divided(func(a, b int64) int64 { return a / b })
	case "Mod":
		return divided(func(a, b int64) int64 { return ((a % b) + b) % b })
	case "Min":
		return ok(func(a, b int64) int64 { return min(a, b) })
	case "Max":
		return ok(func(a, b int64) int64 { return max(a, b) })
	case "And":
		return ok(func(a, b int64) int64 { return a & b })
	case "Or":
		return ok(func(a, b int64) int64 { return a | b })
	}
	return nil
}

// compared is the function of operators whose result is a truth.
func compared(op string) func(a, b float64) bool {
	switch op {
	case "Equal":
		return func(a, b float64) bool { return a == b }
	case "Less":
		return func(a, b float64) bool { return a < b }
	case "LessOrEqual":
		return func(a, b float64) bool { return a <= b }
	case "Greater":
		return func(a, b float64) bool { return a > b }
	case "GreaterOrEqual":
		return func(a, b float64) bool { return a >= b }
	case "IsNaN", "Not":
		return func(a, _ float64) bool { return op == "Not" && a == 0 || op == "IsNaN" && a != a }
	}
	return nil
}

// elementwise computes an operator of isElementwise. Inputs that are left out
// are nil.
func elementwise(n *node, in []*array) (*array, error) {
	a := attrs{node: n.Node}
	if len(in) == 0 || in[0] == nil {
		return nil, errors.New("it has no input")
	}
	switch n.Op {
	case "Clip":
		return clip(n, in)
	case "Where":
		return where(in)
	case "Cast", "CastLike":
		return cast(n, &a, in)
	}
	if f := oneValue(n.Op, &a); f != nil {
		if in[0].ints != nil && (n.Op == "Identity" || n.Op == "Dropout") {
			return in[0], a.err
		}
		out := &array{shape: in[0].shape, reals: make([]float32, in[0].len())}
		for i := range out.reals {
			out.reals[i] = float32(f(in[0].at(i)))
		}
		if in[0].ints != nil { // Neg, Abs of integers
			out.ints, out.reals = make([]int64, in[0].len()), nil
			for i := range out.ints {
				out.ints[i] = int64(f(float64(in[0].ints[i])))
			}
		}
		return out, a.err
	}
	out := in[0]
	if len(in) == 1 {
		if n.Op == "IsNaN" || n.Op == "Not" {
			return pair(n.Op, in[0], in[0])
		}
		return out, a.err // Sum, Min, Max of one
	}
	for _, next := range in[1:] {
		if next == nil {
			return nil, errors.New("an input of it is left out")
		}
		var err error
		if out, err = pair(n.Op, out, next); err != nil {
			return nil, err
		}
	}
	return out, a.err
}

// pair applies an operator of two inputs to arrays that are spread to one shape.
func pair(op string, x, y *array) (*array, error) {
	shape, err := broadcast(x.shape, y.shape)
	if err != nil {
		return nil, err
	}
	xs, err := spread(x.shape, shape)
	if err != nil {
		return nil, err
	}
	ys, err := spread(y.shape, shape)
	if err != nil {
		return nil, err
	}
	out := &array{shape: shape}
	if f := compared(op); f != nil {
		out.ints = make([]int64, len(xs))
		for i := range xs {
			if f(x.at(xs[i]), y.at(ys[i])) {
				out.ints[i] = 1
			}
		}
		return out, nil
	}
	if f := twoInts(op); f != nil && !x.isReal() && !y.isReal() {
		out.ints = make([]int64, len(xs))
		for i := range xs {
			if out.ints[i], err = f(x.ints[xs[i]], y.ints[ys[i]]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	f := twoReals(op)
	if f == nil {
		return nil, fmt.Errorf("%s of these types is not computed", op)
	}
	out.reals = make([]float32, len(xs))
	for i := range xs {
		out.reals[i] = float32(f(x.at(xs[i]), y.at(ys[i])))
	}
	return out, nil
}

func where(in []*array) (*array, error) {
	if len(in) != 3 || in[0] == nil || in[1] == nil || in[2] == nil {
		return nil, errors.New("it needs three inputs")
	}
	shape, err := broadcast(in[1].shape, in[2].shape)
	if err == nil {
		shape, err = broadcast(in[0].shape, shape)
	}
	if err != nil {
		return nil, err
	}
	var from [3][]int
	for i := range from {
		if from[i], err = spread(in[i].shape, shape); err != nil {
			return nil, err
		}
	}
	out := &array{shape: shape}
	for i, c := range from[0] {
		pick := 2
		if in[0].at(c) != 0 {
			pick = 1
		}
		if in[1].isReal() || in[2].isReal() {
			out.reals = append(out.reals, float32(in[pick].at(from[pick][i])))
		} else {
			out.ints = append(out.ints, in[pick].ints[from[pick][i]])
		}
	}
	return out, nil
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
			return 0, 0, errors.New("its bounds are no single numbers")
		}
		*to = in[i+1].at(0)
	}
	return lo, hi, a.err
}

func clip(n *node, in []*array) (*array, error) {
	lo, hi, err := bounds(n, in)
	if err != nil {
		return nil, err
	}
	out := &array{shape: in[0].shape}
	for i := range in[0].len() {
		v := min(max(in[0].at(i), lo), hi)
		if in[0].isReal() {
			out.reals = append(out.reals, float32(v))
		} else {
			out.ints = append(out.ints, int64(v))
		}
	}
	return out, nil
}

func cast(n *node, a *attrs, in []*array) (*array, error) {
	real := false
	if n.Op == "Cast" {
		real = dataType(a.int("to", 1)).IsFloat()
	} else {
		if len(in) < 2 || in[1] == nil {
			return nil, errors.New("it needs two inputs")
		}
		real = in[1].isReal()
	}
	if real == in[0].isReal() {
		return in[0], a.err
	}
	out := &array{shape: in[0].shape}
	if real {
		out.reals = make([]float32, len(in[0].ints))
		for i, v := range in[0].ints {
			out.reals[i] = float32(v)
		}
		return out, a.err
	}
	out.ints = make([]int64, len(in[0].reals))
	for i, v := range in[0].reals {
		out.ints[i] = int64(v)
	}
	return out, a.err
}
