package nn

// actLayer is the descriptor of an activation.
type actLayer struct {
	plain
	act activation
}

// kept: what went in is kept where the way back needs it, but for a norm's output,
// which is made again.
func (k actLayer) kept(g *graph, i int) int64 {
	if !k.act.curved() || g.follows(i, BatchNorm) {
		return 0
	}
	return g.made(i)
}

func (k actLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.at(i)
	return &actStep{path: n.path, in: in, out: out, act: k.act}, i
}

// actStep is an activation that follows nothing it could be fused with.
type actStep struct {
	path       string
	in, out    *tensorRef
	act        activation
	accumulate bool
}

func (s *actStep) label() string      { return s.path }
func (s *actStep) output() *tensorRef { return s.out }
func (s *actStep) cost() (f, b int64) { return 0, 0 }

func (s *actStep) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x, s.out.x)
}

func (s *actStep) planBackward(p *planner) {
	if !s.in.needs {
		return
	}
	p.touch(s.out.g)
	if s.act.curved() {
		p.touch(s.in.x)
	} else {
		p.touch(s.out.x)
	}
	if s.in.g == nil {
		s.in.g = s.out.g
		return
	}
	s.accumulate = true
	p.touch(s.in.g)
}

func (s *actStep) forward(e *Net, n int) {
	r := &e.rows
	r.x, r.y, r.act = s.in.x.data, s.out.x.data, s.act
	r.each(n*s.in.shape.H*s.in.shape.W, s.in.shape.C, actKernel)
}

func (s *actStep) backward(e *Net, n int) {
	if !s.in.needs {
		return
	}
	r := &e.rows
	r.dy, r.y, r.act = s.out.g.data, s.out.x.data, s.act
	kernel := maskKernel
	if s.act.curved() {
		r.x, kernel = s.in.x.data, actGradKernel
	}
	r.each(n*s.in.shape.H*s.in.shape.W, s.in.shape.C, kernel)
	if s.accumulate {
		r.y, r.x = s.in.g.data, s.out.g.data
		r.each(n, s.in.shape.Len(), addToKernel)
	}
}
