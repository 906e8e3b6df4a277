package operator

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// pairLoop computes y = f(a, b) over a row, where sa and sb, 0 or 1, say whether a and b go
// along or stay.
type pairLoop func(y, a, b []float32, sa, sb int)

// pairFunction is the loop of an operator of two floating-point inputs, nil for others.
func (c *Call) pairFunction(op string) pairLoop {
	switch op {
	case "Add", "Sum", "Mean":
		return func(y, a, b []float32, sa, sb int) {
			switch {
			case sa == 1 && sb == 1:
				simd.AddClamp(y, a[:len(y)], b[:len(y)], simd.Linear())
			case sa == 1:
				addNumber(y, a, b[0])
			default:
				applyPair(y, a, b, sa, sb, func(a, b float32) float32 { return a + b })
			}
		}
	case "Sub":
		return func(y, a, b []float32, sa, sb int) {
			switch {
			case sa == 1 && sb == 1:
				a, b = a[:len(y)], b[:len(y)]
				for i := range y {
					y[i] = a[i] - b[i]
				}
			case sa == 1:
				addNumber(y, a, -b[0])
			default:
				applyPair(y, a, b, sa, sb, func(a, b float32) float32 { return a - b })
			}
		}
	case "Mul":
		return func(y, a, b []float32, sa, sb int) {
			switch {
			case sa == 1 && sb == 1:
				a, b = a[:len(y)], b[:len(y)]
				for i := range y {
					y[i] = a[i] * b[i]
				}
			case sa == 1:
				simd.Scale(y, b[0], a[:len(y)])
			case sb == 1:
				simd.Scale(y, a[0], b[:len(y)])
			default:
				applyPair(y, a, b, sa, sb, func(a, b float32) float32 { return a * b })
			}
		}
	case "Div":
		return func(y, a, b []float32, sa, sb int) {
			if sa == 1 && sb == 1 {
				a, b = a[:len(y)], b[:len(y)]
				for i := range y {
					y[i] = a[i] / b[i]
				}
				return
			}
			applyPair(y, a, b, sa, sb, func(a, b float32) float32 { return a / b })
		}
	case "Max":
		return simplePair(func(a, b float32) float32 { return max(a, b) })
	case "Min":
		return simplePair(func(a, b float32) float32 { return min(a, b) })
	case "PRelu":
		return simplePair(func(a, b float32) float32 {
			if a < 0 {
				return a * b
			}
			return a
		})
	case "Pow":
		return power
	case "Mod":
		if c.Int("fmod", 0) != 0 {
			return simplePair(func(a, b float32) float32 { return float32(math.Mod(float64(a), float64(b))) })
		}
		return simplePair(func(a, b float32) float32 {
			return float32(float64(a) - float64(b)*math.Floor(float64(a)/float64(b)))
		})
	}
	return nil
}

// simplePair is the loop of a function that has no kernel for whole rows.
func simplePair(f func(a, b float32) float32) pairLoop {
	return func(y, a, b []float32, sa, sb int) { applyPair(y, a, b, sa, sb, f) }
}

// applyPair is the loop of operators that have no kernel of their own.
func applyPair(y, a, b []float32, sa, sb int, f func(a, b float32) float32) {
	for i := range y {
		y[i] = f(a[i*sa], b[i*sb])
	}
}

// addNumber is y = a + b for one number b.
func addNumber(y, a []float32, b float32) {
	a = a[:len(y)]
	for i, v := range a {
		y[i] = v + b
	}
}

// power computes squares and roots exactly.
func power(y, a, b []float32, sa, sb int) {
	if sb == 0 {
		switch b[0] {
		case 1:
			applyPair(y, a, b, sa, 0, func(a, _ float32) float32 { return a })
			return
		case 2:
			applyPair(y, a, b, sa, 0, func(a, _ float32) float32 { return a * a })
			return
		case 0.5:
			applyPair(y, a, b, sa, 0, func(a, _ float32) float32 { return float32(math.Sqrt(float64(a))) })
			return
		}
	}
	applyPair(y, a, b, sa, sb, func(a, b float32) float32 { return float32(math.Pow(float64(a), float64(b))) })
}

// comparisons are the operators whose result is a truth: 1 or 0. They compare in float64, in which integers beyond
// 2^53 are not exact.
var comparisons = map[string]func(a, b float64) float64{
	"Equal":          func(a, b float64) float64 { return truth(a == b) },
	"Less":           func(a, b float64) float64 { return truth(a < b) },
	"LessOrEqual":    func(a, b float64) float64 { return truth(a <= b) },
	"Greater":        func(a, b float64) float64 { return truth(a > b) },
	"GreaterOrEqual": func(a, b float64) float64 { return truth(a >= b) },
}

// truth is how ONNX counts booleans.
func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// intFunction is the function of an operator of two integers, nil for others.
func (c *Call) intFunction(op string) func(a, b int64) int64 {
	divided := func(f func(a, b int64) int64) func(a, b int64) int64 {
		return func(a, b int64) int64 {
			if b == 0 || b == -1 && a == math.MinInt64 {
				Fail("integer division of %d by %d is not defined", a, b)
			}
			return f(a, b)
		}
	}
	switch op {
	case "Add", "Sum":
		return func(a, b int64) int64 { return a + b }
	case "Sub":
		return func(a, b int64) int64 { return a - b }
	case "Mul":
		return func(a, b int64) int64 { return a * b }
	case "Div":
		return divided(func(a, b int64) int64 { return a / b })
	case "Mod":
		if c.Int("fmod", 0) != 0 {
			return divided(func(a, b int64) int64 { return a % b })
		}
		return divided(func(a, b int64) int64 { return ((a % b) + b) % b })
	case "Min":
		return func(a, b int64) int64 { return min(a, b) }
	case "Max":
		return func(a, b int64) int64 { return max(a, b) }
	case "PRelu":
		return func(a, b int64) int64 { return max(a, 0) + b*min(a, 0) }
	case "Pow":
		return func(a, b int64) int64 { return tensor.Truncate(math.Pow(float64(a), float64(b))) }
	case "And", "BitwiseAnd":
		return func(a, b int64) int64 { return a & b }
	case "Or", "BitwiseOr":
		return func(a, b int64) int64 { return a | b }
	case "Xor", "BitwiseXor":
		return func(a, b int64) int64 { return a ^ b }
	case "BitShift":
		if c.Text("direction", "") == "RIGHT" {
			return func(a, b int64) int64 { return int64(uint64(a) >> uint64(b)) }
		}
		return func(a, b int64) int64 { return int64(uint64(a) << uint64(b)) }
	}
	return nil
}

// twoInputs computes an operator of two inputs, which are broadcast to one shape from the last axis on. Before
// opset 7 the second was aligned with an axis of the first by the attribute axis.
func twoInputs(c *Call) []*tensor.Tensor {
	c.RequireAllInputs()
	if len(c.In) == 1 {
		return Single(c.In[0])
	}
	x, y := c.In[0], c.In[1]
	switch axis := c.Int("axis", 0); {
	case c.Node.Op == "PRelu":
		// Slopes of one value a channel may come without the sides of height and width.
		if len(y.Shape) == 1 && len(x.Shape) > 1 && y.Shape[0] == x.Shape[1] && y.Shape[0] != 1 &&
			x.Shape[len(x.Shape)-1] != y.Shape[0] {
			shape := []int{y.Shape[0]}
			for range len(x.Shape) - 2 {
				shape = append(shape, 1)
			}
			y = y.View(shape)
		}
	case c.Opset < 7 && c.Int("broadcast", 0) != 0 && axis > 0: // as opsets before 7 spread their inputs
		shape := append([]int{}, y.Shape...)
		for len(shape) < len(x.Shape)-int(min(axis, tensor.MaxAxes)) {
			shape = append(shape, 1)
		}
		y = y.View(shape)
	}
	return Single(c.Pair(c.Node.Op, x, y))
}

// Pair applies an operator of two inputs.
func (c *Call) Pair(op string, x, y *tensor.Tensor) *tensor.Tensor {
	if f := comparisons[op]; f != nil {
		return c.pairValues(f, x, y, onnx.Bool)
	}
	if !x.IsFloat() && !y.IsFloat() {
		return c.pairInts(op, x, y)
	}
	if op == "Pow" && x.IsFloat() != y.IsFloat() { // the one operator of two types
		return c.pairValues(math.Pow, x, y, x.Type)
	}
	f := c.pairFunction(op)
	if f == nil {
		Fail("%s is not supported for these types", op)
	}
	x, y = c.AsFloats(x), c.AsFloats(y)
	in, shape, lies, own, last := c.alignOperands([]*tensor.Tensor{x, y})
	out := c.NewFloats(shape)
	if out.Len() == 0 {
		return out
	}
	out.Last = last
	a, b := in[0].Floats, in[1].Floats
	if slices.Equal(own[0], own[1]) {
		const block = 1024
		n := len(out.Floats)
		c.RunRanges((n+block-1)/block, n, func(lo, hi int) {
			lo, hi = lo*block, min(hi*block, n)
			f(out.Floats[lo:hi], a[lo:hi], b[lo:hi], 1, 1)
		})
		return out
	}
	r := tensor.NewRows(lies, tensor.SpreadStrides(own[0], lies), tensor.SpreadStrides(own[1], lies))
	w, sa, sb := r.Width(), r.Stride(0), r.Stride(1)
	c.RunRanges(r.Count(), len(out.Floats), func(lo, hi int) {
		r.Walk(lo, hi, func(row int, at []int) {
			f(out.Floats[row*w:(row+1)*w], a[at[0]:], b[at[1]:], sa, sb)
		})
	})
	return out
}

// pairInts computes in int64 and wraps the result to the type of the first input, as C does.
func (c *Call) pairInts(op string, x, y *tensor.Tensor) *tensor.Tensor {
	f := c.intFunction(op)
	if f == nil {
		Fail("%s is not supported for integers", op)
	}
	shape := Must(tensor.Broadcast(x.Shape, y.Shape))
	out := c.New(shape, x.Type)
	c.BroadcastEach(shape, [][]int{x.Shape, y.Shape}, func(i int, at []int) {
		out.Ints[i] = tensor.Wrap(f(x.Ints[at[0]], y.Ints[at[1]]), out.Type)
	})
	return out
}

// pairValues computes values of a type from those of two tensors of any types.
func (c *Call) pairValues(f func(a, b float64) float64, x, y *tensor.Tensor, typ onnx.DataType) *tensor.Tensor {
	x, y = c.Contiguous(x), c.Contiguous(y)
	shape := Must(tensor.Broadcast(x.Shape, y.Shape))
	out := c.New(shape, typ)
	c.BroadcastEach(shape, [][]int{x.Shape, y.Shape}, func(i int, at []int) {
		out.SetValue(i, f(x.Value(at[0]), y.Value(at[1])))
	})
	return out
}

// variadic applies an operator of two inputs to any number of them, one after the other.
func variadic(c *Call) []*tensor.Tensor {
	c.RequireAllInputs()
	out := c.In[0]
	for _, next := range c.In[1:] {
		out = c.Pair(c.Node.Op, out, next)
	}
	if n := float32(len(c.In)); c.Node.Op == "Mean" && n > 1 {
		return Single(c.MapValues(out, Elementwise(func(v float32) float32 { return v / n })))
	}
	return Single(out)
}

// where is y = condition ? a : b, of three inputs that are broadcast to one shape.
func where(c *Call) []*tensor.Tensor {
	c.RequireInputs(3)
	var in [3]*tensor.Tensor
	var shapes [][]int
	for i := range in {
		in[i] = c.Contiguous(c.In[i])
		shapes = append(shapes, in[i].Shape)
	}
	if in[1].IsFloat() != in[2].IsFloat() {
		in[1], in[2] = c.AsFloats(in[1]), c.AsFloats(in[2])
	}
	truth := Must(in[0].Integers())
	shape := Must(tensor.Broadcast(shapes...))
	out := c.NewLike(in[1], shape)
	c.BroadcastEach(shape, shapes, func(i int, at []int) {
		k := 2
		if truth[at[0]] != 0 {
			k = 1
		}
		if out.IsFloat() {
			out.Floats[i] = in[k].Floats[at[k]]
		} else {
			out.Ints[i] = in[k].Ints[at[k]]
		}
	})
	return Single(out)
}
