package graphrun

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// pairLoop computes y = f(a, b) over a row, where sa and sb, 0 or 1, say whether a and b go
// along or stay.
type pairLoop func(y, a, b []float32, sa, sb int)

// pairFunction is the loop of an operator of two floating-point inputs, nil for others.
func (c *call) pairFunction(op string) pairLoop {
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
		if c.int("fmod", 0) != 0 {
			return simplePair(func(a, b float32) float32 { return float32(math.Mod(float64(a), float64(b))) })
		}
		return simplePair(func(a, b float32) float32 {
			return float32(float64(a) - float64(b)*math.Floor(float64(a)/float64(b)))
		})
	}
	return nil
}

func simplePair(f func(a, b float32) float32) pairLoop {
	return func(y, a, b []float32, sa, sb int) { applyPair(y, a, b, sa, sb, f) }
}

func applyPair(y, a, b []float32, sa, sb int, f func(a, b float32) float32) {
	for i := range y {
		y[i] = f(a[i*sa], b[i*sb])
	}
}

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

// comparison is the function of operators whose result is a truth, nil for others.
func comparison(op string) func(a, b float64) bool {
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
	}
	return nil
}

// intFunction is the function of an operator of two integers, nil for others.
func (c *call) intFunction(op string) func(a, b int64) int64 {
	divided := func(f func(a, b int64) int64) func(a, b int64) int64 {
		return func(a, b int64) int64 {
			if b == 0 || b == -1 && a == math.MinInt64 {
				fail("integer division of %d by %d is not defined", a, b)
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
		if c.int("fmod", 0) != 0 {
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
		return func(a, b int64) int64 { return toInt(math.Pow(float64(a), float64(b))) }
	case "And", "BitwiseAnd":
		return func(a, b int64) int64 { return a & b }
	case "Or", "BitwiseOr":
		return func(a, b int64) int64 { return a | b }
	case "Xor", "BitwiseXor":
		return func(a, b int64) int64 { return a ^ b }
	case "BitShift":
		if c.text("direction", "") == "RIGHT" {
			return func(a, b int64) int64 { return int64(uint64(a) >> uint64(b)) }
		}
		return func(a, b int64) int64 { return int64(uint64(a) << uint64(b)) }
	}
	return nil
}

func twoInputs(c *call) []*Tensor {
	c.requireAllInputs()
	if len(c.in) == 1 {
		return single(c.in[0])
	}
	x, y := c.in[0], c.in[1]
	switch axis := c.int("axis", 0); {
	case c.n.Op == "PRelu":
		// Slopes of one value a channel may come without the sides of height and width.
		if len(y.Shape) == 1 && len(x.Shape) > 1 && y.Shape[0] == x.Shape[1] && y.Shape[0] != 1 &&
			x.Shape[len(x.Shape)-1] != y.Shape[0] {
			shape := []int{y.Shape[0]}
			for range len(x.Shape) - 2 {
				shape = append(shape, 1)
			}
			y = y.view(shape)
		}
	case c.opset < 7 && c.int("broadcast", 0) != 0 && axis > 0: // as opsets before 7 spread their inputs
		shape := append([]int{}, y.Shape...)
		for len(shape) < len(x.Shape)-int(min(axis, maxAxes)) {
			shape = append(shape, 1)
		}
		y = y.view(shape)
	}
	return single(c.pair(c.n.Op, x, y))
}

// pair applies an operator of two inputs.
func (c *call) pair(op string, x, y *Tensor) *Tensor {
	if f := comparison(op); f != nil {
		return c.compare(f, x, y)
	}
	if !x.isFloat() && !y.isFloat() {
		return c.pairInts(op, x, y)
	}
	if op == "Pow" && x.isFloat() != y.isFloat() { // the one operator of two types
		return c.powMixed(x, y)
	}
	f := c.pairFunction(op)
	if f == nil {
		fail("%s is not supported for these types", op)
	}
	x, y = c.asFloats(x), c.asFloats(y)
	in, shape, lies, own, last := c.alignOperands([]*Tensor{x, y})
	out := c.newFloats(shape)
	if out.len() == 0 {
		return out
	}
	out.last = last
	a, b := in[0].Floats, in[1].Floats
	if slices.Equal(own[0], own[1]) {
		const block = 1024
		n := len(out.Floats)
		c.runRanges((n+block-1)/block, n, func(lo, hi int) {
			lo, hi = lo*block, min(hi*block, n)
			f(out.Floats[lo:hi], a[lo:hi], b[lo:hi], 1, 1)
		})
		return out
	}
	r := newRows(lies, spreadStrides(own[0], lies), spreadStrides(own[1], lies))
	w, sa, sb := r.width(), r.stride(0), r.stride(1)
	c.runRanges(r.count(), len(out.Floats), func(lo, hi int) {
		r.walk(lo, hi, func(row int, at []int) {
			f(out.Floats[row*w:(row+1)*w], a[at[0]:], b[at[1]:], sa, sb)
		})
	})
	return out
}

// asFloats returns a tensor of integers as floating-point numbers.
func (c *call) asFloats(x *Tensor) *Tensor {
	if x.isFloat() {
		return x
	}
	y := c.newFloats(x.Shape)
	for i, v := range x.Ints {
		y.Floats[i] = float32(v)
	}
	return y
}

func (c *call) pairInts(op string, x, y *Tensor) *Tensor {
	f := c.intFunction(op)
	if f == nil {
		fail("%s is not supported for integers", op)
	}
	shape := must(Broadcast(x.Shape, y.Shape))
	out := c.newInts(shape, x.typ)
	c.broadcastEach(shape, [][]int{x.Shape, y.Shape}, func(i int, at []int) {
		out.Ints[i] = wrapInt(f(x.Ints[at[0]], y.Ints[at[1]]), out.typ)
	})
	return out
}

func (c *call) powMixed(x, y *Tensor) *Tensor {
	x, y = c.contiguous(x), c.contiguous(y)
	shape := must(Broadcast(x.Shape, y.Shape))
	out := c.newLike(x, shape)
	c.broadcastEach(shape, [][]int{x.Shape, y.Shape}, func(i int, at []int) {
		v := math.Pow(x.value(at[0]), y.value(at[1]))
		if x.isFloat() {
			out.Floats[i] = float32(v)
		} else {
			out.Ints[i] = wrapInt(toInt(v), out.typ)
		}
	})
	return out
}

func (c *call) compare(f func(a, b float64) bool, x, y *Tensor) *Tensor {
	x, y = c.contiguous(x), c.contiguous(y)
	shape := must(Broadcast(x.Shape, y.Shape))
	out := c.newInts(shape, onnx.Bool)
	c.broadcastEach(shape, [][]int{x.Shape, y.Shape}, func(i int, at []int) {
		out.Ints[i] = 0
		if f(x.value(at[0]), y.value(at[1])) {
			out.Ints[i] = 1
		}
	})
	return out
}

// broadcastEach calls body for each value of a shape with the offsets of operands that are repeated to
// fill it.
func (c *call) broadcastEach(shape []int, operands [][]int, body func(i int, at []int)) {
	if size(shape) == 0 {
		return
	}
	var steps [][]int
	for _, s := range operands {
		steps = append(steps, spreadStrides(s, shape))
	}
	r := newRows(shape, steps...)
	w := r.width()
	place := make([]int, len(operands))
	r.walk(0, r.count(), func(row int, at []int) {
		for i := range w {
			for o := range place {
				place[o] = at[o] + i*r.stride(o)
			}
			body(row*w+i, place)
		}
	})
}

// variadic applies an operator of two inputs to any number of them, one after the other.
func variadic(c *call) []*Tensor {
	c.requireAllInputs()
	out := c.in[0]
	for _, next := range c.in[1:] {
		out = c.pair(c.n.Op, out, next)
	}
	if n := float32(len(c.in)); c.n.Op == "Mean" && n > 1 {
		return single(c.mapValues(out, elementwise(func(v float32) float32 { return v / n })))
	}
	return single(out)
}

func where(c *call) []*Tensor {
	c.requireInputs(3)
	var in [3]*Tensor
	var shapes [][]int
	for i := range in {
		in[i] = c.contiguous(c.in[i])
		shapes = append(shapes, in[i].Shape)
	}
	if in[1].isFloat() != in[2].isFloat() {
		in[1], in[2] = c.asFloats(in[1]), c.asFloats(in[2])
	}
	truth := in[0].integers()
	shape := must(Broadcast(shapes...))
	out := c.newLike(in[1], shape)
	c.broadcastEach(shape, shapes, func(i int, at []int) {
		k := 2
		if truth[at[0]] != 0 {
			k = 1
		}
		if out.isFloat() {
			out.Floats[i] = in[k].Floats[at[k]]
		} else {
			out.Ints[i] = in[k].Ints[at[k]]
		}
	})
	return single(out)
}
