package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/conv"
)

// linearLayer is the descriptor of a linear layer.
type linearLayer struct{}

func (linearLayer) fields() []string {
	return []string{"out", "no_bias", "no_key_bias", "rank", "alpha", "init"}
}

func (linearLayer) check(l *Layer) error {
	if l.NoKeyBias && (l.NoBias || l.Out%3 != 0) {
		return fmt.Errorf("no_key_bias: it needs a bias and outputs that are queries, keys and values, not %d", l.Out)
	}
	return l.checkLoRA()
}

func (linearLayer) defaults(l *Layer, _ Shape) { l.Alpha = valueOr(l.Alpha, 2*float64(l.Rank)) }

func (linearLayer) output(l *Layer, in value) (value, error) {
	if err := checkPositions(in, "an image"); err != nil {
		return value{}, err
	}
	if most := min(in.shape.C, l.Out); l.Rank > most {
		return value{}, fmt.Errorf("rank = %d; a map of %d channels to %d has at most rank %d", l.Rank, in.shape.C,
			l.Out, most)
	}
	in.shape.C = l.Out
	return in, nil
}

func (linearLayer) names(l *Layer) []string {
	if l.Rank > 0 {
		return append(weightNames(l), loraA, loraB)
	}
	return weightNames(l)
}

func (linearLayer) params(n *node, in value) []*Param {
	l, c := n.layer, in.shape.C
	list := weightAndBias(tensor(n.prefix+"weight", [4]int{l.Out, c, 1, 1}, 2), n, c, l.Out)
	if l.NoKeyBias {
		list[1].zeros = [2]int{l.Out / 3, l.Out / 3 * 2}
	}
	if l.Rank > 0 {
		for _, p := range list {
			p.Frozen = true
		}
		list = append(list, loraParams(n, c)...)
	}
	return list
}

func (linearLayer) savedValues(g *graph, i int) int64 {
	n := &g.nodes[i]
	in := g.values[n.input()].shape
	return budget.Sum(g.outputLen(i), budget.Product(int64(in.H), int64(in.W), int64(n.layer.Rank)))
}

func (linearLayer) macs(_ *Layer, in, out Shape) int64 {
	return budget.Product(int64(out.Len()), int64(in.C))
}

func (linearLayer) step(c *compiler, i int) (step, int) { return c.linear(i) }

// linear makes the step of the linear node i with the scale, the residual and,
// in evaluation, the activation that follow.
func (c *compiler) linear(i int) (step, int) {
	n := &c.g.nodes[i]
	in := c.ref(n.input())
	s := newLinearStep(n, in, c.param(n, "weight"), c.param(n, "bias"))
	if n.layer.Rank > 0 {
		s.lora = newLora(n, in, c.param(n, loraA), c.param(n, loraB))
		s.merges = !c.training
	}
	last := i
	if j, ok := c.nextOfKind(last, Scale); ok && (!c.training || trainable(s.w) && (s.b == nil || trainable(s.b))) {
		c.done[j] = true
		last = j
		s.gamma = c.param(&c.g.nodes[j], "")
	}
	if j, ok := c.nextResidual(last); ok && c.ref(c.g.nodes[j].shortcut()) != in {
		c.done[j] = true
		last = j
		s.res = c.ref(c.g.nodes[j].shortcut())
	}
	if !c.training {
		s.act, last = c.nextAct(last, activation.isSet)
	}
	s.out = c.ref(c.g.nodes[last].out)
	s.init()
	if !c.training {
		s.epi.Filters = &s.filters
	}
	return s, last
}

// linearStep is a linear map at each position, with what follows it: a scale of
// each channel, a residual and, in evaluation, an activation:
//
//	y = act(gamma (W x + b) + res)
//
// It is a 1 x 1 convolution over all positions of all images in a row.
type linearStep struct {
	stepBase
	w, b       *Param
	gamma      *Param     // of a layer scale; nil: none
	res        *tensorRef // added
	act        activation // evaluation only
	shape      conv.Shape
	epi        conv.Epilogue
	positions  int
	lora       *lora
	merges     bool // lora into the weights
	accumulate bool // the gradient of in
	toRes      bool // that of res

	bytes byteLayer // in a plan of bytes

	filters conv.Filters // in evaluation

	scaled []float32 // gamma W, for the way back
	shift  []float32 // gamma b
}

func newLinearStep(n *node, in *tensorRef, w, b *Param) *linearStep {
	return &linearStep{stepBase: stepBase{path: n.path, in: in}, w: w, b: b, positions: in.shape.H * in.shape.W,
		shape: conv.Shape{N: 1, W: 1, C: in.shape.C, K: n.layer.Out, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1}}
}

// init fixes the epilogue once the compiler has decided what it holds.
func (s *linearStep) init() {
	s.epi.ReLU, s.epi.ReLU6, s.epi.Act = s.act == relu, s.act == relu6, s.act.inPlace()
	switch {
	case s.gamma != nil && s.b != nil:
		s.shift = make([]float32, s.shape.K)
		s.epi.Scale, s.epi.Shift = s.gamma.Value, s.shift
	case s.gamma != nil:
		s.epi.Scale = s.gamma.Value
	case s.b != nil:
		s.epi.Shift = s.b.Value
	}
	s.out.needsGrad = s.in.needsGrad || trainable(s.w) || trainable(s.b) || trainable(s.gamma) || s.res != nil &&
		s.res.needsGrad ||
		s.lora.trainable()
}

func (s *linearStep) cost() (f, b int64) {
	f, b = weightCost(int64(s.positions)*int64(len(s.w.Value)), s.w.Grad, s.in)
	return s.lora.cost(s.positions, f, b)
}

func (s *linearStep) planForward(p *planner) {
	p.result(s.out, s.in, s.res)
	if s.lora != nil && !s.merges {
		s.lora.inner = p.newBuf(s.positions * s.lora.down.K)
		p.touch(s.lora.inner)
	}
}

func (s *linearStep) planBackward(p *planner) {
	p.touch(s.in.x, s.out.g)
	if s.lora != nil {
		s.lora.slope = p.newBuf(s.lora.inner.size)
		p.touch(s.lora.inner, s.lora.slope)
	}
	if s.res != nil && s.res.needsGrad {
		s.toRes = p.inPlace(s.res, s.out)
	}
	if s.in.needsGrad {
		s.accumulate = p.gradient(s.in)
	}
}

func (s *linearStep) forward(e *Net, n int) {
	if s.bytes.use {
		s.bytes.forward(e, n, s.in, s.out, s.res)
		return
	}
	if s.shift != nil {
		for i, g := range s.gamma.Value {
			s.shift[i] = g * s.b.Value[i]
		}
	}
	if s.res != nil {
		s.epi.Residual = s.res.x.data
	}
	s.shape.H = n * s.positions
	w := s.w.Value
	if s.merges {
		w = e.rows.scratch.Get(len(w))
		defer e.rows.scratch.Put(w)
		s.lora.merge(w, s.w.Value)
	}
	conv.Forward(&e.ws, &s.shape, s.in.x.data, w, s.out.x.data, &s.epi)
	if s.lora != nil && !s.merges {
		s.lora.forward(e, s)
	}
}

func (s *linearStep) backward(e *Net, n int) {
	s.shape.H = n * s.positions
	g, r, k := s.out.g.data, &e.rows, s.shape.K
	if trainable(s.b) {
		r.dy = g
		r.runSums(len(g)/k, k, columnSumKernel, s.b.Grad, nil)
		lo, hi := s.b.Zeros()
		clear(s.b.Grad[lo:hi])
	}
	if trainable(s.w) {
		conv.BackwardWeights(&e.ws, &s.shape, s.in.x.data, g, s.w.Grad, false)
	}
	if s.gamma != nil {
		s.scaleGradient()
	}
	if s.in.needsGrad {
		w := s.w.Value
		if s.gamma != nil {
			w = s.scaledWeights()
		}
		conv.BackwardData(&e.ws, &s.shape, g, w, s.in.g.data, s.accumulate)
	}
	if s.lora != nil {
		s.lora.backward(e, s)
	}
	if s.toRes {
		r.y, r.x = s.res.g.data, g
		r.runChunks(len(g)/k, k, addToKernel)
	}
}

// scaleGradient turns the gradients of W and b, taken as if gamma were 1, into
// those with it, and into gamma's own: as the output is gamma (W x + b), gamma's
// gradient is the sum of W dW + b db over a row.
func (s *linearStep) scaleGradient() {
	c := s.shape.C
	for i, g := range s.gamma.Value {
		dw := s.w.Grad[i*c : (i+1)*c]
		sum := simd.Dot(s.w.Value[i*c:(i+1)*c], dw)
		if s.b != nil {
			sum += s.b.Value[i] * s.b.Grad[i]
			s.b.Grad[i] *= g
		}
		if trainable(s.gamma) {
			s.gamma.Grad[i] = sum
		}
		simd.Scale(dw, g, dw)
	}
}

func (s *linearStep) scaledWeights() []float32 {
	if s.scaled == nil {
		s.scaled = make([]float32, len(s.w.Value))
	}
	c := s.shape.C
	for i, g := range s.gamma.Value {
		simd.Scale(s.scaled[i*c:(i+1)*c], g, s.w.Value[i*c:(i+1)*c])
	}
	return s.scaled
}
