package nn

import (
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// rowTask runs a row-wise kernel over all cores. It is kept by the engine and
// passed by pointer, so that a step allocates nothing. Operands are set by the
// caller; which of them a kernel uses is its own affair.
type rowTask struct {
	kernel     func(t *rowTask, chunk, lo, hi int)
	rows, cols int
	grain      int

	y, x, dy, res []float32
	a, b, c, d    []float32 // one value a column
	act, inAct    activation
	part          []float32 // partial sums, 2*cols a chunk
	pool          *poolStep
	ref           *tensorRef
	norm          *normStep
	mul           *mulStep
	gem           *gemStep
	layer         *layerNormStep
	tokens        *tokensStep
	rotary        *rotaryStep
	attend        *attentionPoolStep
	drop          *dropPath
	concat        *concatStep
	permute       *permuteStep
	positions     int // of a global pool
	first         int // of them that counts
	channels      int
	seed          uint64
	keep          float64
	scale         float32
	accumulate    bool
	half          halfOperands
	keepIndex     bool // of a pool, for the way back
	scratch       par.Scratch
}

// Run implements par.Task.
func (t *rowTask) Run(chunk int) {
	lo := chunk * t.grain
	t.kernel(t, chunk, lo, min(lo+t.grain, t.rows))
}

func (t *rowTask) chunks() int { return (t.rows + t.grain - 1) / t.grain }

// blockLen is a number of values that fit the first-level cache.
const blockLen = 8192

// runChunks runs kernel over chunks that fit the first-level cache.
func (t *rowTask) runChunks(rows, cols int, kernel func(t *rowTask, chunk, lo, hi int)) {
	t.rows, t.cols, t.kernel = rows, cols, kernel
	t.grain = max(1, blockLen/max(cols, 1))
	par.Do(t.chunks(), t)
}

// maxSumChunks bounds the number of partial sums of a reduction.
const maxSumChunks = 64

// runSums runs a kernel that leaves per-column sums (s1, then s2) of its chunk in
// part, and adds them up in chunk order, in float64.
func (t *rowTask) runSums(rows, cols int, kernel func(t *rowTask, chunk, lo, hi int), s1, s2 []float32) {
	t.rows, t.cols, t.kernel = rows, cols, kernel
	t.grain = max((rows+maxSumChunks-1)/maxSumChunks, 1024/max(cols, 1), 1)
	n := t.chunks()
	if need := 2 * cols * n; len(t.part) < need {
		t.part = make([]float32, need)
	}
	par.Do(n, t)
	for c := range cols {
		var u, v float64
		for i := range n {
			u += float64(t.part[2*cols*i+c])
			v += float64(t.part[2*cols*i+cols+c])
		}
		s1[c] = float32(u)
		if s2 != nil {
			s2[c] = float32(v)
		}
	}
}

// span cuts rows lo..hi-1 out of a matrix; nil stays nil.
func (t *rowTask) span(x []float32, lo, hi int) []float32 {
	if x == nil {
		return nil
	}
	return x[lo*t.cols : hi*t.cols]
}

// sums returns the two vectors of partial sums of a chunk.
func (t *rowTask) sums(chunk int) (s1, s2 []float32) {
	n := t.cols
	return t.part[2*n*chunk:][:n], t.part[2*n*chunk+n:][:n]
}

// normKernel: y = act(a*x + b + res), per column a and b.
func normKernel(t *rowTask, _, lo, hi int) {
	y, x := t.span(t.y, lo, hi), t.span(t.x, lo, hi)
	if t.res == nil {
		simd.ScaleShift(y, x, t.a, t.b, t.act.bounds())
		if t.act.isCurved() {
			t.act.apply(y, y)
		}
		return
	}
	simd.ScaleShiftAdd(y, x, t.span(t.res, lo, hi), t.a, t.b, t.act.bounds())
}

// momentsKernel: the sums of x and of x squared, x taken relative to the shift
// in c (the first row), which keeps the variance exact where the mean is large.
func momentsKernel(t *rowTask, chunk, lo, hi int) {
	s1, s2 := t.sums(chunk)
	simd.ColumnMoments(s1, s2, t.span(t.x, lo, hi), t.c, hi-lo, t.cols)
}

// normSumsKernel multiplies dy by the derivative of the activation that made y,
// in place, and sums dy and dy*(x - c). What went into a curved activation is
// a*x + b.
func normSumsKernel(t *rowTask, chunk, lo, hi int) {
	s1, s2 := t.sums(chunk)
	if t.act.isCurved() {
		block := max(1, blockLen/t.cols)
		z := t.scratch.Get(block * t.cols)
		for i := lo; i < hi; i += block {
			end := min(i+block, hi)
			z, dy := z[:(end-i)*t.cols], t.span(t.dy, i, end)
			simd.ScaleShift(z, t.span(t.x, i, end), t.a, t.b, simd.Linear())
			t.act.applyGrad(dy, dy, z)
		}
		t.scratch.Put(z)
	}
	simd.NormSums(s1, s2, t.span(t.dy, lo, hi), t.span(t.y, lo, hi), t.span(t.x, lo, hi), t.c, t.act.bounds())
}

// normGradKernel: y = a*dy + d*(x - c) + b, and y is cleared where the
// activation inAct that made x is flat. y may be x.
func normGradKernel(t *rowTask, _, lo, hi int) {
	simd.NormGrad(t.span(t.y, lo, hi), t.span(t.dy, lo, hi), t.span(t.x, lo, hi), t.a, t.d, t.b, t.c, t.inAct.bounds())
}

// normSumsOfKernel sums dy and dy*(x - c), dy taken as 0 where act is flat at
// a*x + b.
func normSumsOfKernel(t *rowTask, chunk, lo, hi int) {
	s1, s2 := t.sums(chunk)
	simd.NormSumsOf(s1, s2, t.span(t.dy, lo, hi), t.span(t.x, lo, hi), t.c, t.a, t.b, t.act.bounds())
}

// normGradOfKernel: y = norm.p*dy + norm.q*(x - c) + norm.r, with the same dy. y may
// be x.
func normGradOfKernel(t *rowTask, _, lo, hi int) {
	s := t.norm
	simd.NormGradOf(t.span(t.y, lo, hi), t.span(t.dy, lo, hi), t.span(t.x, lo, hi), s.p, s.q, s.r, t.c, t.a, t.b,
		t.act.bounds())
}

// columnSumKernel sums dy.
func columnSumKernel(t *rowTask, chunk, lo, hi int) {
	s1, s2 := t.sums(chunk)
	simd.ColumnSums(s1, t.span(t.dy, lo, hi), hi-lo, t.cols)
	clear(s2)
}

// biasKernel: y = act(y + b); b may be nil.
func biasKernel(t *rowTask, _, lo, hi int) {
	y := t.span(t.y, lo, hi)
	if t.b == nil {
		simd.Clamp(y, y, t.act.bounds())
		return
	}
	simd.Shift(y, y, t.b, t.act.bounds())
}

// maskKernel clears dy where the activation that made y is flat.
func maskKernel(t *rowTask, _, lo, hi int) {
	simd.Mask(t.span(t.dy, lo, hi), t.span(t.y, lo, hi), t.act.bounds())
}

// actKernel: y = act(x).
func actKernel(t *rowTask, _, lo, hi int) {
	t.act.apply(t.span(t.y, lo, hi), t.span(t.x, lo, hi))
}

// actGradKernel multiplies dy by the derivative of a curved activation at x.
func actGradKernel(t *rowTask, _, lo, hi int) {
	dy := t.span(t.dy, lo, hi)
	t.act.applyGrad(dy, dy, t.span(t.x, lo, hi))
}

// addKernel: y = act(x + res).
func addKernel(t *rowTask, _, lo, hi int) {
	simd.AddClamp(t.span(t.y, lo, hi), t.span(t.x, lo, hi), t.span(t.res, lo, hi), t.act.bounds())
}

// addToKernel: y += x.
func addToKernel(t *rowTask, _, lo, hi int) {
	y := t.span(t.y, lo, hi)
	simd.AddClamp(y, y, t.span(t.x, lo, hi), simd.Linear())
}
