package nn

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/conv"
)

// The names of LoRA's parameters, which are those of Hugging Face's PEFT.
const (
	loraA = "lora_A.weight"
	loraB = "lora_B.weight"
)

// checkLoRA tests the fields of LoRA.
func (l *Layer) checkLoRA() error {
	switch {
	case l.Rank < 0:
		return fmt.Errorf("rank = %d; it must be positive", l.Rank)
	case l.Rank == 0 && l.Alpha != 0:
		return fmt.Errorf("alpha = %v; it needs a rank", l.Alpha)
	case !(l.Alpha >= 0 && l.Alpha < math.Inf(1)):
		return fmt.Errorf("alpha = %v; it must be a positive number", l.Alpha)
	}
	return nil
}

// loraParams are A, which is drawn, and B, which is 0, so that a network starts as it was.
func loraParams(n *node, channels int) []*Param {
	r := n.layer.Rank
	a := tensor(n.prefix+loraA, [4]int{r, channels, 1, 1}, 2)
	b := tensor(n.prefix+loraB, [4]int{n.layer.Out, r, 1, 1}, 2)
	a.isDrawn, a.fanIn, a.fanOut = true, channels, r
	a.adapter, b.adapter = true, true
	return []*Param{a, b}
}

// WithLoRA returns the network with adapters of the given rank in all linear layers of its
// body: the projections of attention and the layers of perceptrons. Options.FreezeBody then
// trains these and the head. alpha 0 is 2 rank. It is an error if the body has no linear
// layers, or one that is narrower than the rank.
func (s *Spec) WithLoRA(rank int, alpha float64) (*Spec, error) {
	if rank < 1 {
		return nil, fmt.Errorf("rank %d: it must be positive", rank)
	}
	out := *s
	head := headIndex(s.Layers)
	body, count := withAdapters(s.Layers[:head], rank, alpha)
	if count == 0 {
		return nil, fmt.Errorf("network %s has no linear layers before its head; transformers have them", s.Name)
	}
	out.Layers = append(body, s.Layers[head:]...)
	return &out, out.Check()
}

// withAdapters copies layers and sets rank and alpha of linear ones, which it counts.
func withAdapters(layers []Layer, rank int, alpha float64) ([]Layer, int) {
	out, count := slices.Clone(layers), 0
	for i := range out {
		l := &out[i]
		if l.Kind == Linear {
			l.Rank, l.Alpha = rank, alpha
			count++
		}
		for _, inner := range []*[]Layer{&l.Layers, &l.Shortcut} {
			var n int
			*inner, n = withAdapters(*inner, rank, alpha)
			count += n
		}
	}
	return out, count
}

// hasAdapters reports whether any layer has adapters.
func (g *graph) hasAdapters() bool {
	return slices.ContainsFunc(g.nodes, func(n node) bool { return n.layer.Rank > 0 })
}

// MergeLoRA returns the network with the adapters of its linear layers added to their weights,
// for evaluation and for files: its values are those that Infer of e has. It shares the other
// parameters with e. A network without adapters is returned itself.
func (e *Net) MergeLoRA() (*Net, error) {
	g, err := e.spec.flatten()
	if err != nil || !g.hasAdapters() {
		return e, err
	}
	params := maps.Clone(e.byName)
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.layer.Rank == 0 {
			continue
		}
		w := *e.byName[n.prefix+"weight"]
		l := newLora(n, &tensorRef{shape: g.values[n.input()].shape}, e.byName[n.prefix+loraA],
			e.byName[n.prefix+loraB])
		plain := w.Value
		w.Value = make([]float32, len(plain))
		l.merge(w.Value, plain)
		params[w.Name] = &w
	}
	spec := e.spec
	spec.Layers, _ = withAdapters(e.spec.Layers, 0, 0)
	if g, err = spec.flatten(); err != nil {
		return nil, err
	}
	m := newNet(&spec, e.opt, g, params)
	m.train, m.eval = m.compile(g, true), m.compile(g, false)
	return m, nil
}

// lora adds scale B A x to what a linear layer makes of x. A nil one adds nothing.
type lora struct {
	a, b         *Param
	scale        float32
	scales       []float32  // scale for each row of A
	down, up     conv.Shape // of A and B
	inner, slope *buf       // scale A x, and its gradient
}

func newLora(n *node, in *tensorRef, a, b *Param) *lora {
	r := n.layer.Rank
	l := &lora{a: a, b: b, scale: float32(n.layer.Alpha / float64(r)), scales: make([]float32, r)}
	for i := range l.scales {
		l.scales[i] = l.scale
	}
	l.down = conv.Shape{N: 1, W: 1, C: in.shape.C, K: r, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1}
	l.up = conv.Shape{N: 1, W: 1, C: r, K: n.layer.Out, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1}
	return l
}

func (l *lora) trainable() bool { return l != nil && (trainable(l.a) || trainable(l.b)) }

// cost adds that of A and B to f and b, those of the layer without them.
func (l *lora) cost(positions int, f, b int64) (int64, int64) {
	if l == nil {
		return f, b
	}
	own := int64(positions) * int64(l.down.K) * int64(l.down.C+l.up.K)
	return f + own, b + 2*own
}

// merge sets to to w + scale B A.
func (l *lora) merge(to, w []float32) {
	c, r := l.down.C, l.down.K
	par.For(l.up.K, max(1, blockLen/c), func(lo, hi int) {
		copy(to[lo*c:hi*c], w[lo*c:hi*c])
		for k := lo; k < hi; k++ {
			for i, b := range l.b.Value[k*r : (k+1)*r] {
				simd.Axpy(l.scale*b, l.a.Value[i*c:(i+1)*c], to[k*c:(k+1)*c])
			}
		}
	})
}

// forward adds to what the layer s has made.
func (l *lora) forward(e *Net, s *linearStep) {
	l.down.H, l.up.H = s.shape.H, s.shape.H
	conv.Forward(&e.ws, &l.down, s.in.x.data, l.a.Value, l.inner.data, &conv.Epilogue{Scale: l.scales})
	conv.Forward(&e.ws, &l.up, l.inner.data, l.b.Value, s.out.x.data, &conv.Epilogue{Residual: s.out.x.data})
}

// backward sets the gradients of A and B, and adds to that of the layer's input.
func (l *lora) backward(e *Net, s *linearStep) {
	l.down.H, l.up.H = s.shape.H, s.shape.H
	g := s.out.g.data
	if trainable(l.b) {
		conv.BackwardWeights(&e.ws, &l.up, l.inner.data, g, l.b.Grad, false)
	}
	conv.BackwardData(&e.ws, &l.up, g, l.b.Value, l.slope.data, false)
	simd.Scale(l.slope.data, l.scale, l.slope.data)
	if trainable(l.a) {
		conv.BackwardWeights(&e.ws, &l.down, s.in.x.data, l.slope.data, l.a.Grad, false)
	}
	if s.in.needsGrad {
		conv.BackwardData(&e.ws, &l.down, l.slope.data, l.a.Value, s.in.g.data, true)
	}
}
