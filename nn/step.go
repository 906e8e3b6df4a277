package nn

// step is one fused operation. The engine calls forward in order and backward
// in reverse; n is the number of images.
type step interface {
	label() string
	output() *tensorRef
	planForward(p *planner)
	forward(e *Net, n int)
	// planBackward and backward are called if the output's gradient is needed.
	planBackward(p *planner)
	backward(e *Net, n int)
	// cost is the multiply-accumulates for one image.
	cost() (forward, backward int64)
}

// stepBase is what steps have in common that compute one value of another.
type stepBase struct {
	path    string
	in, out *tensorRef
}

func (s *stepBase) label() string          { return s.path }
func (s *stepBase) output() *tensorRef     { return s.out }
func (s *stepBase) cost() (f, b int64)     { return 0, 0 }
func (s *stepBase) planForward(p *planner) { p.result(s.out, s.in) }

// plainStep is what the steps of a layer without parameters have in common, whose gradient
// does not need the input's or output's values.
type plainStep struct {
	stepBase
	accumulate bool // the gradient is added to what others have left
}

func (s *plainStep) planBackward(p *planner) {
	p.touch(s.out.g)
	s.accumulate = p.gradient(s.in)
}
