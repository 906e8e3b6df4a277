package nn

// actLayer is the descriptor of an activation.
type actLayer struct {
	baseLayer
	act activation
}

// savedValues: the input is kept where the backward pass needs it, except for a norm's output,
// which is computed again.
func (k actLayer) savedValues(g *graph, i int) int64 {
	if !k.act.isCurved() || g.followsKind(i, BatchNorm) {
		return 0
	}
	return g.outputLen(i)
}

func (k actLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	return &actStep{stepBase: stepBase{n.path, in, out}, act: k.act}, i
}

// actStep is an activation that follows nothing it could be fused with.
type actStep struct {
	stepBase
	act        activation
	accumulate bool
}

func (s *actStep) planBackward(p *planner) {
	p.touch(s.out.g)
	if s.act.isCurved() {
		p.touch(s.in.x)
	} else {
		p.touch(s.out.x)
	}
	s.accumulate = p.inPlace(s.in, s.out)
}

func (s *actStep) forward(e *Net, n int) {
	r := &e.rows
	r.x, r.y, r.act = s.in.x.data, s.out.x.data, s.act
	r.runChunks(n*s.in.shape.H*s.in.shape.W, s.in.shape.C, actKernel)
}

func (s *actStep) backward(e *Net, n int) {
	r := &e.rows
	r.dy, r.y, r.act = s.out.g.data, s.out.x.data, s.act
	kernel := maskKernel
	if s.act.isCurved() {
		r.x, kernel = s.in.x.data, actGradKernel
	}
	r.runChunks(n*s.in.shape.H*s.in.shape.W, s.in.shape.C, kernel)
	if s.accumulate {
		r.y, r.x = s.in.g.data, s.out.g.data
		r.runChunks(n, s.in.shape.Len(), addToKernel)
	}
}
