package xla

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/kindred-ml/kindred/nn"
)

// Layers that slide a window over the image, and their gradients: those that GoMLX
// derives are wrong for kernels of even sides, are one convolution for each group,
// and do not exist for every padding of a mean.

// side is how a window slides along one side of an image.
type side struct {
	in, out      int // positions before and after
	kernel, step int
	before, end  int // padding
}

// sides are those of height and width.
func (n *node) sides() [2]side {
	l := n.layer
	return [2]side{
		{n.taken[0], n.out[0], l.Kernel, l.Stride, l.Pad, l.Pad + l.PadEnd},
		{n.taken[1], n.out[1], l.KernelW, l.Stride, l.PadW, l.PadW + l.PadEnd},
	}
}

// images is how activations lie, filters how the weights of a convolution do.
func axes() compute.ConvolveAxesConfig {
	return compute.ConvolveAxesConfig{
		InputBatch: 0, InputSpatial: []int{1, 2}, InputChannels: 3,
		KernelOutputChannels: 0, KernelSpatial: []int{1, 2}, KernelInputChannels: 3,
		OutputBatch: 0, OutputSpatial: []int{1, 2}, OutputChannels: 3,
	}
}

// filters of a convolution: out x h x w x in of a group.
func (b *build) filters(n *node) *tensor {
	s := n.sides()
	return b.flow(graph.Reshape(b.param(n, 0), n.layer.Out, s[0].kernel, s[1].kernel, n.taken[2]/n.layer.Groups))
}

func (b *build) conv(n *node, x *tensor) *tensor {
	s := n.sides()
	y := graph.ConvGeneral(x, b.filters(n), axes(), []int{s[0].step, s[1].step},
		[][2]int{{s[0].before, s[0].end}, {s[1].before, s[1].end}}, nil, nil, n.layer.Groups, 1)
	return b.biased(n, y)
}

// convGradient is the gradient of a convolution by its input, if that is wanted, its
// filters and its bias.
func (b *build) convGradient(n *node, x, dy *tensor, wanted bool) (dx, dw, db *tensor) {
	s, g := n.sides(), n.layer.Groups
	in, out := n.taken[2]/g, n.layer.Out/g
	if b.param(n, 1) != nil {
		db = graph.ReduceSum(full(dy), 0, 1, 2)
	}
	dy = b.flow(dy)
	if wanted {
		// The filters turned by half a circle over dy with zeros between its positions.
		w := graph.Reverse(b.filters(n), 1, 2)
		w = graph.Reshape(w, g, out, s[0].kernel, s[1].kernel, in)
		w = graph.Reshape(graph.TransposeAllAxes(w, 0, 4, 2, 3, 1), g*in, s[0].kernel, s[1].kernel, out)
		dx = b.backTo(s, dy, func(pads [][2]int) *tensor {
			return graph.ConvGeneral(dy, w, axes(), nil, pads, []int{s[0].step, s[1].step}, nil, g, 1)
		})
	}
	// A convolution of the image with dy in the place of the filters: channels are the
	// images, and images the channels.
	pads := make([][2]int, 2)
	for k := range s {
		pads[k][0] = s[k].before
		if used := (s[k].out-1)*s[k].step + s[k].kernel - s[k].before; used < s[k].in {
			x = graph.SliceAxis(x, k+1, graph.AxisRange(0, used))
		} else {
			pads[k][1] = used - s[k].in
		}
	}
	swapped := compute.ConvolveAxesConfig{
		InputBatch: 3, InputSpatial: []int{1, 2}, InputChannels: 0,
		KernelInputChannels: 0, KernelSpatial: []int{1, 2}, KernelOutputChannels: 3,
		OutputBatch: 3, OutputSpatial: []int{1, 2}, OutputChannels: 0,
	}
	dw = graph.ConvGeneral(x, dy, swapped, nil, pads, nil, []int{s[0].step, s[1].step}, 1, g)
	return dx, full(dw), db
}

// backTo computes the gradient of a window's input by slide, which is given the
// padding of dy. Where the padding of the image is wider than the window it goes back
// to the padded image first.
func (b *build) backTo(s [2]side, dy *tensor, slide func(pads [][2]int) *tensor) *tensor {
	pads := make([][2]int, 2)
	crop := false
	for k := range s {
		low, size := s[k].kernel-1-s[k].before, s[k].in
		if low < 0 {
			crop, low, size = true, s[k].kernel-1, s[k].in+s[k].before+s[k].end
		}
		pads[k] = [2]int{low, size + s[k].kernel - 1 - low - ((s[k].out-1)*s[k].step + 1)}
	}
	dx := slide(pads)
	if !crop {
		return dx
	}
	for k := range s {
		if dx.Shape().Dimensions[k+1] != s[k].in {
			dx = graph.SliceAxis(dx, k+1, graph.AxisRange(s[k].before, s[k].before+s[k].in))
		}
	}
	return dx
}

func pool(n *node, x *tensor) *tensor {
	s := n.sides()
	edges := [][2]int{{s[0].before, s[0].end}, {s[1].before, s[1].end}}
	if n.layer.Kind == nn.MaxPool {
		return graph.MaxPool(x).Window(n.layer.Kernel).Strides(s[0].step).PaddingPerDim(edges).Done()
	}
	sum := func(x *tensor) *tensor {
		return graph.SumPool(x).Window(n.layer.Kernel).Strides(s[0].step).PaddingPerDim(edges).Done()
	}
	return graph.Mul(sum(x), n.share(x, sum))
}

// share is what a position counts in the mean of a window.
func (n *node) share(x *tensor, sum func(*tensor) *tensor) *tensor {
	if n.layer.NoPad {
		return graph.Inverse(sum(graph.OnesLike(x)))
	}
	return graph.Scalar(x.Graph(), x.DType(), 1/float64(n.layer.Kernel*n.layer.Kernel))
}

// meanGradient is the gradient of a pool of means by its input.
func (b *build) meanGradient(n *node, x, dy *tensor) *tensor {
	s := n.sides()
	dy = graph.Mul(dy, n.share(x, func(x *tensor) *tensor {
		return graph.SumPool(x).Window(n.layer.Kernel).Strides(s[0].step).
			PaddingPerDim([][2]int{{s[0].before, s[0].end}, {s[1].before, s[1].end}}).Done()
	}))
	return b.backTo(s, dy, func(pads [][2]int) *tensor {
		wide := make([]compute.PadAxis, 4)
		for k := range s {
			wide[k+1] = compute.PadAxis{Start: pads[k][0], End: pads[k][1], Interior: s[k].step - 1}
		}
		spaced := graph.Pad(dy, graph.ScalarZero(dy.Graph(), dy.DType()), wide...)
		return graph.SumPool(spaced).Window(n.layer.Kernel).Strides(1).NoPadding().Done()
	})
}
