package graphrun

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

func constant(c *call) []*Tensor {
	for _, name := range []string{"value", "value_float", "value_floats", "value_int", "value_ints"} {
		x := c.n.Attr(name)
		if x == nil {
			continue
		}
		switch x.Type {
		case onnx.AttrTensor:
			return single(must(constantOf(x.Tensor)))
		case onnx.AttrFloat:
			return single(floatsOf([]int{}, []float32{x.Float}))
		case onnx.AttrInt:
			return single(intsOf([]int{}, []int64{x.Int}))
		case onnx.AttrFloats:
			return single(floatsOf([]int{len(x.Floats)}, slices.Clone(x.Floats)))
		case onnx.AttrInts:
			return single(intsOf([]int{len(x.Ints)}, slices.Clone(x.Ints)))
		}
	}
	fail("it holds no numbers")
	return nil
}

func constantOfShape(c *call) []*Tensor {
	c.requireInputs(1)
	if c.in[0].isFloat() {
		fail("its shape holds no integers")
	}
	shape := c.in[0].sides()
	value := floatsOf([]int{}, []float32{0})
	if x := c.find("value", onnx.AttrTensor); x != nil {
		value = must(constantOf(x.Tensor))
		if value.len() != 1 {
			fail("its value is not a single number")
		}
	}
	out := c.newLike(value, shape)
	for i := range out.Floats {
		out.Floats[i] = value.Floats[0]
	}
	for i := range out.Ints {
		out.Ints[i] = value.Ints[0]
	}
	return single(out)
}

func shapeOf(c *call) []*Tensor {
	c.requireInputs(1)
	shape := c.in[0].Shape
	bound := func(v int64) int64 {
		if v < 0 {
			v += int64(len(shape))
		}
		return min(max(v, 0), int64(len(shape)))
	}
	from, to := bound(c.int("start", 0)), bound(c.int("end", int64(len(shape))))
	out := []int64{}
	for i := from; i < to; i++ {
		out = append(out, int64(shape[i]))
	}
	return single(intsOf([]int{len(out)}, out))
}

func sizeOf(c *call) []*Tensor {
	c.requireInputs(1)
	return single(intsOf([]int{}, []int64{int64(size(c.in[0].Shape))}))
}

// maxRange is how many numbers a Range may make.
const maxRange = 1 << 20

func rangeOp(c *call) []*Tensor {
	for i := range 3 {
		if !c.hasInput(i) || c.in[i].len() != 1 {
			fail("it needs a start, an end and a step")
		}
	}
	if x := c.in[0]; c.in[1].isFloat() != x.isFloat() || c.in[2].isFloat() != x.isFloat() {
		fail("integers and floating-point numbers cannot be mixed")
	}
	if !c.in[0].isFloat() {
		return c.wholeRange(c.in[0].Ints[0], c.in[1].Ints[0], c.in[2].Ints[0])
	}
	from, to, step := c.in[0].value(0), c.in[1].value(0), c.in[2].value(0)
	n := math.Ceil((to - from) / step)
	if step != 0 && n < 0 {
		n = 0
	}
	if !(n >= 0 && n <= maxRange) {
		fail("its range from %g to %g in steps of %g is empty, endless or too long", from, to, step)
	}
	out := c.newFloats([]int{int(n)})
	for i := range out.Floats {
		out.Floats[i] = float32(from + float64(i)*step)
	}
	return single(out)
}

func (c *call) wholeRange(from, to, step int64) []*Tensor {
	n := uint64(0) // differences of int64 fit into no less
	switch {
	case step > 0 && from < to:
		n = (uint64(to)-uint64(from)-1)/uint64(step) + 1
	case step < 0 && from > to:
		n = (uint64(from)-uint64(to)-1)/-uint64(step) + 1
	}
	if step == 0 || n > maxRange {
		fail("its range from %d to %d in steps of %d is empty, endless or too long", from, to, step)
	}
	out := c.newInts([]int{int(n)}, c.in[0].typ)
	for i := range out.Ints {
		out.Ints[i] = wrapInt(from+int64(i)*step, out.typ)
	}
	return single(out)
}

// typed makes a tensor of zeros of an attribute's type, otherwise of like's.
func (c *call) typed(attr string, like *Tensor, shape []int) *Tensor {
	typ := onnx.DataType(min(max(c.int(attr, int64(like.typ)), 0), 99))
	if typ.Size() == 0 {
		fail("type %s is not supported", typ)
	}
	if !typ.IsFloat() {
		out := c.newInts(shape, typ)
		clear(out.Ints)
		return out
	}
	out := c.newFloats(shape)
	clear(out.Floats)
	return out
}

// setValue stores a number of either kind.
func (t *Tensor) setValue(i int, v float64) {
	if t.isFloat() {
		t.Floats[i] = float32(v)
		return
	}
	t.Ints[i] = wrapInt(toInt(v), t.typ)
}

func eyeLike(c *call) []*Tensor {
	c.requireInputs(1)
	shape := c.in[0].Shape
	if len(shape) != 2 {
		fail("shape %d is not a matrix", shape)
	}
	out := c.typed("dtype", c.in[0], shape)
	k := min(max(c.int("k", 0), math.MinInt32), math.MaxInt32)
	for i := range shape[0] {
		if j := int64(i) + k; j >= 0 && j < int64(shape[1]) {
			out.setValue(i*shape[1]+int(j), 1)
		}
	}
	return single(out)
}

func oneHot(c *call) []*Tensor {
	c.requireInputs(3)
	index := c.contiguous(c.in[0])
	if c.in[1].len() != 1 || c.in[2].len() != 2 {
		fail("its depth is not a number, or it does not have two values")
	}
	depth := c.in[1].value(0)
	if !(depth >= 0 && depth <= math.MaxInt32) {
		fail("its depth is %g: must be a whole number of at least 1 that fits the limit", depth)
	}
	rank := len(index.Shape) + 1
	axis := c.axis("axis", -1, rank)
	shape := append(append(append([]int{}, index.Shape[:axis]...), int(depth)), index.Shape[axis:]...)
	out := c.newLike(c.in[2], shape)
	inner := size(shape[axis+1:])
	for i := range out.len() {
		k := i / inner % int(depth)
		v := index.value(i/(inner*int(depth))*inner + i%inner)
		if v < 0 {
			v += depth
		}
		at := 0
		if v == float64(k) {
			at = 1
		}
		out.setValue(i, c.in[2].value(at))
	}
	return single(out)
}
