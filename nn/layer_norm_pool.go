package nn

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// A batch norm whose pooled field is set is followed by a 2 x 2 maximum pool,
// and both run as one: forward goes through the convolution's result once and
// writes the pooled rows alone; backward reads that result and replaces it by
// its gradient, where a pool, an activation and a norm of their own would each
// write and read back an array of that size.

// poolWindows returns the windows of one row of the pool's output, counted over all
// images.
func (s *normStep) poolWindows(row int) simd.Pool {
	in, out := s.in.shape, s.out.shape
	img, p := row/out.H, row%out.H
	line := in.W * in.C
	x := s.in.x.data[(img*in.H+2*p)*line:]
	n := out.W * out.C
	return simd.Pool{X0: x[:line], X1: x[line : 2*line], Index: s.idx[row*n : (row+1)*n], C: in.C}
}

// pooledRow cuts one row of the pool's output out of a matrix.
func (s *normStep) pooledRow(m []float32, row int) []float32 {
	n := s.out.shape.W * s.out.shape.C
	return m[row*n : (row+1)*n]
}

func normPoolKernel(t *rowTask, _, lo, hi int) {
	s := t.norm
	act := s.act.bounds()
	for row := lo; row < hi; row++ {
		p := s.poolWindows(row)
		p.NormMax(s.pooledRow(s.out.x.data, row), s.scale, s.shift, act)
	}
}

func normPoolSumsKernel(t *rowTask, chunk, lo, hi int) {
	s := t.norm
	s1, s2 := t.sums(chunk)
	clear(s1)
	clear(s2)
	act := s.act.bounds()
	for row := lo; row < hi; row++ {
		p := s.poolWindows(row)
		p.NormMaxSums(s1, s2, s.pooledRow(s.out.g.data, row), s.pooledRow(s.out.x.data, row), s.mean, act)
	}
}

// normPoolGradKernel also handles the last row and column of the input where its
// size is odd: no window covers them, but the norm's statistics do.
func normPoolGradKernel(t *rowTask, _, lo, hi int) {
	s := t.norm
	in, out := s.in.shape, s.out.shape
	act, before := s.act.bounds(), identity.bounds()
	if s.source != nil {
		before = s.source.act.bounds()
	}
	line, covered := in.W*in.C, 2*out.W*in.C
	rest := func(x []float32) {
		simd.NormGrad(x, s.zeros[:len(x)], x, s.p, s.q, s.r, s.mean, before)
	}
	for row := lo; row < hi; row++ {
		p := s.poolWindows(row)
		p.NormMaxGrad(s.pooledRow(s.out.g.data, row), s.pooledRow(s.out.x.data, row), s.p, s.q, s.r, s.mean, act,
			before)
		if covered < line {
			rest(p.X0[covered:])
			rest(p.X1[covered:])
		}
		if row%out.H == out.H-1 {
			img := row / out.H
			for h := 2 * out.H; h < in.H; h++ {
				rest(s.in.x.data[(img*in.H+h)*line:][:line])
			}
		}
	}
}

// growIndex makes room for the places of n values' maxima.
func growIndex(idx []uint8, n int) []uint8 {
	if cap(idx) < n {
		return make([]uint8, n)
	}
	return idx[:n]
}
