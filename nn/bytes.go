package nn

import (
	"math"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/kernel/qgemm"
	"github.com/kindred-ml/kindred/internal/network/conv"
	"github.com/kindred-ml/kindred/internal/network/qconv"
)

// byteStep is a step of a plan for evaluation that may read and write activations which
// are bytes in memory. A buffer is kept so if all steps that touch it can.
type byteStep interface {
	step
	// prepareBytes is called once the scales of the input's and output's bytes are known, where they
	// are, and lets the step decide. float means that the user wants the step in float32.
	prepareBytes(float bool)
	acceptsBytes() bool
	// packBytes packs the parameters anew.
	packBytes()
}

// quantize gives activations their scales and lets each step decide whether it
// computes in bytes.
func (c *compiler) quantize(in *tensorRef) {
	q := c.e.opt.Quantization
	if q == nil {
		return
	}
	in.scale, in.hasScale = q.scale(inputRange)
	for _, s := range c.steps {
		out := s.output()
		out.scale, out.hasScale = q.scale(s.label())
		if b, ok := s.(byteStep); ok {
			b.prepareBytes(q.isFloat(s.label()))
		}
		if b, ok := s.(sumStep); ok {
			if by := q.correction(s.label()); len(by) == out.shape.C {
				b.inBytes().shift = by
			}
		}
	}
}

// chooseBytes decides which buffers hold bytes: those that are read and written only by steps that
// take bytes. A pool passes on what it reads.
func (p *plan) chooseBytes() {
	for _, b := range p.planner.bufs {
		b.bytes = b.to >= 0 && !b.wide
	}
	for _, s := range p.steps {
		if pool, ok := s.(*poolStep); ok && !pool.in.x.bytes {
			pool.out.x.bytes = false
		}
	}
}

// pack brings packed filters up to date with the parameters.
func (e *Net) pack() {
	if e.packed || e.opt.Quantization == nil {
		return
	}
	for _, s := range e.eval.steps {
		if b, ok := s.(byteStep); ok && b.acceptsBytes() {
			b.packBytes()
		}
	}
	e.packed = true
}

// Repack makes the next Infer pack the filters of 8-bit layers again, after
// Param.Value has been changed.
func (e *Net) Repack() { e.packed = false }

// operand is an activation of n images as package qconv takes it.
func (t *tensorRef) operand(n int) qconv.Operand {
	if t == nil {
		return qconv.Operand{}
	}
	o := qconv.Operand{Scale: t.scale}
	if t.x.bytes {
		o.Bytes = t.x.view(n)
	} else {
		o.Floats = t.x.data
	}
	return o
}

// view is a buffer of bytes for n images.
func (b *buf) view(n int) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(&b.data[0])), b.size*n)
}

// byteLayer is a convolution, dense or linear layer of a plan of bytes.
type byteLayer struct {
	use   bool
	layer *qconv.Layer
	shift []float32 // added to each channel; nil: nothing
	watch bool      // the result is float32, as a calibration takes it
}

// chooseBytes has the layer computed in bytes where possible: where the scales of its
// input and, if every reader of its output takes bytes, of its output are known.
func (b *byteLayer) chooseBytes(s *conv.Shape, in, out, res *tensorRef, act activation, float bool) {
	depthwise := s.Groups > 1 && s.Groups == s.C && s.C == s.K
	b.use = !float && in.hasScale && out.hasScale && qconv.Fits(s) && !(depthwise && (res != nil || act.isCurved()))
}

// pack packs filters w, which factor and offset follow.
func (b *byteLayer) pack(s conv.Shape, w []float32, factor, offset []float64, residual bool, act activation) {
	for k, v := range b.shift {
		offset[k] += float64(v)
	}
	layer, err := qconv.New(s, w, qconv.Epilogue{Factor: factor, Offset: offset, ReLU: act == relu, ReLU6: act == relu6,
		Act: act.inPlace(), Residual: residual, Unrounded: b.watch})
	if err != nil {
		panic("nn: " + err.Error()) // the shape has been checked, and decide has been asked
	}
	b.layer = layer
}

func (b *byteLayer) forward(e *Net, n int, in, out, res *tensorRef) {
	b.layer.Forward(&e.bytes, n, in.operand(n), out.operand(n), res.operand(n))
}

func (s *convStep) acceptsBytes() bool  { return s.bytes.use }
func (s *convStep) inBytes() *byteLayer { return &s.bytes }

func (s *convStep) prepareBytes(float bool) {
	s.bytes.chooseBytes(&s.shape, s.in, s.out, s.res, s.act, float)
}

func (s *convStep) packBytes() {
	if s.chain != nil {
		s.chain.combine()
	}
	w, _ := s.weight()
	factor, offset := s.affine()
	s.bytes.pack(s.shape, w, factor, offset, s.res != nil, s.act)
}

// affine returns the factor and offset of the sums of products, from the norm and the bias. Each
// operation is rounded by itself, to the same bits on every machine.
func (s *convStep) affine() (factor, offset []float64) {
	bias := s.bias()
	offset = toFloat64s(bias, s.shape.K)
	if s.norm == nil {
		return nil, offset
	}
	factor = make([]float64, s.shape.K)
	for c := range factor {
		factor[c] = float64(s.norm.gamma.Value[c]) / math.Sqrt(float64(s.norm.runVar.Value[c])+s.norm.eps)
		about := offset[c] - float64(s.norm.runMean.Value[c])
		offset[c] = float64(s.norm.beta.Value[c]) + float64(about*factor[c])
	}
	return factor, offset
}

// toFloat64s returns v, or n zeros if that is nil.
func toFloat64s(v []float32, n int) []float64 {
	w := make([]float64, n)
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}

func (s *linearStep) acceptsBytes() bool  { return s.bytes.use }
func (s *linearStep) inBytes() *byteLayer { return &s.bytes }

// asPointwiseConv is a map of k x c at each of so many positions as a convolution.
func asPointwiseConv(positions, c, k int) conv.Shape {
	return conv.Shape{H: positions, W: 1, C: c, K: k, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1}
}

func (s *linearStep) prepareBytes(float bool) {
	shape := asPointwiseConv(s.positions, s.shape.C, s.shape.K)
	s.bytes.chooseBytes(&shape, s.in, s.out, s.res, s.act, float)
}

func (s *linearStep) packBytes() {
	var factor []float64
	var bias []float32
	if s.b != nil {
		bias = s.b.Value
	}
	offset := toFloat64s(bias, s.shape.K)
	if s.gamma != nil {
		factor = toFloat64s(s.gamma.Value, s.shape.K)
		for i, g := range factor {
			offset[i] *= g
		}
	}
	s.bytes.pack(asPointwiseConv(s.positions, s.shape.C, s.shape.K), s.w.Value, factor, offset, s.res != nil, s.act)
}

func (s *denseStep) acceptsBytes() bool  { return s.bytes.use }
func (s *denseStep) inBytes() *byteLayer { return &s.bytes }

func (s *denseStep) prepareBytes(float bool) {
	shape := asPointwiseConv(1, s.shape.C, s.shape.K)
	s.bytes.chooseBytes(&shape, s.in, s.out, nil, s.act, float)
}

func (s *denseStep) packBytes() {
	var bias []float32
	if s.b != nil {
		bias = s.b.Value
	}
	s.bytes.pack(asPointwiseConv(1, s.shape.C, s.shape.K), s.w.Value, nil, toFloat64s(bias, s.shape.K), false, s.act)
}

// A maximum pool's output has the scale of its input.

func (s *poolStep) acceptsBytes() bool { return !s.average && s.in.hasScale }

func (s *poolStep) prepareBytes(bool) {
	if !s.average {
		s.out.scale, s.out.hasScale = s.in.scale, s.in.hasScale
	}
}

func (s *poolStep) packBytes() {}

// bytePoolKernel handles whole rows of the output, as many windows at once as have the same
// width.
func bytePoolKernel(t *rowTask, _, lo, hi int) {
	s := t.pool
	in, out := s.in.shape, s.out.shape
	c, images := in.C, s.in.x.view(t.rows/out.H)
	var y []uint8
	if !s.out.x.bytes {
		room := t.scratch.Get((out.W*c + 3) / 4)
		defer t.scratch.Put(room)
		y = unsafe.Slice((*uint8)(unsafe.Pointer(&room[0])), out.W*c)
	}
	for row := lo; row < hi; row++ {
		r0, r1, h0 := s.window(row%out.H, in.H)
		x := images[(row/out.H*in.H+h0)*in.W*c:]
		if s.out.x.bytes {
			y = s.out.x.view(t.rows / out.H)[row*out.W*c:][:out.W*c]
		}
		for q, n := 0, 0; q < out.W; q += n {
			s0, s1, w0 := s.window(q, in.W)
			for n = 1; q+n < out.W; n++ {
				if a, b, _ := s.window(q+n, in.W); b-a != s1-s0 || a != s0 {
					break
				}
			}
			w := qgemm.Windows{N: n, Rows: r1 - r0, Cols: s1 - s0, Step: s.stride * c, Line: in.W * c, Channels: c}
			w.Largest(y[q*c:], x[w0*c:])
		}
		if !s.out.x.bytes {
			qgemm.Dequantize(s.out.x.data[row*out.W*c:][:out.W*c], y, int32(s.in.scale.Zero), float32(s.in.scale.Unit))
		}
	}
}

// A global average of bytes is float32.

func (s *globalPoolStep) acceptsBytes() bool { return s.in.hasScale }
func (s *globalPoolStep) prepareBytes(bool)  {}
func (s *globalPoolStep) packBytes()         {}

func (s *globalPoolStep) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x)
	p.bytes = false
	p.touch(s.out.x)
}

func byteGlobalPoolKernel(t *rowTask, _, lo, hi int) {
	c, n := t.channels, t.positions-t.first
	room := t.scratch.Get(c)
	defer t.scratch.Put(room)
	sums := unsafe.Slice((*int32)(unsafe.Pointer(&room[0])), c)
	x, unit := t.ref.x.view(t.rows), t.ref.scale.Unit/float64(n)
	for i := lo; i < hi; i++ {
		qgemm.ColumnSums(sums, x[(i*t.positions+t.first)*c:][:n*c])
		for j, sum := range sums {
			t.y[i*c+j] = float32(float64(int(sum)-n*int(t.ref.scale.Zero)) * unit)
		}
	}
}
