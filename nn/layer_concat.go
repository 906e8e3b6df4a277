package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// concatLayer is the descriptor of branches side by side.
type concatLayer struct{ baseLayer }

func (concatLayer) fields() []string { return []string{"layers"} }

func (concatLayer) check(l *Layer) error {
	if len(l.Layers) == 0 {
		return errors.New("it has no branches")
	}
	return nil
}

// add appends branches that start from value in, and what puts them side by side.
func (k concatLayer) add(g *graph, l *Layer, path, inner string, in int) (int, error) {
	n := node{kind: k, described: l, layer: l, path: path, prefix: inner}
	var v value
	for i := range l.Layers {
		out, err := g.add(&l.Layers[i], inner, in)
		if err != nil {
			return 0, err
		}
		b := g.values[out]
		if i == 0 {
			v = b
		} else if a, s := v.shape, b.shape; a.H != s.H || a.W != s.W || v.grid != b.grid {
			return 0, fmt.Errorf("layer %s (%s): its branches make %d x %d and %d x %d positions", path, l.Kind, a.H,
				a.W, s.H, s.W)
		} else {
			v.shape.C += s.C
		}
		if b.flat && b.shape.H*b.shape.W > 1 {
			return 0, fmt.Errorf("layer %s (%s): a branch makes the flattened values of %s", path, l.Kind, b.shape)
		}
		v.flat = v.flat && b.flat
		n.from = append(n.from, out)
	}
	if v.shape.C > 1<<24 || v.shape.Len() > math.MaxInt32 {
		return 0, fmt.Errorf("layer %s (%s): its output %s is too large", path, l.Kind, v.shape)
	}
	return g.emit(n, v), nil
}

func (concatLayer) step(c *compiler, i int) (step, int) {
	return newConcatStep(c, &c.g.nodes[i]), i
}

// concatStep puts values side by side: channels of the first, then of the second...
type concatStep struct {
	path       string
	parts      []*tensorRef
	out        *tensorRef
	accumulate []bool // the gradient of each part
}

func newConcatStep(c *compiler, n *node) *concatStep {
	s := &concatStep{path: n.path, out: c.ref(n.out), accumulate: make([]bool, len(n.from))}
	for _, p := range n.from {
		s.parts = append(s.parts, c.ref(p))
		s.out.needsGrad = s.out.needsGrad || c.ref(p).needsGrad
	}
	return s
}

func (s *concatStep) label() string      { return s.path }
func (s *concatStep) output() *tensorRef { return s.out }
func (s *concatStep) cost() (f, b int64) { return 0, 0 }

func (s *concatStep) planForward(p *planner) { p.result(s.out, s.parts...) }

func (s *concatStep) planBackward(p *planner) {
	p.touch(s.out.g)
	for i, part := range s.parts {
		if part.needsGrad {
			s.accumulate[i] = p.gradient(part)
		}
	}
}

func (s *concatStep) forward(e *Net, n int) {
	e.rows.concat = s
	e.rows.runChunks(n*s.out.shape.H*s.out.shape.W, s.out.shape.C, concatKernel)
}

func (s *concatStep) backward(e *Net, n int) {
	e.rows.concat = s
	e.rows.runChunks(n*s.out.shape.H*s.out.shape.W, s.out.shape.C, concatGradKernel)
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
		for i := lo; part.needsGrad && i < hi; i++ {
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
