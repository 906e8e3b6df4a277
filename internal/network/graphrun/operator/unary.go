package operator

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// VectorFunction are what the vector kernels compute: y = f(x), where y may be x.
func (c *Call) VectorFunction(op string) func(y, x []float32) {
	switch op {
	case "Relu":
		return func(y, x []float32) { simd.Clamp(y, x, simd.ReLU()) }
	case "Gelu", "FastGelu", "BiasGelu":
		if op == "FastGelu" || op == "Gelu" && c.Text("approximate", "none") == "tanh" {
			const scale = 2 * 0.7978845608028654 // 2 sqrt(2/pi)
			return func(y, x []float32) { simd.Gate(y, x, scale, 0.044715*scale) }
		}
		return simd.GELU
	case "Swish":
		alpha := c.Float("alpha", 1)
		return func(y, x []float32) { simd.Gate(y, x, alpha, 0) }
	case "QuickGelu":
		alpha := c.Float("alpha", 1.702)
		return func(y, x []float32) { simd.Gate(y, x, alpha, 0) }
	case "HardSwish":
		return simd.HardSwish
	case "Sqrt":
		return Elementwise(func(x float32) float32 { return float32(math.Sqrt(float64(x))) })
	case "Neg":
		return Elementwise(func(x float32) float32 { return -x })
	case "Abs":
		return Elementwise(func(x float32) float32 { return max(x, -x) })
	case "Reciprocal":
		return Elementwise(func(x float32) float32 { return 1 / x })
	case "LeakyRelu":
		alpha := c.Float("alpha", 0.01)
		return Elementwise(func(x float32) float32 { return max(x, 0) + alpha*min(x, 0) })
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

// Elementwise is the loop of a function that has no kernel for vectors.
func Elementwise(f func(x float32) float32) func(y, x []float32) {
	return func(y, x []float32) {
		y = y[:len(x)]
		for i, v := range x {
			y[i] = f(v)
		}
	}
}

// softplus is log(1 + exp(x)), written so that the power does not overflow.
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
func (c *Call) unaryFunction(op string) func(float64) float64 {
	if f := unaryFunctions[op]; f != nil {
		return f
	}
	float := func(name string, otherwise float32) float64 { return float64(c.Float(name, otherwise)) }
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
func unary(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	x := c.In[0]
	if !x.IsFloat() {
		return c.unaryInts(x)
	}
	f := c.VectorFunction(c.Node.Op)
	if f == nil {
		Fail("%s is not supported for floating-point numbers", c.Node.Op)
	}
	return Single(c.MapValues(x, f))
}

// MapValues applies f to all values.
func (c *Call) MapValues(x *tensor.Tensor, f func(y, x []float32)) *tensor.Tensor {
	y := c.NewFloats(x.Shape)
	y.Last = x.Last
	const block = 1024
	n := len(x.Floats)
	c.RunRanges((n+block-1)/block, 4*n, func(lo, hi int) {
		lo, hi = lo*block, min(hi*block, n)
		f(y.Floats[lo:hi], x.Floats[lo:hi])
	})
	return y
}

// unaryInts has the operators that ONNX defines for integers too.
func (c *Call) unaryInts(x *tensor.Tensor) []*tensor.Tensor {
	y := c.New(x.Shape, x.Type)
	for i, v := range x.Ints {
		switch c.Node.Op {
		case "Neg":
			v = -v
		case "Abs":
			v = max(v, -v)
		case "Sign":
			v = min(max(v, -1), 1)
		case "Relu":
			v = max(v, 0)
		default:
			Fail("%s is not supported for integers", c.Node.Op)
		}
		y.Ints[i] = tensor.Wrap(v, x.Type)
	}
	return Single(y)
}

// identity is Identity, and Dropout as it is after training.
func identity(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	out := []*tensor.Tensor{c.In[0]}
	if c.Node.Op == "Dropout" && c.Wants(1) { // the mask: all is kept
		mask := c.New(c.In[0].Shape, onnx.Bool)
		for i := range mask.Ints {
			mask.Ints[i] = 1
		}
		out = append(out, mask)
	}
	return out
}

// ClipBounds reads the bounds of a Clip, which are attributes up to opset 10 and inputs later.
func (c *Call) ClipBounds() (lo, hi float64) {
	lo, hi = float64(c.Float("min", float32(math.Inf(-1)))), float64(c.Float("max", float32(math.Inf(1))))
	for i, to := range []*float64{&lo, &hi} {
		if c.HasInput(i + 1) {
			if c.In[i+1].Len() != 1 {
				Fail("its bounds are not single numbers")
			}
			*to = c.In[i+1].Value(0)
		}
	}
	return lo, hi
}

// clip is min(max(x, lo), hi): where the bounds cross, the upper one wins.
func clip(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	lo, hi := c.ClipBounds()
	x := c.In[0]
	if x.IsFloat() {
		a, b := float32(lo), float32(hi)
		return Single(c.MapValues(x, Elementwise(func(v float32) float32 { return min(max(v, a), b) })))
	}
	y := c.New(x.Shape, x.Type)
	for i, v := range x.Ints {
		y.Ints[i] = int64(min(max(float64(v), lo), hi))
	}
	return Single(y)
}

// testValues makes truths of floating-point numbers.
func (c *Call) testValues(f func(float64) bool) []*tensor.Tensor {
	x := c.Input()
	y := c.New(x.Shape, onnx.Bool)
	for i := range y.Ints {
		y.SetValue(i, truth(f(x.Value(i))))
	}
	return Single(y)
}

// isNaN tells NaN by the one property that no number has: it differs from itself.
func isNaN(c *Call) []*tensor.Tensor { return c.testValues(func(v float64) bool { return v != v }) }

// isInf tells infinities, of one sign only if the attributes say so.
func isInf(c *Call) []*tensor.Tensor {
	up, down := c.Int("detect_positive", 1) != 0, c.Int("detect_negative", 1) != 0
	return c.testValues(func(v float64) bool { return up && math.IsInf(v, 1) || down && math.IsInf(v, -1) })
}

// not is true where its input is 0.
func not(c *Call) []*tensor.Tensor { return c.testValues(func(v float64) bool { return v == 0 }) }

// bitwiseNot turns all bits of integers around, within their type.
func bitwiseNot(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	x := Must(c.In[0].Integers())
	y := c.New(c.In[0].Shape, c.In[0].Type)
	for i, v := range x {
		y.Ints[i] = tensor.Wrap(^v, y.Type)
	}
	return Single(y)
}

// Activate applies the activation that operators of com.microsoft name in an attribute.
func (c *Call) Activate(out *tensor.Tensor) []*tensor.Tensor {
	name := c.Text("activation", "")
	if name == "" {
		return Single(out)
	}
	param := func(i int, otherwise float32) float32 { // a convolution has a list of them, a product attributes
		if a := c.Node.Attr("activation_params"); a != nil && i < len(a.Floats) {
			return a.Floats[i]
		}
		return c.Float([]string{"activation_alpha", "activation_beta"}[i], otherwise)
	}
	var f func(y, x []float32)
	switch name {
	case "Clip":
		lo, hi := param(0, -math.MaxFloat32), param(1, math.MaxFloat32)
		f = Elementwise(func(v float32) float32 { return min(max(v, lo), hi) })
	case "LeakyRelu":
		alpha := param(0, 0.01)
		f = Elementwise(func(v float32) float32 { return max(v, 0) + alpha*min(v, 0) })
	case "HardSigmoid":
		alpha, beta := param(0, 0.2), param(1, 0.5)
		f = Elementwise(func(v float32) float32 { return min(max(alpha*v+beta, 0), 1) })
	case "Elu":
		alpha := param(0, 1)
		f = Elementwise(func(v float32) float32 { return max(v, 0) + alpha*float32(math.Expm1(float64(min(v, 0)))) })
	case "Relu", "Sigmoid", "Tanh", "Softplus", "Softsign":
		f = c.VectorFunction(name)
	default:
		Fail("activation %q is not supported", name)
	}
	return Single(c.MapValues(out, f))
}

// biasGelu is GELU of the sum of the inputs.
func biasGelu(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	x := c.Floats(0)
	if c.HasInput(1) {
		x = c.Pair("Add", x, c.In[1])
	}
	return Single(c.MapValues(x, c.VectorFunction(c.Node.Op)))
}
