package graphrun

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// typeRange is the range of an integer type of up to 16 bits, or of 32.
func typeRange(t onnx.DataType) (lo, hi float64, err error) {
	switch t {
	case onnx.Uint8:
		return 0, 255, nil
	case onnx.Int8:
		return -128, 127, nil
	case onnx.Uint16:
		return 0, 65535, nil
	case onnx.Int16:
		return -32768, 32767, nil
	case onnx.Int32:
		return math.MinInt32, math.MaxInt32, nil
	}
	return 0, 0, fmt.Errorf("quantizing values of type %s is not supported", t)
}

// scaleOf returns the scale and the zero for each value of a tensor: one of all, or one for each
// place along an axis.
func (c *call) scaleOf(shape []int, scale, zero *Tensor, axis int64) (at func(i int) (float64, float64), err error) {
	if !scale.isFloat() || zero != nil && zero.len() != scale.len() {
		return nil, errors.New("the shapes of its scale and its zero point do not match")
	}
	value := func(k int) (float64, float64) {
		if zero == nil {
			return float64(scale.Floats[k]), 0
		}
		return float64(scale.Floats[k]), zero.value(k)
	}
	if scale.len() == 1 {
		s, z := value(0)
		return func(int) (float64, float64) { return s, z }, nil
	}
	k, err := AxisOf(axis, len(shape))
	if err != nil {
		return nil, err
	}
	if len(scale.Shape) != 1 || scale.len() != shape[k] {
		return nil, fmt.Errorf("its scales of shape %d do not fit axis %d of shape %d: scales of "+
			"blocks are not supported", scale.Shape,
			k, shape)
	}
	inner, side := size(shape[k+1:]), shape[k]
	return func(i int) (float64, float64) { return value(i / inner % side) }, nil
}

func (c *call) thirdInput() *Tensor {
	if c.hasInput(2) {
		return c.in[2]
	}
	return nil
}

func quantize(c *call) ([]*Tensor, error) {
	x, err := c.floats(0)
	if err != nil {
		return nil, err
	}
	if err := c.requireInputs(2); err != nil {
		return nil, err
	}
	zero := c.thirdInput()
	typ := onnx.Uint8
	if zero != nil {
		typ = zero.typ
	} else if t := c.int("output_dtype", 0); t != 0 {
		typ = onnx.DataType(min(max(t, 0), 99))
	}
	at, err := c.scaleOf(x.Shape, c.in[1], zero, c.int("axis", 1))
	if err != nil {
		return nil, err
	}
	return single(c.toSteps(x, at, typ))
}

// toSteps rounds values to steps of a type.
func (c *call) toSteps(x *Tensor, at func(int) (float64, float64), typ onnx.DataType) (*Tensor, error) {
	lo, hi, err := typeRange(typ)
	if err != nil {
		return nil, err
	}
	out, err := c.newInts(x.Shape, typ)
	if err != nil {
		return nil, err
	}
	for i, v := range x.Floats {
		s, z := at(i)
		out.Ints[i] = toInt(min(max(math.RoundToEven(float64(v/float32(s)))+z, lo), hi))
	}
	return out, nil
}

func dequantize(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(2); err != nil {
		return nil, err
	}
	x := c.in[0]
	if _, err := x.integers(); err != nil {
		return nil, err
	}
	at, err := c.scaleOf(x.Shape, c.in[1], c.thirdInput(), c.int("axis", 1))
	if err != nil {
		return nil, err
	}
	return single(c.fromSteps(x, at))
}

func (c *call) fromSteps(x *Tensor, at func(int) (float64, float64)) (*Tensor, error) {
	out, err := c.newFloats(x.Shape)
	if err != nil {
		return nil, err
	}
	for i, v := range x.Ints {
		s, z := at(i)
		out.Floats[i] = float32(s * (float64(v) - z))
	}
	return out, nil
}

// dynamicQuantize rounds values to bytes whose scale follows from the smallest and the largest.
func dynamicQuantize(c *call) ([]*Tensor, error) {
	x, err := c.floats(0)
	if err != nil {
		return nil, err
	}
	lo, hi := float32(0), float32(0)
	for _, v := range x.Floats {
		lo, hi = min(lo, v), max(hi, v)
	}
	scale := (hi - lo) / 255
	if scale == 0 {
		scale = 1
	}
	zero := min(max(math.RoundToEven(float64(-lo/scale)), 0), 255)
	y, err := c.toSteps(x, func(int) (float64, float64) { return float64(scale), zero }, onnx.Uint8)
	if err != nil {
		return nil, err
	}
	z := intsOf([]int{}, []int64{toInt(zero)})
	z.typ = onnx.Uint8
	return []*Tensor{y, floatsOf([]int{}, []float32{scale}), z}, nil
}

// subtractZero subtracts a zero: of a matrix one for all, for each row or for each column, of filters one for
// each.
func (c *call) subtractZero(x, zero *Tensor, axis int) (*Tensor, error) {
	if zero == nil {
		return x, nil
	}
	if _, err := zero.integers(); err != nil {
		return nil, err
	}
	if _, err := x.integers(); err != nil {
		return nil, err
	}
	out, err := c.newInts(x.Shape, onnx.Int32)
	if err != nil {
		return nil, err
	}
	side, inner := 1, 1
	if zero.len() != 1 {
		if axis < 0 {
			axis += len(x.Shape)
		}
		if axis < 0 || axis >= len(x.Shape) || zero.len() != x.Shape[axis] {
			return nil, fmt.Errorf("it has %d zero points, which do not fit values of shape %d", zero.len(), x.Shape)
		}
		side, inner = x.Shape[axis], size(x.Shape[axis+1:])
	}
	for i, v := range x.Ints {
		out.Ints[i] = v - zero.Ints[i/inner%side]
	}
	return out, nil
}

func (c *call) optionalInput(i int) *Tensor {
	if c.hasInput(i) {
		return c.in[i]
	}
	return nil
}

func matMulInteger(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(2); err != nil {
		return nil, err
	}
	x, err := c.subtractZero(c.in[0], c.optionalInput(2), -2)
	if err != nil {
		return nil, err
	}
	y, err := c.subtractZero(c.in[1], c.optionalInput(3), -1)
	if err != nil {
		return nil, err
	}
	if x.isFloat() || y.isFloat() {
		return nil, errors.New("its inputs must hold integers of 8 bits")
	}
	return single(c.integerProducts(x, y, onnx.Int32))
}

func convInteger(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(2); err != nil {
		return nil, err
	}
	zero := int64(0)
	if z := c.optionalInput(2); z != nil {
		if z.isFloat() || z.len() != 1 {
			return nil, errors.New("its zero point is not a single integer")
		}
		zero = z.Ints[0]
	}
	f, err := c.subtractZero(c.in[1], c.optionalInput(3), 0)
	if err != nil {
		return nil, err
	}
	if c.in[0].isFloat() || f.isFloat() {
		return nil, errors.New("its input must hold integers")
	}
	return single(c.wholeConv(c.in[0], f, zero))
}

// qlinear is a product or convolution of quantized values whose inputs are x, its scale and zero, w,
// its scale and zero, and the scale and zero of the result. Scales of w may be one for each place
// along an axis of the result.
func (c *call) qlinear(sum *Tensor, axis int, bias []int64) ([]*Tensor, error) {
	xs, ws, ys := c.in[1], c.in[4], c.in[6]
	if !xs.isFloat() || !ws.isFloat() || !ys.isFloat() || xs.len() != 1 || ys.len() != 1 || c.in[7].isFloat() ||
		c.in[7].len() != 1 {
		return nil, errors.New("its scales and zero points do not fit a quantized product")
	}
	side, inner := 1, 1
	if ws.len() != 1 || bias != nil {
		side, inner = sum.Shape[axis], size(sum.Shape[axis+1:])
	}
	if ws.len() != 1 && ws.len() != side || ws.len() == 0 || bias != nil && len(bias) != side {
		return nil, fmt.Errorf("it has %d scales and %d biases for %d channels: the numbers must be equal",
			ws.len(), len(bias), side)
	}
	lo, hi, err := typeRange(c.in[7].typ)
	if err != nil {
		return nil, err
	}
	out, err := c.newInts(sum.Shape, c.in[7].typ)
	if err != nil {
		return nil, err
	}
	for i, v := range sum.Ints {
		k := i / inner % side
		if bias != nil {
			v += bias[k]
		}
		s := xs.Floats[0] * ws.Floats[min(k, ws.len()-1)] / ys.Floats[0]
		out.Ints[i] = toInt(min(max(math.RoundToEven(float64(float32(v)*s))+c.in[7].value(0), lo), hi))
	}
	return single(out, nil)
}

func qlinearMatMul(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(8); err != nil {
		return nil, err
	}
	x, err := c.subtractZero(c.in[0], c.in[2], -2)
	if err != nil {
		return nil, err
	}
	y, err := c.subtractZero(c.in[3], c.in[5], -1)
	if err != nil {
		return nil, err
	}
	if x.isFloat() || y.isFloat() || len(x.Shape) < 2 || len(y.Shape) < 2 {
		return nil, errors.New("its inputs must be matrices of integers")
	}
	sum, err := c.integerProducts(x, y, onnx.Int32)
	if err != nil {
		return nil, err
	}
	return c.qlinear(sum, len(sum.Shape)-1, nil)
}

func qlinearConv(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(8); err != nil {
		return nil, err
	}
	f, err := c.subtractZero(c.in[3], c.in[5], 0)
	if err != nil {
		return nil, err
	}
	if c.in[0].isFloat() || f.isFloat() || c.in[2].isFloat() || c.in[2].len() != 1 {
		return nil, errors.New("its inputs must be integers with a single zero point")
	}
	sum, err := c.wholeConv(c.in[0], f, c.in[2].Ints[0])
	if err != nil {
		return nil, err
	}
	var bias []int64
	if c.hasInput(8) {
		if bias, err = c.in[8].integers(); err != nil {
			return nil, err
		}
		bias = slices.Clone(bias)
	}
	return c.qlinear(sum, 1, bias)
}
