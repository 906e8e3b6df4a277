package operator

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// typeRanges are the smallest and the largest value of the types that values are quantized to.
var typeRanges = map[onnx.DataType][2]float64{
	onnx.Uint8: {0, math.MaxUint8}, onnx.Int8: {math.MinInt8, math.MaxInt8},
	onnx.Uint16: {0, math.MaxUint16}, onnx.Int16: {math.MinInt16, math.MaxInt16},
	onnx.Int32: {math.MinInt32, math.MaxInt32},
}

// TypeRange is the range of such a type.
func TypeRange(t onnx.DataType) (lo, hi float64) {
	r, ok := typeRanges[t]
	if !ok {
		Fail("quantizing values of type %s is not supported", t)
	}
	return r[0], r[1]
}

// scaleOf returns the scale and the zero for each value of a tensor: one of all, or one for each
// place along an axis.
func (c *Call) scaleOf(shape []int, scale, zero *tensor.Tensor, axis int64) (at func(i int) (float64, float64)) {
	if !scale.IsFloat() || zero != nil && zero.Len() != scale.Len() {
		Fail("the shapes of its scale and its zero point do not match")
	}
	value := func(k int) (float64, float64) {
		if zero == nil {
			return float64(scale.Floats[k]), 0
		}
		return float64(scale.Floats[k]), zero.Value(k)
	}
	if scale.Len() == 1 {
		s, z := value(0)
		return func(int) (float64, float64) { return s, z }
	}
	k := Must(tensor.AxisOf(axis, len(shape)))
	if len(scale.Shape) != 1 || scale.Len() != shape[k] {
		Fail("its scales of shape %d do not fit axis %d of shape %d: scales of blocks are not supported",
			scale.Shape, k, shape)
	}
	inner, side := tensor.Size(shape[k+1:]), shape[k]
	return func(i int) (float64, float64) { return value(i / inner % side) }
}

// quantize is q = clamp(round(x / scale) + zero), with halves rounded to even. The quotient is in single
// precision, as in ONNX Runtime: otherwise values near a half would differ by a step.
func quantize(c *Call) []*tensor.Tensor {
	x := c.Floats(0)
	c.RequireInputs(2)
	zero := c.OptionalInput(2)
	typ := onnx.Uint8
	if zero != nil {
		typ = zero.Type
	} else if t := c.Int("output_dtype", 0); t != 0 {
		typ = onnx.DataType(min(max(t, 0), 99))
	}
	at := c.scaleOf(x.Shape, c.In[1], zero, c.Int("axis", 1))
	return Single(c.toSteps(x, at, typ))
}

// toSteps rounds values to steps of a type.
func (c *Call) toSteps(x *tensor.Tensor, at func(int) (float64, float64), typ onnx.DataType) *tensor.Tensor {
	lo, hi := TypeRange(typ)
	out := c.New(x.Shape, typ)
	for i, v := range x.Floats {
		s, z := at(i)
		out.Ints[i] = tensor.Truncate(min(max(math.RoundToEven(float64(v/float32(s)))+z, lo), hi))
	}
	return out
}

// dequantize is x = scale (q - zero).
func dequantize(c *Call) []*tensor.Tensor {
	c.RequireInputs(2)
	x := c.In[0]
	Must(x.Integers())
	at := c.scaleOf(x.Shape, c.In[1], c.OptionalInput(2), c.Int("axis", 1))
	return Single(c.fromSteps(x, at))
}

// fromSteps turns steps back into values.
func (c *Call) fromSteps(x *tensor.Tensor, at func(int) (float64, float64)) *tensor.Tensor {
	out := c.NewFloats(x.Shape)
	for i, v := range x.Ints {
		s, z := at(i)
		out.Floats[i] = float32(s * (float64(v) - z))
	}
	return out
}

// dynamicQuantize rounds values to bytes whose scale follows from the smallest and the largest.
func dynamicQuantize(c *Call) []*tensor.Tensor {
	x := c.Floats(0)
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
	z := tensor.Integers([]int{}, []int64{tensor.Truncate(zero)})
	z.Type = onnx.Uint8
	return []*tensor.Tensor{y, tensor.Floats([]int{}, []float32{scale}), z}
}
