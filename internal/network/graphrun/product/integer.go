package product

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// SubtractZero subtracts a zero: of a matrix one for all, for each row or for each column, of filters one for
// each.
func SubtractZero(c *operator.Call, x, zero *tensor.Tensor, axis int) *tensor.Tensor {
	if zero == nil {
		return x
	}
	operator.Must(zero.Integers())
	operator.Must(x.Integers())
	out := c.New(x.Shape, onnx.Int32)
	side, inner := 1, 1
	if zero.Len() != 1 {
		if axis < 0 {
			axis += len(x.Shape)
		}
		if axis < 0 || axis >= len(x.Shape) || zero.Len() != x.Shape[axis] {
			operator.Fail("it has %d zero points, which do not fit values of shape %d", zero.Len(), x.Shape)
		}
		side, inner = x.Shape[axis], tensor.Size(x.Shape[axis+1:])
	}
	for i, v := range x.Ints {
		out.Ints[i] = v - zero.Ints[i/inner%side]
	}
	return out
}

// matMulInteger is (A - zero of A) (B - zero of B) in int32.
func matMulInteger(c *operator.Call) []*tensor.Tensor {
	c.RequireInputs(2)
	x := SubtractZero(c, c.In[0], c.OptionalInput(2), -2)
	y := SubtractZero(c, c.In[1], c.OptionalInput(3), -1)
	if x.IsFloat() || y.IsFloat() {
		operator.Fail("its inputs must hold integers of 8 bits")
	}
	return operator.Single(MultiplyIntegers(c, x, y, onnx.Int32))
}

// Requantize is a product or convolution of quantized values whose inputs are x, its scale and zero, w,
// its scale and zero, and the scale and zero of the result. Scales of w may be one for each place
// along an axis of the result.
func Requantize(c *operator.Call, sum *tensor.Tensor, axis int, bias []int64) []*tensor.Tensor {
	xs, ws, ys := c.In[1], c.In[4], c.In[6]
	if !xs.IsFloat() || !ws.IsFloat() || !ys.IsFloat() || xs.Len() != 1 || ys.Len() != 1 || c.In[7].IsFloat() ||
		c.In[7].Len() != 1 {
		operator.Fail("its scales and zero points do not fit a quantized product")
	}
	side, inner := 1, 1
	if ws.Len() != 1 || bias != nil {
		side, inner = sum.Shape[axis], tensor.Size(sum.Shape[axis+1:])
	}
	if ws.Len() != 1 && ws.Len() != side || ws.Len() == 0 || bias != nil && len(bias) != side {
		operator.Fail("it has %d scales and %d biases for %d channels: the numbers must be equal",
			ws.Len(), len(bias), side)
	}
	lo, hi := operator.TypeRange(c.In[7].Type)
	out := c.New(sum.Shape, c.In[7].Type)
	for i, v := range sum.Ints {
		k := i / inner % side
		if bias != nil {
			v += bias[k]
		}
		s := xs.Floats[0] * ws.Floats[min(k, ws.Len()-1)] / ys.Floats[0]
		out.Ints[i] = tensor.Truncate(min(max(math.RoundToEven(float64(float32(v)*s))+c.In[7].Value(0), lo), hi))
	}
	return operator.Single(out)
}

// qlinearMatMul multiplies quantized matrices and quantizes the product again.
func qlinearMatMul(c *operator.Call) []*tensor.Tensor {
	c.RequireInputs(8)
	x := SubtractZero(c, c.In[0], c.In[2], -2)
	y := SubtractZero(c, c.In[3], c.In[5], -1)
	if x.IsFloat() || y.IsFloat() || len(x.Shape) < 2 || len(y.Shape) < 2 {
		operator.Fail("its inputs must be matrices of integers")
	}
	sum := MultiplyIntegers(c, x, y, onnx.Int32)
	return Requantize(c, sum, len(sum.Shape)-1, nil)
}
