package nn

import (
	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// halfStep is a step that can read and write activations and gradients which are
// bfloat16 in memory: half the traffic. A buffer is kept so if all steps that touch it
// can.
type halfStep interface {
	step
	// acceptsHalf reports whether the step can in a plan for training, or for evaluation.
	acceptsHalf(training bool) bool
}

// begin tells the planner whether s, which is planned next, takes bfloat16; narrow
// tells whether any step may.
func (p *planner) begin(s step, narrow, training bool) {
	h, ok := s.(halfStep)
	p.half = narrow && ok && h.acceptsHalf(training)
	b, ok := s.(byteStep)
	p.bytes = ok && !training && b.acceptsBytes()
}

// values returns n values of a buffer, widened if they are bfloat16.
func (b *buf) values(n int) []float32 {
	if !b.half {
		return b.data
	}
	v := make([]float32, n)
	bf16.Widen(v, bf16.View(b.data)[:n])
	return v
}

func isHalf(b *buf) bool { return b != nil && b.half }

// halfOperands says which operands of a rowTask are bfloat16. The kernels of this file
// look at it, and nothing else does.
type halfOperands struct{ x, y, dy, res bool }

func (h halfOperands) hasHalf() bool { return h.x || h.y || h.dy || h.res }

// halfLen is a number of values: three widened operands of this length fit the first-level
// cache.
const halfLen = 2048

// halfBlock returns a number of rows and room for three operands of so many.
func (t *rowTask) halfBlock() (rows int, room []float32) {
	rows = max(1, halfLen/t.cols)
	return rows, t.scratch.Get(3 * rows * t.cols)
}

// wide returns rows lo..hi-1 of an operand in float32: as they lie, or in the i-th part
// of the room.
func (t *rowTask) wide(x []float32, half bool, lo, hi int, room []float32, i int) []float32 {
	if !half || x == nil {
		return t.span(x, lo, hi)
	}
	v := t.part3(room, i, hi-lo)
	bf16.Widen(v, bf16.View(x)[lo*t.cols:hi*t.cols])
	return v
}

// out returns where rows lo..hi-1 of a result go before narrow.
func (t *rowTask) out(y []float32, half bool, lo, hi int, room []float32, i int) []float32 {
	if !half {
		return t.span(y, lo, hi)
	}
	return t.part3(room, i, hi-lo)
}

func (t *rowTask) part3(room []float32, i, rows int) []float32 {
	return room[i*len(room)/3:][:rows*t.cols]
}

// narrow rounds what out has returned into its place.
func (t *rowTask) narrow(y []float32, half bool, lo, hi int, v []float32) {
	if half {
		bf16.Round(bf16.View(y)[lo*t.cols:hi*t.cols], v)
	}
}

// halfNormKernel is normKernel.
func halfNormKernel(t *rowTask, _, lo, hi int) {
	block, room := t.halfBlock()
	defer t.scratch.Put(room)
	for i := lo; i < hi; i += block {
		end := min(i+block, hi)
		x, y := t.wide(t.x, t.half.x, i, end, room, 0), t.out(t.y, t.half.y, i, end, room, 1)
		if t.res == nil {
			simd.ScaleShift(y, x, t.a, t.b, t.act.bounds())
		} else {
			simd.ScaleShiftAdd(y, x, t.wide(t.res, t.half.res, i, end, room, 2), t.a, t.b, t.act.bounds())
		}
		t.narrow(t.y, t.half.y, i, end, y)
	}
}

// halfNormSumsKernel is normSumsKernel of activations that are not curved.
func halfNormSumsKernel(t *rowTask, chunk, lo, hi int) {
	t.halfSums(chunk, lo, hi, true, func(t *rowTask, s1, s2, dy, y, x []float32) {
		simd.NormSums(s1, s2, dy, y, x, t.c, t.act.bounds())
	})
}

// halfNormSumsOfKernel is normSumsOfKernel.
func halfNormSumsOfKernel(t *rowTask, chunk, lo, hi int) {
	t.halfSums(chunk, lo, hi, false, func(t *rowTask, s1, s2, dy, _, x []float32) {
		simd.NormSumsOf(s1, s2, dy, x, t.c, t.a, t.b, t.act.bounds())
	})
}

// halfColumnSumKernel is columnSumKernel.
func halfColumnSumKernel(t *rowTask, chunk, lo, hi int) {
	t.halfSums(chunk, lo, hi, false, func(t *rowTask, s1, s2, dy, _, _ []float32) {
		simd.ColumnSums(s1, dy, len(dy)/t.cols, t.cols)
		clear(s2)
	})
}

// halfSums adds up the sums of blocks of rows; with back, dy is changed by it, and read
// after y.
func (t *rowTask) halfSums(chunk, lo, hi int, back bool, sum func(t *rowTask, s1, s2, dy, y, x []float32)) {
	s1, s2 := t.sums(chunk)
	clear(s1)
	clear(s2)
	block, room := t.halfBlock()
	defer t.scratch.Put(room)
	part := t.scratch.Get(2 * t.cols)
	defer t.scratch.Put(part)
	for i := lo; i < hi; i += block {
		end := min(i+block, hi)
		dy := t.wide(t.dy, t.half.dy, i, end, room, 0)
		var y, x []float32
		if back {
			y = t.wide(t.y, t.half.y, i, end, room, 1)
		}
		if t.x != nil {
			x = t.wide(t.x, t.half.x, i, end, room, 2)
		}
		sum(t, part[:t.cols], part[t.cols:], dy, y, x)
		simd.Axpy(1, part[:t.cols], s1)
		simd.Axpy(1, part[t.cols:], s2)
		if back {
			t.narrow(t.dy, t.half.dy, i, end, dy)
		}
	}
}

// halfNormGradKernel is normGradKernel.
func halfNormGradKernel(t *rowTask, _, lo, hi int) {
	t.halfGrad(lo, hi, func(t *rowTask, y, dy, x []float32) {
		simd.NormGrad(y, dy, x, t.a, t.d, t.b, t.c, t.inAct.bounds())
	})
}

// halfNormGradOfKernel is normGradOfKernel.
func halfNormGradOfKernel(t *rowTask, _, lo, hi int) {
	t.halfGrad(lo, hi, func(t *rowTask, y, dy, x []float32) {
		s := t.norm
		simd.NormGradOf(y, dy, x, s.p, s.q, s.r, t.c, t.a, t.b, t.act.bounds())
	})
}

// halfGrad computes y of blocks of rows of dy and x.
func (t *rowTask) halfGrad(lo, hi int, grad func(t *rowTask, y, dy, x []float32)) {
	block, room := t.halfBlock()
	defer t.scratch.Put(room)
	for i := lo; i < hi; i += block {
		end := min(i+block, hi)
		dy, x := t.wide(t.dy, t.half.dy, i, end, room, 0), t.wide(t.x, t.half.x, i, end, room, 1)
		y := t.out(t.y, t.half.y, i, end, room, 2)
		grad(t, y, dy, x)
		t.narrow(t.y, t.half.y, i, end, y)
	}
}

// halfAddToKernel is addToKernel.
func halfAddToKernel(t *rowTask, _, lo, hi int) {
	block, room := t.halfBlock()
	defer t.scratch.Put(room)
	for i := lo; i < hi; i += block {
		end := min(i+block, hi)
		y, x := t.wide(t.y, t.half.y, i, end, room, 0), t.wide(t.x, t.half.x, i, end, room, 1)
		simd.AddClamp(y, y, x, simd.Linear())
		t.narrow(t.y, t.half.y, i, end, y)
	}
}

// normKernels are the kernels of a norm's backward pass.
type normKernels struct {
	sums, sumsOf, grad, gradOf, addTo func(t *rowTask, chunk, lo, hi int)
}

// kernels returns the kernels for float32, or those for operands some of which are bfloat16.
func (s *normStep) kernels(half bool) normKernels {
	if half {
		return normKernels{halfNormSumsKernel, halfNormSumsOfKernel, halfNormGradKernel, halfNormGradOfKernel,
			halfAddToKernel}
	}
	return normKernels{normSumsKernel, normSumsOfKernel, normGradKernel, normGradOfKernel, addToKernel}
}
