package graphrun

import (
	"errors"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

func constant(c *call) ([]*Tensor, error) {
	for _, name := range []string{"value", "value_float", "value_floats", "value_int", "value_ints"} {
		x := c.n.Attr(name)
		if x == nil {
			continue
		}
		switch x.Type {
		case onnx.AttrTensor:
			return single(constantOf(x.Tensor))
		case onnx.AttrFloat:
			return single(floatsOf([]int{}, []float32{x.Float}), nil)
		case onnx.AttrInt:
			return single(intsOf([]int{}, []int64{x.Int}), nil)
		case onnx.AttrFloats:
			return single(floatsOf([]int{len(x.Floats)}, append([]float32{}, x.Floats...)), nil)
		case onnx.AttrInts:
			return single(intsOf([]int{len(x.Ints)}, append([]int64{}, x.Ints...)), nil)
		}
	}
	return nil, errors.New("it holds no numbers")
}

func constantOfShape(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(1); err != nil {
		return nil, err
	}
	if c.in[0].isFloat() {
		return nil, errors.New("its shape holds no integers")
	}
	shape, err := c.in[0].sides()
	if err != nil {
		return nil, err
	}
	value := floatsOf([]int{}, []float32{0})
	if x := c.find("value", onnx.AttrTensor); x != nil {
		if value, err = constantOf(x.Tensor); err != nil {
			return nil, err
		}
		if value.len() != 1 {
			return nil, errors.New("its value is not a single number")
		}
	}
	out, err := c.newLike(value, shape)
	if err != nil {
		return nil, err
	}
	for i := range out.Floats {
		out.Floats[i] = value.Floats[0]
	}
	for i := range out.Ints {
		out.Ints[i] = value.Ints[0]
	}
	return single(out, nil)
}

func shapeOf(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(1); err != nil {
		return nil, err
	}
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
	return single(intsOf([]int{len(out)}, out), nil)
}

func sizeOf(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(1); err != nil {
		return nil, err
	}
	return single(intsOf([]int{}, []int64{int64(size(c.in[0].Shape))}), nil)
}

// maxRange is how many numbers a Range may make.
const maxRange = 1 << 20

func rangeOp(c *call) ([]*Tensor, error) {
	for i := range 3 {
		if !c.hasInput(i) || c.in[i].len() != 1 {
			return nil, errors.New("it needs a start, an end and a step")
		}
	}
	if x := c.in[0]; c.in[1].isFloat() != x.isFloat() || c.in[2].isFloat() != x.isFloat() {
		return nil, errors.New("integers and floating-point numbers cannot be mixed")
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
		return nil, fmt.Errorf("its range from %g to %g in steps of %g is empty, endless or too long", from, to, step)
	}
	out, err := c.newFloats([]int{int(n)})
	if err != nil {
		return nil, err
	}
	for i := range out.Floats {
		out.Floats[i] = float32(from + float64(i)*step)
	}
	return single(out, nil)
}

func (c *call) wholeRange(from, to, step int64) ([]*Tensor, error) {
	n := uint64(0) // differences of int64 fit into no less
	switch {
	case step > 0 && from < to:
		n = (uint64(to)-uint64(from)-1)/uint64(step) + 1
	case step < 0 && from > to:
		n = (uint64(from)-uint64(to)-1)/-uint64(step) + 1
	}
	if step == 0 || n > maxRange {
		return nil, fmt.Errorf("its range from %d to %d in steps of %d is empty, endless or too long", from, to, step)
	}
	out, err := c.newInts([]int{int(n)}, c.in[0].typ)
	if err != nil {
		return nil, err
	}
	for i := range out.Ints {
		out.Ints[i] = wrapInt(from+int64(i)*step, out.typ)
	}
	return single(out, nil)
}

// typed makes a tensor of zeros of an attribute's type, otherwise of like's.
func (c *call) typed(attr string, like *Tensor, shape []int) (*Tensor, error) {
	typ := onnx.DataType(min(max(c.int(attr, int64(like.typ)), 0), 99))
	if typ.Size() == 0 {
		return nil, fmt.Errorf("type %s is not supported", typ)
	}
	if !typ.IsFloat() {
		out, err := c.newInts(shape, typ)
		if err == nil {
			clear(out.Ints)
		}
		return out, err
	}
	out, err := c.newFloats(shape)
	if err == nil {
		clear(out.Floats)
	}
	return out, err
}

// setValue stores a number of either kind.
func (t *Tensor) setValue(i int, v float64) {
	if t.isFloat() {
		t.Floats[i] = float32(v)
		return
	}
	t.Ints[i] = wrapInt(toInt(v), t.typ)
}

func eyeLike(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(1); err != nil {
		return nil, err
	}
	shape := c.in[0].Shape
	if len(shape) != 2 {
		return nil, fmt.Errorf("shape %d is not a matrix", shape)
	}
	out, err := c.typed("dtype", c.in[0], shape)
	if err != nil {
		return nil, err
	}
	k := min(max(c.int("k", 0), math.MinInt32), math.MaxInt32)
	for i := range shape[0] {
		if j := int64(i) + k; j >= 0 && j < int64(shape[1]) {
			out.setValue(i*shape[1]+int(j), 1)
		}
	}
	return single(out, nil)
}

func oneHot(c *call) ([]*Tensor, error) {
	if err := c.requireInputs(3); err != nil {
		return nil, err
	}
	index, err := c.contiguous(c.in[0])
	if err != nil {
		return nil, err
	}
	if c.in[1].len() != 1 || c.in[2].len() != 2 {
		return nil, errors.New("its depth is not a number, or it does not have two values")
	}
	depth := c.in[1].value(0)
	if !(depth >= 0 && depth <= math.MaxInt32) {
		return nil, fmt.Errorf("its depth is %g: must be a whole number of at least 1 that fits the limit", depth)
	}
	rank := len(index.Shape) + 1
	axis, err := AxisOf(c.int("axis", -1), rank)
	if err != nil {
		return nil, err
	}
	shape := append(append(append([]int{}, index.Shape[:axis]...), int(depth)), index.Shape[axis:]...)
	out, err := c.newLike(c.in[2], shape)
	if err != nil {
		return nil, err
	}
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
	return single(out, nil)
}
