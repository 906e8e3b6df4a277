package operator

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// constant returns the one attribute that a Constant has. Texts and sparse tensors are not supported.
func constant(c *Call) []*tensor.Tensor {
	for _, name := range []string{"value", "value_float", "value_floats", "value_int", "value_ints"} {
		x := c.Node.Attr(name)
		if x == nil {
			continue
		}
		switch x.Type {
		case onnx.AttrTensor:
			return Single(Must(tensor.FromONNX(x.Tensor)))
		case onnx.AttrFloat:
			return Single(tensor.Floats([]int{}, []float32{x.Float}))
		case onnx.AttrInt:
			return Single(tensor.Integers([]int{}, []int64{x.Int}))
		case onnx.AttrFloats:
			return Single(tensor.Floats([]int{len(x.Floats)}, slices.Clone(x.Floats)))
		case onnx.AttrInts:
			return Single(tensor.Integers([]int{len(x.Ints)}, slices.Clone(x.Ints)))
		}
	}
	Fail("it holds no numbers")
	return nil
}

// constantOfShape fills a shape, its input, with the attribute value: float32 0 if it is left out.
func constantOfShape(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	if c.In[0].IsFloat() {
		Fail("its shape holds no integers")
	}
	shape := Must(c.In[0].Sides())
	value := tensor.Floats([]int{}, []float32{0})
	if x := c.find("value", onnx.AttrTensor); x != nil {
		value = Must(tensor.FromONNX(x.Tensor))
		if value.Len() != 1 {
			Fail("its value is not a single number")
		}
	}
	out := c.NewLike(value, shape)
	for i := range out.Floats {
		out.Floats[i] = value.Floats[0]
	}
	for i := range out.Ints {
		out.Ints[i] = value.Ints[0]
	}
	return Single(out)
}

// shapeOf returns the sides from start to end; like slices of numpy these count from the end if they are negative,
// and are cut to what there is.
func shapeOf(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	shape := c.In[0].Shape
	bound := func(v int64) int64 {
		if v < 0 {
			v += int64(len(shape))
		}
		return min(max(v, 0), int64(len(shape)))
	}
	from, to := bound(c.Int("start", 0)), bound(c.Int("end", int64(len(shape))))
	out := []int64{}
	for i := from; i < to; i++ {
		out = append(out, int64(shape[i]))
	}
	return Single(tensor.Integers([]int{len(out)}, out))
}

// sizeOf returns the number of values, as a tensor without axes.
func sizeOf(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	return Single(tensor.Integers([]int{}, []int64{int64(tensor.Size(c.In[0].Shape))}))
}

// maxRange is how many numbers a Range may make.
const maxRange = 1 << 20

// rangeOp lists start + i step for i below ceil((end - start) / step). The length depends on values, so it is
// bounded.
func rangeOp(c *Call) []*tensor.Tensor {
	for i := range 3 {
		if !c.HasInput(i) || c.In[i].Len() != 1 {
			Fail("it needs a start, an end and a step")
		}
	}
	if x := c.In[0]; c.In[1].IsFloat() != x.IsFloat() || c.In[2].IsFloat() != x.IsFloat() {
		Fail("integers and floating-point numbers cannot be mixed")
	}
	if !c.In[0].IsFloat() {
		return c.wholeRange(c.In[0].Ints[0], c.In[1].Ints[0], c.In[2].Ints[0])
	}
	from, to, step := c.In[0].Value(0), c.In[1].Value(0), c.In[2].Value(0)
	n := math.Ceil((to - from) / step)
	if step != 0 && n < 0 {
		n = 0
	}
	if !(n >= 0 && n <= maxRange) {
		Fail("its range from %g to %g in steps of %g is empty, endless or too long", from, to, step)
	}
	out := c.NewFloats([]int{int(n)})
	for i := range out.Floats {
		out.Floats[i] = float32(from + float64(i)*step)
	}
	return Single(out)
}

// wholeRange is rangeOp for integers, exactly: float64 does not hold differences beyond 2^53.
func (c *Call) wholeRange(from, to, step int64) []*tensor.Tensor {
	n := uint64(0) // differences of int64 fit into no less
	switch {
	case step > 0 && from < to:
		n = (uint64(to)-uint64(from)-1)/uint64(step) + 1
	case step < 0 && from > to:
		n = (uint64(from)-uint64(to)-1)/-uint64(step) + 1
	}
	if step == 0 || n > maxRange {
		Fail("its range from %d to %d in steps of %d is empty, endless or too long", from, to, step)
	}
	out := c.New([]int{int(n)}, c.In[0].Type)
	for i := range out.Ints {
		out.Ints[i] = tensor.Wrap(from+int64(i)*step, out.Type)
	}
	return Single(out)
}

// typed makes a tensor of zeros of an attribute's type, otherwise of like's.
func (c *Call) typed(attr string, like *tensor.Tensor, shape []int) *tensor.Tensor {
	typ := onnx.DataType(min(max(c.Int(attr, int64(like.Type)), 0), 99))
	if typ.Size() == 0 {
		Fail("type %s is not supported", typ)
	}
	if !typ.IsFloat() {
		out := c.New(shape, typ)
		clear(out.Ints)
		return out
	}
	out := c.NewFloats(shape)
	clear(out.Floats)
	return out
}

// eyeLike is 1 where column = row + k, and 0 elsewhere.
func eyeLike(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	shape := c.In[0].Shape
	if len(shape) != 2 {
		Fail("shape %d is not a matrix", shape)
	}
	out := c.typed("dtype", c.In[0], shape)
	k := min(max(c.Int("k", 0), math.MinInt32), math.MaxInt32)
	for i := range shape[0] {
		if j := int64(i) + k; j >= 0 && j < int64(shape[1]) {
			out.SetValue(i*shape[1]+int(j), 1)
		}
	}
	return Single(out)
}

// oneHot puts a new axis of the given depth in, along which the value is on at the index and off elsewhere. The
// values are [off, on], and negative indices count from the end.
func oneHot(c *Call) []*tensor.Tensor {
	c.RequireInputs(3)
	index := c.Contiguous(c.In[0])
	if c.In[1].Len() != 1 || c.In[2].Len() != 2 {
		Fail("its depth is not a number, or it does not have two values")
	}
	depth := c.In[1].Value(0)
	if !(depth >= 0 && depth <= math.MaxInt32) {
		Fail("its depth is %g: must be a whole number of at least 1 that fits the limit", depth)
	}
	rank := len(index.Shape) + 1
	axis := c.Axis("axis", -1, rank)
	shape := append(append(append([]int{}, index.Shape[:axis]...), int(depth)), index.Shape[axis:]...)
	out := c.NewLike(c.In[2], shape)
	inner := tensor.Size(shape[axis+1:])
	for i := range out.Len() {
		k := i / inner % int(depth)
		v := index.Value(i/(inner*int(depth))*inner + i%inner)
		if v < 0 {
			v += depth
		}
		at := 0
		if v == float64(k) {
			at = 1
		}
		out.SetValue(i, c.In[2].Value(at))
	}
	return Single(out)
}
