package nn

import "math"

// l2Layer is the descriptor of normalisation to length 1.
type l2Layer struct{ baseLayer }

func (l2Layer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	return &l2Step{stepBase: stepBase{n.path, in, out}}, i
}

// l2Step divides each image's values by their norm, but by no less than
// minNorm.
type l2Step struct {
	stepBase
	accumulate bool
}

const minNorm = 1e-12

func (s *l2Step) planBackward(p *planner) {
	p.touch(s.in.x, s.out.g)
	s.accumulate = p.gradient(s.in)
}

func (s *l2Step) forward(e *Net, n int) {
	r := &e.rows
	r.x, r.y = s.in.x.data, s.out.x.data
	r.runChunks(n, s.in.shape.Len(), l2Kernel)
}

func (s *l2Step) backward(e *Net, n int) {
	r := &e.rows
	r.x, r.dy, r.y, r.accumulate = s.in.x.data, s.out.g.data, s.in.g.data, s.accumulate
	r.runChunks(n, s.in.shape.Len(), l2GradKernel)
}

func l2Kernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	for i := lo; i < hi; i++ {
		x, y := t.x[i*n:(i+1)*n], t.y[i*n:(i+1)*n]
		inv := 1 / max(norm(x), minNorm)
		for j, v := range x {
			y[j] = float32(float64(v) * inv)
		}
	}
}

// l2GradKernel: dx = (dy - y (y . dy)) / |x|, and dy / minNorm where |x| is
// below it.
func l2GradKernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	for i := lo; i < hi; i++ {
		x, dy, dx := t.x[i*n:(i+1)*n], t.dy[i*n:(i+1)*n], t.y[i*n:(i+1)*n]
		length := norm(x)
		inv, along := 1/max(length, minNorm), 0.0
		if length > minNorm {
			for j, v := range x {
				along += float64(v) * float64(dy[j])
			}
			along *= inv * inv
		}
		for j, v := range x {
			g := float32((float64(dy[j]) - along*float64(v)) * inv)
			if t.accumulate {
				g += dx[j]
			}
			dx[j] = g
		}
	}
}

func norm(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}
