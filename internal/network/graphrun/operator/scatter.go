package operator

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// scatterFunctions are how a scatter joins the value b with the one that is there, by the attribute reduction.
var scatterFunctions = map[string]func(a, b float64) float64{
	"none": func(_, b float64) float64 { return b },
	"add":  func(a, b float64) float64 { return a + b },
	"mul":  func(a, b float64) float64 { return a * b },
	"max":  math.Max, "min": math.Min,
}

// scatterFunction is the one that the attribute reduction names.
func (c *Call) scatterFunction() func(a, b float64) float64 {
	how := c.Text("reduction", "none")
	f := scatterFunctions[how]
	if f == nil {
		Fail("reduction %q is not known", how)
	}
	return f
}

// scatterInputs returns a copy of the first input, the indices and the updates.
func (c *Call) scatterInputs() (out, index, updates *tensor.Tensor) {
	x := c.Input()
	index = c.indices()
	c.RequireInputs(3)
	updates = c.Contiguous(c.In[2])
	if updates.IsFloat() != x.IsFloat() {
		Fail("integers and floating-point numbers cannot be mixed")
	}
	out = c.NewLike(x, x.Shape)
	out.Copy(0, x, 0, x.Len())
	return out, index, updates
}

// scatterElements writes update i at the place of index i along the axis, and at its own place along the others.
func scatterElements(c *Call) []*tensor.Tensor {
	out, index, updates := c.scatterInputs()
	f := c.scatterFunction()
	axis := c.Axis("axis", 0, len(out.Shape))
	if !slices.Equal(index.Shape, updates.Shape) {
		Fail("its updates of shape %d do not fit indices of shape %d", updates.Shape, index.Shape)
	}
	elements(out.Shape, index, axis, func(i, at int) { out.SetValue(at, f(out.Value(at), updates.Value(i))) })
	return Single(out)
}

// scatterND writes blocks of updates where tuples of indices say. Those that meet are joined in their order.
func scatterND(c *Call) []*tensor.Tensor {
	out, index, updates := c.scatterInputs()
	f := c.scatterFunction()
	r := len(index.Shape)
	if r == 0 || index.Shape[r-1] > len(out.Shape) ||
		!slices.Equal(updates.Shape, slices.Concat(index.Shape[:r-1], out.Shape[index.Shape[r-1]:])) {
		Fail("its updates of shape %d do not fit indices of shape %d and values of shape %d", updates.Shape,
			index.Shape, out.Shape)
	}
	blocks(out.Shape, index, 0, func(i, at, n int) {
		for k := range n {
			out.SetValue(at+k, f(out.Value(at+k), updates.Value(i*n+k)))
		}
	})
	return Single(out)
}
