package nn

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// dropPathLayer is the descriptor of stochastic depth.
type dropPathLayer struct{ baseLayer }

func (dropPathLayer) fields() []string { return []string{"rate"} }

func (dropPathLayer) step(c *compiler, i int) (step, int) {
	drop := newDropPath(&c.g.nodes[i], i)
	if j, ok := c.nextResidual(i); ok {
		c.done[j] = true
		return c.sum(j, c.ref(c.g.nodes[i].input()), drop)
	}
	n, in, out := c.nodeAt(i)
	return &pathStep{plainStep: plainStep{stepBase: stepBase{n.path, in, out}}, drop: drop}, i
}

// dropPath is stochastic depth (Huang et al. 2016): it leaves out a whole image's
// values. Which ones follows from the seed, the step, the layer and the image's
// place in the batch alone.
type dropPath struct {
	rate  float64
	index uint64 // of the layer
	key   uint64 // of the current step
}

func newDropPath(n *node, index int) *dropPath {
	return &dropPath{rate: n.layer.Rate, index: uint64(index)}
}

// draw fixes the current step's key.
func (d *dropPath) draw(e *Net) {
	d.key = splitMix64(splitMix64(splitMix64(e.opt.Seed)^e.stepCount)^d.index) + uint64(e.first)
}

// factor is what an image's values are multiplied by: 0 or 1/(1-rate).
func (d *dropPath) factor(image int) float32 {
	if keep := 1 - d.rate; splitMix64(d.key+uint64(image))>>11 < uint64(keep*(1<<53)) {
		return float32(1 / keep)
	}
	return 0
}

// pathStep is stochastic depth that no residual sum follows.
type pathStep struct {
	plainStep
	drop *dropPath
}

func (s *pathStep) forward(e *Net, n int) {
	s.drop.draw(e)
	s.apply(e, n, s.in.x.data, s.out.x.data, false)
}

func (s *pathStep) backward(e *Net, n int) {
	s.apply(e, n, s.out.g.data, s.in.g.data, s.accumulate)
}

func (s *pathStep) apply(e *Net, n int, x, y []float32, accumulate bool) {
	r := &e.rows
	r.x, r.y, r.drop, r.accumulate = x, y, s.drop, accumulate
	r.runChunks(n, s.in.shape.Len(), pathKernel)
}

// pathKernel: y = f x, or y += f x, with f of each row's image. y may be x.
func pathKernel(t *rowTask, _, lo, hi int) {
	for i := lo; i < hi; i++ {
		y, x, f := t.span(t.y, i, i+1), t.span(t.x, i, i+1), t.drop.factor(i)
		switch {
		case !t.accumulate && f == 0:
			clear(y)
		case !t.accumulate:
			simd.Scale(y, f, x)
		case f != 0:
			simd.Axpy(f, x, y)
		}
	}
}

// pathAddKernel: y = act(f x + res).
func pathAddKernel(t *rowTask, _, lo, hi int) {
	for i := lo; i < hi; i++ {
		y := t.span(t.y, i, i+1)
		copy(y, t.span(t.res, i, i+1))
		if f := t.drop.factor(i); f != 0 {
			simd.Axpy(f, t.span(t.x, i, i+1), y)
		}
		if t.act != identity {
			simd.Clamp(y, y, t.act.bounds())
		}
	}
}
