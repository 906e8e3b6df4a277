package operator

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Gather makes a tensor of the values of x at the offsets that strides give.
func (c *Call) Gather(x *tensor.Tensor, shape, stride []int, start int) *tensor.Tensor {
	out := c.NewLike(x, shape)
	if out.Len() == 0 {
		return out
	}
	r := tensor.NewRows(shape, stride)
	w, s := r.Width(), r.Stride(0)
	if len(r.Sides) >= 2 && s != 1 && x.IsFloat() && c.tryTranspose(out, x, r, start) {
		return out
	}
	c.RunRanges(r.Count(), out.Len(), func(lo, hi int) {
		r.Walk(lo, hi, func(row int, at []int) {
			from := start + at[0]
			switch {
			case x.IsFloat() && s == 1:
				copy(out.Floats[row*w:(row+1)*w], x.Floats[from:])
			case x.IsFloat():
				y := out.Floats[row*w : (row+1)*w]
				for i := range y {
					y[i] = x.Floats[from+i*s]
				}
			case s == 1:
				copy(out.Ints[row*w:(row+1)*w], x.Ints[from:])
			default:
				y := out.Ints[row*w : (row+1)*w]
				for i := range y {
					y[i] = x.Ints[from+i*s]
				}
			}
		})
	})
	return out
}

// tryTranspose moves values by the kernel that transposes matrices, if an axis before the last
// lies side by side.
func (c *Call) tryTranspose(out, x *tensor.Tensor, r *tensor.Rows, start int) bool {
	k := len(r.Sides) - 2
	if r.Steps[0][k] != 1 || r.Stride(0) < r.Sides[k] {
		return false
	}
	rowsHere, w := r.Sides[k], r.Width()
	outer := &tensor.Rows{Sides: append(slices.Clone(r.Sides[:k]), 1),
		Steps: [][]int{append(slices.Clone(r.Steps[0][:k]), 0)}}
	c.RunRanges(outer.Count(), out.Len(), func(lo, hi int) {
		outer.Walk(lo, hi, func(row int, at []int) {
			TransposeTo(out.Floats[row*rowsHere*w:(row+1)*rowsHere*w], x.Floats[start+at[0]:], rowsHere, w, r.Stride(0))
		})
	})
	return true
}

// transpose is y[i] = x[perm(i)], by default with all axes in reverse. Between the two orders of an image only the
// note of the order changes: no value is moved.
func transpose(c *Call) []*tensor.Tensor {
	c.RequireInputs(1)
	x := c.In[0]
	rank := len(x.Shape)
	perm := permutation(c.List("perm"), rank)
	to, stride := make([]int, rank), make([]int, rank)
	own := tensor.Strides(x.Shape)
	for i, p := range perm {
		to[i], stride[i] = x.Shape[p], own[p]
	}
	switch {
	case x.Last && slices.Equal(perm, []int{0, 2, 3, 1}):
		out := x.View(to)
		out.Last = false
		return Single(out)
	case !x.Last && x.IsFloat() && slices.Equal(perm, []int{0, 3, 1, 2}):
		out := x.View(to)
		out.Last = true
		return Single(out)
	}
	x = c.Contiguous(x)
	return Single(c.Gather(x, to, stride, 0))
}

// permutation checks the order of axes that a Transpose asks for; left out, it is the reverse of all.
func permutation(perm []int64, rank int) []int {
	out := make([]int, rank)
	if perm == nil {
		for i := range out {
			out[i] = rank - 1 - i
		}
		return out
	}
	seen := make([]bool, rank)
	if len(perm) != rank {
		Fail("perm %d does not fit a tensor with %d axes", perm, rank)
	}
	for i, p := range perm {
		if p < 0 || p >= int64(rank) || seen[p] {
			Fail("perm %d is not a permutation of %d axes", perm, rank)
		}
		seen[p] = true
		out[i] = int(p)
	}
	return out
}

// slice follows numpy: bounds that count from the end, cut to what there is.
func slice(c *Call) []*tensor.Tensor {
	x := c.Input()
	starts, okStarts := c.Numbers(1, "starts")
	ends, okEnds := c.Numbers(2, "ends")
	axes, okAxes := c.Numbers(3, "axes")
	steps, okSteps := c.Numbers(4, "steps")
	if !okStarts || !okEnds || len(starts) != len(ends) || okAxes && len(axes) != len(starts) ||
		okSteps && len(steps) != len(starts) || len(starts) > len(x.Shape) {
		Fail("its starts, ends, axes and steps differ in number")
	}
	to, stride := slices.Clone(x.Shape), tensor.Strides(x.Shape)
	seen := make([]bool, len(to))
	from := 0
	for i := range starts {
		axis, step := int64(i), int64(1)
		if okAxes {
			axis = axes[i]
		}
		if okSteps {
			step = steps[i]
		}
		k := Must(tensor.AxisOf(axis, len(x.Shape)))
		if step == 0 || step < math.MinInt32 || step > -math.MinInt32 || seen[k] {
			Fail("step %d along axis %d is not valid: must not be 0", step, k)
		}
		seen[k] = true
		lo, hi := clampSlice(starts[i], x.Shape[k], step), clampSlice(ends[i], x.Shape[k], step)
		n := int64(0)
		switch {
		case step > 0 && hi > lo:
			n = (hi-lo-1)/step + 1
		case step < 0 && hi < lo:
			n = (lo-hi-1)/-step + 1
		}
		if n > 0 {
			from += int(lo) * stride[k]
		}
		to[k] = int(n)
		stride[k] *= int(step)
	}
	if slices.Equal(to, x.Shape) && from == 0 && slices.Equal(stride, tensor.Strides(x.Shape)) {
		return Single(x)
	}
	return Single(c.Gather(x, to, stride, from))
}

// clampSlice cuts a bound of a slice to those that exist.
func clampSlice(v int64, side int, step int64) int64 {
	n := int64(side)
	if v < 0 {
		v = max(v, math.MinInt64+n) + n
	}
	if step > 0 {
		return min(max(v, 0), n)
	}
	return min(max(v, -1), n-1)
}

// split cuts an axis into the parts that an input or, up to opset 12, an attribute gives, else into equal ones, of
// which the last may be shorter.
func split(c *Call) []*tensor.Tensor {
	x := c.Input()
	axis := c.Axis("axis", 0, len(x.Shape))
	parts, ok := c.Numbers(1, "split")
	side, n := x.Shape[axis], len(c.Node.Outputs)
	if n == 0 {
		Fail("it has no outputs: must be at least 1")
	}
	if !ok {
		each := (side + n - 1) / n
		for left := side; len(parts) < n; left -= each {
			parts = append(parts, int64(max(min(each, left), 0)))
		}
	}
	if len(parts) != len(c.Node.Outputs) {
		Fail("it has %d parts for %d outputs: the numbers must be equal", len(parts), len(c.Node.Outputs))
	}
	return c.cutParts(x, axis, parts)
}

// cutParts cuts a tensor along an axis into parts of so many values, which make up the whole axis.
func (c *Call) cutParts(x *tensor.Tensor, axis int, parts []int64) (list []*tensor.Tensor) {
	stride, at := tensor.Strides(x.Shape), 0
	for _, p := range parts {
		if p < 0 || p > int64(x.Shape[axis]-at) {
			Fail("its parts %d do not add up to the axis of %d", parts, x.Shape[axis])
		}
		to := slices.Clone(x.Shape)
		to[axis] = int(p)
		list = append(list, c.Gather(x, to, stride, at*stride[axis]))
		at += int(p)
	}
	if at != x.Shape[axis] {
		Fail("its parts %d do not add up to the axis of %d", parts, x.Shape[axis])
	}
	return list
}

// expand broadcasts both ways: a side of 1 in the wanted shape leaves the one of the input.
func expand(c *Call) []*tensor.Tensor {
	x := c.Input()
	c.RequireInputs(2)
	want := Must(c.In[1].Sides())
	to := Must(tensor.Broadcast(x.Shape, want))
	if slices.Equal(to, x.Shape) {
		return Single(x)
	}
	return Single(c.Gather(x, to, tensor.SpreadStrides(x.Shape, to), 0))
}

// tile repeats the whole tensor along each axis.
func tile(c *Call) []*tensor.Tensor {
	x := c.Input()
	if !c.HasInput(1) {
		Fail("its repeats are missing")
	}
	times := Must(c.In[1].Sides())
	if len(times) != len(x.Shape) || 2*len(times) > tensor.MaxAxes {
		Fail("its repeats %d do not fit shape %d", times, x.Shape)
	}
	// Each axis becomes two: how often, and along it.
	var wide, stride, to []int
	own := tensor.Strides(x.Shape)
	for i, n := range times {
		wide, stride = append(wide, n, x.Shape[i]), append(stride, 0, own[i])
		side := budget.Product(int64(n), int64(x.Shape[i]))
		if side > math.MaxInt32 {
			Fail("its repeats %d do not fit shape %d", times, x.Shape)
		}
		to = append(to, int(side))
	}
	out := c.Gather(x, wide, stride, 0)
	return Single(out.View(to))
}

// concat joins its inputs along an axis of the first.
func concat(c *Call) []*tensor.Tensor {
	c.RequireAllInputs()
	return Single(c.Join(c.In, c.Axis("axis", 0, len(c.In[0].Shape))))
}

// Join lays tensors one after the other along an axis.
func (c *Call) Join(list []*tensor.Tensor, axis int) *tensor.Tensor {
	first := list[0]
	shape := slices.Clone(first.Shape)
	last := axis == 1
	for k, t := range list {
		if t.IsFloat() != first.IsFloat() {
			Fail("integers and floating-point numbers cannot be joined")
		}
		if k > 0 {
			Check(tensor.Lengthen(shape, t.Shape, axis))
		}
		last = last && t.Last
	}
	out := c.NewLike(first, shape)
	out.Last = last
	before, whole := tensor.Size(shape[:axis]), tensor.Size(shape[axis:])
	if last {
		before, whole = shape[0]*shape[2]*shape[3], shape[1]
	}
	at := 0
	for _, t := range list {
		x := t
		if !last {
			x = c.Contiguous(t)
		}
		n := tensor.Size(t.Shape[axis:])
		if last {
			n = t.Shape[1]
		}
		for b := range before {
			out.Copy(b*whole+at, x, b*n, n)
		}
		at += n
	}
	return out
}

// depthToSpace lays b x b groups of channels out as blocks of positions. In mode DCR the group is the outer part
// of the channel, in mode CRD the inner one.
func depthToSpace(c *Call) []*tensor.Tensor {
	x := c.Input()
	b := c.Count("blocksize", 0)
	if len(x.Shape) != 4 || b < 1 || x.Shape[1]%(b*b) != 0 {
		Fail("its block size %d does not fit an input of shape %d", b, x.Shape)
	}
	n, ch, h, w := x.Shape[0], x.Shape[1]/(b*b), x.Shape[2], x.Shape[3]
	area := h * w
	wide := []int{n, ch, h, b, w, b}
	stride := []int{ch * b * b * area, area, w, b * ch * area, 1, ch * area} // depth, column, row
	if c.Text("mode", "DCR") == "CRD" {
		stride = []int{ch * b * b * area, b * b * area, w, b * area, 1, area}
	}
	out := c.Gather(x, wide, stride, 0)
	return Single(out.View([]int{n, ch, h * b, w * b}))
}

// spaceToDepth is the inverse of depthToSpace in mode DCR.
func spaceToDepth(c *Call) []*tensor.Tensor {
	x := c.Input()
	b := c.Count("blocksize", 0)
	if len(x.Shape) != 4 || b < 1 || x.Shape[2]%b != 0 || x.Shape[3]%b != 0 {
		Fail("its block size %d does not fit an input of shape %d", b, x.Shape)
	}
	n, ch, h, w := x.Shape[0], x.Shape[1], x.Shape[2]/b, x.Shape[3]/b
	line, area := x.Shape[3], x.Shape[2]*x.Shape[3]
	out := c.Gather(x, []int{n, b, b, ch, h, w}, []int{ch * area, line, 1, area, b * line, b}, 0)
	return Single(out.View([]int{n, b * b * ch, h, w}))
}
