package nn

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// concatStep puts values side by side: channels of the first, then of the second...
type concatStep struct {
	path       string
	parts      []*tensorRef
	out        *tensorRef
	accumulate []bool // the gradient of each part
}

func newConcatStep(c *compiler, n *node) *concatStep {
	s := &concatStep{path: n.path, out: c.ref(n.out), accumulate: make([]bool, len(n.parts))}
	for _, p := range n.parts {
		s.parts = append(s.parts, c.ref(p))
		s.out.needs = s.out.needs || c.ref(p).needs
	}
	return s
}

func (s *concatStep) label() string      { return s.path }
func (s *concatStep) output() *tensorRef { return s.out }
func (s *concatStep) cost() (f, b int64) { return 0, 0 }

func (s *concatStep) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.out.x)
	for _, part := range s.parts {
		p.touch(part.x)
	}
}

func (s *concatStep) planBackward(p *planner) {
	if !s.out.needs {
		return
	}
	p.touch(s.out.g)
	for i, part := range s.parts {
		if part.needs {
			s.accumulate[i] = p.gradient(part)
		}
	}
}

func (s *concatStep) forward(e *Net, n int) {
	e.rows.concat = s
	e.rows.each(n*s.out.shape.H*s.out.shape.W, s.out.shape.C, concatKernel)
}

func (s *concatStep) backward(e *Net, n int) {
	if !s.out.needs {
		return
	}
	e.rows.concat = s
	e.rows.each(n*s.out.shape.H*s.out.shape.W, s.out.shape.C, concatGradKernel)
}

// concatKernel gathers positions lo to hi-1.
func concatKernel(t *rowTask, _, lo, hi int) {
	s, at := t.concat, 0
	c := s.out.shape.C
	for _, part := range s.parts {
		x, k := part.x.data, part.shape.C
		for i := lo; i < hi; i++ {
			copy(s.out.x.data[i*c+at:i*c+at+k], x[i*k:(i+1)*k])
		}
		at += k
	}
}

// concatGradKernel gives each part its share of the gradient.
func concatGradKernel(t *rowTask, _, lo, hi int) {
	s, at := t.concat, 0
	c := s.out.shape.C
	for p, part := range s.parts {
		k := part.shape.C
		for i := lo; part.needs && i < hi; i++ {
			dx, dy := part.g.data[i*k:(i+1)*k], s.out.g.data[i*c+at:i*c+at+k]
			if s.accumulate[p] {
				simd.AddClamp(dx, dx, dy, simd.Linear())
			} else {
				copy(dx, dy)
			}
		}
		at += k
	}
}

// pickStep makes each channel one of its input's: a part of them, or all in another
// order. A vector's values are its channels.
type pickStep struct {
	path       string
	in, out    *tensorRef
	from       []int // the input's channel of each
	accumulate bool
}

func newPickStep(n *node, in, out *tensorRef) *pickStep {
	s := &pickStep{path: n.path, in: in, out: out, from: make([]int, out.shape.C)}
	for i := range s.from {
		switch n.layer.Kind {
		case Shuffle:
			s.from[i] = shuffled(i, n.layer.Groups, out.shape.C)
		case Flatten: // of positions x channels the first channel first
			s.from[i] = shuffled(i, in.shape.H*in.shape.W, out.shape.C)
		default:
			s.from[i] = n.layer.At + i
		}
	}
	return s
}

// shuffled is the channel that becomes channel i of c when groups are interleaved.
func shuffled(i, groups, c int) int { return i%groups*(c/groups) + i/groups }

func (s *pickStep) label() string      { return s.path }
func (s *pickStep) output() *tensorRef { return s.out }
func (s *pickStep) cost() (f, b int64) { return 0, 0 }

func (s *pickStep) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x, s.out.x)
}

func (s *pickStep) planBackward(p *planner) {
	if s.in.needs {
		p.touch(s.out.g)
		s.accumulate = p.gradient(s.in)
	}
}

// rows is how many times an image has channels.
func (s *pickStep) rows() int { return s.out.shape.H * s.out.shape.W }

func (s *pickStep) forward(e *Net, n int) {
	e.rows.pick = s
	e.rows.each(n*s.rows(), s.in.shape.Len()/s.rows(), pickKernel)
}

func (s *pickStep) backward(e *Net, n int) {
	if s.in.needs {
		e.rows.pick = s
		e.rows.each(n*s.rows(), s.in.shape.Len()/s.rows(), pickGradKernel)
	}
}

func pickKernel(t *rowTask, _, lo, hi int) {
	s := t.pick
	c, k := s.in.shape.Len()/s.rows(), s.out.shape.C
	for i := lo; i < hi; i++ {
		x, y := s.in.x.data[i*c:(i+1)*c], s.out.x.data[i*k:(i+1)*k]
		for j, from := range s.from {
			y[j] = x[from]
		}
	}
}

func pickGradKernel(t *rowTask, _, lo, hi int) {
	s := t.pick
	c, k := s.in.shape.Len()/s.rows(), s.out.shape.C
	for i := lo; i < hi; i++ {
		dx, dy := s.in.g.data[i*c:(i+1)*c], s.out.g.data[i*k:(i+1)*k]
		if !s.accumulate {
			clear(dx)
		}
		for j, from := range s.from {
			dx[from] += dy[j]
		}
	}
}
