package nn

// affineLayer is the descriptor of a scale or a shift.
type affineLayer struct {
	baseLayer
	scale bool
}

func (affineLayer) fields() []string { return []string{"start"} }

func (k affineLayer) defaults(l *Layer, _ Shape) {
	if k.scale {
		l.Start = valueOr(l.Start, 1)
	}
}

func (affineLayer) names(*Layer) []string { return []string{""} }

func (affineLayer) params(n *node, in value) []*Param {
	p := perFeature(n.path, in)
	p.constant = float32(n.layer.Start)
	return []*Param{p}
}

// savedValues: a linear layer makes its scale's output at once.
func (k affineLayer) savedValues(g *graph, i int) int64 {
	if k.scale && g.followsKind(i, Linear) {
		return 0
	}
	return g.outputLen(i)
}

func (k affineLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	return newAffineStep(n, in, out, c.param(n, ""), k.scale), i
}

// affineStep multiplies by a value a channel, or adds one.
type affineStep struct {
	stepBase
	p          *Param
	rows, cols int // of an image
	scale      bool
	accumulate bool
	other      []float32 // zeros for the shift, ones for the scale
	s1, s2     []float32 // sums of the backward pass
	zeros      []float32
}

func newAffineStep(n *node, in, out *tensorRef, p *Param, scale bool) *affineStep {
	c := len(p.Value)
	s := &affineStep{stepBase: stepBase{n.path, in, out}, p: p, cols: c, rows: in.shape.Len() / c,
		scale: scale, s1: make([]float32, c), s2: make([]float32, c), zeros: make([]float32, c)}
	s.other = make([]float32, c)
	if !s.scale {
		for i := range s.other {
			s.other[i] = 1
		}
	}
	out.needsGrad = in.needsGrad || trainable(p)
	return s
}

func (s *affineStep) planBackward(p *planner) {
	p.touch(s.out.g)
	if s.scale && trainable(s.p) {
		p.touch(s.in.x)
	}
	if s.in.needsGrad {
		s.accumulate = p.inPlace(s.in, s.out)
	}
}

func (s *affineStep) forward(e *Net, n int) {
	r := &e.rows
	r.x, r.y, r.res, r.a, r.b, r.act = s.in.x.data, s.out.x.data, nil, s.p.Value, s.other, identity
	if !s.scale {
		r.a, r.b = s.other, s.p.Value
	}
	r.runChunks(n*s.rows, s.cols, normKernel)
}

func (s *affineStep) backward(e *Net, n int) {
	r := &e.rows
	r.dy = s.out.g.data
	switch {
	case !trainable(s.p):
	case s.scale:
		r.y, r.x, r.c, r.act = nil, s.in.x.data, s.zeros, identity
		r.runSums(n*s.rows, s.cols, normSumsKernel, s.s1, s.p.Grad)
	default:
		r.runSums(n*s.rows, s.cols, columnSumKernel, s.p.Grad, nil)
	}
	if !s.in.needsGrad || !s.scale && !s.accumulate {
		return
	}
	r.x, r.y, r.res, r.a, r.b, r.act = s.out.g.data, s.in.g.data, nil, s.p.Value, s.zeros, identity
	if !s.scale {
		r.a = s.other
	}
	if s.accumulate {
		r.res = s.in.g.data
	}
	r.runChunks(n*s.rows, s.cols, normKernel)
}
