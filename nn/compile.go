package nn

import "github.com/kindred-ml/kindred/internal/kernel/conv"

// compile turns the graph into steps. Layers that follow each other are fused
// where nothing else reads what flows between them:
//
//	both:       conv + conv (see chain)
//	training:   conv|dense + relu;  batch norm + residual + relu;
//	            batch norm + relu + 2 x 2 maximum pool
//	evaluation: conv + batch norm + residual + relu;  dense + relu;
//	            such a depthwise convolution + such a pointwise one
func (e *Net) compile(g *graph, training bool) plan {
	g = g.without(func(n *node) bool { return n.layer.Kind == StochasticDepth && (!training || n.layer.Rate == 0) })
	c := &compiler{e: e, g: g, training: training, done: make([]bool, len(g.nodes)),
		readers: make([]int, len(g.values)), feeders: map[int]*convStep{}}
	c.refs = make([]*tensorRef, len(g.values))
	for i := range g.nodes {
		n := &g.nodes[i]
		c.readers[n.in]++
		if n.layer.is(Residual, Multiply) {
			c.readers[n.short]++
		}
		for _, p := range n.parts[min(1, len(n.parts)):] { // in is the first of them
			c.readers[p]++
		}
	}
	c.readers[g.out]++ // the caller
	in := c.ref(0)
	in.x = &buf{size: in.shape.Len()}
	for i := range g.nodes {
		if !c.done[i] {
			c.emit(i)
		}
	}
	p := plan{steps: c.steps, in: in, out: c.refs[g.out], eval: !training}
	narrow := c.e.opt.Precision == BFloat16
	for _, s := range p.steps {
		p.planner.begin(s, narrow, training)
		s.planForward(&p.planner)
		p.planner.now++
	}
	p.planner.now--
	p.planner.narrow = false
	p.planner.touch(p.out.x)
	if training {
		p.planner.now++
		if p.out.needs {
			p.planner.gradient(p.out)
		}
		for i := len(p.steps) - 1; i >= 0; i-- {
			p.planner.begin(p.steps[i], narrow, training)
			p.steps[i].planBackward(&p.planner)
			p.planner.now++
		}
	}
	p.size = p.planner.place()
	return p
}

type compiler struct {
	e        *Net
	g        *graph
	training bool
	done     []bool
	readers  []int        // of each value
	refs     []*tensorRef // of each value, once known
	steps    []step
	feeders  map[int]*convStep // by the batch norm's node that takes statistics from one
}

func (c *compiler) ref(v int) *tensorRef {
	if c.refs[v] == nil {
		c.refs[v] = &tensorRef{shape: c.g.values[v].shape}
	}
	return c.refs[v]
}

// next returns the node after i if it is the only reader of what node i makes.
func (c *compiler) next(i int, kinds ...Kind) (int, bool) {
	j := i + 1
	if j >= len(c.g.nodes) || c.done[j] || c.g.nodes[j].in != c.g.nodes[i].out || c.readers[c.g.nodes[i].out] != 1 {
		return 0, false
	}
	for _, k := range kinds {
		if c.g.nodes[j].layer.Kind == k {
			return j, true
		}
	}
	return 0, false
}

// isHalving tells whether a pool has 2 x 2 windows side by side.
func isHalving(l *Layer) bool { return l.Kernel == 2 && stride(l) == 2 && l.Pad+l.PadEnd == 0 }

// nextResidual returns the node after i if it adds an earlier value to what
// node i makes.
func (c *compiler) nextResidual(i int) (int, bool) {
	j, ok := c.next(i, Residual)
	if !ok || c.refs[c.g.nodes[j].short] == nil {
		return 0, false
	}
	return j, true
}

// nextAct absorbs an activation that follows node i.
func (c *compiler) nextAct(i int, kinds ...Kind) (activation, int) {
	j, ok := c.next(i, kinds...)
	if !ok {
		return identity, i
	}
	c.done[j] = true
	return actOf(c.g.nodes[j].layer.Kind), j
}

func (c *compiler) param(n *node, name string) *Param { return c.e.byName[parameter(n.prefix, name)] }

// emit makes the step that begins with node i.
func (c *compiler) emit(i int) {
	n := &c.g.nodes[i]
	c.done[i] = true
	in := c.ref(n.in)
	last := i
	var s step
	switch n.layer.Kind {
	case Conv:
		s, last = c.conv(i)
	case Dense:
		d := &denseStep{path: n.path, in: in, w: c.param(n, "weight"), b: c.param(n, "bias")}
		d.act, last = c.nextAct(i, ReLU, ReLU6)
		d.init()
		d.out = c.ref(c.g.nodes[last].out)
		d.out.needs = in.needs || trainable(d.w) || trainable(d.b)
		s = d
	case Linear:
		s, last = c.linear(i)
	case Attention:
		s = newAttentionStep(n, in, c.ref(n.out), c.training)
	case LayerNorm:
		s = newLayerNormStep(n, in, c.ref(n.out), c.param(n, "weight"), c.param(n, "bias"))
	case Tokens:
		s = newTokensStep(n, in, c.ref(n.out), c.param(n, ""))
	case TakeToken:
		s = newTokensStep(n, in, c.ref(n.out), nil)
	case Positions:
		s = newPositionsStep(n, in, c.ref(n.out), c.param(n, ""))
	case BatchNorm:
		s, last = c.norm(i)
	case ReLU, ReLU6, SiLU, HardSwish, Sigmoid, HardSigmoid, GELU, GELUTanh, QuickGELU:
		s = &actStep{path: n.path, in: in, out: c.ref(n.out), act: actOf(n.layer.Kind)}
	case MaxPool, AvgPool:
		s = &poolStep{path: n.path, in: in, out: c.ref(n.out), kernel: n.layer.Kernel, stride: stride(n.layer),
			pad: n.layer.Pad, padEnd: n.layer.PadEnd, average: n.layer.Kind == AvgPool, within: n.layer.NoPad}
	case GlobalAvgPool:
		s = &globalPoolStep{path: n.path, in: in, out: c.ref(n.out), from: n.layer.At}
	case GEMPool:
		s = &gemStep{path: n.path, in: in, out: c.ref(n.out), p: c.param(n, ""), eps: n.layer.Eps}
	case Scale, Shift:
		s = newAffineStep(n, in, c.ref(n.out), c.param(n, ""))
	case Multiply:
		m := &mulStep{path: n.path, in: in, short: c.ref(n.short), out: c.ref(n.out)}
		m.out.needs = m.short.needs
		s = m
	case Concat:
		s = newConcatStep(c, n)
	case Channels, Shuffle:
		s = newPickStep(n, in, c.ref(n.out))
	case StochasticDepth:
		if j, ok := c.nextResidual(i); ok {
			c.done[j] = true
			s, last = c.sum(j, in, newDropPath(n, i))
			break
		}
		s = &pathStep{path: n.path, in: in, out: c.ref(n.out), drop: newDropPath(n, i)}
	case Residual:
		s, last = c.sum(i, in, nil)
	case Dropout:
		if !c.training || n.layer.Rate == 0 {
			c.refs[n.out] = in
			return
		}
		s = &dropoutStep{path: n.path, in: in, out: c.ref(n.out), rate: n.layer.Rate, index: uint64(i)}
	case L2Normalize:
		s = &l2Step{path: n.path, in: in, out: c.ref(n.out)}
	case Flatten:
		if !n.layer.ChannelFirst {
			c.refs[n.out] = in
			return
		}
		s = newPickStep(n, in, c.ref(n.out))
	}
	out := s.output()
	out.needs = out.needs || in.needs
	c.steps = append(c.steps, s)
	c.refs[c.g.nodes[last].out] = out
}

// sum makes the step of the residual node i, with the activation that follows,
// over in, which drop, if any, leaves out at random.
func (c *compiler) sum(i int, in *tensorRef, drop *dropPath) (step, int) {
	n := &c.g.nodes[i]
	a := &addStep{path: n.path, in: in, short: c.ref(n.short), drop: drop}
	last := i
	a.act, last = c.nextAct(i, clamps()...)
	a.out = c.ref(c.g.nodes[last].out)
	a.out.needs = in.needs || a.short.needs
	return a, last
}

func trainable(p *Param) bool { return p != nil && p.Grad != nil }

func (c *compiler) conv(i int) (step, int) {
	n := &c.g.nodes[i]
	in := c.ref(n.in)
	s := newConvStep(n, in, c.param(n, "weight"), c.param(n, "bias"))
	last := i
	if j, ok := c.next(i, Conv); ok && c.joinable(i, j) {
		c.done[j] = true
		last = j
		s.join(&c.g.nodes[j], c.param(&c.g.nodes[j], "weight"), c.param(&c.g.nodes[j], "bias"))
	}
	if c.training {
		s.act, last = c.nextAct(last, ReLU)
	} else {
		if j, ok := c.next(last, BatchNorm); ok {
			c.done[j] = true
			last = j
			s.norm = c.newNorm(j)
		}
		if j, ok := c.nextResidual(last); ok {
			c.done[j] = true
			last = j
			s.res = c.ref(c.g.nodes[j].short)
		}
		s.act, last = c.nextAct(last, activations()...)
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

// linear makes the step of the linear node i with the scale, the residual and,
// in evaluation, the activation that follow.
func (c *compiler) linear(i int) (step, int) {
	n := &c.g.nodes[i]
	in := c.ref(n.in)
	s := newLinearStep(n, in, c.param(n, "weight"), c.param(n, "bias"))
	last := i
	if j, ok := c.next(last, Scale); ok && (!c.training || trainable(s.w) && (s.b == nil || trainable(s.b))) {
		c.done[j] = true
		last = j
		s.gamma = c.param(&c.g.nodes[j], "")
	}
	if j, ok := c.nextResidual(last); ok && c.ref(c.g.nodes[j].short) != in {
		c.done[j] = true
		last = j
		s.res = c.ref(c.g.nodes[j].short)
	}
	if !c.training {
		s.act, last = c.nextAct(last, activations()...)
	}
	s.out = c.ref(c.g.nodes[last].out)
	s.init()
	return s, last
}

// joinable tells whether convolutions i and j can be computed as one, at half
// the arithmetic or less.
func (c *compiler) joinable(i, j int) bool {
	a, b := c.g.nodes[i].layer, c.g.nodes[j].layer
	in, mid, out := c.g.values[c.g.nodes[i].in].shape, c.g.values[c.g.nodes[i].out].shape,
		c.g.values[c.g.nodes[j].out].shape
	if a.KernelW+b.KernelW != 0 || stride(a) != 1 || b.Pad+b.PadEnd != 0 || groups(a, in) != 1 || groups(b, mid) != 1 {
		return false
	}
	size := a.Kernel + b.Kernel - 1
	apart := float64(mid.Len())*float64(a.Kernel*a.Kernel*in.C) + float64(out.Len())*float64(b.Kernel*b.Kernel*mid.C)
	return 2*float64(out.Len())*float64(size*size*in.C) <= apart
}

// newNorm makes the batch norm of node i without deciding where it is used.
func (c *compiler) newNorm(i int) *normStep {
	n := &c.g.nodes[i]
	return newNormStep(n, c.param(n, "weight"), c.param(n, "bias"), c.param(n, "running_mean"),
		c.param(n, "running_var"),
		!c.training || c.e.opt.FrozenNorm)
}

func (c *compiler) norm(i int) (step, int) {
	n := &c.g.nodes[i]
	in := c.ref(n.in)
	var s *normStep
	if f := c.feeders[i]; f != nil {
		s = f.feeds
		s.source = f
	} else {
		s = c.newNorm(i)
	}
	s.in = in
	s.rowsPerImage, s.cols = in.shape.H*in.shape.W, in.shape.C
	if f := c.g.values[n.in]; f.flat {
		s.rowsPerImage, s.cols = 1, f.shape.Len()
	}
	last := i
	if j, ok := c.nextResidual(i); ok {
		c.done[j] = true
		last = j
		s.res = c.ref(c.g.nodes[j].short)
		s.act, last = c.nextAct(last, clamps()...)
	} else {
		s.act, last = c.nextAct(last, activations()...)
	}
	if j, ok := c.next(last, MaxPool); ok && s.res == nil && !s.act.curved() && (s.source != nil || !c.training) &&
		isHalving(c.g.nodes[j].layer) {
		c.done[j] = true
		last = j
		s.pooled = true
		s.zeros = make([]float32, in.shape.W*in.shape.C)
	}
	s.out = c.ref(c.g.nodes[last].out)
	s.out.needs = in.needs || trainable(s.gamma) || trainable(s.beta) || s.res != nil && s.res.needs
	return s, last
}
