package operator

import (
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// BroadcastEach calls body for each value of a shape with the offsets of operands that are repeated to
// fill it.
func (c *Call) BroadcastEach(shape []int, operands [][]int, body func(i int, at []int)) {
	if tensor.Size(shape) == 0 {
		return
	}
	var steps [][]int
	for _, s := range operands {
		steps = append(steps, tensor.SpreadStrides(s, shape))
	}
	r := tensor.NewRows(shape, steps...)
	w := r.Width()
	place := make([]int, len(operands))
	r.Walk(0, r.Count(), func(row int, at []int) {
		for i := range w {
			for o := range place {
				place[o] = at[o] + i*r.Stride(o)
			}
			body(row*w+i, place)
		}
	})
}

// alignOperands brings operands of an elementwise operator into one order: channels last if one of
// them is an image that lies so and all are floating-point. It returns the shape of the result,
// the shapes in which the operands and the result lie, and whether that is channels last.
func (c *Call) alignOperands(in []*tensor.Tensor) (list []*tensor.Tensor, shape, lies []int, own [][]int, last bool) {
	var shapes [][]int
	for _, t := range in {
		shapes = append(shapes, t.Shape)
		last = last || t.Last
	}
	shape = Must(tensor.Broadcast(shapes...))
	for _, t := range in {
		last = last && len(shape) == 4 && t.IsFloat()
	}
	for _, t := range in {
		s := t.Shape
		switch {
		case !last:
			t = c.Contiguous(t)
		case !t.Last && t.Len() > 1:
			s = make([]int, 4)
			for i := range s {
				s[i] = 1
			}
			copy(s[4-len(t.Shape):], t.Shape)
			t = c.ChannelsLast(t.View(s))
		}
		list = append(list, t)
		if last && t.Len() > 1 {
			own = append(own, []int{s[0], s[2], s[3], s[1]})
		} else {
			own = append(own, t.Shape)
		}
	}
	lies = shape
	if last {
		lies = []int{shape[0], shape[2], shape[3], shape[1]}
	}
	return list, shape, lies, own, last
}
