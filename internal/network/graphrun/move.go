package graphrun

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// reshapeInput returns the first input with another shape.
func (c *call) reshapeInput(to []int) []*Tensor {
	x := c.input()
	n := must(length(to))
	if n != x.len() {
		fail("%d values of shape %d do not fill shape %d", x.len(), x.Shape, to)
	}
	return single(x.view(to))
}

func reshape(c *call) []*Tensor {
	c.requireInputs(1)
	want, ok := c.numbers(1, "shape")
	if !ok {
		fail("its shape is not given as integers")
	}
	if len(want) > maxAxes {
		fail("a tensor has %d axes: at most %d are supported", len(want), maxAxes)
	}
	shape := c.in[0].Shape
	zero := c.int("allowzero", 0) == 0
	to := make([]int, len(want))
	open, rest := -1, int64(1)
	for i, w := range want {
		switch {
		case w == 0 && zero:
			if i >= len(shape) {
				fail("side %d of shape %d is taken from an input of shape %d", i, want, shape)
			}
			w = int64(shape[i])
		case w == -1 && open < 0:
			open = i
			continue
		case w < 0:
			fail("shape %d is not valid: a side is negative, or it is too large", want)
		}
		if rest = budget.Product(rest, w); rest == math.MaxInt64 {
			fail("shape %d is not valid: a side is negative, or it is too large", want)
		}
		to[i] = int(w)
	}
	if open >= 0 {
		total := int64(c.in[0].len())
		if rest == 0 || total%rest != 0 {
			fail("%d values of shape %d do not fill shape %d", total, shape, want)
		}
		to[open] = int(total / rest)
	}
	return c.reshapeInput(to)
}

func flatten(c *call) []*Tensor {
	c.requireInputs(1)
	shape := c.in[0].Shape
	axis := c.int("axis", 1)
	if axis < 0 {
		axis += int64(len(shape))
	}
	if axis < 0 || axis > int64(len(shape)) {
		fail("axis %d does not exist: the tensor has %d axes", axis, len(shape))
	}
	return c.reshapeInput([]int{size(shape[:axis]), size(shape[axis:])})
}

func squeeze(c *call) []*Tensor {
	c.requireInputs(1)
	want, ok := c.numbers(1, "axes")
	shape := c.in[0].Shape
	axes := must(AxesOf(want, len(shape)))
	to := []int{}
	for i, d := range shape {
		drop := slices.Contains(axes, i)
		if !ok {
			drop = d == 1
		}
		if drop && d != 1 {
			fail("side %d of shape %d is not 1", i, shape)
		}
		if !drop {
			to = append(to, d)
		}
	}
	return c.reshapeInput(to)
}

func unsqueeze(c *call) []*Tensor {
	c.requireInputs(1)
	want, _ := c.numbers(1, "axes")
	shape := c.in[0].Shape
	if len(want) > maxAxes {
		fail("the result has %d axes: at most %d are supported", len(want), maxAxes)
	}
	axes := must(AxesOf(want, len(shape)+len(want)))
	to := slices.Clone(shape)
	for _, i := range axes { // sorted, so that each finds its place
		to = slices.Insert(to, i, 1)
	}
	return c.reshapeInput(to)
}

// gather makes a tensor of the values of x at the offsets that strides give.
func (c *call) gather(x *Tensor, shape, stride []int, start int) *Tensor {
	out := c.newLike(x, shape)
	if out.len() == 0 {
		return out
	}
	r := newRows(shape, stride)
	w, s := r.width(), r.stride(0)
	if len(r.sides) >= 2 && s != 1 && x.isFloat() && c.tryTranspose(out, x, r, start) {
		return out
	}
	c.runRanges(r.count(), out.len(), func(lo, hi int) {
		r.walk(lo, hi, func(row int, at []int) {
			from := start + at[0]
			switch {
			case x.isFloat() && s == 1:
				copy(out.Floats[row*w:(row+1)*w], x.Floats[from:])
			case x.isFloat():
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
func (c *call) tryTranspose(out, x *Tensor, r *rows, start int) bool {
	k := len(r.sides) - 2
	if r.step[0][k] != 1 || r.stride(0) < r.sides[k] {
		return false
	}
	rowsHere, w := r.sides[k], r.width()
	outer := &rows{sides: append(slices.Clone(r.sides[:k]), 1), step: [][]int{append(slices.Clone(r.step[0][:k]), 0)}}
	c.runRanges(outer.count(), out.len(), func(lo, hi int) {
		outer.walk(lo, hi, func(row int, at []int) {
			transposeTo(out.Floats[row*rowsHere*w:(row+1)*rowsHere*w], x.Floats[start+at[0]:], rowsHere, w, r.stride(0))
		})
	})
	return true
}

func transpose(c *call) []*Tensor {
	c.requireInputs(1)
	x := c.in[0]
	rank := len(x.Shape)
	perm := permutation(c.list("perm"), rank)
	to, stride := make([]int, rank), make([]int, rank)
	own := strides(x.Shape)
	for i, p := range perm {
		to[i], stride[i] = x.Shape[p], own[p]
	}
	switch {
	case x.last && slices.Equal(perm, []int{0, 2, 3, 1}):
		out := x.view(to)
		out.last = false
		return single(out)
	case !x.last && x.isFloat() && slices.Equal(perm, []int{0, 3, 1, 2}):
		out := x.view(to)
		out.last = true
		return single(out)
	}
	x = c.contiguous(x)
	return single(c.gather(x, to, stride, 0))
}

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
		fail("perm %d does not fit a tensor with %d axes", perm, rank)
	}
	for i, p := range perm {
		if p < 0 || p >= int64(rank) || seen[p] {
			fail("perm %d is not a permutation of %d axes", perm, rank)
		}
		seen[p] = true
		out[i] = int(p)
	}
	return out
}

// slice follows numpy: bounds that count from the end, cut to what there is.
func slice(c *call) []*Tensor {
	x := c.input()
	starts, okStarts := c.numbers(1, "starts")
	ends, okEnds := c.numbers(2, "ends")
	axes, okAxes := c.numbers(3, "axes")
	steps, okSteps := c.numbers(4, "steps")
	if !okStarts || !okEnds || len(starts) != len(ends) || okAxes && len(axes) != len(starts) ||
		okSteps && len(steps) != len(starts) || len(starts) > len(x.Shape) {
		fail("its starts, ends, axes and steps differ in number")
	}
	to, stride := slices.Clone(x.Shape), strides(x.Shape)
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
		k := must(AxisOf(axis, len(x.Shape)))
		if step == 0 || step < math.MinInt32 || step > -math.MinInt32 || seen[k] {
			fail("step %d along axis %d is not valid: must not be 0", step, k)
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
	if slices.Equal(to, x.Shape) && from == 0 && slices.Equal(stride, strides(x.Shape)) {
		return single(x)
	}
	return single(c.gather(x, to, stride, from))
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

// indexOf checks an index, which may count from the end.
func indexOf(v int64, side int) int {
	if v < 0 {
		v += int64(side)
	}
	if v < 0 || v >= int64(side) {
		fail("index %d lies outside an axis of %d", v, side)
	}
	return int(v)
}

func gather(c *call) []*Tensor {
	x := c.input()
	if !c.hasInput(1) || c.in[1].isFloat() {
		fail("its indices are not given as integers")
	}
	index := c.in[1].Ints
	axis := c.axis("axis", 0, len(x.Shape))
	before, inner, side := size(x.Shape[:axis]), size(x.Shape[axis+1:]), x.Shape[axis]
	out := c.newLike(x, slices.Concat(x.Shape[:axis], c.in[1].Shape, x.Shape[axis+1:]))
	to := 0
	for b := range before {
		for _, v := range index {
			i := indexOf(v, side)
			out.copy(to, x, (b*side+i)*inner, inner)
			to += inner
		}
	}
	return single(out)
}

// copy moves n values from an offset of x to one of t.
func (t *Tensor) copy(at int, x *Tensor, from, n int) {
	if t.isFloat() {
		copy(t.Floats[at:at+n], x.Floats[from:from+n])
		return
	}
	copy(t.Ints[at:at+n], x.Ints[from:from+n])
}

func split(c *call) []*Tensor {
	x := c.input()
	axis := c.axis("axis", 0, len(x.Shape))
	parts, ok := c.numbers(1, "split")
	side, n := x.Shape[axis], len(c.n.out)
	if n == 0 {
		fail("it has no outputs: must be at least 1")
	}
	if !ok {
		each := (side + n - 1) / n
		for left := side; len(parts) < n; left -= each {
			parts = append(parts, int64(max(min(each, left), 0)))
		}
	}
	if len(parts) != len(c.n.out) {
		fail("it has %d parts for %d outputs: the numbers must be equal", len(parts), len(c.n.out))
	}
	total := int64(0)
	for _, p := range parts {
		if p < 0 || p > int64(side) {
			fail("its parts %d do not add up to the axis of %d", parts, side)
		}
		total += p
	}
	if total != int64(side) {
		fail("its parts %d do not add up to the axis of %d", parts, side)
	}
	var list []*Tensor
	stride := strides(x.Shape)
	at := 0
	for _, p := range parts {
		to := slices.Clone(x.Shape)
		to[axis] = int(p)
		t := c.gather(x, to, stride, at*stride[axis])
		list = append(list, t)
		at += int(p)
	}
	return list
}

func expand(c *call) []*Tensor {
	x := c.input()
	c.requireInputs(2)
	want := c.in[1].sides()
	to := must(Broadcast(x.Shape, want))
	if slices.Equal(to, x.Shape) {
		return single(x)
	}
	return single(c.gather(x, to, spreadStrides(x.Shape, to), 0))
}

func tile(c *call) []*Tensor {
	x := c.input()
	if !c.hasInput(1) {
		fail("its repeats are missing")
	}
	times := c.in[1].sides()
	if len(times) != len(x.Shape) || 2*len(times) > maxAxes {
		fail("its repeats %d do not fit shape %d", times, x.Shape)
	}
	// Each axis becomes two: how often, and along it.
	var wide, stride, to []int
	own := strides(x.Shape)
	for i, n := range times {
		wide, stride = append(wide, n, x.Shape[i]), append(stride, 0, own[i])
		side := budget.Product(int64(n), int64(x.Shape[i]))
		if side > math.MaxInt32 {
			fail("its repeats %d do not fit shape %d", times, x.Shape)
		}
		to = append(to, int(side))
	}
	out := c.gather(x, wide, stride, 0)
	return single(out.view(to))
}

func concat(c *call) []*Tensor {
	c.requireAllInputs()
	return single(c.join(c.in, c.axis("axis", 0, len(c.in[0].Shape))))
}

// join lays tensors one after the other along an axis.
func (c *call) join(list []*Tensor, axis int) *Tensor {
	first := list[0]
	shape := slices.Clone(first.Shape)
	last := axis == 1
	for k, t := range list {
		if len(t.Shape) != len(shape) {
			fail("tensors of shapes %d and %d cannot be joined", first.Shape, t.Shape)
		}
		if t.isFloat() != first.isFloat() {
			fail("integers and floating-point numbers cannot be joined")
		}
		for i := range shape {
			if i != axis && shape[i] != t.Shape[i] {
				fail("tensors of shapes %d and %d cannot be joined along axis %d", first.Shape,
					t.Shape, axis)
			}
		}
		if k > 0 {
			shape[axis] += t.Shape[axis]
		}
		last = last && t.last
	}
	out := c.newLike(first, shape)
	out.last = last
	before, whole := size(shape[:axis]), size(shape[axis:])
	if last {
		before, whole = shape[0]*shape[2]*shape[3], shape[1]
	}
	at := 0
	for _, t := range list {
		x := t
		if !last {
			x = c.contiguous(t)
		}
		n := size(t.Shape[axis:])
		if last {
			n = t.Shape[1]
		}
		for b := range before {
			out.copy(b*whole+at, x, b*n, n)
		}
		at += n
	}
	return out
}

func depthToSpace(c *call) []*Tensor {
	x := c.input()
	b := int(min(max(c.int("blocksize", 0), 0), 1<<16))
	if len(x.Shape) != 4 || b < 1 || x.Shape[1]%(b*b) != 0 {
		fail("its block size %d does not fit an input of shape %d", b, x.Shape)
	}
	n, ch, h, w := x.Shape[0], x.Shape[1]/(b*b), x.Shape[2], x.Shape[3]
	area := h * w
	wide := []int{n, ch, h, b, w, b}
	stride := []int{ch * b * b * area, area, w, b * ch * area, 1, ch * area} // depth, column, row
	if c.text("mode", "DCR") == "CRD" {
		stride = []int{ch * b * b * area, b * b * area, w, b * area, 1, area}
	}
	out := c.gather(x, wide, stride, 0)
	return single(out.view([]int{n, ch, h * b, w * b}))
}

func spaceToDepth(c *call) []*Tensor {
	x := c.input()
	b := int(min(max(c.int("blocksize", 0), 0), 1<<16))
	if len(x.Shape) != 4 || b < 1 || x.Shape[2]%b != 0 || x.Shape[3]%b != 0 {
		fail("its block size %d does not fit an input of shape %d", b, x.Shape)
	}
	n, ch, h, w := x.Shape[0], x.Shape[1], x.Shape[2]/b, x.Shape[3]/b
	line, area := x.Shape[3], x.Shape[2]*x.Shape[3]
	out := c.gather(x, []int{n, b, b, ch, h, w}, []int{ch * area, line, 1, area, b * line, b}, 0)
	return single(out.view([]int{n, b * b * ch, h, w}))
}
