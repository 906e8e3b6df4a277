package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/nn/internal/conv"
)

// convLayer is the descriptor of a convolution.
type convLayer struct{ plain }

func (convLayer) fields() []string {
	return []string{"out", "kernel", "kernel_w", "pad_w", "stride", "pad", "pad_end", "groups", "no_bias", "init"}
}

func (convLayer) check(l *Layer) error {
	if l.Groups < -1 {
		return fmt.Errorf("groups = %d; it must be positive, or -1 for depthwise", l.Groups)
	}
	return nil
}

func (convLayer) defaults(l *Layer, in Shape) {
	if l.Stride == 0 {
		l.Stride = 1
	}
	if l.KernelW == 0 {
		l.KernelW, l.PadW = l.Kernel, l.Pad
	}
	switch l.Groups {
	case 0:
		l.Groups = 1
	case -1:
		l.Groups = in.C
	}
}

func (convLayer) output(l *Layer, in value) (value, error) {
	if err := onGrid(in); err != nil {
		return value{}, err
	}
	if s := in.shape; s.C%l.Groups != 0 || l.Out%l.Groups != 0 {
		return value{}, fmt.Errorf("%d groups do not divide both %d input and %d output channels", l.Groups, s.C, l.Out)
	}
	h, w, err := windows(l, in.shape)
	return value{shape: Shape{h, w, l.Out}}, err
}

// windows counts the positions of a kernel on its padded input.
func windows(l *Layer, s Shape) (h, w int, err error) {
	padH, padW := 2*l.Pad+l.PadEnd, 2*l.PadW+l.PadEnd
	if l.Kernel > s.H+padH || l.KernelW > s.W+padW {
		padded := ""
		switch {
		case l.PadEnd > 0:
			padded = fmt.Sprintf(" padded by %d and %d", l.Pad, l.Pad+l.PadEnd)
		case l.Pad > 0:
			padded = fmt.Sprintf(" padded by %d", l.Pad)
		}
		return 0, 0, fmt.Errorf("its %d x %d kernel is larger than its %d x %d input%s",
			l.Kernel, l.KernelW, s.H, s.W, padded)
	}
	return (s.H+padH-l.Kernel)/l.Stride + 1, (s.W+padW-l.KernelW)/l.Stride + 1, nil
}

func (convLayer) names(l *Layer) []string { return weightNames(l) }

func (convLayer) params(n *node, in value) []*Param {
	l, c := n.layer, in.shape.C
	w := tensor(n.prefix+"weight", [4]int{l.Out, c / l.Groups, l.Kernel, l.KernelW}, 4)
	area := l.Kernel * l.KernelW
	return weightAndBias(w, n, area*c/l.Groups, area*l.Out/l.Groups)
}

func (convLayer) macs(l *Layer, in, out Shape) int64 {
	return budget.Product(int64(out.Len()), int64(in.C/l.Groups), int64(l.Kernel), int64(l.KernelW))
}

func (convLayer) step(c *compiler, i int) (step, int) { return c.conv(i) }

// conv makes the step of the convolution i with another one, the norm, the residual and
// the activation that follow.
func (c *compiler) conv(i int) (step, int) {
	n := &c.g.nodes[i]
	in := c.ref(n.in())
	s := newConvStep(n, in, c.param(n, "weight"), c.param(n, "bias"))
	last := i
	if j, ok := c.next(i, Conv); ok && c.joinable(i, j) {
		c.done[j] = true
		last = j
		s.join(&c.g.nodes[j], c.param(&c.g.nodes[j], "weight"), c.param(&c.g.nodes[j], "bias"))
	}
	if c.training {
		s.act, last = c.nextAct(last, activation.isReLU)
	} else {
		if j, ok := c.next(last, BatchNorm); ok {
			c.done[j] = true
			last = j
			s.norm = c.newNorm(j)
		}
		if j, ok := c.nextResidual(last); ok {
			c.done[j] = true
			last = j
			s.res = c.ref(c.g.nodes[j].short())
		}
		s.act, last = c.nextAct(last, activation.any)
	}
	s.out = c.ref(c.g.nodes[last].out)
	s.out.needs = in.needs || s.trainable()
	if j, ok := c.next(last, BatchNorm); ok && c.training {
		// The norm that follows takes its statistics from the convolution, and
		// turns its input into that input's gradient in place.
		s.feeds = c.newNorm(j)
		c.feeders[j] = s
	}
	s.init()
	if j, ok := c.next(last, Conv); ok && c.pairs(s, j) {
		c.done[j] = true
		c.refs[c.g.nodes[last].out] = s.out
		point, last := c.conv(j)
		p := point.(*convStep)
		p.before, p.path = s, s.path+"+"+p.path
		return p, last
	}
	return s, last
}

// pairs tells whether s, a convolution in evaluation, is depthwise and followed by a
// pointwise one, node j: they are one step, in float32.
func (c *compiler) pairs(s *convStep, j int) bool {
	if c.training || c.e.opt.Precision != Float32 || s.chain != nil || s.res != nil {
		return false
	}
	if k, ok := c.next(j, Conv); ok && c.joinable(j, k) {
		return false
	}
	return conv.IsPair(&s.shape, &newConvStep(&c.g.nodes[j], s.out, nil, nil).shape)
}

// joinable tells whether convolutions i and j can be computed as one, at half
// the arithmetic or less.
func (c *compiler) joinable(i, j int) bool {
	first, second := &c.g.nodes[i], &c.g.nodes[j]
	a, b := first.layer, second.layer
	in, mid, out := c.g.values[first.in()].shape, c.g.values[first.out].shape,
		c.g.values[second.out].shape
	if first.given.KernelW+second.given.KernelW != 0 || a.Stride != 1 || b.Pad+b.PadEnd != 0 || a.Groups != 1 ||
		b.Groups != 1 {
		return false
	}
	size := a.Kernel + b.Kernel - 1
	apart := float64(mid.Len())*float64(a.Kernel*a.Kernel*in.C) + float64(out.Len())*float64(b.Kernel*b.Kernel*mid.C)
	return 2*float64(out.Len())*float64(size*size*in.C) <= apart
}
