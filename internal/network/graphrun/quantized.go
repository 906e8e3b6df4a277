package graphrun

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// typeRanges are the smallest and the largest value of the types that values are quantized to.
var typeRanges = map[onnx.DataType][2]float64{
	onnx.Uint8: {0, math.MaxUint8}, onnx.Int8: {math.MinInt8, math.MaxInt8},
	onnx.Uint16: {0, math.MaxUint16}, onnx.Int16: {math.MinInt16, math.MaxInt16},
	onnx.Int32: {math.MinInt32, math.MaxInt32},
}

func typeRange(t onnx.DataType) (lo, hi float64) {
	r, ok := typeRanges[t]
	if !ok {
		fail("quantizing values of type %s is not supported", t)
	}
	return r[0], r[1]
}

// scaleOf returns the scale and the zero for each value of a tensor: one of all, or one for each
// place along an axis.
func (c *call) scaleOf(shape []int, scale, zero *Tensor, axis int64) (at func(i int) (float64, float64)) {
	if !scale.isFloat() || zero != nil && zero.len() != scale.len() {
		fail("the shapes of its scale and its zero point do not match")
	}
	value := func(k int) (float64, float64) {
		if zero == nil {
			return float64(scale.Floats[k]), 0
		}
		return float64(scale.Floats[k]), zero.value(k)
	}
	if scale.len() == 1 {
		s, z := value(0)
		return func(int) (float64, float64) { return s, z }
	}
	k := must(AxisOf(axis, len(shape)))
	if len(scale.Shape) != 1 || scale.len() != shape[k] {
		fail("its scales of shape %d do not fit axis %d of shape %d: scales of "+
			"blocks are not supported", scale.Shape,
			k, shape)
	}
	inner, side := size(shape[k+1:]), shape[k]
	return func(i int) (float64, float64) { return value(i / inner % side) }
}

func quantize(c *call) []*Tensor {
	x := c.floats(0)
	c.requireInputs(2)
	zero := c.optionalInput(2)
	typ := onnx.Uint8
	if zero != nil {
		typ = zero.typ
	} else if t := c.int("output_dtype", 0); t != 0 {
		typ = onnx.DataType(min(max(t, 0), 99))
	}
	at := c.scaleOf(x.Shape, c.in[1], zero, c.int("axis", 1))
	return single(c.toSteps(x, at, typ))
}

// toSteps rounds values to steps of a type.
func (c *call) toSteps(x *Tensor, at func(int) (float64, float64), typ onnx.DataType) *Tensor {
	lo, hi := typeRange(typ)
	out := c.newInts(x.Shape, typ)
	for i, v := range x.Floats {
		s, z := at(i)
		out.Ints[i] = toInt(min(max(math.RoundToEven(float64(v/float32(s)))+z, lo), hi))
	}
	return out
}

func dequantize(c *call) []*Tensor {
	c.requireInputs(2)
	x := c.in[0]
	x.integers()
	at := c.scaleOf(x.Shape, c.in[1], c.optionalInput(2), c.int("axis", 1))
	return single(c.fromSteps(x, at))
}

func (c *call) fromSteps(x *Tensor, at func(int) (float64, float64)) *Tensor {
	out := c.newFloats(x.Shape)
	for i, v := range x.Ints {
		s, z := at(i)
		out.Floats[i] = float32(s * (float64(v) - z))
	}
	return out
}

// dynamicQuantize rounds values to bytes whose scale follows from the smallest and the largest.
func dynamicQuantize(c *call) []*Tensor {
	x := c.floats(0)
	lo, hi := float32(0), float32(0)
	for _, v := range x.Floats {
		lo, hi = min(lo, v), max(hi, v)
	}
	scale := (hi - lo) / 255
	if scale == 0 {
		scale = 1
	}
	zero := min(max(math.RoundToEven(float64(-lo/scale)), 0), 255)
	y := c.toSteps(x, func(int) (float64, float64) { return float64(scale), zero }, onnx.Uint8)
	z := intsOf([]int{}, []int64{toInt(zero)})
	z.typ = onnx.Uint8
	return []*Tensor{y, floatsOf([]int{}, []float32{scale}), z}
}

// subtractZero subtracts a zero: of a matrix one for all, for each row or for each column, of filters one for
// each.
func (c *call) subtractZero(x, zero *Tensor, axis int) *Tensor {
	if zero == nil {
		return x
	}
	zero.integers()
	x.integers()
	out := c.newInts(x.Shape, onnx.Int32)
	side, inner := 1, 1
	if zero.len() != 1 {
		if axis < 0 {
			axis += len(x.Shape)
		}
		if axis < 0 || axis >= len(x.Shape) || zero.len() != x.Shape[axis] {
			fail("it has %d zero points, which do not fit values of shape %d", zero.len(), x.Shape)
		}
		side, inner = x.Shape[axis], size(x.Shape[axis+1:])
	}
	for i, v := range x.Ints {
		out.Ints[i] = v - zero.Ints[i/inner%side]
	}
	return out
}

func matMulInteger(c *call) []*Tensor {
	c.requireInputs(2)
	x := c.subtractZero(c.in[0], c.optionalInput(2), -2)
	y := c.subtractZero(c.in[1], c.optionalInput(3), -1)
	if x.isFloat() || y.isFloat() {
		fail("its inputs must hold integers of 8 bits")
	}
	return single(c.integerProducts(x, y, onnx.Int32))
}

func convInteger(c *call) []*Tensor {
	c.requireInputs(2)
	zero := int64(0)
	if z := c.optionalInput(2); z != nil {
		if z.isFloat() || z.len() != 1 {
			fail("its zero point is not a single integer")
		}
		zero = z.Ints[0]
	}
	f := c.subtractZero(c.in[1], c.optionalInput(3), 0)
	if c.in[0].isFloat() || f.isFloat() {
		fail("its input must hold integers")
	}
	return single(c.wholeConv(c.in[0], f, zero))
}

// qlinear is a product or convolution of quantized values whose inputs are x, its scale and zero, w,
// its scale and zero, and the scale and zero of the result. Scales of w may be one for each place
// along an axis of the result.
func (c *call) qlinear(sum *Tensor, axis int, bias []int64) []*Tensor {
	xs, ws, ys := c.in[1], c.in[4], c.in[6]
	if !xs.isFloat() || !ws.isFloat() || !ys.isFloat() || xs.len() != 1 || ys.len() != 1 || c.in[7].isFloat() ||
		c.in[7].len() != 1 {
		fail("its scales and zero points do not fit a quantized product")
	}
	side, inner := 1, 1
	if ws.len() != 1 || bias != nil {
		side, inner = sum.Shape[axis], size(sum.Shape[axis+1:])
	}
	if ws.len() != 1 && ws.len() != side || ws.len() == 0 || bias != nil && len(bias) != side {
		fail("it has %d scales and %d biases for %d channels: the numbers must be equal",
			ws.len(), len(bias), side)
	}
	lo, hi := typeRange(c.in[7].typ)
	out := c.newInts(sum.Shape, c.in[7].typ)
	for i, v := range sum.Ints {
		k := i / inner % side
		if bias != nil {
			v += bias[k]
		}
		s := xs.Floats[0] * ws.Floats[min(k, ws.len()-1)] / ys.Floats[0]
		out.Ints[i] = toInt(min(max(math.RoundToEven(float64(float32(v)*s))+c.in[7].value(0), lo), hi))
	}
	return single(out)
}

func qlinearMatMul(c *call) []*Tensor {
	c.requireInputs(8)
	x := c.subtractZero(c.in[0], c.in[2], -2)
	y := c.subtractZero(c.in[3], c.in[5], -1)
	if x.isFloat() || y.isFloat() || len(x.Shape) < 2 || len(y.Shape) < 2 {
		fail("its inputs must be matrices of integers")
	}
	sum := c.integerProducts(x, y, onnx.Int32)
	return c.qlinear(sum, len(sum.Shape)-1, nil)
}

func qlinearConv(c *call) []*Tensor {
	c.requireInputs(8)
	f := c.subtractZero(c.in[3], c.in[5], 0)
	if c.in[0].isFloat() || f.isFloat() || c.in[2].isFloat() || c.in[2].len() != 1 {
		fail("its inputs must be integers with a single zero point")
	}
	sum := c.wholeConv(c.in[0], f, c.in[2].Ints[0])
	var bias []int64
	if c.hasInput(8) {
		bias = c.in[8].integers()
	}
	return c.qlinear(sum, 1, bias)
}
