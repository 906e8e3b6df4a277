package operator

import (
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// cast converts as C does: floating-point numbers lose their fraction, integers wrap, and whatever is not 0 is
// true. Conversions to halves round, though the values stay float32.
func cast(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	x := c.In[0]
	var to onnx.DataType
	if c.Node.Op == "CastLike" {
		if !c.HasInput(1) {
			Fail("it needs two inputs")
		}
		to = c.In[1].Type
	} else {
		to = onnx.DataType(min(max(c.Int("to", 1), 0), 99))
	}
	if to.Size() == 0 {
		Fail("it converts to type %s, which is not supported", to)
	}
	if to.IsFloat() {
		return Single(c.toFloat(x, to))
	}
	x = c.Contiguous(x)
	y := c.New(x.Shape, to)
	for i := range y.Ints {
		switch {
		case x.IsFloat() && to == onnx.Bool:
			y.Ints[i] = 0
			if x.Floats[i] != 0 {
				y.Ints[i] = 1
			}
		case x.IsFloat():
			y.Ints[i] = tensor.Wrap(tensor.Truncate(float64(x.Floats[i])), to)
		default:
			y.Ints[i] = tensor.Wrap(x.Ints[i], to)
		}
	}
	return Single(y)
}

// toFloat converts to a type of floating-point numbers.
func (c *Call) toFloat(x *tensor.Tensor, to onnx.DataType) *tensor.Tensor {
	round := rounding(to)
	was := x
	x = c.AsFloats(x)
	if round == nil {
		return x
	}
	y := x
	if x == was { // not made here
		x = c.Contiguous(x)
		y = c.NewFloats(x.Shape)
	}
	round(y.Floats, x.Floats)
	return y
}

// AsFloats returns a tensor of integers as floating-point numbers.
func (c *Call) AsFloats(x *tensor.Tensor) *tensor.Tensor {
	if x.IsFloat() {
		return x
	}
	y := c.NewFloats(x.Shape)
	for i, v := range x.Ints {
		y.Floats[i] = float32(v)
	}
	return y
}
