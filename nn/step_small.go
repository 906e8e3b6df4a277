package nn

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

// addStep is a residual sum and the activation that follows it.
type addStep struct {
	path           string
	in, short, out *tensorRef
	act            activation
	drop           *dropPath // leaves in out; nil: never
	toIn, toShort  handOver
}

// handOver says how a gradient reaches one of a sum's terms.
type handOver uint8

const (
	unwanted handOver = iota
	aliased           // the term's gradient is the sum's own buffer
	copied
	added
)

func (s *addStep) label() string      { return s.path }
func (s *addStep) output() *tensorRef { return s.out }
func (s *addStep) cost() (f, b int64) { return 0, 0 }

func (s *addStep) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x, s.short.x, s.out.x)
}

func (s *addStep) planBackward(p *planner) {
	if !s.out.needs {
		return
	}
	p.touch(s.out.g)
	if s.act != identity {
		p.touch(s.out.x)
	}
	taken := false
	for _, t := range []struct {
		ref *tensorRef
		how *handOver
	}{{s.short, &s.toShort}, {s.in, &s.toIn}} {
		switch {
		case !t.ref.needs:
		case t.ref.g != nil:
			*t.how = added
			p.touch(t.ref.g)
		case taken:
			*t.how = copied
			p.gradient(t.ref)
		default:
			*t.how, taken = aliased, true
			t.ref.g = s.out.g
		}
	}
}

func (s *addStep) forward(e *Net, n int) {
	r := &e.rows
	r.x, r.res, r.y, r.act = s.in.x.data, s.short.x.data, s.out.x.data, s.act
	kernel := addKernel
	if s.drop != nil {
		s.drop.draw(e)
		r.drop, kernel = s.drop, pathAddKernel
	}
	r.each(n, s.in.shape.Len(), kernel)
}

func (s *addStep) backward(e *Net, n int) {
	if !s.out.needs {
		return
	}
	r := &e.rows
	if s.act != identity {
		r.dy, r.y, r.act = s.out.g.data, s.out.x.data, s.act
		r.each(n, s.in.shape.Len(), maskKernel)
	}
	s.give(e, n, s.short, s.toShort)
	if s.drop == nil {
		s.give(e, n, s.in, s.toIn)
	} else if s.toIn != unwanted {
		r.x, r.y, r.drop, r.accumulate = s.out.g.data, s.in.g.data, s.drop, s.toIn == added
		r.each(n, s.in.shape.Len(), pathKernel)
	}
}

func (s *addStep) give(e *Net, n int, t *tensorRef, how handOver) {
	r := &e.rows
	switch how {
	case copied:
		copy(t.g.data, s.out.g.data)
	case added:
		r.y, r.x = t.g.data, s.out.g.data
		r.each(n, t.shape.Len(), addToKernel)
	}
}
