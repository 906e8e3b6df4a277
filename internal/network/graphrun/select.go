package graphrun

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// indices returns the second input, whose values are indices.
func (c *call) indices() (*Tensor, error) {
	if err := c.requireInputs(2); err != nil {
		return nil, err
	}
	_, err := c.in[1].integers()
	return c.in[1], err
}

func gatherElements(c *call) ([]*Tensor, error) {
	x, err := c.input()
	if err != nil {
		return nil, err
	}
	index, err := c.indices()
	if err != nil {
		return nil, err
	}
	axis, err := AxisOf(c.int("axis", 0), len(x.Shape))
	if err != nil {
		return nil, err
	}
	out, err := c.newLike(x, index.Shape)
	if err != nil {
		return nil, err
	}
	err = elements(x.Shape, index, axis, func(i, at int) { out.copy(i, x, at, 1) })
	return single(out, err)
}

// elements calls body with the number of each index and the offset in a tensor that it means: its
// own place, but for the axis.
func elements(shape []int, index *Tensor, axis int, body func(i, at int)) error {
	if len(index.Shape) != len(shape) {
		return fmt.Errorf("its indices of shape %d do not fit values of shape %d", index.Shape, shape)
	}
	for k, d := range index.Shape {
		if k != axis && d > shape[k] {
			return fmt.Errorf("its indices of shape %d do not fit values of shape %d", index.Shape, shape)
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
		at, err := indexOf(v, shape[axis])
		if err != nil {
			return err
		}
		off := 0
		for k, p := range place {
			if k == axis {
				p = at
			}
			off += p * own[k]
		}
		body(i, off)
	}
	return nil
}

// blocks calls body with the number of each tuple of indices and the offset of the block that it
// means; the result is the length of a block.
func blocks(shape []int, index *Tensor, batch int, body func(i, at, n int)) error {
	r := len(index.Shape)
	if r == 0 {
		return errors.New("its indices are a single number: they must have at least one axis")
	}
	width := index.Shape[r-1]
	if width < 1 || batch < 0 || batch >= r || batch+width > len(shape) ||
		!slices.Equal(shape[:batch], index.Shape[:batch]) {
		return fmt.Errorf("its indices of shape %d do not fit values of shape %d with the first %d axes in common",
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
			at, err := indexOf(index.Ints[i*width+k], shape[batch+k])
			if err != nil {
				return err
			}
			off += at * own[batch+k]
		}
		body(i, off, n)
	}
	return nil
}

func gatherND(c *call) ([]*Tensor, error) {
	x, err := c.input()
	if err != nil {
		return nil, err
	}
	index, err := c.indices()
	if err != nil {
		return nil, err
	}
	batch := c.int("batch_dims", 0)
	r := len(index.Shape)
	if r == 0 || batch < 0 || batch > int64(len(x.Shape)) || int(batch)+index.Shape[r-1] > len(x.Shape) {
		return nil, fmt.Errorf("its indices of shape %d do not fit values of shape %d", index.Shape, x.Shape)
	}
	out, err := c.newLike(x, slices.Concat(index.Shape[:r-1], x.Shape[int(batch)+index.Shape[r-1]:]))
	if err != nil {
		return nil, err
	}
	err = blocks(x.Shape, index, int(batch), func(i, at, n int) { out.copy(i*n, x, at, n) })
	return single(out, err)
}

// scatterFunction is how a scatter joins a value with the one that is there.
func (c *call) scatterFunction() (func(a, b float64) float64, error) {
	switch how := c.text("reduction", "none"); how {
	case "none":
		return func(_, b float64) float64 { return b }, nil
	case "add":
		return func(a, b float64) float64 { return a + b }, nil
	case "mul":
		return func(a, b float64) float64 { return a * b }, nil
	case "max":
		return math.Max, nil
	case "min":
		return math.Min, nil
	default:
		return nil, fmt.Errorf("reduction %q is not known", how)
	}
}

// scatterInputs returns a copy of the first input, the indices and the updates.
func (c *call) scatterInputs() (out, index, updates *Tensor, err error) {
	x, err := c.input()
	if err == nil {
		index, err = c.indices()
	}
	if err == nil {
		err = c.requireInputs(3)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if updates, err = c.contiguous(c.in[2]); err != nil {
		return nil, nil, nil, err
	}
	if updates.isFloat() != x.isFloat() {
		return nil, nil, nil, errors.New("integers and floating-point numbers cannot be mixed")
	}
	if out, err = c.newLike(x, x.Shape); err != nil {
		return nil, nil, nil, err
	}
	out.copy(0, x, 0, x.len())
	return out, index, updates, nil
}

func scatterElements(c *call) ([]*Tensor, error) {
	out, index, updates, err := c.scatterInputs()
	if err != nil {
		return nil, err
	}
	f, err := c.scatterFunction()
	if err != nil {
		return nil, err
	}
	axis, err := AxisOf(c.int("axis", 0), len(out.Shape))
	if err != nil {
		return nil, err
	}
	if !slices.Equal(index.Shape, updates.Shape) {
		return nil, fmt.Errorf("its updates of shape %d do not fit indices of shape %d", updates.Shape, index.Shape)
	}
	err = elements(out.Shape, index, axis, func(i, at int) { out.setValue(at, f(out.value(at), updates.value(i))) })
	return single(out, err)
}

func scatterND(c *call) ([]*Tensor, error) {
	out, index, updates, err := c.scatterInputs()
	if err != nil {
		return nil, err
	}
	f, err := c.scatterFunction()
	if err != nil {
		return nil, err
	}
	r := len(index.Shape)
	if r == 0 || index.Shape[r-1] > len(out.Shape) ||
		!slices.Equal(updates.Shape, slices.Concat(index.Shape[:r-1], out.Shape[index.Shape[r-1]:])) {
		return nil, fmt.Errorf("its updates of shape %d do not fit indices of shape %d and values of shape %d",
			updates.Shape, index.Shape,
			out.Shape)
	}
	err = blocks(out.Shape, index, 0, func(i, at, n int) {
		for k := range n {
			out.setValue(at+k, f(out.value(at+k), updates.value(i*n+k)))
		}
	})
	return single(out, err)
}

func nonZero(c *call) ([]*Tensor, error) {
	x, err := c.input()
	if err != nil {
		return nil, err
	}
	var found []int
	for i := range x.len() {
		if x.value(i) != 0 {
			found = append(found, i)
		}
	}
	rank := len(x.Shape)
	out, err := c.newInts([]int{rank, len(found)}, 7)
	if err != nil {
		return nil, err
	}
	own := strides(x.Shape)
	for k := range rank {
		for j, i := range found {
			out.Ints[k*len(found)+j] = int64(i / own[k] % x.Shape[k])
		}
	}
	return single(out, nil)
}

func compress(c *call) ([]*Tensor, error) {
	x, err := c.input()
	if err != nil {
		return nil, err
	}
	keep, err := c.indices()
	if err != nil {
		return nil, err
	}
	shape, axis := x.Shape, 0
	if c.n.Attr("axis") == nil {
		shape = []int{x.len()}
	} else if axis, err = AxisOf(c.int("axis", 0), len(shape)); err != nil {
		return nil, err
	}
	var list []int
	for i, v := range keep.Ints {
		if v != 0 {
			if i >= shape[axis] {
				return nil, fmt.Errorf("it has %d conditions, more than the side of %d", len(keep.Ints), shape[axis])
			}
			list = append(list, i)
		}
	}
	to := slices.Clone(shape)
	to[axis] = len(list)
	out, err := c.newLike(x, to)
	if err != nil {
		return nil, err
	}
	outer, side, inner := lines(shape, axis)
	at := 0
	for o := range outer {
		for _, i := range list {
			out.copy(at, x, (o*side+i)*inner, inner)
			at += inner
		}
	}
	return single(out, nil)
}

func trilu(c *call) ([]*Tensor, error) {
	x, err := c.input()
	if err != nil {
		return nil, err
	}
	if len(x.Shape) < 2 {
		return nil, fmt.Errorf("shape %d is not a matrix", x.Shape)
	}
	k := int64(0)
	if c.hasInput(1) {
		if c.in[1].len() != 1 {
			return nil, errors.New("its k is not a single number")
		}
		k = min(max(toInt(c.in[1].value(0)), math.MinInt32), math.MaxInt32)
	}
	out, err := c.newLike(x, x.Shape)
	if err != nil {
		return nil, err
	}
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
	return single(out, nil)
}

func reverseSequence(c *call) ([]*Tensor, error) {
	x, err := c.input()
	if err != nil {
		return nil, err
	}
	long, err := c.indices()
	if err != nil {
		return nil, err
	}
	batch, time := c.int("batch_axis", 1), c.int("time_axis", 0)
	if len(x.Shape) < 2 || batch+time != 1 || batch*time != 0 || len(long.Ints) != x.Shape[batch] {
		return nil, fmt.Errorf("it has %d lengths, which do not fit values of shape %d", len(long.Ints), x.Shape)
	}
	out, err := c.newLike(x, x.Shape)
	if err != nil {
		return nil, err
	}
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
	return single(out, nil)
}

// centerCropPad cuts the middle out, or fills up around it with zeros.
func centerCropPad(c *call) ([]*Tensor, error) {
	x, err := c.input()
	if err != nil {
		return nil, err
	}
	if err := c.requireInputs(2); err != nil {
		return nil, err
	}
	want, err := c.in[1].sides()
	if err != nil {
		return nil, err
	}
	list := c.list("axes")
	if list == nil {
		for i := range x.Shape {
			list = append(list, int64(i))
		}
	}
	if len(list) != len(want) {
		return nil, fmt.Errorf("it has %d sides for %d axes: the numbers must be equal", len(want), len(list))
	}
	before, after := make([]int, len(x.Shape)), make([]int, len(x.Shape))
	for k, a := range list {
		i, err := AxisOf(a, len(x.Shape))
		if err != nil {
			return nil, err
		}
		more := want[k] - x.Shape[i]
		if more >= 0 {
			before[i] = more / 2
		} else {
			before[i] = -(-more / 2)
		}
		after[i] = more - before[i]
	}
	zero, err := c.newLike(x, []int{1})
	if err != nil {
		return nil, err
	}
	zero.setValue(0, 0)
	return single(c.pad(x, before, after, "constant", zero))
}

func pad(c *call) ([]*Tensor, error) {
	x, err := c.input()
	if err != nil {
		return nil, err
	}
	want, ok, err := c.numbers(1, "pads")
	if err != nil || !ok {
		return nil, errors.Join(err, errors.New("its pads are not given as integers"))
	}
	rank := len(x.Shape)
	var axes []int
	if c.hasInput(3) {
		list, err := c.in[3].integers()
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			i, err := AxisOf(v, rank)
			if err != nil {
				return nil, err
			}
			axes = append(axes, i)
		}
	} else {
		for i := range rank {
			axes = append(axes, i)
		}
	}
	if len(want) != 2*len(axes) {
		return nil, fmt.Errorf("pads is %d, but the input has %d axes: two pads for each axis are needed", want,
			len(axes))
	}
	before, after := make([]int, rank), make([]int, rank)
	for i, axis := range axes {
		p, q := want[i], want[len(axes)+i]
		if p > math.MaxInt32 || q > math.MaxInt32 || p < math.MinInt32 || q < math.MinInt32 {
			return nil, fmt.Errorf("pads %d are too large or cut off more than the input", want)
		}
		before[axis], after[axis] = int(p), int(q)
	}
	fill, err := c.newLike(x, []int{1})
	if err != nil {
		return nil, err
	}
	fill.setValue(0, float64(c.float("value", 0)))
	if c.hasInput(2) && c.in[2].len() == 1 {
		fill.setValue(0, c.in[2].value(0))
	}
	return single(c.pad(x, before, after, c.text("mode", "constant"), fill))
}

// pad adds to the sides of x before and after, or takes away where they are negative.
func (c *call) pad(x *Tensor, before, after []int, mode string, fill *Tensor) (*Tensor, error) {
	shape := slices.Clone(x.Shape)
	sources := make([][]int, len(shape)) // of each axis, which value stands at a place; -1: none
	for i, d := range x.Shape {
		if shape[i] = d + before[i] + after[i]; shape[i] < 0 {
			return nil, fmt.Errorf("pads %d and %d do not fit shape %d", before, after, x.Shape)
		}
	}
	if _, err := length(shape); err != nil {
		return nil, err
	}
	for i, d := range x.Shape {
		sources[i] = make([]int, shape[i])
		for k := range sources[i] {
			at, err := padSource(k-before[i], d, mode)
			if err != nil {
				return nil, err
			}
			sources[i][k] = at
		}
	}
	out, err := c.newLike(x, shape)
	if err != nil || out.len() == 0 {
		return out, err
	}
	rank := len(shape)
	if rank == 0 {
		out.copy(0, x, 0, 1)
		return out, nil
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
	return out, nil
}

// padSource returns the place within a side of d that a place before, in or after it repeats; -1
// for a constant.
func padSource(k, d int, mode string) (int, error) {
	if k >= 0 && k < d {
		return k, nil
	}
	if mode == "constant" || mode == "" {
		return -1, nil
	}
	if d == 0 {
		return 0, errors.New("its input has no values to repeat at the border")
	}
	switch mode {
	case "edge":
		return min(max(k, 0), d-1), nil
	case "wrap":
		return ((k % d) + d) % d, nil
	case "reflect":
		if d == 1 {
			return 0, nil
		}
		period := 2 * (d - 1)
		k = ((k % period) + period) % period
		return min(k, period-k), nil
	}
	return 0, fmt.Errorf("mode %q is not known", mode)
}
