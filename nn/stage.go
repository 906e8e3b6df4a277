package nn

import (
	"github.com/kindred-ml/kindred/internal/network/conv"
)

// ByteScale says what bytes mean: q stands for the value Unit (q - Zero).
type ByteScale struct {
	Unit float64
	Zero uint8
}

// Stage is a step of a network's evaluation: layers that are computed at once. The layers
// of a network that are in no stage compute nothing.
type Stage struct {
	// Nodes are the layers, as indices of Graph.Nodes, in order.
	Nodes []int
	// Out is what the bytes of the result mean; nil: the result is float32.
	Out *ByteScale
	// Sum is what the first layer, with the norm or scale after it, computes; nil: the
	// layers compute in float32.
	Sum *ByteSum
}

// ByteSum is a convolution, dense or linear layer in 8 bits, and the map of each channel
// that follows it:
//
//	z = Unit[k] * sum of Q[k] (x - In.Zero) + Offset[k]
//
// where x are bytes of the scale In. In a plan z is not rounded before a residual is added
// and an activation applied.
type ByteSum struct {
	// Layer is the convolution, or the dense or linear layer. It is one of Stage.Nodes, or
	// stands for two convolutions.
	Layer Layer
	In    ByteScale
	// Q holds the filters of channel after channel: height x width x inputs of its group.
	Q []int8
	// Unit includes the scale of the input. It may be negative, or 0 with Q.
	Unit, Offset []float64
	// Before is a scale for z, for programs that round it; nil: not known.
	Before *ByteScale
}

// Stages lists how the network evaluates.
func (e *Net) Stages() []Stage {
	e.pack()
	var list []Stage
	for i, s := range e.eval.steps {
		st := Stage{Nodes: e.eval.nodes[i]}
		if out := s.output(); out.x.bytes {
			scale := ByteScale(out.scale)
			st.Out = &scale
		}
		if b, ok := s.(sumStep); ok && b.acceptsBytes() {
			st.Sum = b.sum()
			if q, ok := e.opt.Quantization.scaleBefore(s.label()); ok {
				before := ByteScale(q)
				st.Sum.Before = &before
			}
		}
		list = append(list, st)
	}
	return list
}

// sumStep is a step of weighted sums.
type sumStep interface {
	byteStep
	inBytes() *byteLayer
	sum() *ByteSum
	// sumOnly returns a step that computes the sums alone, without what is added to them and the
	// activation, to out.
	sumOnly(out *tensorRef) step
}

func (b *byteLayer) sum(l Layer, in *tensorRef) *ByteSum {
	s := &ByteSum{Layer: l, In: ByteScale(in.scale)}
	s.Q, s.Unit, s.Offset = b.layer.Filters()
	for k := range s.Unit {
		s.Unit[k] *= in.scale.Unit
	}
	return s
}

func (s *convStep) sum() *ByteSum {
	c := &s.shape
	return s.bytes.sum(Layer{Kind: Conv, Out: c.K, Kernel: c.R, KernelW: c.S, Stride: c.StrideH, Pad: c.PadH,
		PadW: c.PadW, PadEnd: c.EndH, Groups: c.Groups}, s.in)
}

func (s *convStep) sumOnly(out *tensorRef) step {
	b := *s
	b.res, b.act, b.epi, b.out = nil, identity, conv.Epilogue{}, out
	b.bytes.watch = true
	b.init()
	return &b
}

func (s *linearStep) sumOnly(out *tensorRef) step {
	b := *s
	b.res, b.act, b.epi, b.out = nil, identity, conv.Epilogue{}, out
	b.bytes.watch = true
	b.init()
	return &b
}

func (s *denseStep) sumOnly(out *tensorRef) step {
	b := *s
	b.act, b.epi, b.out = identity, conv.Epilogue{}, out
	b.bytes.watch = true
	b.init()
	return &b
}

func (s *linearStep) sum() *ByteSum { return s.bytes.sum(Layer{Kind: Linear, Out: s.shape.K}, s.in) }

func (s *denseStep) sum() *ByteSum { return s.bytes.sum(Layer{Kind: Dense, Out: s.shape.K}, s.in) }
