package nn

// batchNormLayer is the descriptor of batch norm.
type batchNormLayer struct{ plain }

func (batchNormLayer) fields() []string { return []string{"momentum", "eps"} }

func (batchNormLayer) defaults(l *Layer, _ Shape) {
	l.Momentum, l.Eps = orDefault(l.Momentum, 0.1), orDefault(l.Eps, 1e-5)
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

func (batchNormLayer) kept(g *graph, i int) int64 {
	if g.pooledNorm(i) {
		return 0
	}
	return g.made(i)
}

// pooledNorm tells whether the activation of the batch norm i goes straight into a
// pool: the engine makes the pool's output at once.
func (g *graph) pooledNorm(i int) bool {
	if i+2 >= len(g.nodes) {
		return false
	}
	act, ok := g.nodes[i+1].kind.(actLayer)
	return ok && act.act.clamps() && isHalving(g.nodes[i+2].layer)
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
	in := c.ref(n.in())
	var s *normStep
	if f := c.feeders[i]; f != nil {
		s = f.feeds
		s.source = f
	} else {
		s = c.newNorm(i)
	}
	s.in = in
	s.rowsPerImage, s.cols = in.shape.H*in.shape.W, in.shape.C
	if f := c.g.values[n.in()]; f.flat {
		s.rowsPerImage, s.cols = 1, f.shape.Len()
	}
	last := i
	if j, ok := c.nextResidual(i); ok {
		c.done[j] = true
		last = j
		s.res = c.ref(c.g.nodes[j].short())
		s.act, last = c.nextAct(last, activation.clamps)
	} else {
		s.act, last = c.nextAct(last, activation.any)
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
