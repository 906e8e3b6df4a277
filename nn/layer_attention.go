package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/network/attention"
)

// attentionLayer is the descriptor of attention.
type attentionLayer struct{ baseLayer }

func (attentionLayer) fields() []string { return []string{"heads", "causal"} }

func (attentionLayer) defaults(l *Layer, _ Shape) { l.Heads = max(l.Heads, 1) }

func (attentionLayer) output(l *Layer, in value) (value, error) {
	if err := checkPositions(in, "an image"); err != nil {
		return value{}, err
	}
	if c := in.shape.C; l.Heads > c || c%(3*l.Heads) != 0 {
		return value{}, fmt.Errorf("%d channels are not queries, keys and values of %d heads", c, l.Heads)
	}
	in.shape.C /= 3
	return in, nil
}

func (attentionLayer) macs(_ *Layer, in, out Shape) int64 {
	return budget.Product(2, int64(in.H*in.W), int64(out.Len()))
}

// savedValues: beside the output a sum for each head and position.
func (attentionLayer) savedValues(g *graph, i int) int64 {
	n := &g.nodes[i]
	in := g.values[n.input()].shape
	return budget.Sum(g.outputLen(i), budget.Product(int64(n.layer.Heads), int64(in.H), int64(in.W)))
}

func (attentionLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	return newAttentionStep(n, in, out, c.training), i
}

// attentionStep is multi-head attention over the positions of each image.
type attentionStep struct {
	stepBase
	shape attention.Shape
	logs  *buf // of each query's sum of exponentials; nil in evaluation
	spill *buf // the gradient of in, where it must be added to another
}

func newAttentionStep(n *node, in, out *tensorRef, training bool) *attentionStep {
	h := n.layer.Heads
	s := &attentionStep{stepBase: stepBase{n.path, in, out},
		shape: attention.Shape{T: in.shape.H * in.shape.W, Heads: h, Dim: out.shape.C / h, Causal: n.layer.Causal}}
	if training {
		s.logs = &buf{}
	}
	return s
}

func (s *attentionStep) cost() (f, b int64) {
	t := int64(s.shape.T)
	f = 2 * t * int64(s.out.shape.Len())
	if s.in.needsGrad {
		b = f * 5 / 2 // five products of the size of two
	}
	return f, b
}

func (s *attentionStep) planForward(p *planner) {
	s.stepBase.planForward(p)
	if s.logs != nil {
		s.logs = p.newBuf(s.shape.T * s.shape.Heads)
		p.touch(s.logs)
	}
}

func (s *attentionStep) planBackward(p *planner) {
	p.touch(s.in.x, s.out.x, s.out.g, s.logs)
	if p.gradient(s.in) {
		s.spill = p.newBuf(s.in.x.size)
		p.touch(s.spill)
	}
}

func (s *attentionStep) forward(e *Net, n int) {
	s.shape.N = n
	var logs []float32
	if s.logs != nil {
		logs = s.logs.data
	}
	attention.Forward(&e.heads, &s.shape, s.in.x.data, s.out.x.data, logs)
}

func (s *attentionStep) backward(e *Net, n int) {
	s.shape.N = n
	to := s.in.g
	if s.spill != nil {
		to = s.spill
	}
	attention.Backward(&e.heads, &s.shape, s.in.x.data, s.out.x.data, s.logs.data, s.out.g.data, to.data)
	if s.spill != nil {
		r := &e.rows
		r.y, r.x = s.in.g.data, s.spill.data
		r.runChunks(n*s.shape.T, s.in.shape.C, addToKernel)
	}
}
