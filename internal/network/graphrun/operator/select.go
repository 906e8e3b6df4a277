package operator

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// gatherElements is y[i][j] = x[index[i][j]][j] for axis 0, and likewise for others.
func gatherElements(c *Call) []*tensor.Tensor {
	x := c.Input()
	index := c.indices()
	axis := c.Axis("axis", 0, len(x.Shape))
	out := c.NewLike(x, index.Shape)
	elements(x.Shape, index, axis, func(i, at int) { out.Copy(i, x, at, 1) })
	return Single(out)
}

// elements calls body with the number of each index and the offset in a tensor that it means: its
// own place, but for the axis.
func elements(shape []int, index *tensor.Tensor, axis int, body func(i, at int)) {
	if len(index.Shape) != len(shape) {
		Fail("its indices of shape %d do not fit values of shape %d", index.Shape, shape)
	}
	for k, d := range index.Shape {
		if k != axis && d > shape[k] {
			Fail("its indices of shape %d do not fit values of shape %d", index.Shape, shape)
		}
	}
	own := tensor.Strides(shape)
	place := make([]int, len(shape))
	for i, v := range index.Ints {
		rest := i
		for k := len(shape) - 1; k >= 0; k-- {
			place[k] = rest % index.Shape[k]
			rest /= index.Shape[k]
		}
		at := IndexOf(v, shape[axis])
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
func blocks(shape []int, index *tensor.Tensor, batch int, body func(i, at, n int)) {
	r := len(index.Shape)
	if r == 0 {
		Fail("its indices are a single number: they must have at least one axis")
	}
	width := index.Shape[r-1]
	if width < 1 || batch < 0 || batch >= r || batch+width > len(shape) ||
		!slices.Equal(shape[:batch], index.Shape[:batch]) {
		Fail("its indices of shape %d do not fit values of shape %d with the first %d axes in common",
			index.Shape, shape, batch)
	}
	own := tensor.Strides(shape)
	n := tensor.Size(shape[batch+width:])
	tuples := tensor.Size(index.Shape[:r-1])
	each := tensor.Size(index.Shape[batch : r-1])
	for i := range tuples {
		off := 0
		if each > 0 && batch > 0 {
			off = i / each * own[batch-1]
		}
		for k := range width {
			at := IndexOf(index.Ints[i*width+k], shape[batch+k])
			off += at * own[batch+k]
		}
		body(i, off, n)
	}
}

// gatherND takes the blocks that tuples of indices mean, behind batch_dims axes that both inputs have in common.
func gatherND(c *Call) []*tensor.Tensor {
	x := c.Input()
	index := c.indices()
	batch := c.Int("batch_dims", 0)
	r := len(index.Shape)
	if r == 0 || batch < 0 || batch > int64(len(x.Shape)) || int(batch)+index.Shape[r-1] > len(x.Shape) {
		Fail("its indices of shape %d do not fit values of shape %d", index.Shape, x.Shape)
	}
	out := c.NewLike(x, slices.Concat(index.Shape[:r-1], x.Shape[int(batch)+index.Shape[r-1]:]))
	blocks(x.Shape, index, int(batch), func(i, at, n int) { out.Copy(i*n, x, at, n) })
	return Single(out)
}

// nonZero lists the places of values that are not 0: a row for each axis, a column for each value.
func nonZero(c *Call) []*tensor.Tensor {
	x := c.Input()
	var found []int
	for i := range x.Len() {
		if x.Value(i) != 0 {
			found = append(found, i)
		}
	}
	rank := len(x.Shape)
	out := c.New([]int{rank, len(found)}, 7)
	own := tensor.Strides(x.Shape)
	for k := range rank {
		for j, i := range found {
			out.Ints[k*len(found)+j] = int64(i / own[k] % x.Shape[k])
		}
	}
	return Single(out)
}

// compress keeps the places along an axis whose condition holds. Without an axis the tensor is taken as one row.
// Places behind the last condition are dropped.
func compress(c *Call) []*tensor.Tensor {
	x := c.Input()
	keep := c.indices()
	shape, axis := x.Shape, 0
	if c.Node.Attr("axis") == nil {
		shape = []int{x.Len()}
	} else {
		axis = c.Axis("axis", 0, len(shape))
	}
	var list []int
	for i, v := range keep.Ints {
		if v != 0 {
			if i >= shape[axis] {
				Fail("it has %d conditions, more than the side of %d", len(keep.Ints), shape[axis])
			}
			list = append(list, i)
		}
	}
	to := slices.Clone(shape)
	to[axis] = len(list)
	out := c.NewLike(x, to)
	outer, side, inner := tensor.Lines(shape, axis)
	at := 0
	for o := range outer {
		for _, i := range list {
			out.Copy(at, x, (o*side+i)*inner, inner)
			at += inner
		}
	}
	return Single(out)
}

// trilu keeps values with column - row >= k (upper) or <= k (lower) of each matrix.
func trilu(c *Call) []*tensor.Tensor {
	x := c.Input()
	if len(x.Shape) < 2 {
		Fail("shape %d is not a matrix", x.Shape)
	}
	k := int64(0)
	if c.HasInput(1) {
		if c.In[1].Len() != 1 {
			Fail("its k is not a single number")
		}
		k = min(max(tensor.Truncate(c.In[1].Value(0)), math.MinInt32), math.MaxInt32)
	}
	out := c.NewLike(x, x.Shape)
	upper := c.Int("upper", 1) != 0
	rows, cols := x.Shape[len(x.Shape)-2], x.Shape[len(x.Shape)-1]
	for i := range out.Len() {
		row, col := int64(i/cols%rows), int64(i%cols)
		if upper == (col-row >= k) || col-row == k {
			out.Copy(i, x, i, 1)
		} else {
			out.SetValue(i, 0)
		}
	}
	return Single(out)
}

// reverseSequence reverses the first values of each sequence of a batch, as many as its length says.
func reverseSequence(c *Call) []*tensor.Tensor {
	x := c.Input()
	long := c.indices()
	batch, time := c.Int("batch_axis", 1), c.Int("time_axis", 0)
	if len(x.Shape) < 2 || batch+time != 1 || batch*time != 0 || len(long.Ints) != x.Shape[batch] {
		Fail("it has %d lengths, which do not fit values of shape %d", len(long.Ints), x.Shape)
	}
	out := c.NewLike(x, x.Shape)
	n := tensor.Size(x.Shape[2:])
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
			out.Copy((i*x.Shape[1]+j)*n, x, from*n, n)
		}
	}
	return Single(out)
}

// gather replaces an axis by the axes of the indices: y[i] = x[index[i]].
func gather(c *Call) []*tensor.Tensor {
	x := c.Input()
	if !c.HasInput(1) || c.In[1].IsFloat() {
		Fail("its indices are not given as integers")
	}
	index := c.In[1].Ints
	axis := c.Axis("axis", 0, len(x.Shape))
	before, inner, side := tensor.Size(x.Shape[:axis]), tensor.Size(x.Shape[axis+1:]), x.Shape[axis]
	out := c.NewLike(x, slices.Concat(x.Shape[:axis], c.In[1].Shape, x.Shape[axis+1:]))
	to := 0
	for b := range before {
		for _, v := range index {
			i := IndexOf(v, side)
			out.Copy(to, x, (b*side+i)*inner, inner)
			to += inner
		}
	}
	return Single(out)
}
