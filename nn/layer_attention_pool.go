package nn

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// attentionPoolLayer is the descriptor of attention with one learned query.
type attentionPoolLayer struct{ baseLayer }

func (attentionPoolLayer) fields() []string { return []string{"heads", "init"} }

func (attentionPoolLayer) defaults(l *Layer, _ Shape) { l.Heads = max(l.Heads, 1) }

func (attentionPoolLayer) output(l *Layer, in value) (value, error) {
	if err := checkPositions(in, "an image"); err != nil {
		return value{}, err
	}
	if c := in.shape.C; l.Heads > c || c%(2*l.Heads) != 0 {
		return value{}, fmt.Errorf("%d channels are not keys and values of %d heads", c, l.Heads)
	}
	return value{shape: Shape{1, 1, in.shape.C / 2}}, nil
}

func (attentionPoolLayer) names(*Layer) []string { return []string{"latent", "q.weight", "q.bias"} }

func (attentionPoolLayer) params(n *node, in value) []*Param {
	d := in.shape.C / 2
	latent, weight, bias := tensor(n.prefix+"latent", [4]int{1, 1, d, 1}, 3),
		tensor(n.prefix+"q.weight", [4]int{d, d, 1, 1}, 2), tensor(n.prefix+"q.bias", [4]int{d, 1, 1, 1}, 1)
	latent.dims = [4]int{1, d, 1, 1}
	latent.isDrawn, latent.init = true, InitTruncated
	for _, p := range []*Param{weight, bias} {
		p.isDrawn, p.init, p.fanIn, p.fanOut = true, n.layer.Init, d, d
	}
	bias.bias = true
	return []*Param{latent, weight, bias}
}

func (attentionPoolLayer) macs(_ *Layer, in, out Shape) int64 {
	return budget.Product(2, int64(in.H*in.W), int64(out.C))
}

// savedValues: beside the output the weight of each head and position.
func (attentionPoolLayer) savedValues(g *graph, i int) int64 {
	n := &g.nodes[i]
	in := g.values[n.input()].shape
	return budget.Sum(g.outputLen(i), budget.Product(int64(n.layer.Heads), int64(in.H), int64(in.W)))
}

func (attentionPoolLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	s := &attentionPoolStep{stepBase: stepBase{n.path, in, out}, latent: c.param(n, "latent"),
		weight: c.param(n, "q.weight"), bias: c.param(n, "q.bias"), heads: n.layer.Heads,
		positions: in.shape.H * in.shape.W, query: make([]float32, out.shape.C), slope: make([]float32, out.shape.C)}
	s.scale = float32(1 / math.Sqrt(float64(out.shape.C/s.heads)))
	out.needsGrad = in.needsGrad || s.trainable()
	return s, i
}

// attentionPoolStep makes one vector of an image's positions, whose channels are keys k and
// values v:
//
//	q = W latent + b, y = sum of softmax(q k / sqrt(d)) v over positions, in each head
type attentionPoolStep struct {
	stepBase
	latent, weight, bias *Param
	heads, positions     int
	scale                float32
	query                []float32
	slope                []float32 // of the query
	probs                *buf      // of each head and position
	slopes               *buf      // of the query, of each image
	accumulate           bool
}

func (s *attentionPoolStep) trainable() bool {
	return trainable(s.latent) || trainable(s.weight) || trainable(s.bias)
}

func (s *attentionPoolStep) cost() (f, b int64) {
	f = 2 * int64(s.positions) * int64(s.out.shape.C)
	return f, 2 * f
}

func (s *attentionPoolStep) planForward(p *planner) {
	s.stepBase.planForward(p)
	s.probs = p.newBuf(s.positions * s.heads)
	p.touch(s.probs)
}

func (s *attentionPoolStep) planBackward(p *planner) {
	s.slopes = p.newBuf(s.out.shape.C)
	p.touch(s.in.x, s.out.g, s.probs, s.slopes)
	if s.in.needsGrad {
		s.accumulate = p.gradient(s.in)
	}
}

func (s *attentionPoolStep) forward(e *Net, n int) {
	d := len(s.query)
	for i := range s.query {
		s.query[i] = s.bias.Value[i] + simd.Dot(s.weight.Value[i*d:(i+1)*d], s.latent.Value)
	}
	e.rows.attend = s
	e.rows.runChunks(n, s.in.shape.Len(), attentionPoolKernel)
}

func (s *attentionPoolStep) backward(e *Net, n int) {
	e.rows.attend = s
	e.rows.runChunks(n, s.in.shape.Len(), attentionPoolGradKernel)
	if !s.trainable() {
		return
	}
	d := len(s.query)
	clear(s.slope)
	for i := range n { // images in their order
		simd.Axpy(1, s.slopes.data[i*d:(i+1)*d], s.slope)
	}
	if trainable(s.bias) {
		copy(s.bias.Grad, s.slope)
	}
	if trainable(s.latent) {
		clear(s.latent.Grad)
	}
	for i, g := range s.slope {
		if trainable(s.weight) {
			simd.Scale(s.weight.Grad[i*d:(i+1)*d], g, s.latent.Value)
		}
		if trainable(s.latent) {
			simd.Axpy(g, s.weight.Value[i*d:(i+1)*d], s.latent.Grad)
		}
	}
}

// forEachHead calls f for each position and head of an image: its number among weights, and where
// its key and value, and the head's part of the output, begin.
func (s *attentionPoolStep) forEachHead(f func(prob, key, value, head int)) {
	d := len(s.query)
	size := d / s.heads
	for t := range s.positions {
		for h := range s.heads {
			f(h*s.positions+t, 2*t*d+h*size, (2*t+1)*d+h*size, h*size)
		}
	}
}

func attentionPoolKernel(t *rowTask, _, lo, hi int) {
	s := t.attend
	d, count := len(s.query), s.positions*s.heads
	size := d / s.heads
	for i := lo; i < hi; i++ {
		x, y, p := t.span(s.in.x.data, i, i+1), s.out.image(s.out.x.data, i), s.probs.data[i*count:(i+1)*count]
		s.forEachHead(func(prob, key, _, head int) {
			p[prob] = s.scale * simd.Dot(s.query[head:head+size], x[key:key+size])
		})
		for h := range s.heads {
			row := p[h*s.positions : (h+1)*s.positions]
			simd.Scale(row, 1/simd.ExpSum(row, row, simd.Max(row)), row)
		}
		clear(y)
		s.forEachHead(func(prob, _, value, head int) { simd.Axpy(p[prob], x[value:value+size], y[head:head+size]) })
	}
}

func attentionPoolGradKernel(t *rowTask, _, lo, hi int) {
	s := t.attend
	d, count := len(s.query), s.positions*s.heads
	size := d / s.heads
	ds := t.scratch.Get(count)
	defer t.scratch.Put(ds)
	for i := lo; i < hi; i++ {
		x, dy, p := t.span(s.in.x.data, i, i+1), s.out.image(s.out.g.data, i), s.probs.data[i*count:(i+1)*count]
		dq := s.slopes.data[i*d : (i+1)*d]
		clear(dq)
		s.forEachHead(func(prob, _, value, head int) {
			ds[prob] = simd.Dot(dy[head:head+size], x[value:value+size])
		})
		for h := range s.heads {
			lo, hi := h*s.positions, (h+1)*s.positions
			mean := simd.Dot(p[lo:hi], ds[lo:hi])
			for j := lo; j < hi; j++ {
				ds[j] = s.scale * p[j] * (ds[j] - mean)
			}
		}
		s.forEachHead(func(prob, key, _, head int) { simd.Axpy(ds[prob], x[key:key+size], dq[head:head+size]) })
		if !s.in.needsGrad {
			continue
		}
		dx := t.span(s.in.g.data, i, i+1)
		if !s.accumulate {
			clear(dx)
		}
		s.forEachHead(func(prob, key, value, head int) {
			simd.Axpy(ds[prob], s.query[head:head+size], dx[key:key+size])
			simd.Axpy(p[prob], dy[head:head+size], dx[value:value+size])
		})
	}
}
