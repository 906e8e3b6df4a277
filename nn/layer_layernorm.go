package nn

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// layerNormLayer is the descriptor of layer norm.
type layerNormLayer struct{ baseLayer }

func (layerNormLayer) fields() []string { return []string{"eps"} }

func (layerNormLayer) defaults(l *Layer, _ Shape) { l.Eps = valueOr(l.Eps, 1e-5) }

func (layerNormLayer) names(*Layer) []string { return []string{"weight", "bias"} }

func (layerNormLayer) params(n *node, in value) []*Param { return normParams(n, in) }

func (layerNormLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	return newLayerNormStep(n, in, out, c.param(n, "weight"), c.param(n, "bias")), i
}

// layerNormStep normalises the channels of each position, or all of a vector:
//
//	y = gamma (x - mean) / sqrt(variance + eps) + beta
type layerNormStep struct {
	stepBase
	gamma, beta *Param
	eps         float32
	rows, cols  int  // of an image
	stats       *buf // mean and scale of each row
	accumulate  bool
	s1, s2      []float32 // sums of the backward pass
}

func newLayerNormStep(n *node, in, out *tensorRef, gamma, beta *Param) *layerNormStep {
	c := len(gamma.Value)
	s := &layerNormStep{stepBase: stepBase{n.path, in, out}, gamma: gamma, beta: beta, eps: float32(n.layer.Eps),
		cols: c,
		rows: in.shape.Len() / c, s1: make([]float32, c), s2: make([]float32, c)}
	if s.eps == 0 { // too little for float32
		s.eps = 1e-5
	}
	out.needsGrad = in.needsGrad || trainable(gamma) || trainable(beta)
	return s
}

func (s *layerNormStep) planForward(p *planner) {
	s.stepBase.planForward(p)
	s.stats = p.newBuf(2 * s.rows)
	p.touch(s.stats)
}

func (s *layerNormStep) planBackward(p *planner) {
	p.touch(s.in.x, s.out.g, s.stats)
	if s.in.needsGrad {
		s.accumulate = p.inPlace(s.in, s.out)
	}
}

func (s *layerNormStep) forward(e *Net, n int) {
	e.rows.layer = s
	e.rows.runChunks(n*s.rows, s.cols, layerNormKernel)
}

func (s *layerNormStep) backward(e *Net, n int) {
	r := &e.rows
	r.layer = s
	r.runSums(n*s.rows, s.cols, layerNormGradKernel, s.s1, s.s2)
	if trainable(s.gamma) {
		copy(s.gamma.Grad, s.s1)
	}
	if trainable(s.beta) {
		copy(s.beta.Grad, s.s2)
	}
}

func layerNormKernel(t *rowTask, _, lo, hi int) {
	s := t.layer
	simd.LayerNorm(t.span(s.out.x.data, lo, hi), t.span(s.in.x.data, lo, hi), s.gamma.Value, s.beta.Value,
		s.stats.data[2*lo:2*hi], s.eps)
}

func layerNormGradKernel(t *rowTask, chunk, lo, hi int) {
	s := t.layer
	s1, s2 := t.sums(chunk)
	clear(s1)
	clear(s2)
	dy := t.span(s.out.g.data, lo, hi)
	dx := dy
	if s.in.needsGrad {
		dx = t.span(s.in.g.data, lo, hi)
	}
	x, stats := t.span(s.in.x.data, lo, hi), s.stats.data[2*lo:2*hi]
	simd.LayerNormGrad(dx, dy, x, s.gamma.Value, stats, s1, s2, s.accumulate)
}
