package operator

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// argExtreme is the place of the largest or the smallest value along an axis, of equal ones the first or, with
// select_last_index, the last.
func argExtreme(c *Call) []*tensor.Tensor {
	x := c.Input()
	axis := c.Axis("axis", 0, len(x.Shape))
	outer, side, inner := tensor.Lines(x.Shape, axis)
	if side == 0 {
		Fail("its input has no values along the axis")
	}
	shape := slices.Clone(x.Shape)
	shape[axis] = 1
	out := c.New(shape, onnx.Int64)
	lastOne, largest := c.Int("select_last_index", 0) != 0, c.Node.Op == "ArgMax"
	for o := range outer {
		for i := range inner {
			best := 0
			at := func(k int) float64 { return x.Value((o*side+k)*inner + i) }
			for k := 1; k < side; k++ {
				a, b := at(k), at(best)
				if !largest {
					a, b = b, a
				}
				if a > b || lastOne && a == b {
					best = k
				}
			}
			out.Ints[o*inner+i] = int64(best)
		}
	}
	if c.Int("keepdims", 1) == 0 {
		out = out.View(slices.Delete(shape, axis, axis+1))
	}
	return Single(out)
}

// cumSum is y[k] = x[0] + ... + x[k]: without x[k] if exclusive, from the end if reverse. Sums are in float64.
func cumSum(c *Call) []*tensor.Tensor {
	x := c.Input()
	c.RequireInputs(2)
	if c.In[1].Len() != 1 {
		Fail("its axis is not a single number")
	}
	axis := Must(tensor.AxisOf(tensor.Truncate(c.In[1].Value(0)), len(x.Shape)))
	out := c.NewLike(x, x.Shape)
	outer, side, inner := tensor.Lines(x.Shape, axis)
	back, without := c.Int("reverse", 0) != 0, c.Int("exclusive", 0) != 0
	for o := range outer {
		for i := range inner {
			var real float64
			var whole int64
			for s := range side {
				k := s
				if back {
					k = side - 1 - s
				}
				at := (o*side+k)*inner + i
				before, beforeInt := real, whole
				if x.IsFloat() {
					real += float64(x.Floats[at])
				} else {
					whole += x.Ints[at]
				}
				if !without {
					before, beforeInt = real, whole
				}
				if x.IsFloat() {
					out.Floats[at] = float32(before)
				} else {
					out.Ints[at] = tensor.Wrap(beforeInt, x.Type)
				}
			}
		}
	}
	return Single(out)
}

// topK puts equal values in the order in which they stand.
func topK(c *Call) []*tensor.Tensor {
	x := c.Input()
	k := c.Int("k", -1)
	if c.HasInput(1) {
		v := Must(c.In[1].Integers())
		if len(v) != 1 {
			Fail("its k is not a single number")
		}
		k = v[0]
	}
	axis := c.Axis("axis", -1, len(x.Shape))
	outer, side, inner := tensor.Lines(x.Shape, axis)
	if k < 0 || k > int64(side) {
		Fail("k is %d, but the axis has %d values", k, side)
	}
	shape := slices.Clone(x.Shape)
	shape[axis] = int(k)
	values := c.NewLike(x, shape)
	index := c.New(shape, onnx.Int64)
	largest := c.Int("largest", 1) != 0
	order := make([]int, side)
	for o := range outer {
		for i := range inner {
			for s := range order {
				order[s] = s
			}
			slices.SortStableFunc(order, func(a, b int) int {
				u, v := x.Value((o*side+a)*inner+i), x.Value((o*side+b)*inner+i)
				if largest {
					u, v = v, u
				}
				switch {
				case u < v:
					return -1
				case u > v:
					return 1
				}
				return 0
			})
			for s, from := range order[:k] {
				to := (o*int(k)+s)*inner + i
				values.Copy(to, x, (o*side+from)*inner+i, 1)
				index.Ints[to] = int64(from)
			}
		}
	}
	return []*tensor.Tensor{values, index}
}
