package nn

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// is3x3 reports whether the pool is the 3 x 3 maximum of stride 2 and padding 1 that
// residual networks start with, over an even number of rows and columns.
func (s *poolStep) is3x3() bool {
	return isPool3x3(s.kernel, s.stride, s.pad, s.in.shape)
}

func isPool3x3(kernel, stride, pad int, in Shape) bool {
	return kernel == 3 && stride == 2 && pad == 1 && in.H%2 == 0 && in.W%2 == 0
}

func pool3x3Kernel(t *rowTask, _, lo, hi int) {
	s := t.pool
	in, out := s.in.shape, s.out.shape
	n := out.W * out.C
	w := simd.MaxPool3{Line: in.W * in.C, C: in.C}
	room := t.scratch.Get(w.ScratchLen())
	defer t.scratch.Put(room)
	for row := lo; row < hi; row++ {
		img, p := row/out.H, row%out.H
		w.X, w.Top = t.x[(img*in.H+max(2*p-1, 0))*w.Line:], p == 0
		if t.keepIndex {
			w.Index = s.idx[row*n : (row+1)*n]
		}
		w.Max(t.y[row*n:(row+1)*n], room)
	}
}
