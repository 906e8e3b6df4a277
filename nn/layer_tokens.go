package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// tokensLayer is the descriptor of learned positions before those of an image.
type tokensLayer struct{ baseLayer }

func (tokensLayer) fields() []string { return []string{"out", "at"} }

func (tokensLayer) output(l *Layer, in value) (value, error) {
	if err := checkPositions(in, "an image"); err != nil {
		return value{}, err
	}
	g, s := in.grid, in.shape
	if g.tokens == 0 {
		g.h, g.w = s.H, s.W
	}
	if l.At > g.tokens {
		return value{}, fmt.Errorf("at = %d, but there are %d tokens before the image's own positions", l.At, g.tokens)
	}
	g.tokens += l.Out
	return value{shape: Shape{1, s.H*s.W + l.Out, s.C}, grid: g}, nil
}

func (tokensLayer) names(*Layer) []string { return []string{""} }

func (tokensLayer) params(n *node, in value) []*Param {
	return []*Param{positionsParam(n, n.layer.Out, in.shape.C)}
}

// positionsParam is a parameter of one value for each of count positions and channel.
func positionsParam(n *node, count, channels int) *Param {
	p := tensor(n.path, [4]int{1, count, channels, 1}, 3)
	p.dims = [4]int{1, p.len(), 1, 1} // as PyTorch has it
	p.isDrawn, p.init = true, InitTruncated
	return p
}

func (tokensLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	return newTokensStep(n, in, out, c.param(n, "")), i
}

// takeTokenLayer is the descriptor of one position alone.
type takeTokenLayer struct{ baseLayer }

func (takeTokenLayer) fields() []string { return []string{"at"} }

func (takeTokenLayer) output(l *Layer, in value) (value, error) { return pooledOutput(l, in) }

func (takeTokenLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	return newTokensStep(n, in, out, nil), i
}

// positionsLayer is the descriptor of a position embedding.
type positionsLayer struct{ baseLayer }

func (positionsLayer) output(_ *Layer, in value) (value, error) {
	return in, checkPositions(in, "an image")
}

func (positionsLayer) names(*Layer) []string { return []string{""} }

func (positionsLayer) params(n *node, in value) []*Param {
	s := in.shape
	p := positionsParam(n, s.H*s.W, s.C)
	if p.grid = in.grid; p.grid == (grid{}) {
		p.grid = grid{h: s.H, w: s.W}
	}
	return []*Param{p}
}

func (positionsLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	return newPositionsStep(n, in, out, c.param(n, "")), i
}

// tokensStep inserts learned positions among those of the input, or takes one of
// them out, which is a sequence cut at at values from its start: behind them come
// the learned ones, or the one that is taken.
type tokensStep struct {
	stepBase
	p          *Param // nil: takes out
	at         int
	accumulate bool
}

func newTokensStep(n *node, in, out *tensorRef, p *Param) *tokensStep {
	out.needsGrad = in.needsGrad || trainable(p)
	return &tokensStep{stepBase: stepBase{n.path, in, out}, p: p, at: n.layer.At * in.shape.C}
}

func (s *tokensStep) planBackward(p *planner) {
	p.touch(s.out.g)
	if s.in.needsGrad {
		s.accumulate = p.gradient(s.in)
	}
}

func (s *tokensStep) forward(e *Net, n int) {
	e.rows.tokens = s
	e.rows.runChunks(n, s.in.shape.Len(), tokensKernel)
}

func (s *tokensStep) backward(e *Net, n int) {
	if trainable(s.p) {
		// Tokens are few: images are added in their order, one after another.
		k := len(s.p.Value)
		copy(s.p.Grad, s.out.image(s.out.g.data, 0)[s.at:s.at+k])
		for i := 1; i < n; i++ {
			simd.Axpy(1, s.out.image(s.out.g.data, i)[s.at:s.at+k], s.p.Grad)
		}
	}
	if s.in.needsGrad {
		e.rows.tokens = s
		e.rows.runChunks(n, s.in.shape.Len(), tokensGradKernel)
	}
}

func tokensKernel(t *rowTask, _, lo, hi int) {
	s := t.tokens
	for i := lo; i < hi; i++ {
		x, y := s.in.image(s.in.x.data, i), s.out.image(s.out.x.data, i)
		if s.p == nil {
			copy(y, x[s.at:])
			continue
		}
		copy(y, x[:s.at])
		copy(y[s.at:], s.p.Value)
		copy(y[s.at+len(s.p.Value):], x[s.at:])
	}
}

func tokensGradKernel(t *rowTask, _, lo, hi int) {
	s := t.tokens
	give := func(dx, dy []float32) {
		if s.accumulate {
			simd.Axpy(1, dy, dx)
		} else {
			copy(dx, dy)
		}
	}
	for i := lo; i < hi; i++ {
		dx, dy := s.in.image(s.in.g.data, i), s.out.image(s.out.g.data, i)
		if s.p != nil {
			give(dx[:s.at], dy[:s.at])
			give(dx[s.at:], dy[s.at+len(s.p.Value):])
			continue
		}
		if !s.accumulate {
			clear(dx)
		}
		give(dx[s.at:s.at+len(dy)], dy)
	}
}

// positionsStep adds a learned value to every value of an image.
type positionsStep struct {
	stepBase
	p   *Param
	add bool // to the gradient of in
}

func newPositionsStep(n *node, in, out *tensorRef, p *Param) *positionsStep {
	out.needsGrad = in.needsGrad || trainable(p)
	return &positionsStep{stepBase: stepBase{n.path, in, out}, p: p}
}

func (s *positionsStep) planBackward(p *planner) {
	p.touch(s.out.g)
	if s.in.needsGrad {
		s.add = p.inPlace(s.in, s.out)
	}
}

func (s *positionsStep) forward(e *Net, n int) {
	r := &e.rows
	r.y, r.x, r.b, r.act = s.out.x.data, s.in.x.data, s.p.Value, identity
	r.runChunks(n, s.in.shape.Len(), shiftKernel)
}

func (s *positionsStep) backward(e *Net, n int) {
	r, size := &e.rows, s.in.shape.Len()
	if trainable(s.p) {
		// Columns are dealt to the cores, images added in their order.
		r.dy, r.y, r.positions = s.out.g.data, s.p.Grad, n
		r.runChunks(s.in.shape.H*s.in.shape.W, s.in.shape.C, positionsGradKernel)
	}
	if s.add {
		r.y, r.x = s.in.g.data, s.out.g.data
		r.runChunks(n, size, addToKernel)
	}
}

// positionsGradKernel sums dy over images for some of the positions.
func positionsGradKernel(t *rowTask, _, lo, hi int) {
	simd.ColumnSums(t.span(t.y, lo, hi), t.dy[lo*t.cols:], t.positions, len(t.y))
}

// shiftKernel: y = act(x + b).
func shiftKernel(t *rowTask, _, lo, hi int) {
	simd.Shift(t.span(t.y, lo, hi), t.span(t.x, lo, hi), t.b, t.act.bounds())
}
