package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/network/conv"
	"github.com/kindred-ml/kindred/matrix"
)

// denseLayer is the descriptor of a dense layer.
type denseLayer struct{ baseLayer }

func (denseLayer) fields() []string { return []string{"out", "no_bias", "init"} }

func (denseLayer) output(l *Layer, in value) (value, error) {
	if s := in.shape; s.H*s.W > 1 && !in.flat {
		return value{}, fmt.Errorf("its input is a %s image; put a flatten or a global average pool before it", s)
	}
	return value{shape: Shape{1, 1, l.Out}, flat: true}, nil
}

func (denseLayer) names(l *Layer) []string { return weightNames(l) }

func (denseLayer) params(n *node, in value) []*Param {
	l, s := n.layer, in.shape
	w := tensor(n.prefix+"weight", [4]int{l.Out, s.C, s.H, s.W}, 4)
	w.Shape = []int{l.Out, s.Len()}
	return weightAndBias(w, n, s.Len(), l.Out)
}

func (denseLayer) macs(l *Layer, in, _ Shape) int64 {
	return budget.Product(int64(l.Out), int64(in.Len()))
}

func (denseLayer) step(c *compiler, i int) (step, int) {
	n := &c.g.nodes[i]
	in := c.ref(n.input())
	d := &denseStep{stepBase: stepBase{path: n.path, in: in}, w: c.param(n, "weight"), b: c.param(n, "bias")}
	act, last := c.nextAct(i, activation.isClamp)
	d.act = act
	d.init()
	d.out = c.ref(c.g.nodes[last].out)
	d.out.needsGrad = in.needsGrad || trainable(d.w) || trainable(d.b)
	return d, last
}

// denseStep is a fully connected layer with bias and activation.
type denseStep struct {
	stepBase
	w, b       *Param
	act        activation
	accumulate bool
	shape      conv.Shape // in bfloat16 it is a convolution of 1 x 1
	epi        conv.Epilogue

	bytes byteLayer // in a plan of bytes

	x, y, dx, dy, wm, dw matrix.Dense // headers, kept so that a step allocates nothing
}

func (s *denseStep) cost() (f, b int64) { return weightCost(int64(len(s.w.Value)), s.w.Grad, s.in) }

func (s *denseStep) planBackward(p *planner) {
	p.touch(s.in.x, s.out.g)
	if s.act != identity {
		p.touch(s.out.x)
	}
	if s.in.needsGrad {
		s.accumulate = p.gradient(s.in)
	}
}

func view(m *matrix.Dense, rows int, data []float32) *matrix.Dense {
	cols := len(data) / rows
	m.Rows, m.Cols, m.Stride, m.Data = rows, cols, cols, data
	return m
}

func (s *denseStep) init() {
	s.shape = conv.Shape{N: 1, W: 1, C: s.in.shape.Len(), K: s.w.Shape[0], R: 1, S: 1, StrideH: 1, StrideW: 1,
		Groups: 1}
	s.epi.ReLU, s.epi.ReLU6 = s.act == relu, s.act == relu6
	if s.b != nil {
		s.epi.Shift = s.b.Value
	}
}

func (s *denseStep) forward(e *Net, n int) {
	if s.bytes.use {
		s.bytes.forward(e, n, s.in, s.out, nil)
		return
	}
	k := s.out.shape.Len()
	if s.shape.H = n; e.ws.BFloat16 {
		conv.Forward(&e.ws, &s.shape, s.in.x.data, s.w.Value, s.out.x.data, &s.epi)
		return
	}
	matrix.Gemm(false, true, 1, view(&s.x, n, s.in.x.data), view(&s.wm, k, s.w.Value), 0, view(&s.y, n, s.out.x.data))
	if s.b != nil || s.act != identity {
		r := &e.rows
		r.y, r.b, r.act = s.out.x.data, nil, s.act
		if s.b != nil {
			r.b = s.b.Value
		}
		r.runChunks(n, k, biasKernel)
	}
}

func (s *denseStep) backward(e *Net, n int) {
	k, r := s.out.shape.Len(), &e.rows
	g := s.out.g.data
	if s.act != identity {
		r.dy, r.y, r.act = g, s.out.x.data, s.act
		r.runChunks(n, k, maskKernel)
	}
	if trainable(s.b) {
		r.dy = g
		r.runSums(n, k, columnSumKernel, s.b.Grad, nil)
	}
	if e.ws.BFloat16 {
		if trainable(s.w) {
			conv.BackwardWeights(&e.ws, &s.shape, s.in.x.data, g, s.w.Grad, false)
		}
		if s.in.needsGrad {
			conv.BackwardData(&e.ws, &s.shape, g, s.w.Value, s.in.g.data, s.accumulate)
		}
		return
	}
	dy := view(&s.dy, n, g)
	if trainable(s.w) {
		matrix.Gemm(true, false, 1, dy, view(&s.x, n, s.in.x.data), 0, view(&s.dw, k, s.w.Grad))
	}
	if s.in.needsGrad {
		var beta float32
		if s.accumulate {
			beta = 1
		}
		matrix.Gemm(false, false, 1, dy, view(&s.wm, k, s.w.Value), beta, view(&s.dx, n, s.in.g.data))
	}
}
