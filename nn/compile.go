package nn

// compile turns the graph into steps. Layers that follow each other are fused
// where nothing else reads what flows between them:
//
//	both:       conv + conv (see chain)
//	training:   conv|dense + relu;  batch norm + residual + relu;
//	            batch norm + relu + 2 x 2 maximum pool
//	evaluation: conv + batch norm + residual + relu;  dense + relu;
//	            conv + batch norm + relu + 3 x 3 maximum pool of stride 2
//	            such a depthwise convolution + such a pointwise one
func (e *Net) compile(g *graph, training bool) plan {
	g = g.without(func(n *node) bool { return n.layer.Kind == StochasticDepth && (!training || n.layer.Rate == 0) })
	c := &compiler{e: e, g: g, training: training, done: make([]bool, len(g.nodes)), readers: g.readers(),
		feeders: map[int]*convStep{}}
	c.refs = make([]*tensorRef, len(g.values))
	in := c.ref(0)
	in.x = &buf{size: in.shape.Len()}
	for i := range g.nodes {
		if !c.done[i] {
			c.emit(i)
		}
	}
	p := plan{steps: c.steps, nodes: c.nodes, in: in, out: c.refs[g.out], eval: !training}
	narrow := c.e.opt.Precision == BFloat16
	if !training {
		c.quantize(in)
	}
	for _, s := range p.steps {
		p.planner.begin(s, narrow, training)
		s.planForward(&p.planner)
		p.planner.now++
	}
	p.planner.now--
	p.planner.half, p.planner.bytes = false, false
	p.planner.touch(p.out.x)
	p.chooseBytes()
	if training {
		p.planner.now++
		if p.out.needsGrad {
			p.planner.gradient(p.out)
		}
		for i := len(p.steps) - 1; i >= 0; i-- {
			s := p.steps[i]
			p.planner.begin(s, narrow, training)
			if s.output().needsGrad {
				s.planBackward(&p.planner)
			}
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
	nodes    [][]int           // of each step: its nodes, as Graph numbers them
	feeders  map[int]*convStep // by the batch norm's node that takes statistics from one
}

// readers counts those of each value.
func (g *graph) readers() []int {
	readers := make([]int, len(g.values))
	for i := range g.nodes {
		for _, v := range g.nodes[i].from {
			readers[v]++
		}
	}
	readers[g.out]++ // the caller
	return readers
}

func (c *compiler) ref(v int) *tensorRef {
	if c.refs[v] == nil {
		c.refs[v] = &tensorRef{shape: c.g.values[v].shape}
	}
	return c.refs[v]
}

// soleReader returns the node after i if it is the only reader of what node i makes.
func (c *compiler) soleReader(i int) (int, bool) {
	j := i + 1
	if j >= len(c.g.nodes) || c.done[j] || c.g.nodes[j].input() != c.g.nodes[i].out ||
		c.readers[c.g.nodes[i].out] != 1 {
		return 0, false
	}
	return j, true
}

// nextOfKind is behind if that is of kind k.
func (c *compiler) nextOfKind(i int, k Kind) (int, bool) {
	j, ok := c.soleReader(i)
	return j, ok && c.g.nodes[j].layer.Kind == k
}

// nextResidual returns the node after i if it adds an earlier value to what
// node i makes.
func (c *compiler) nextResidual(i int) (int, bool) {
	j, ok := c.nextOfKind(i, Residual)
	if !ok || c.refs[c.g.nodes[j].shortcut()] == nil {
		return 0, false
	}
	return j, true
}

// nextAct absorbs an activation that follows node i, one of those allowed.
func (c *compiler) nextAct(i int, allowed func(activation) bool) (activation, int) {
	j, ok := c.soleReader(i)
	if !ok {
		return identity, i
	}
	l, ok := c.g.nodes[j].kind.(actLayer)
	if !ok || !allowed(l.act) {
		return identity, i
	}
	c.done[j] = true
	return l.act, j
}

func (c *compiler) param(n *node, name string) *Param { return c.e.byName[parameter(n.prefix, name)] }

// nodeAt returns node i, its input and its own output.
func (c *compiler) nodeAt(i int) (n *node, in, out *tensorRef) {
	n = &c.g.nodes[i]
	return n, c.ref(n.input()), c.ref(n.out)
}

// emit makes the step that begins with node i.
func (c *compiler) emit(i int) {
	n := &c.g.nodes[i]
	c.done[i] = true
	in := c.ref(n.input())
	s, last := n.kind.step(c, i)
	if s == nil {
		c.refs[n.out] = in
		return
	}
	out := s.output()
	out.needsGrad = out.needsGrad || in.needsGrad
	c.steps = append(c.steps, s)
	var nodes []int
	for k := i; k <= last; k++ {
		nodes = append(nodes, c.g.nodes[k].out-1)
	}
	c.nodes = append(c.nodes, nodes)
	c.refs[c.g.nodes[last].out] = out
}

func trainable(p *Param) bool { return p != nil && p.Grad != nil }
