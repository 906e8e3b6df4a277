package operator

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Stack joins tensors along a new first axis.
func (c *Call) Stack(list []*tensor.Tensor) *tensor.Tensor {
	if len(list) == 0 {
		return tensor.Floats([]int{0}, []float32{})
	}
	shape := append([]int{len(list)}, list[0].Shape...)
	out := c.NewLike(list[0], shape)
	n := tensor.Size(list[0].Shape)
	for i, t := range list {
		if !slices.Equal(t.Shape, list[0].Shape) || t.IsFloat() != out.IsFloat() || t.List != nil {
			Fail("the values that its rounds collect have different shapes")
		}
		out.Copy(i*n, c.Contiguous(t), 0, n)
	}
	return out
}

// sequence returns an input that is a sequence.
func (c *Call) sequence() []*tensor.Tensor {
	c.RequireInputs(1)
	if c.In[0].List == nil {
		Fail("its input is not a sequence")
	}
	return c.In[0].List
}

// element returns a copy of an input, as sequences hold them.
func (c *Call) element(i int) *tensor.Tensor {
	if c.In[i].List != nil {
		Fail("sequences of sequences are not supported")
	}
	return c.Clone(c.Contiguous(c.In[i]))
}

// sequenceEmpty makes a sequence of nothing: the type of its elements is not kept.
func sequenceEmpty(*Call) []*tensor.Tensor { return Single(tensor.Sequence(nil)) }

// sequenceConstruct makes a sequence of all inputs, at least one.
func sequenceConstruct(c *Call) []*tensor.Tensor {
	c.RequireAllInputs()
	var list []*tensor.Tensor
	for i := range c.In {
		list = append(list, c.element(i))
	}
	return Single(tensor.Sequence(list))
}

// placeIn reads an input that is a place in a sequence of n; otherwise is used if it is left out.
func (c *Call) placeIn(i, n, otherwise int) int {
	if !c.HasInput(i) {
		return otherwise
	}
	return IndexOf(Must(c.In[i].Only("its position")), n)
}

// sequenceInsert puts a tensor before a place, by default behind the last.
func sequenceInsert(c *Call) []*tensor.Tensor {
	list := c.sequence()
	c.RequireInputs(2)
	at := len(list)
	if c.HasInput(2) && (len(c.In[2].Ints) != 1 || c.In[2].Ints[0] != int64(at)) { // behind the last is a place too
		at = c.placeIn(2, len(list), at)
	}
	t := c.element(1)
	if at == len(list) {
		longer, copied := c.In[0].Append(t)
		c.Spend(PlainWork, copied)
		return Single(longer)
	}
	c.Spend(PlainWork, len(list))
	return Single(tensor.Sequence(slices.Insert(slices.Clone(list), at, t)))
}

// sequenceErase takes the element at a place out, by default the last.
func sequenceErase(c *Call) []*tensor.Tensor {
	list := c.sequence()
	if len(list) == 0 {
		Fail("its sequence is empty, so no element can be erased")
	}
	at := c.placeIn(1, len(list), len(list)-1)
	c.Spend(PlainWork, len(list))
	return Single(tensor.Sequence(slices.Delete(slices.Clone(list), at, at+1)))
}

// sequenceAt returns the element at a place, which is not copied.
func sequenceAt(c *Call) []*tensor.Tensor {
	list := c.sequence()
	c.RequireInputs(2)
	return Single(list[c.placeIn(1, len(list), 0)])
}

// sequenceLength returns the number of elements.
func sequenceLength(c *Call) []*tensor.Tensor {
	return Single(tensor.Integers([]int{}, []int64{int64(len(c.sequence()))}))
}

// concatFromSequence joins along an axis or, with new_axis, stacks along a new one.
func concatFromSequence(c *Call) []*tensor.Tensor {
	list := c.sequence()
	if len(list) == 0 {
		Fail("its sequence is empty")
	}
	rank := len(list[0].Shape)
	if c.Int("new_axis", 0) == 0 {
		return Single(c.Join(list, c.Axis("axis", 0, rank)))
	}
	at := c.Axis("axis", 0, rank+1)
	list = slices.Clone(list)
	for i, t := range list {
		if len(t.Shape) < at {
			Fail("its tensors have different axes")
		}
		list[i] = t.View(slices.Insert(slices.Clone(t.Shape), at, 1))
	}
	return Single(c.Join(list, at))
}

// splitToSequence cuts into parts of one size if that is a number, of the given sizes if they are a list, and else
// into single values.
func splitToSequence(c *Call) []*tensor.Tensor {
	x := c.Input()
	axis := c.Axis("axis", 0, len(x.Shape))
	side, single := x.Shape[axis], false
	var parts []int64
	switch {
	case !c.HasInput(1):
		parts, single = slices.Repeat([]int64{1}, side), c.Int("keepdims", 1) == 0
	case c.In[1].IsFloat():
		Fail("its parts are not integers")
	case len(c.In[1].Shape) == 0:
		n := c.In[1].Ints[0]
		if n < 1 {
			Fail("its parts are of %d elements: must be at least 1", n)
		}
		for left := int64(side); left > 0; left -= n {
			parts = append(parts, min(n, left))
		}
	default:
		parts = c.In[1].Ints
	}
	list := c.cutParts(x, axis, parts)
	for i, t := range list {
		list[i] = c.Clone(t)
		if single {
			list[i].Shape = slices.Delete(t.Shape, axis, axis+1)
		}
	}
	return Single(tensor.Sequence(list))
}
