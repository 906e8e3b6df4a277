package nn

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// The 3 x 3 maximum pool of stride 2 and padding 1 that residual networks start
// with, over an even number of rows and columns, by the kernel for 2 x 2
// windows: the window of output (p, q) is the union of the 2 x 2 windows that
// start at rows 2p-1 and 2p and columns 2q-1 and 2q. One call finds the maxima
// of all windows of a row that start alike; a fifth, over those four, the
// maximum of the union. Where the window's first row or column lies outside the
// image, its neighbour stands in.

// thirds reports whether the pool is of that kind.
func (s *poolStep) thirds() bool {
	return s.kernel == 3 && s.stride == 2 && s.pad == 1 && s.in.shape.H%2 == 0 && s.in.shape.W%2 == 0
}

func thirdsKernel(t *rowTask, _, lo, hi int) {
	s := t.pool
	in, out := s.in.shape, s.out.shape
	c, line, n := in.C, in.W*in.C, out.W*out.C
	vals := t.scratch.Get(5 * n)
	defer t.scratch.Put(vals)
	places := unsafe.Slice((*uint8)(unsafe.Pointer(&vals[4*n])), 4*n)
	for row := lo; row < hi; row++ {
		img, p := row/out.H, row%out.H
		x := t.x[img*in.Len():][:in.Len()]
		first := max(2*p-1, 0)
		starts := [2]int{first, 2 * p}
		for i := range 4 {
			v, at := vals[i*n:(i+1)*n], places[i*n:(i+1)*n]
			x0, x1 := x[starts[i/2]*line:][:line], x[(starts[i/2]+1)*line:][:line]
			if i%2 == 1 {
				w := simd.Pool{X0: x0, X1: x1, Index: at, C: c}
				w.Max(v)
				continue
			}
			// Windows that start at odd columns, except the first.
			w := simd.Pool{X0: x0, X1: x1, Index: at[:c], C: c}
			w.Max(v[:c])
			w = simd.Pool{X0: x0[c:], X1: x1[c:], Index: at[c:], C: c}
			w.Max(v[c:])
		}
		idx := s.idx[row*n : (row+1)*n]
		w := simd.Pool{X0: vals[:2*n], X1: vals[2*n : 4*n], Index: idx, C: n}
		w.Max(t.y[row*n : (row+1)*n])
		if !t.keepIndex {
			continue
		}
		// Row 0 of the kernel is input row 2p-1, column 0 is column 2q-1.
		top := uint8(first - (2*p - 1))
		taps := [16]uint8{}
		for which := range uint8(4) {
			r0, s0 := top, uint8(0)
			if which >= 2 {
				r0 = 1
			}
			if which%2 == 1 {
				s0 = 1
			}
			for at := range uint8(4) {
				taps[which*4+at] = (r0+at/2)*3 + s0 + at%2
			}
		}
		for i, which := range idx {
			tap := taps[which*4+places[int(which)*n+i]]
			if i < c && which%2 == 0 {
				tap++ // the first window starts at column 0
			}
			idx[i] = tap
		}
	}
}
