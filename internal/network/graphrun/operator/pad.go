package operator

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// centerCropPad cuts the middle out, or fills up around it with zeros.
func centerCropPad(c *Call) []*tensor.Tensor {
	x := c.Input()
	c.RequireInputs(2)
	want := Must(c.In[1].Sides())
	axes := AxesOrAll(c.List("axes"), len(x.Shape))
	if len(axes) != len(want) {
		Fail("it has %d sides for %d axes: the numbers must be equal", len(want), len(axes))
	}
	before, after := make([]int, len(x.Shape)), make([]int, len(x.Shape))
	for k, i := range axes {
		more := want[k] - x.Shape[i]
		if more >= 0 {
			before[i] = more / 2
		} else {
			before[i] = -(-more / 2)
		}
		after[i] = more - before[i]
	}
	zero := c.NewLike(x, []int{1})
	zero.SetValue(0, 0)
	return Single(c.Pad(x, before, after, "constant", zero))
}

// pad fills up before and after each axis with a value, or with what stands at or inside the border.
func pad(c *Call) []*tensor.Tensor {
	x := c.Input()
	before, after, value := c.Pads(len(x.Shape))
	fill := c.NewLike(x, []int{1})
	fill.SetValue(0, value)
	return Single(c.Pad(x, before, after, c.Text("mode", "constant"), fill))
}

// Pads reads what a Pad adds before and after each axis of its input, and the value that it fills up with. The pads
// are an attribute up to opset 10 and an input later, which opset 18 lets name some axes only.
func (c *Call) Pads(rank int) (before, after []int, fill float64) {
	want, ok := c.Numbers(1, "pads")
	if !ok {
		Fail("its pads are not given as integers")
	}
	list, _ := c.Numbers(3, "")
	axes := AxesOrAll(list, rank)
	if len(want) != 2*len(axes) {
		Fail("pads is %d, but the input has %d axes: two pads for each axis are needed", want, len(axes))
	}
	before, after = make([]int, rank), make([]int, rank)
	for i, axis := range axes {
		p, q := want[i], want[len(axes)+i]
		if p > math.MaxInt32 || q > math.MaxInt32 || p < math.MinInt32 || q < math.MinInt32 {
			Fail("pads %d are too large or cut off more than the input", want)
		}
		before[axis], after[axis] = int(p), int(q)
	}
	fill = float64(c.Float("value", 0))
	if c.HasInput(2) && c.In[2].Len() == 1 {
		fill = c.In[2].Value(0)
	}
	return before, after, fill
}

// Pad adds to the sides of x before and after, or takes away where they are negative.
func (c *Call) Pad(x *tensor.Tensor, before, after []int, mode string, fill *tensor.Tensor) *tensor.Tensor {
	shape := slices.Clone(x.Shape)
	sources := make([][]int, len(shape)) // of each axis, which value stands at a place; -1: none
	for i, d := range x.Shape {
		if shape[i] = d + before[i] + after[i]; shape[i] < 0 {
			Fail("pads %d and %d do not fit shape %d", before, after, x.Shape)
		}
	}
	Must(tensor.Length(shape))
	for i, d := range x.Shape {
		sources[i] = make([]int, shape[i])
		for k := range sources[i] {
			at := padSource(k-before[i], d, mode)
			sources[i][k] = at
		}
	}
	out := c.NewLike(x, shape)
	if out.Len() == 0 {
		return out
	}
	rank := len(shape)
	if rank == 0 {
		out.Copy(0, x, 0, 1)
		return out
	}
	own := tensor.Strides(x.Shape)
	place := make([]int, rank)
	w := shape[rank-1]
	for row := range out.Len() / w {
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
				out.Copy(row*w+k, x, off+at, 1)
			} else {
				out.Copy(row*w+k, fill, 0, 1)
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
		Fail("its input has no values to repeat at the border")
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
	Fail("mode %q is not known", mode)
	return 0
}
