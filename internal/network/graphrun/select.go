package graphrun

import (
	"math"
	"slices"
)

// indices returns the second input, whose values are indices.
func (c *call) indices() *Tensor {
	c.requireInputs(2)
	c.in[1].integers()
	return c.in[1]
}

func gatherElements(c *call) []*Tensor {
	x := c.input()
	index := c.indices()
	axis := c.axis("axis", 0, len(x.Shape))
	out := c.newLike(x, index.Shape)
	elements(x.Shape, index, axis, func(i, at int) { out.copy(i, x, at, 1) })
	return single(out)
}

// elements calls body with the number of each index and the offset in a tensor that it means: its
// own place, but for the axis.
func elements(shape []int, index *Tensor, axis int, body func(i, at int)) {
	if len(index.Shape) != len(shape) {
		fail("its indices of shape %d do not fit values of shape %d", index.Shape, shape)
	}
	for k, d := range index.Shape {
		if k != axis && d > shape[k] {
			fail("its indices of shape %d do not fit values of shape %d", index.Shape, shape)
		}
	}
	own := strides(shape)
	place := make([]int, len(shape))
	for i, v := range index.Ints {
		rest := i
		for k := len(shape) - 1; k >= 0; k-- {
			place[k] = rest % index.Shape[k]
			rest /= index.Shape[k]
		}
		at := indexOf(v, shape[axis])
		off := 0
		for k, p := range place {
			if k == axis {
				p = at
			}
			off += p * own[k]
		}
		body(i, off)
	}
}

// blocks calls body with the number of each tuple of indices and the offset of the block that it
// means; the result is the length of a block.
func blocks(shape []int, index *Tensor, batch int, body func(i, at, n int)) {
	r := len(index.Shape)
	if r == 0 {
		fail("its indices are a single number: they must have at least one axis")
	}
	width := index.Shape[r-1]
	if width < 1 || batch < 0 || batch >= r || batch+width > len(shape) ||
		!slices.Equal(shape[:batch], index.Shape[:batch]) {
		fail("its indices of shape %d do not fit values of shape %d with the first %d axes in common",
			index.Shape, shape,
			batch)
	}
	own := strides(shape)
	n := size(shape[batch+width:])
	tuples := size(index.Shape[:r-1])
	each := size(index.Shape[batch : r-1])
	for i := range tuples {
		off := 0
		if each > 0 && batch > 0 {
			off = i / each * own[batch-1]
		}
		for k := range width {
			at := indexOf(index.Ints[i*width+k], shape[batch+k])
			off += at * own[batch+k]
		}
		body(i, off, n)
	}
}

func gatherND(c *call) []*Tensor {
	x := c.input()
	index := c.indices()
	batch := c.int("batch_dims", 0)
	r := len(index.Shape)
	if r == 0 || batch < 0 || batch > int64(len(x.Shape)) || int(batch)+index.Shape[r-1] > len(x.Shape) {
		fail("its indices of shape %d do not fit values of shape %d", index.Shape, x.Shape)
	}
	out := c.newLike(x, slices.Concat(index.Shape[:r-1], x.Shape[int(batch)+index.Shape[r-1]:]))
	blocks(x.Shape, index, int(batch), func(i, at, n int) { out.copy(i*n, x, at, n) })
	return single(out)
}

// scatterFunctions are how a scatter joins the value b with the one that is there, by the attribute reduction.
var scatterFunctions = map[string]func(a, b float64) float64{
	"none": func(_, b float64) float64 { return b },
	"add":  func(a, b float64) float64 { return a + b },
	"mul":  func(a, b float64) float64 { return a * b },
	"max":  math.Max, "min": math.Min,
}

func (c *call) scatterFunction() func(a, b float64) float64 {
	how := c.text("reduction", "none")
	f := scatterFunctions[how]
	if f == nil {
		fail("reduction %q is not known", how)
	}
	return f
}

// scatterInputs returns a copy of the first input, the indices and the updates.
func (c *call) scatterInputs() (out, index, updates *Tensor) {
	x := c.input()
	index = c.indices()
	c.requireInputs(3)
	updates = c.contiguous(c.in[2])
	if updates.isFloat() != x.isFloat() {
		fail("integers and floating-point numbers cannot be mixed")
	}
	out = c.newLike(x, x.Shape)
	out.copy(0, x, 0, x.len())
	return out, index, updates
}

func scatterElements(c *call) []*Tensor {
	out, index, updates := c.scatterInputs()
	f := c.scatterFunction()
	axis := c.axis("axis", 0, len(out.Shape))
	if !slices.Equal(index.Shape, updates.Shape) {
		fail("its updates of shape %d do not fit indices of shape %d", updates.Shape, index.Shape)
	}
	elements(out.Shape, index, axis, func(i, at int) { out.setValue(at, f(out.value(at), updates.value(i))) })
	return single(out)
}

func scatterND(c *call) []*Tensor {
	out, index, updates := c.scatterInputs()
	f := c.scatterFunction()
	r := len(index.Shape)
	if r == 0 || index.Shape[r-1] > len(out.Shape) ||
		!slices.Equal(updates.Shape, slices.Concat(index.Shape[:r-1], out.Shape[index.Shape[r-1]:])) {
		fail("its updates of shape %d do not fit indices of shape %d and values of shape %d",
			updates.Shape, index.Shape,
			out.Shape)
	}
	blocks(out.Shape, index, 0, func(i, at, n int) {
		for k := range n {
			out.setValue(at+k, f(out.value(at+k), updates.value(i*n+k)))
		}
	})
	return single(out)
}

func nonZero(c *call) []*Tensor {
	x := c.input()
	var found []int
	for i := range x.len() {
		if x.value(i) != 0 {
			found = append(found, i)
		}
	}
	rank := len(x.Shape)
	out := c.newInts([]int{rank, len(found)}, 7)
	own := strides(x.Shape)
	for k := range rank {
		for j, i := range found {
			out.Ints[k*len(found)+j] = int64(i / own[k] % x.Shape[k])
		}
	}
	return single(out)
}

func compress(c *call) []*Tensor {
	x := c.input()
	keep := c.indices()
	shape, axis := x.Shape, 0
	if c.n.Attr("axis") == nil {
		shape = []int{x.len()}
	} else {
		axis = c.axis("axis", 0, len(shape))
	}
	var list []int
	for i, v := range keep.Ints {
		if v != 0 {
			if i >= shape[axis] {
				fail("it has %d conditions, more than the side of %d", len(keep.Ints), shape[axis])
			}
			list = append(list, i)
		}
	}
	to := slices.Clone(shape)
	to[axis] = len(list)
	out := c.newLike(x, to)
	outer, side, inner := lines(shape, axis)
	at := 0
	for o := range outer {
		for _, i := range list {
			out.copy(at, x, (o*side+i)*inner, inner)
			at += inner
		}
	}
	return single(out)
}

func trilu(c *call) []*Tensor {
	x := c.input()
	if len(x.Shape) < 2 {
		fail("shape %d is not a matrix", x.Shape)
	}
	k := int64(0)
	if c.hasInput(1) {
		if c.in[1].len() != 1 {
			fail("its k is not a single number")
		}
		k = min(max(toInt(c.in[1].value(0)), math.MinInt32), math.MaxInt32)
	}
	out := c.newLike(x, x.Shape)
	upper := c.int("upper", 1) != 0
	rows, cols := x.Shape[len(x.Shape)-2], x.Shape[len(x.Shape)-1]
	for i := range out.len() {
		row, col := int64(i/cols%rows), int64(i%cols)
		if upper == (col-row >= k) || col-row == k {
			out.copy(i, x, i, 1)
		} else {
			out.setValue(i, 0)
		}
	}
	return single(out)
}

func reverseSequence(c *call) []*Tensor {
	x := c.input()
	long := c.indices()
	batch, time := c.int("batch_axis", 1), c.int("time_axis", 0)
	if len(x.Shape) < 2 || batch+time != 1 || batch*time != 0 || len(long.Ints) != x.Shape[batch] {
		fail("it has %d lengths, which do not fit values of shape %d", len(long.Ints), x.Shape)
	}
	out := c.newLike(x, x.Shape)
	n := size(x.Shape[2:])
	for i := range x.Shape[0] {
		for j := range x.Shape[1] {
			b, t := i, j
			if batch == 1 {
				b, t = j, i
			}
			if l := int(min(max(long.Ints[b], 0), int64(x.Shape[time]))); t < l {
				t = l - 1 - t
			}
			from := b*x.Shape[1] + t
			if batch == 1 {
				from = t*x.Shape[1] + b
			}
			out.copy((i*x.Shape[1]+j)*n, x, from*n, n)
		}
	}
	return single(out)
}

// centerCropPad cuts the middle out, or fills up around it with zeros.
func centerCropPad(c *call) []*Tensor {
	x := c.input()
	c.requireInputs(2)
	want := c.in[1].sides()
	list := c.list("axes")
	if list == nil {
		for i := range x.Shape {
			list = append(list, int64(i))
		}
	}
	if len(list) != len(want) {
		fail("it has %d sides for %d axes: the numbers must be equal", len(want), len(list))
	}
	before, after := make([]int, len(x.Shape)), make([]int, len(x.Shape))
	for k, a := range list {
		i := must(AxisOf(a, len(x.Shape)))
		more := want[k] - x.Shape[i]
		if more >= 0 {
			before[i] = more / 2
		} else {
			before[i] = -(-more / 2)
		}
		after[i] = more - before[i]
	}
	zero := c.newLike(x, []int{1})
	zero.setValue(0, 0)
	return single(c.pad(x, before, after, "constant", zero))
}

func pad(c *call) []*Tensor {
	x := c.input()
	want, ok := c.numbers(1, "pads")
	if !ok {
		fail("its pads are not given as integers")
	}
	rank := len(x.Shape)
	var axes []int
	if c.hasInput(3) {
		list := c.in[3].integers()
		for _, v := range list {
			i := must(AxisOf(v, rank))
			axes = append(axes, i)
		}
	} else {
		for i := range rank {
			axes = append(axes, i)
		}
	}
	if len(want) != 2*len(axes) {
		fail("pads is %d, but the input has %d axes: two pads for each axis are needed", want,
			len(axes))
	}
	before, after := make([]int, rank), make([]int, rank)
	for i, axis := range axes {
		p, q := want[i], want[len(axes)+i]
		if p > math.MaxInt32 || q > math.MaxInt32 || p < math.MinInt32 || q < math.MinInt32 {
			fail("pads %d are too large or cut off more than the input", want)
		}
		before[axis], after[axis] = int(p), int(q)
	}
	fill := c.newLike(x, []int{1})
	fill.setValue(0, float64(c.float("value", 0)))
	if c.hasInput(2) && c.in[2].len() == 1 {
		fill.setValue(0, c.in[2].value(0))
	}
	return single(c.pad(x, before, after, c.text("mode", "constant"), fill))
}

// pad adds to the sides of x before and after, or takes away where they are negative.
func (c *call) pad(x *Tensor, before, after []int, mode string, fill *Tensor) *Tensor {
	shape := slices.Clone(x.Shape)
	sources := make([][]int, len(shape)) // of each axis, which value stands at a place; -1: none
	for i, d := range x.Shape {
		if shape[i] = d + before[i] + after[i]; shape[i] < 0 {
			fail("pads %d and %d do not fit shape %d", before, after, x.Shape)
		}
	}
	must(length(shape))
	for i, d := range x.Shape {
		sources[i] = make([]int, shape[i])
		for k := range sources[i] {
			at := padSource(k-before[i], d, mode)
			sources[i][k] = at
		}
	}
	out := c.newLike(x, shape)
	if out.len() == 0 {
		return out
	}
	rank := len(shape)
	if rank == 0 {
		out.copy(0, x, 0, 1)
		return out
	}
	own := strides(x.Shape)
	place := make([]int, rank)
	w := shape[rank-1]
	for row := range out.len() / w {
		rest, off, inside := row, 0, true
		for k := rank - 2; k >= 0; k-- {
			place[k] = rest % shape[k]
			rest /= shape[k]
			at := sources[k][place[k]]
			inside = inside && at >= 0
			off += at * own[k]
		}
		for k, at := range sources[rank-1] {
			if inside && at >= 0 {
				out.copy(row*w+k, x, off+at, 1)
			} else {
				out.copy(row*w+k, fill, 0, 1)
			}
		}
	}
	return out
}

// padSource returns the place within a side of d that a place before, in or after it repeats; -1
// for a constant.
func padSource(k, d int, mode string) int {
	if k >= 0 && k < d {
		return k
	}
	if mode == "constant" || mode == "" {
		return -1
	}
	if d == 0 {
		fail("its input has no values to repeat at the border")
	}
	switch mode {
	case "edge":
		return min(max(k, 0), d-1)
	case "wrap":
		return ((k % d) + d) % d
	case "reflect":
		if d == 1 {
			return 0
		}
		period := 2 * (d - 1)
		k = ((k % period) + period) % period
		return min(k, period-k)
	}
	fail("mode %q is not known", mode)
	return 0
}
