package graphrun

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// vectorFunction are what the vector kernels compute: y = f(x), where y may be x.
func (c *call) vectorFunction(op string) func(y, x []float32) {
	switch op {
	case "Relu":
		return func(y, x []float32) { simd.Clamp(y, x, simd.ReLU()) }
	case "Gelu", "FastGelu", "BiasGelu":
		if op == "FastGelu" || op == "Gelu" && c.text("approximate", "none") == "tanh" {
			const scale = 2 * 0.7978845608028654 // 2 sqrt(2/pi)
			return func(y, x []float32) { simd.Gate(y, x, scale, 0.044715*scale) }
		}
		return simd.GELU
	case "Swish":
		alpha := c.float("alpha", 1)
		return func(y, x []float32) { simd.Gate(y, x, alpha, 0) }
	case "QuickGelu":
		alpha := c.float("alpha", 1.702)
		return func(y, x []float32) { simd.Gate(y, x, alpha, 0) }
	case "HardSwish":
		return simd.HardSwish
	case "Sqrt":
		return elementwise(func(x float32) float32 { return float32(math.Sqrt(float64(x))) })
	case "Neg":
		return elementwise(func(x float32) float32 { return -x })
	case "Abs":
		return elementwise(func(x float32) float32 { return max(x, -x) })
	case "Reciprocal":
		return elementwise(func(x float32) float32 { return 1 / x })
	case "LeakyRelu":
		alpha := c.float("alpha", 0.01)
		return elementwise(func(x float32) float32 { return max(x, 0) + alpha*min(x, 0) })
	}
	if f := c.unaryFunction(op); f != nil {
		return func(y, x []float32) {
			for i, v := range x {
				y[i] = float32(f(float64(v)))
			}
		}
	}
	return nil
}

func elementwise(f func(x float32) float32) func(y, x []float32) {
	return func(y, x []float32) {
		y = y[:len(x)]
		for i, v := range x {
			y[i] = f(v)
		}
	}
}

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// unaryFunctions are the operators of one input without attributes. ONNX rounds halves to even.
var unaryFunctions = map[string]func(float64) float64{
	"Acos": math.Acos, "Acosh": math.Acosh, "Asin": math.Asin, "Asinh": math.Asinh, "Atan": math.Atan,
	"Atanh": math.Atanh, "Ceil": math.Ceil, "Cos": math.Cos, "Cosh": math.Cosh, "Erf": math.Erf,
	"Exp": math.Exp, "Floor": math.Floor, "Log": math.Log, "Round": math.RoundToEven, "Sin": math.Sin,
	"Sinh": math.Sinh, "Tan": math.Tan, "Tanh": math.Tanh, "Softplus": softplus,
	"Sigmoid":  func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"Softsign": func(x float64) float64 { return x / (1 + math.Abs(x)) },
	"Mish":     func(x float64) float64 { return x * math.Tanh(softplus(x)) },
	"Sign": func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x // 0, and NaN
	},
}

// unaryFunction is the function of an operator with one input, in float64; nil for others.
func (c *call) unaryFunction(op string) func(float64) float64 {
	if f := unaryFunctions[op]; f != nil {
		return f
	}
	float := func(name string, otherwise float32) float64 { return float64(c.float(name, otherwise)) }
	switch op {
	case "HardSigmoid":
		alpha, beta := float("alpha", 0.2), float("beta", 0.5)
		return func(x float64) float64 { return min(max(alpha*x+beta, 0), 1) }
	case "Elu":
		alpha := float("alpha", 1)
		return func(x float64) float64 { return max(x, 0) + alpha*math.Expm1(min(x, 0)) }
	case "Celu":
		alpha := float("alpha", 1)
		return func(x float64) float64 { return max(x, 0) + alpha*math.Expm1(min(x, 0)/alpha) }
	case "Selu":
		alpha, gamma := float("alpha", 1.67326319217681884765625), float("gamma", 1.05070102214813232421875)
		return func(x float64) float64 { return gamma * (max(x, 0) + alpha*math.Expm1(min(x, 0))) }
	case "ThresholdedRelu":
		alpha := float("alpha", 1)
		return func(x float64) float64 {
			if x > alpha {
				return x
			}
			return 0
		}
	case "Shrink":
		bias, lambd := float("bias", 0), float("lambd", 0.5)
		return func(x float64) float64 {
			switch {
			case x < -lambd:
				return x + bias
			case x > lambd:
				return x - bias
			}
			return 0
		}
	}
	return nil
}

// unary computes an operator of one input.
func unary(c *call) []*Tensor {
	c.requireInputs(1)
	x := c.in[0]
	if !x.isFloat() {
		return c.unaryInts(x)
	}
	f := c.vectorFunction(c.n.Op)
	if f == nil {
		fail("%s is not supported for floating-point numbers", c.n.Op)
	}
	return single(c.mapValues(x, f))
}

// mapValues applies f to all values.
func (c *call) mapValues(x *Tensor, f func(y, x []float32)) *Tensor {
	y := c.newFloats(x.Shape)
	y.last = x.last
	const block = 1024
	n := len(x.Floats)
	c.runRanges((n+block-1)/block, 4*n, func(lo, hi int) {
		lo, hi = lo*block, min(hi*block, n)
		f(y.Floats[lo:hi], x.Floats[lo:hi])
	})
	return y
}

func (c *call) unaryInts(x *Tensor) []*Tensor {
	y := c.newInts(x.Shape, x.typ)
	for i, v := range x.Ints {
		switch c.n.Op {
		case "Neg":
			v = -v
		case "Abs":
			v = max(v, -v)
		case "Sign":
			v = min(max(v, -1), 1)
		case "Relu":
			v = max(v, 0)
		default:
			fail("%s is not supported for integers", c.n.Op)
		}
		y.Ints[i] = wrapInt(v, x.typ)
	}
	return single(y)
}

func identity(c *call) []*Tensor {
	c.requireInputs(1)
	out := []*Tensor{c.in[0]}
	if c.n.Op == "Dropout" && len(c.n.out) > 1 && c.n.out[1] >= 0 { // the mask: all is kept
		mask := c.newInts(c.in[0].Shape, onnx.Bool)
		for i := range mask.Ints {
			mask.Ints[i] = 1
		}
		out = append(out, mask)
	}
	return out
}

// clip takes its bounds from attributes up to opset 10, from inputs later.
func clip(c *call) []*Tensor {
	c.requireInputs(1)
	lo, hi := float64(c.float("min", float32(math.Inf(-1)))), float64(c.float("max", float32(math.Inf(1))))
	for i, to := range []*float64{&lo, &hi} {
		if c.hasInput(i + 1) {
			if c.in[i+1].len() != 1 {
				fail("its bounds are not single numbers")
			}
			*to = c.in[i+1].value(0)
		}
	}
	x := c.in[0]
	if x.isFloat() {
		a, b := float32(lo), float32(hi)
		return single(c.mapValues(x, elementwise(func(v float32) float32 { return min(max(v, a), b) })))
	}
	y := c.newInts(x.Shape, x.typ)
	for i, v := range x.Ints {
		y.Ints[i] = int64(min(max(float64(v), lo), hi))
	}
	return single(y)
}

// wrapInt wraps an integer to the range of a type, as arithmetic of that type does.
func wrapInt(v int64, typ onnx.DataType) int64 {
	switch typ {
	case onnx.Bool:
		if v != 0 {
			return 1
		}
		return 0
	case onnx.Uint8:
		return int64(uint8(v))
	case onnx.Int8:
		return int64(int8(v))
	case onnx.Uint16:
		return int64(uint16(v))
	case onnx.Int16:
		return int64(int16(v))
	case onnx.Uint32:
		return int64(uint32(v))
	case onnx.Int32:
		return int64(int32(v))
	}
	return v
}

// toInt cuts the fraction off; what int64 does not hold is its nearest, NaN is 0.
func toInt(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return int64(v)
}

func roundedInt(v float64) int64 { return toInt(math.RoundToEven(v)) }

func cast(c *call) []*Tensor {
	c.requireInputs(1)
	x := c.in[0]
	var to onnx.DataType
	if c.n.Op == "CastLike" {
		if !c.hasInput(1) {
			fail("it needs two inputs")
		}
		to = c.in[1].typ
	} else {
		to = onnx.DataType(min(max(c.int("to", 1), 0), 99))
	}
	if to.Size() == 0 {
		fail("it converts to type %s, which is not supported", to)
	}
	if to.IsFloat() {
		return single(c.toFloat(x, to))
	}
	x = c.contiguous(x)
	y := c.newInts(x.Shape, to)
	for i := range y.Ints {
		switch {
		case x.isFloat() && to == onnx.Bool:
			y.Ints[i] = 0
			if x.Floats[i] != 0 {
				y.Ints[i] = 1
			}
		case x.isFloat():
			y.Ints[i] = wrapInt(toInt(float64(x.Floats[i])), to)
		default:
			y.Ints[i] = wrapInt(x.Ints[i], to)
		}
	}
	return single(y)
}

// toFloat converts to a type of floating-point numbers.
func (c *call) toFloat(x *Tensor, to onnx.DataType) *Tensor {
	round := rounding(to)
	was := x
	x = c.asFloats(x)
	if round == nil {
		return x
	}
	y := x
	if x == was { // not made here
		x = c.contiguous(x)
		y = c.newFloats(x.Shape)
	}
	round(y.Floats, x.Floats)
	return y
}

// testValues makes truths of floating-point numbers.
func (c *call) testValues(f func(float64) bool) []*Tensor {
	c.requireInputs(1)
	x := c.contiguous(c.in[0])
	y := c.newInts(x.Shape, onnx.Bool)
	for i := range y.Ints {
		y.Ints[i] = 0
		if f(x.value(i)) {
			y.Ints[i] = 1
		}
	}
	return single(y)
}

func isNaN(c *call) []*Tensor { return c.testValues(func(v float64) bool { return v != v }) }

func isInf(c *call) []*Tensor {
	up, down := c.int("detect_positive", 1) != 0, c.int("detect_negative", 1) != 0
	return c.testValues(func(v float64) bool { return up && math.IsInf(v, 1) || down && math.IsInf(v, -1) })
}

func not(c *call) []*Tensor { return c.testValues(func(v float64) bool { return v == 0 }) }

func bitwiseNot(c *call) []*Tensor {
	c.requireInputs(1)
	x := c.in[0].integers()
	y := c.newInts(c.in[0].Shape, c.in[0].typ)
	for i, v := range x {
		y.Ints[i] = wrapInt(^v, y.typ)
	}
	return single(y)
}
