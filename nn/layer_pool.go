package nn

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// poolLayer is the descriptor of a maximum or average pool.
type poolLayer struct {
	baseLayer
	average bool
}

func (k poolLayer) fields() []string {
	fields := []string{"kernel", "stride", "pad", "pad_end"}
	if k.average {
		fields = append(fields, "no_pad")
	}
	return fields
}

func (k poolLayer) check(l *Layer) error {
	switch {
	case l.Pad+l.PadEnd > l.Kernel/2:
		return fmt.Errorf("pad %d is more than half of the kernel %d", l.Pad+l.PadEnd, l.Kernel)
	case !k.average && l.Kernel > 15:
		return fmt.Errorf("kernel = %d; maximum pools go up to 15", l.Kernel)
	}
	return nil
}

func (poolLayer) defaults(l *Layer, _ Shape) {
	if l.Stride == 0 {
		l.Stride = l.Kernel
	}
	l.KernelW, l.PadW = l.Kernel, l.Pad
}

func (poolLayer) output(l *Layer, in value) (value, error) {
	if err := checkGrid(in); err != nil {
		return value{}, err
	}
	h, w, err := windows(l, in.shape)
	return value{shape: Shape{h, w, in.shape.C}}, err
}

func (k poolLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	l := n.layer
	return &poolStep{plainStep: plainStep{stepBase: stepBase{n.path, in, out}}, kernel: l.Kernel, stride: l.Stride,
		pad:    l.Pad,
		padEnd: l.PadEnd, average: k.average, countsInside: l.NoPad}, i
}

// isPool2x2 reports whether a layer is a maximum pool of 2 x 2 windows side by side.
func isPool2x2(l *Layer) bool {
	return l.Kind == MaxPool && l.Kernel == 2 && l.Stride == 2 && l.Pad+l.PadEnd == 0
}

// globalPoolLayer is the descriptor of the mean over positions.
type globalPoolLayer struct{ baseLayer }

func (globalPoolLayer) fields() []string { return []string{"at"} }

func (globalPoolLayer) output(l *Layer, in value) (value, error) { return pooledOutput(l, in) }

// pooledOutput is the output of a layer that makes one position of those from At on.
func pooledOutput(l *Layer, in value) (value, error) {
	if err := checkPositions(in, "an image"); err != nil {
		return value{}, err
	}
	if s := in.shape; l.At >= s.H*s.W {
		return value{}, fmt.Errorf("at = %d, but its input has %d positions", l.At, s.H*s.W)
	}
	return value{shape: Shape{1, 1, in.shape.C}}, nil
}

func (globalPoolLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	return &globalPoolStep{plainStep: plainStep{stepBase: stepBase{n.path, in, out}}, from: n.layer.At}, i
}

// poolStep is a maximum or average pool.
type poolStep struct {
	plainStep
	kernel, stride, pad int
	padEnd              int
	average             bool
	countsInside        bool    // the mean is of what lies within the image
	idx                 []uint8 // of each output: where in the kernel its maximum is
}

func (s *poolStep) forward(e *Net, n int) {
	r := &e.rows
	if s.in.x.bytes {
		r.pool = s
		r.runChunks(n*s.out.shape.H, s.out.shape.W*s.out.shape.C, bytePoolKernel)
		return
	}
	r.x, r.y, r.pool = s.in.x.data, s.out.x.data, s
	kernel := avgPoolKernel
	if !s.average {
		s.idx = growIndex(s.idx, s.out.shape.Len()*n)
		kernel = maxPoolKernel
		switch {
		case s.is2x2():
			kernel = pool2x2Kernel
		case s.is3x3():
			kernel = pool3x3Kernel
			r.keepIndex = s.in.g != nil
		}
	}
	r.runChunks(n*s.out.shape.H, s.out.shape.W*s.out.shape.C, kernel)
}

func (s *poolStep) backward(e *Net, n int) {
	r := &e.rows
	r.dy, r.y, r.pool = s.out.g.data, s.in.g.data, s
	if s.is2x2() && !s.average && !s.accumulate {
		r.runChunks(n, s.in.shape.Len(), pool2x2GradKernel)
		return
	}
	r.runChunks(n, s.in.shape.Len(), poolGradKernel)
}

// is2x2 reports whether the windows are 2 x 2, side by side.
func (s *poolStep) is2x2() bool { return s.kernel == 2 && s.stride == 2 && s.pad+s.padEnd == 0 }

// windows2x2 returns the windows of one row of the output over x, and their number
// of values.
func (s *poolStep) windows2x2(x []float32, row int) (p simd.Pool, n int) {
	in, out := s.in.shape, s.out.shape
	line, n := in.W*in.C, out.W*out.C
	x = x[(row/out.H*in.H+2*(row%out.H))*line:]
	return simd.Pool{X0: x[:line], X1: x[line : 2*line], Index: s.idx[row*n : (row+1)*n], C: in.C}, n
}

func pool2x2Kernel(t *rowTask, _, lo, hi int) {
	for row := lo; row < hi; row++ {
		p, n := t.pool.windows2x2(t.x, row)
		p.Max(t.y[row*n : (row+1)*n])
	}
}

// pool2x2GradKernel handles whole images.
func pool2x2GradKernel(t *rowTask, _, lo, hi int) {
	s := t.pool
	in, out := s.in.shape, s.out.shape
	line, covered := in.W*in.C, 2*out.W*in.C
	for img := lo; img < hi; img++ {
		for row := img * out.H; row < (img+1)*out.H; row++ {
			p, n := s.windows2x2(t.y, row)
			p.MaxGrad(t.dy[row*n : (row+1)*n])
			clear(p.X0[covered:])
			clear(p.X1[covered:])
		}
		clear(t.y[(img*in.H+2*out.H)*line : (img+1)*in.H*line])
	}
}

// window is the part of the kernel at output position p that lies within n
// input positions: kernel rows lo..hi-1. Kernel row lo lies on input row first.
func (s *poolStep) window(p, n int) (lo, hi, first int) {
	start := p*s.stride - s.pad
	lo = max(0, -start)
	hi = min(s.kernel, n-start)
	return lo, hi, start + lo
}

// maxPoolKernel handles whole rows of the output, tap by tap. The first maximum
// counts, and NaN counts as the largest.
func maxPoolKernel(t *rowTask, _, lo, hi int) {
	s := t.pool
	in, out := s.in.shape, s.out.shape
	c := out.C
	for row := lo; row < hi; row++ {
		img, p := row/out.H, row%out.H
		r0, r1, h0 := s.window(p, in.H)
		y, idx := t.y[row*out.W*c:(row+1)*out.W*c], s.idx[row*out.W*c:(row+1)*out.W*c]
		for q := range out.W {
			s0, _, _ := s.window(q, in.W)
			for i := q * c; i < (q+1)*c; i++ {
				y[i], idx[i] = float32(math.Inf(-1)), uint8(r0*s.kernel+s0)
			}
		}
		for r := r0; r < r1; r++ {
			x := t.x[(img*in.H+h0+r-r0)*in.W*c:][:in.W*c]
			for k := range s.kernel {
				// Outputs from q0 to q1-1 have this tap within the row.
				q0 := max(0, (s.pad-k+s.stride-1)/s.stride)
				q1 := min(out.W, (in.W-1+s.pad-k)/s.stride+1)
				if q0 < q1 && k < in.W+s.pad {
					simd.MaxTap(y[q0*c:q1*c], idx[q0*c:q1*c], x[(q0*s.stride-s.pad+k)*c:], c, s.stride*c,
						uint8(r*s.kernel+k))
				}
			}
		}
	}
}

// windowWeight is the weight of a position in the mean of a window, when so many rows
// and columns of the window lie within the image.
func (s *poolStep) windowWeight(rows, cols int) float32 {
	if s.countsInside {
		return 1 / float32(rows*cols)
	}
	return 1 / float32(s.kernel*s.kernel)
}

func avgPoolKernel(t *rowTask, _, lo, hi int) {
	s := t.pool
	in, out := s.in.shape, s.out.shape
	c := out.C
	for row := lo; row < hi; row++ {
		img, p := row/out.H, row%out.H
		r0, r1, h0 := s.window(p, in.H)
		for q := range out.W {
			s0, s1, w0 := s.window(q, in.W)
			y := t.y[(row*out.W+q)*c:][:c]
			clear(y)
			scale := s.windowWeight(r1-r0, s1-s0)
			for r := r0; r < r1; r++ {
				for k := s0; k < s1; k++ {
					x := t.x[((img*in.H+h0+r-r0)*in.W+w0+k-s0)*c:][:c]
					for i, v := range x {
						y[i] += v
					}
				}
			}
			for i := range y {
				y[i] *= scale
			}
		}
	}
}

// poolGradKernel handles whole images.
func poolGradKernel(t *rowTask, _, lo, hi int) {
	s := t.pool
	in, out := s.in.shape, s.out.shape
	c := out.C
	for img := lo; img < hi; img++ {
		dx := t.y[img*in.Len():][:in.Len()]
		if !s.accumulate {
			clear(dx)
		}
		for p := range out.H {
			r0, r1, h0 := s.window(p, in.H)
			for q := range out.W {
				s0, s1, w0 := s.window(q, in.W)
				o := ((img*out.H+p)*out.W + q) * c
				dy := t.dy[o : o+c]
				if s.average {
					scale := s.windowWeight(r1-r0, s1-s0)
					for r := r0; r < r1; r++ {
						for k := s0; k < s1; k++ {
							d := dx[((h0+r-r0)*in.W+w0+k-s0)*c:][:c]
							for i, v := range dy {
								d[i] += v * scale
							}
						}
					}
					continue
				}
				h, w := h0-r0, w0-s0
				for i, at := range s.idx[o : o+c] {
					r, k := int(at)/s.kernel, int(at)%s.kernel
					dx[((h+r)*in.W+w+k)*c+i] += dy[i]
				}
			}
		}
	}
}

// globalPoolStep is the mean over all positions from one on.
type globalPoolStep struct {
	plainStep
	from int
}

func (s *globalPoolStep) forward(e *Net, n int) {
	r := &e.rows
	r.x, r.y = s.in.x.data, s.out.x.data
	s.measure(r)
	if s.in.x.bytes {
		r.ref = s.in
		r.runChunks(n, s.in.shape.Len(), byteGlobalPoolKernel)
		return
	}
	r.runChunks(n, s.in.shape.Len(), globalPoolKernel)
}

func (s *globalPoolStep) backward(e *Net, n int) {
	r := &e.rows
	r.dy, r.y, r.accumulate = s.out.g.data, s.in.g.data, s.accumulate
	s.measure(r)
	r.runChunks(n, s.in.shape.Len(), globalPoolGradKernel)
}

func (s *globalPoolStep) measure(r *rowTask) {
	r.positions, r.first, r.channels = s.in.shape.H*s.in.shape.W, s.from, s.in.shape.C
	r.scale = 1 / float32(r.positions-r.first)
}

func globalPoolKernel(t *rowTask, _, lo, hi int) {
	c := t.channels
	for i := lo; i < hi; i++ {
		y := t.y[i*c : (i+1)*c]
		simd.ColumnSums(y, t.x[(i*t.positions+t.first)*c:], t.positions-t.first, c)
		for j := range y {
			y[j] *= t.scale
		}
	}
}

func globalPoolGradKernel(t *rowTask, _, lo, hi int) {
	c := t.channels
	for i := lo; i < hi; i++ {
		dy := t.dy[i*c : (i+1)*c]
		for p := range t.positions {
			dx := t.y[(i*t.positions+p)*c:][:c]
			switch {
			case p < t.first && !t.accumulate:
				clear(dx)
			case p < t.first:
			case t.accumulate:
				simd.Axpy(t.scale, dy, dx)
			default:
				simd.Scale(dx, t.scale, dy)
			}
		}
	}
}
