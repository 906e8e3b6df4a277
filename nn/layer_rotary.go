package nn

import (
	"fmt"
	"math"
)

// rotaryLayer is the descriptor of a rotary position embedding.
type rotaryLayer struct{ baseLayer }

func (rotaryLayer) fields() []string { return []string{"heads", "base"} }

func (rotaryLayer) check(l *Layer) error {
	if !(l.Base >= 0 && l.Base < math.Inf(1)) {
		return fmt.Errorf("base = %v; it must be a positive number", l.Base)
	}
	return nil
}

func (rotaryLayer) defaults(l *Layer, _ Shape) {
	l.Heads = max(l.Heads, 1)
	l.Base = valueOr(l.Base, 100)
}

func (rotaryLayer) output(l *Layer, in value) (value, error) {
	if err := checkPositions(in, "an image"); err != nil {
		return value{}, err
	}
	if c := in.shape.C; l.Heads > c || c%(12*l.Heads) != 0 {
		return value{}, fmt.Errorf("%d channels are not queries, keys and values of %d heads with a multiple of 4 "+
			"values each", c, l.Heads)
	}
	return in, nil
}

func (rotaryLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	s := &rotaryStep{plainStep: plainStep{stepBase: stepBase{n.path, in, out}}, heads: n.layer.Heads}
	s.cos, s.sin = rotation(n.layer, c.g.values[n.input()])
	return s, i
}

// Rotation returns the cosines and sines of a rotary layer, position after position: a
// head's value i < d/2 and value i + d/2 of a query or key are turned together by angle i.
// Tokens before the image's own positions are not turned. It is nil for other layers.
func (n *Node) Rotation() (cos, sin []float32) {
	if n.Kind != Rotary {
		return nil, nil
	}
	return rotation(&n.Layer, n.taken)
}

// rotation computes Rotation. Of d/2 angles the first half are the row's and the others the
// column's, each 2 pi x / Base^(4 i/d), where x is the position's centre on an axis from -1
// to 1.
func rotation(l *Layer, in value) (cos, sin []float32) {
	g := in.grid
	if g.tokens == 0 {
		g.h, g.w = in.shape.H, in.shape.W
	}
	quarter := in.shape.C / (12 * l.Heads)
	for range g.tokens * 2 * quarter {
		cos, sin = append(cos, 1), append(sin, 0)
	}
	for y := range g.h {
		for x := range g.w {
			for _, at := range []float64{(float64(y) + 0.5) / float64(g.h), (float64(x) + 0.5) / float64(g.w)} {
				for i := range quarter {
					a := 2 * math.Pi * (2*at - 1) / math.Pow(l.Base, float64(i)/float64(quarter))
					cos, sin = append(cos, float32(math.Cos(a))), append(sin, float32(math.Sin(a)))
				}
			}
		}
	}
	return cos, sin
}

// rotaryStep turns queries and keys by the angles of their positions:
//
//	y1 = x1 cos - x2 sin, y2 = x2 cos + x1 sin
//
// for the two halves of each head; the gradient is turned back.
type rotaryStep struct {
	plainStep
	heads    int
	cos, sin []float32 // positions x half a head
}

// positions of an image.
func (s *rotaryStep) positions() int { return s.in.shape.H * s.in.shape.W }

func (s *rotaryStep) forward(e *Net, n int) {
	e.rows.rotary = s
	e.rows.runChunks(n*s.positions(), s.in.shape.C, rotaryKernel)
}

func (s *rotaryStep) backward(e *Net, n int) {
	e.rows.rotary = s
	e.rows.runChunks(n*s.positions(), s.in.shape.C, rotaryGradKernel)
}

// halves calls f for each head of the queries and keys of a row: where its two halves start
// and its values of cos and sin.
func (s *rotaryStep) halves(row int, f func(first, second int, cos, sin []float32)) {
	half := s.in.shape.C / (6 * s.heads)
	at := row % s.positions() * half
	cos, sin := s.cos[at:at+half], s.sin[at:at+half]
	for h := range 2 * s.heads {
		f(2*h*half, (2*h+1)*half, cos, sin)
	}
}

func rotaryKernel(t *rowTask, _, lo, hi int) {
	s, c := t.rotary, t.cols
	for i := lo; i < hi; i++ {
		x, y := t.span(s.in.x.data, i, i+1), t.span(s.out.x.data, i, i+1)
		s.halves(i, func(a, b int, cos, sin []float32) {
			for k, v := range cos {
				y[a+k] = x[a+k]*v - x[b+k]*sin[k]
				y[b+k] = x[b+k]*v + x[a+k]*sin[k]
			}
		})
		copy(y[c/3*2:], x[c/3*2:])
	}
}

func rotaryGradKernel(t *rowTask, _, lo, hi int) {
	s, c := t.rotary, t.cols
	for i := lo; i < hi; i++ {
		dx, dy := t.span(s.in.g.data, i, i+1), t.span(s.out.g.data, i, i+1)
		if !s.accumulate {
			clear(dx)
		}
		s.halves(i, func(a, b int, cos, sin []float32) {
			for k, v := range cos {
				dx[a+k] += dy[a+k]*v + dy[b+k]*sin[k]
				dx[b+k] += dy[b+k]*v - dy[a+k]*sin[k]
			}
		})
		for k := c / 3 * 2; k < c; k++ {
			dx[k] += dy[k]
		}
	}
}
