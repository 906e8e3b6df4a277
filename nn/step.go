package nn

// step is one fused operation. The engine calls forward in order and backward
// in reverse; n is the number of images.
type step interface {
	label() string
	output() *tensorRef
	planForward(p *planner)
	planBackward(p *planner)
	forward(e *Net, n int)
	backward(e *Net, n int)
	// cost is the multiply-accumulates for one image.
	cost() (forward, backward int64)
}

// unary is what the steps of a layer without parameters have in common, whose gradient
// does not need the input's or output's values.
type unary struct {
	path       string
	in, out    *tensorRef
	accumulate bool // the gradient is added to what others have left
}

func (s *unary) label() string      { return s.path }
func (s *unary) output() *tensorRef { return s.out }
func (s *unary) cost() (f, b int64) { return 0, 0 }

func (s *unary) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x, s.out.x)
}

func (s *unary) planBackward(p *planner) {
	if s.in.needs {
		p.touch(s.out.g)
		s.accumulate = p.gradient(s.in)
	}
}
