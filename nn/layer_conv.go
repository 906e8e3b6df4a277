package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/network/conv"
)

// convLayer is the descriptor of a convolution.
type convLayer struct{ baseLayer }

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
	if err := checkGrid(in); err != nil {
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
	in := c.ref(n.input())
	s := newConvStep(n, in, c.param(n, "weight"), c.param(n, "bias"))
	last := i
	if j, ok := c.nextOfKind(i, Conv); ok && c.canJoin(i, j) {
		c.done[j] = true
		last = j
		s.join(&c.g.nodes[j], c.param(&c.g.nodes[j], "weight"), c.param(&c.g.nodes[j], "bias"))
	}
	if c.training {
		s.act, last = c.nextAct(last, activation.isReLU)
	} else {
		if j, ok := c.nextOfKind(last, BatchNorm); ok {
			c.done[j] = true
			last = j
			s.norm = c.newNorm(j)
		}
		if j, ok := c.nextResidual(last); ok {
			c.done[j] = true
			last = j
			s.res = c.ref(c.g.nodes[j].shortcut())
		}
		s.act, last = c.nextAct(last, activation.isSet)
		if j, ok := c.nextOfKind(last, MaxPool); ok && c.canPool(s, j) {
			c.done[j] = true
			last = j
			s.epi.Pool = true
		}
	}
	s.out = c.ref(c.g.nodes[last].out)
	s.out.needsGrad = in.needsGrad || s.trainable()
	if j, ok := c.nextOfKind(last, BatchNorm); ok && c.training {
		// The norm that follows takes its statistics from the convolution, and
		// turns its input into that input's gradient in place.
		s.feeds = c.newNorm(j)
		c.feeders[j] = s
	}
	s.init()
	if !c.training {
		s.epi.Filters = &s.filters
	}
	if j, ok := c.nextOfKind(last, Conv); ok && c.canPair(s, j) {
		c.done[j] = true
		c.refs[c.g.nodes[last].out] = s.out
		point, last := c.conv(j)
		p := point.(*convStep)
		p.before, p.path = s, s.path+"+"+p.path
		return p, last
	}
	return s, last
}

// canPool reports whether the maximum pool j, which follows the convolution s in evaluation,
// is a part of it. Bytes are pooled by themselves.
func (c *compiler) canPool(s *convStep, j int) bool {
	l := c.g.nodes[j].layer
	return c.e.opt.Precision != Int8 && s.res == nil && s.shape.CanPool() &&
		isPool3x3(l.Kernel, l.Stride, l.Pad, c.g.values[c.g.nodes[j].input()].shape)
}

// canPair reports whether s, a convolution in evaluation, is depthwise and followed by a
// pointwise one, node j: they are one step, in float32.
func (c *compiler) canPair(s *convStep, j int) bool {
	if c.training || c.e.opt.Precision != Float32 || s.chain != nil || s.res != nil {
		return false
	}
	if k, ok := c.nextOfKind(j, Conv); ok && c.canJoin(j, k) {
		return false
	}
	return conv.IsPair(&s.shape, &newConvStep(&c.g.nodes[j], s.out, nil, nil).shape)
}

// canJoin reports whether convolutions i and j can be computed as one, at half
// the arithmetic or less.
func (c *compiler) canJoin(i, j int) bool {
	first, second := &c.g.nodes[i], &c.g.nodes[j]
	a, b := first.layer, second.layer
	in, mid, out := c.g.values[first.input()].shape, c.g.values[first.out].shape,
		c.g.values[second.out].shape
	if first.described.KernelW+second.described.KernelW != 0 || a.Stride != 1 || b.Pad+b.PadEnd != 0 || a.Groups != 1 ||
		b.Groups != 1 {
		return false
	}
	size := a.Kernel + b.Kernel - 1
	apart := float64(mid.Len())*float64(a.Kernel*a.Kernel*in.C) + float64(out.Len())*float64(b.Kernel*b.Kernel*mid.C)
	return 2*float64(out.Len())*float64(size*size*in.C) <= apart
}

// convStep is a convolution with what is applied to its tiles as they are made:
// in training its bias and ReLU, in evaluation the batch norm, residual and
// activation that follow.
type convStep struct {
	stepBase
	w, b  *Param
	chain *chain // if set, w and b are nil and this stands for two convolutions
	act   activation
	shape conv.Shape
	epi   conv.Epilogue

	norm  *normStep  // evaluation: folded into the epilogue
	res   *tensorRef // evaluation: added before the activation
	feeds *normStep  // training: takes the statistics, and masks by act in its backward pass

	// before, in evaluation, is the depthwise convolution that this pointwise one reads,
	// computed with it; its result is nowhere.
	before *convStep

	bytes byteLayer // in a plan of bytes

	filters conv.Filters // in evaluation

	accumulate bool
}

func newConvStep(n *node, in *tensorRef, w, b *Param) *convStep {
	l := n.layer
	return &convStep{stepBase: stepBase{path: n.path, in: in}, w: w, b: b, shape: conv.Shape{
		N: 1, H: in.shape.H, W: in.shape.W, C: in.shape.C, K: l.Out, R: l.Kernel, S: l.KernelW,
		StrideH: l.Stride, StrideW: l.Stride, PadH: l.Pad, PadW: l.PadW,
		EndH: l.PadEnd, EndW: l.PadEnd, Groups: l.Groups,
	}}
}

// join adds a convolution that follows directly.
func (s *convStep) join(n *node, w, b *Param) {
	s.chain = newChain(s.w, s.b, w, b)
	s.w, s.b = nil, nil
	s.path += "+" + n.path
	s.shape.K, s.shape.R, s.shape.S = s.chain.k, s.chain.size, s.chain.size
	s.shape.StrideH, s.shape.StrideW = n.layer.Stride, n.layer.Stride
}

// init fixes the epilogue once the compiler has decided what it holds.
func (s *convStep) init() {
	s.epi.ReLU, s.epi.ReLU6, s.epi.Act = s.act == relu, s.act == relu6, s.act.inPlace()
	switch {
	case s.norm != nil:
		s.epi.Scale, s.epi.Shift = s.norm.scale, s.norm.shift
	default:
		s.epi.Shift = s.bias()
	}
	if s.feeds != nil && !s.feeds.fixed {
		s.epi.Moments = &conv.Moments{Mean: s.feeds.mean, Var: s.feeds.variance}
	}
}

// weight returns the filters and where their gradient goes, nil if frozen.
func (s *convStep) weight() (value, grad []float32) {
	switch {
	case s.chain == nil:
		return s.w.Value, s.w.Grad
	case s.chain.trainable():
		return s.chain.weight, s.chain.weightGrad
	}
	return s.chain.weight, nil
}

func (s *convStep) bias() []float32 {
	switch {
	case s.chain != nil:
		return s.chain.bias
	case s.b != nil:
		return s.b.Value
	}
	return nil
}

func (s *convStep) trainable() bool {
	return trainable(s.w) || trainable(s.b) || s.chain != nil && s.chain.trainable()
}

func (s *convStep) cost() (f, b int64) {
	w, grad := s.weight()
	f, b = weightCost(int64(s.shape.OutH()*s.shape.OutW())*int64(len(w)), grad, s.in)
	if s.before != nil {
		more, _ := s.before.cost()
		f += more
	}
	return f, b
}

// weightCost counts the products of forward, and those of backward: as many
// again for the gradient of the weights and for that of the input, if needed.
func weightCost(forward int64, grad []float32, in *tensorRef) (f, b int64) {
	if grad != nil {
		b += forward
	}
	if in.needsGrad {
		b += forward
	}
	return forward, b
}

// acceptsHalf: bfloat16 products read and write bfloat16; a convolution that masks its output's gradient
// does not.
func (s *convStep) acceptsHalf(training bool) bool {
	return s.shape.UsesBFloat16() && (!training || s.act == identity || s.feeds != nil)
}

// halves tells the convolution what is bfloat16.
func (s *convStep) halves() {
	s.shape.Half = conv.Halves{X: isHalf(s.in.x), DX: isHalf(s.in.g), Y: isHalf(s.out.x), DY: isHalf(s.out.g)}
	s.epi.HalfResidual = s.res != nil && isHalf(s.res.x)
}

func (s *convStep) planForward(p *planner) { p.result(s.out, s.source(), s.res) }

// source is what the step reads.
func (s *convStep) source() *tensorRef {
	if s.before != nil {
		return s.before.in
	}
	return s.in
}

func (s *convStep) planBackward(p *planner) {
	p.touch(s.in.x, s.out.g)
	if s.act != identity && s.feeds == nil {
		p.touch(s.out.x)
	}
	if s.in.needsGrad {
		s.accumulate = p.gradient(s.in)
	}
}

func (s *convStep) forward(e *Net, n int) {
	if s.bytes.use {
		s.bytes.forward(e, n, s.in, s.out, s.res)
		return
	}
	if s.chain != nil {
		s.chain.combine()
	}
	if s.res != nil {
		s.epi.Residual = s.res.x.data
	}
	s.fold(n)
	w, _ := s.weight()
	if d := s.before; d != nil {
		d.fold(n)
		conv.ForwardPair(&e.ws, &d.shape, &s.shape, d.in.x.data, d.w.Value, w, s.out.x.data, &d.epi, &s.epi)
		return
	}
	s.halves()
	conv.Forward(&e.ws, &s.shape, s.in.x.data, w, s.out.x.data, &s.epi)
}

// fold brings the step up to date with its parameters and the number of images.
func (s *convStep) fold(n int) {
	if s.norm != nil {
		s.norm.fold(s.bias())
	}
	s.shape.N = n
}

func (s *convStep) backward(e *Net, n int) {
	g, cols := s.out.g.data, s.shape.K
	r := &e.rows
	if s.act != identity && s.feeds == nil {
		r.dy, r.y, r.act = g, s.out.x.data, s.act
		r.runChunks(len(g)/cols, cols, maskKernel)
	}
	s.biasGradient(r, n*s.out.shape.H*s.out.shape.W)
	s.shape.N = n
	w, dw := s.weight()
	if dw != nil {
		conv.BackwardWeights(&e.ws, &s.shape, s.in.x.data, g, dw, false)
	}
	if dw != nil && s.chain != nil {
		s.chain.gradients()
	}
	if s.in.needsGrad {
		conv.BackwardData(&e.ws, &s.shape, g, w, s.in.g.data, s.accumulate)
	}
}

// biasGradient sums the gradient over images and positions.
func (s *convStep) biasGradient(r *rowTask, rows int) {
	var sum []float32
	switch {
	case s.chain != nil && s.chain.trainable():
		sum = s.chain.biasSum
	case trainable(s.b):
		sum = s.b.Grad
	default:
		return
	}
	if s.feeds != nil && !s.feeds.fixed && s.act == identity {
		clear(sum) // the norm subtracts the mean, and with it the bias
		return
	}
	r.dy = s.out.g.data
	kernel := columnSumKernel
	if s.out.g.half {
		r.x, r.half, kernel = nil, halfOperands{dy: true}, halfColumnSumKernel
	}
	r.runSums(rows, s.shape.K, kernel, sum, nil)
}
