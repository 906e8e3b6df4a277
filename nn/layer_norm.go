package nn

import "math"

// batchNormLayer is the descriptor of batch norm.
type batchNormLayer struct{ baseLayer }

func (batchNormLayer) fields() []string { return []string{"momentum", "eps"} }

func (batchNormLayer) defaults(l *Layer, _ Shape) {
	l.Momentum, l.Eps = valueOr(l.Momentum, 0.1), valueOr(l.Eps, 1e-5)
}

func (batchNormLayer) names(*Layer) []string {
	return []string{"weight", "bias", "running_mean", "running_var"}
}

func (batchNormLayer) params(n *node, in value) []*Param {
	ps := normParams(n, in)
	mean, variance := perFeature(n.prefix+"running_mean", in), perFeature(n.prefix+"running_var", in)
	mean.Buffer, variance.Buffer = true, true
	variance.constant = 1
	return append(ps, mean, variance)
}

// normParams are the weight and the bias of a norm.
func normParams(n *node, in value) []*Param {
	weight := perFeature(n.prefix+"weight", in)
	weight.constant = 1
	return []*Param{weight, perFeature(n.prefix+"bias", in)}
}

func (batchNormLayer) savedValues(g *graph, i int) int64 {
	if g.pooledNorm(i) {
		return 0
	}
	return g.outputLen(i)
}

// pooledNorm reports whether the activation of the batch norm i goes straight into a
// pool: the engine makes the pool's output at once.
func (g *graph) pooledNorm(i int) bool {
	if i+2 >= len(g.nodes) {
		return false
	}
	act, ok := g.nodes[i+1].kind.(actLayer)
	return ok && act.act.isClamp() && isPool2x2(g.nodes[i+2].layer)
}

func (batchNormLayer) step(c *compiler, i int) (step, int) { return c.norm(i) }

// newNorm makes the batch norm of node i without deciding where it is used.
func (c *compiler) newNorm(i int) *normStep {
	n := &c.g.nodes[i]
	return newNormStep(n, c.param(n, "weight"), c.param(n, "bias"), c.param(n, "running_mean"),
		c.param(n, "running_var"),
		!c.training || c.e.opt.FrozenNorm)
}

// norm makes the step of the batch norm i with the residual or pool and the activation
// that follow.
func (c *compiler) norm(i int) (step, int) {
	n := &c.g.nodes[i]
	in := c.ref(n.input())
	var s *normStep
	if f := c.feeders[i]; f != nil {
		s = f.feeds
		s.source = f
	} else {
		s = c.newNorm(i)
	}
	s.in = in
	s.rowsPerImage, s.cols = in.shape.H*in.shape.W, in.shape.C
	if f := c.g.values[n.input()]; f.flat {
		s.rowsPerImage, s.cols = 1, f.shape.Len()
	}
	last := i
	if j, ok := c.nextResidual(i); ok {
		c.done[j] = true
		last = j
		s.res = c.ref(c.g.nodes[j].shortcut())
		s.act, last = c.nextAct(last, activation.isClamp)
	} else {
		s.act, last = c.nextAct(last, activation.isSet)
	}
	if j, ok := c.nextOfKind(last, MaxPool); ok && s.res == nil && !s.act.isCurved() &&
		(s.source != nil || !c.training) &&
		isPool2x2(c.g.nodes[j].layer) {
		c.done[j] = true
		last = j
		s.pooled = true
		s.zeros = make([]float32, in.shape.W*in.shape.C)
	}
	s.out = c.ref(c.g.nodes[last].out)
	s.out.needsGrad = in.needsGrad || trainable(s.gamma) || trainable(s.beta) || s.res != nil && s.res.needsGrad
	return s, last
}

// normStep is batch norm with the residual and the activation that follow it:
//
//	y = act(gamma (x - mean) / sqrt(variance + eps) + beta + res)
//
// per channel (Ioffe and Szegedy 2015). In training, mean and variance are the
// batch's, and the running statistics move towards them by momentum, the
// variance by its unbiased estimate.
type normStep struct {
	stepBase
	res         *tensorRef
	gamma, beta *Param
	runMean     *Param
	runVar      *Param
	act         activation
	momentum    float64
	eps         float64
	fixed       bool      // use the running statistics
	source      *convStep // makes in, and its mean and variance; in then becomes its gradient in place

	rowsPerImage, cols int
	mean, variance     []float32 // of the batch
	scale, shift       []float32 // y = scale x + shift
	s1, s2             []float32 // sums of the backward pass
	p, q, r            []float32 // dx = p dy + q (x - mean) + r
	accumulate         bool      // of the residual's gradient
	spill              *buf      // the gradient of in, where it must be added to another

	pooled bool      // a 2 x 2 maximum pool follows; see step_normpool.go
	idx    []uint8   // of each window and channel: where its maximum is
	zeros  []float32 // a row of the input's gradient that the pool does not reach
}

func newNormStep(n *node, gamma, beta, runMean, runVar *Param, fixed bool) *normStep {
	s := &normStep{stepBase: stepBase{path: n.path}, gamma: gamma, beta: beta, runMean: runMean, runVar: runVar,
		fixed: fixed, momentum: n.layer.Momentum, eps: n.layer.Eps}
	c := len(gamma.Value)
	for _, v := range []*[]float32{&s.mean, &s.variance, &s.scale, &s.shift, &s.s1, &s.s2, &s.p, &s.q, &s.r} {
		*v = make([]float32, c)
	}
	return s
}

// acceptsHalf: in training, where a convolution makes the input; in evaluation the norm is
// part of it.
func (s *normStep) acceptsHalf(training bool) bool {
	return training && s.source != nil && !s.pooled && !s.act.isCurved()
}

func (s *normStep) planForward(p *planner) { p.result(s.out, s.in, s.res) }

func (s *normStep) planBackward(p *planner) {
	p.touch(s.in.x, s.out.g)
	if s.act != identity && !s.act.isCurved() && !s.maskFromInput() || s.pooled {
		p.touch(s.out.x)
	}
	if s.res != nil && s.res.needsGrad {
		s.accumulate = p.inPlace(s.res, s.out) // the masked gradient itself
	}
	if !s.in.needsGrad {
		return
	}
	if s.source != nil {
		s.in.g = s.in.x
		return
	}
	if p.gradient(s.in) {
		s.spill = p.newBuf(s.in.x.size)
		p.touch(s.spill)
	}
}

// fold sets scale and shift from the running statistics, for values to which
// bias (which may be nil) has not been added yet.
func (s *normStep) fold(bias []float32) {
	for c := range s.scale {
		scale := float64(s.gamma.Value[c]) / math.Sqrt(float64(s.runVar.Value[c])+s.eps)
		mean := float64(s.runMean.Value[c])
		if bias != nil {
			mean -= float64(bias[c])
		}
		s.scale[c] = float32(scale)
		s.shift[c] = float32(float64(s.beta.Value[c]) - mean*scale)
	}
}

func (s *normStep) forward(e *Net, n int) {
	rows := n * s.rowsPerImage
	if s.fixed {
		copy(s.mean, s.runMean.Value)
		s.fold(nil)
	} else {
		if s.source == nil {
			s.moments(e, rows)
		}
		s.computeScale()
		if !e.again {
			s.updateOrDefer(e, rows)
		}
	}
	r := &e.rows
	if s.pooled {
		s.idx = growIndex(s.idx, len(s.out.x.data))
		r.norm = s
		r.runChunks(n*s.out.shape.H, 2*s.in.shape.W*s.cols, normPoolKernel)
		return
	}
	r.y, r.x, r.res, r.a, r.b, r.act = s.out.x.data, s.in.x.data, nil, s.scale, s.shift, s.act
	if s.res != nil {
		r.res = s.res.x.data
	}
	r.half = halfOperands{x: s.in.x.half, y: s.out.x.half, res: s.res != nil && s.res.x.half}
	if r.half.hasHalf() {
		r.runChunks(rows, s.cols, halfNormKernel)
		return
	}
	r.runChunks(rows, s.cols, normKernel)
}

// moments computes mean and variance of in.
func (s *normStep) moments(e *Net, rows int) {
	r := &e.rows
	r.x, r.c = s.in.x.data, s.in.x.data[:s.cols]
	r.runSums(rows, s.cols, momentsKernel, s.s1, s.s2)
	for c := range s.mean {
		m1, m2 := float64(s.s1[c])/float64(rows), float64(s.s2[c])/float64(rows)
		s.mean[c] = float32(float64(r.c[c]) + m1)
		s.variance[c] = float32(max(m2-m1*m1, 0))
	}
}

// computeScale derives scale and shift from the batch's statistics.
func (s *normStep) computeScale() {
	for c := range s.scale {
		mean, v := float64(s.mean[c]), float64(s.variance[c])
		scale := float64(s.gamma.Value[c]) / math.Sqrt(v+s.eps)
		s.scale[c] = float32(scale)
		s.shift[c] = float32(float64(s.beta.Value[c]) - mean*scale)
	}
}

// updateRunning moves the running statistics of channel c towards those of so many values.
func (s *normStep) updateRunning(c, rows int, mean, variance float64) {
	unbiased := 1.0
	if rows > 1 {
		unbiased = float64(rows) / float64(rows-1)
	}
	s.runMean.Value[c] = float32((1-s.momentum)*float64(s.runMean.Value[c]) + s.momentum*mean)
	s.runVar.Value[c] = float32((1-s.momentum)*float64(s.runVar.Value[c]) + s.momentum*variance*unbiased)
}

func (s *normStep) backward(e *Net, n int) {
	rows, r := n*s.rowsPerImage, &e.rows
	if s.pooled {
		r.norm = s
		r.runSums(n*s.out.shape.H, s.cols, normPoolSumsKernel, s.s1, s.s2)
		s.gradients(rows)
		if s.in.needsGrad {
			r.runChunks(n*s.out.shape.H, 2*s.in.shape.W*s.cols, normPoolGradKernel)
		}
		return
	}
	r.dy, r.y, r.x, r.c, r.act = s.out.g.data, s.out.x.data, s.in.x.data, s.mean, s.act
	r.a, r.b = s.scale, s.shift
	r.half = halfOperands{x: s.in.x.half, y: s.out.x.half, dy: s.out.g.half}
	k := s.kernels(r.half.hasHalf() || isHalf(s.in.g) || s.accumulate && s.res.g.half)
	if s.maskFromInput() {
		s.backwardOf(e, rows, k)
		return
	}
	r.runSums(rows, s.cols, k.sums, s.s1, s.s2)
	s.gradients(rows)
	if s.res != nil && s.accumulate {
		r.y, r.x = s.res.g.data, s.out.g.data
		r.half = halfOperands{y: s.res.g.half, x: s.out.g.half}
		r.runChunks(rows, s.cols, k.addTo)
	}
	if !s.in.needsGrad {
		return
	}
	r.y, r.x, r.dy = s.in.g.data, s.in.x.data, s.out.g.data
	if s.spill != nil {
		r.y = s.spill.data
	}
	r.a, r.b, r.c, r.d, r.inAct = s.p, s.r, s.mean, s.q, identity
	if s.source != nil {
		r.inAct = s.source.act
	}
	r.half = halfOperands{x: s.in.x.half, y: s.in.g.half, dy: s.out.g.half}
	r.runChunks(rows, s.cols, k.grad)
	s.addSpilled(r, rows)
}

// maskFromInput reports whether backward finds out from x alone where the activation is
// flat: it then need not read y, nor write the masked gradient that a residual
// would want.
func (s *normStep) maskFromInput() bool {
	return s.act != identity && !s.act.isCurved() && !s.pooled && s.res == nil &&
		(s.source == nil || s.source.act == identity)
}

// backwardOf is backward where maskFromInput holds.
func (s *normStep) backwardOf(e *Net, rows int, k normKernels) {
	r := &e.rows
	r.runSums(rows, s.cols, k.sumsOf, s.s1, s.s2)
	s.gradients(rows)
	if !s.in.needsGrad {
		return
	}
	r.y, r.norm = s.in.g.data, s
	if s.spill != nil {
		r.y = s.spill.data
	}
	r.half.y = s.in.g.half
	r.runChunks(rows, s.cols, k.gradOf)
	s.addSpilled(r, rows)
}

// addSpilled adds a gradient that had to be computed apart.
func (s *normStep) addSpilled(r *rowTask, rows int) {
	if s.spill != nil {
		r.y, r.x = s.in.g.data, s.spill.data
		r.runChunks(rows, s.cols, addToKernel)
	}
}

// gradients sets the parameters' gradients and the coefficients of dx from the
// sums of dy and dy (x - mean).
func (s *normStep) gradients(rows int) {
	m := float64(rows)
	for c := range s.s1 {
		v := float64(s.variance[c])
		if s.fixed {
			v = float64(s.runVar.Value[c])
		}
		inv := 1 / math.Sqrt(v+s.eps)
		sum, dot := float64(s.s1[c]), float64(s.s2[c])*inv
		if trainable(s.gamma) {
			s.gamma.Grad[c] = float32(dot)
		}
		if trainable(s.beta) {
			s.beta.Grad[c] = float32(sum)
		}
		scale := float64(s.gamma.Value[c]) * inv
		s.p[c], s.q[c], s.r[c] = float32(scale), 0, 0
		if !s.fixed {
			s.q[c] = float32(-scale * inv * dot / m)
			s.r[c] = float32(-scale * sum / m)
		}
	}
}
