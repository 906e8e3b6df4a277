package operator

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// reshapeInput returns the first input with another shape.
func (c *Call) reshapeInput(to []int) []*tensor.Tensor {
	x := c.Input()
	n := Must(tensor.Length(to))
	if n != x.Len() {
		Fail("%d values of shape %d do not fill shape %d", x.Len(), x.Shape, to)
	}
	return Single(x.View(to))
}

// reshape keeps the values in their order. In the wanted shape a side of -1 is what the others leave, and 0 is the
// side of the input unless allowzero is set.
func reshape(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	want, ok := c.Numbers(1, "shape")
	if !ok {
		Fail("its shape is not given as integers")
	}
	if len(want) > tensor.MaxAxes {
		Fail("a tensor has %d axes: at most %d are supported", len(want), tensor.MaxAxes)
	}
	shape := c.In[0].Shape
	zero := c.Int("allowzero", 0) == 0
	to := make([]int, len(want))
	open, rest := -1, int64(1)
	for i, w := range want {
		switch {
		case w == 0 && zero:
			if i >= len(shape) {
				Fail("side %d of shape %d is taken from an input of shape %d", i, want, shape)
			}
			w = int64(shape[i])
		case w == -1 && open < 0:
			open = i
			continue
		case w < 0:
			Fail("shape %d is not valid: a side is negative, or it is too large", want)
		}
		if rest = budget.Product(rest, w); rest == math.MaxInt64 {
			Fail("shape %d is not valid: a side is negative, or it is too large", want)
		}
		to[i] = int(w)
	}
	if open >= 0 {
		total := int64(c.In[0].Len())
		if rest == 0 || total%rest != 0 {
			Fail("%d values of shape %d do not fill shape %d", total, shape, want)
		}
		to[open] = int(total / rest)
	}
	return c.reshapeInput(to)
}

// flatten makes a matrix: the axes before one, and those from it on. Unlike elsewhere the axis may be the rank
// itself.
func flatten(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	shape := c.In[0].Shape
	axis := c.Int("axis", 1)
	if axis < 0 {
		axis += int64(len(shape))
	}
	if axis < 0 || axis > int64(len(shape)) {
		Fail("axis %d does not exist: the tensor has %d axes", axis, len(shape))
	}
	return c.reshapeInput([]int{tensor.Size(shape[:axis]), tensor.Size(shape[axis:])})
}

// squeeze drops the given axes, which must have sides of 1, or all such axes.
func squeeze(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	want, ok := c.Numbers(1, "axes")
	shape := c.In[0].Shape
	axes := Must(tensor.AxesOf(want, len(shape)))
	to := []int{}
	for i, d := range shape {
		drop := slices.Contains(axes, i)
		if !ok {
			drop = d == 1
		}
		if drop && d != 1 {
			Fail("side %d of shape %d is not 1", i, shape)
		}
		if !drop {
			to = append(to, d)
		}
	}
	return c.reshapeInput(to)
}

// unsqueeze puts sides of 1 in. The axes count in the result, not in the input.
func unsqueeze(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	want, _ := c.Numbers(1, "axes")
	shape := c.In[0].Shape
	if len(want) > tensor.MaxAxes {
		Fail("the result has %d axes: at most %d are supported", len(want), tensor.MaxAxes)
	}
	axes := Must(tensor.AxesOf(want, len(shape)+len(want)))
	to := slices.Clone(shape)
	for _, i := range axes { // sorted, so that each finds its place
		to = slices.Insert(to, i, 1)
	}
	return c.reshapeInput(to)
}
