package conv

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// A convolution with as many groups as input and output channels has no matrix
// product in it. Its passes cut the work as others do, and go along rows with a
// kernel of their own.
func (s *Shape) isDepthwise() bool { return s.Groups > 1 && s.Groups == s.C && s.C == s.K }

// allChannels returns the geometry of all groups at once.
func (s *Shape) allChannels(g geometry) geometry {
	g.chan0, g.chans, g.cols, g.depthwise = 0, s.C, s.C, true
	return g
}

// depthwiseRows runs a depthwise product's chunk, row by row.
func (s *product) depthwiseRows(a []float32, base, n0, images, p0, rows int) {
	c := s.chans
	image := s.slabH * s.slabW * s.pixel
	if !s.copied {
		image = s.srcH * s.srcW * s.srcC
	}
	d := simd.Depthwise{
		W: unsafe.Pointer(&s.panels[0]), N: s.outW, C: 4 * c, Taps: s.taps, TapsW: s.tapsW,
		XStep: 4 * s.strideW * s.pixel, XRow: 4 * s.slabW * s.pixel, YStep: 4 * s.dstCol,
	}
	// The kernel applies the epilogue, except a residual.
	finished := s.scale != nil && s.add == nil
	if finished {
		d.Scale, d.Shift, d.Act = &s.scale[0], &s.shift[0], s.bounds()
	}
	var line []float32
	if s.backAdd {
		line = s.scratch.Get(s.outW * c)
		defer s.scratch.Put(line)
		d.YStep = 4 * c
	}
	for i := range images {
		for p := range rows {
			d.X = unsafe.Pointer(&a[i*image+p*s.strideH*s.slabW*s.pixel])
			at := base + i*s.dstImage + p*s.dstRow
			if s.backAdd {
				d.Y = unsafe.Pointer(&line[0])
				d.Forward()
				for q := range s.outW {
					simd.Axpy(1, line[q*c:(q+1)*c], s.dst[at+q*s.dstCol:][:c])
				}
				continue
			}
			d.Y = unsafe.Pointer(&s.dst[at])
			d.Forward()
			if !finished {
				s.finish(at, s.dst[at:at+s.outW*c])
			}
		}
	}
}

// bounds is the rectifier.
func (s *product) bounds() simd.Bounds {
	switch s.relu {
	case 1:
		return simd.ReLU()
	case 6:
		return simd.ReLU6()
	}
	return simd.Linear()
}

// finish stores a row of the output, x, with the epilogue applied. x may be the
// row itself.
func (s *product) finish(at int, x []float32) {
	act := s.bounds()
	y := s.dst[at : at+len(x)]
	switch {
	case s.add != nil && s.scale != nil:
		simd.ScaleShiftAdd(y, x, s.add[at:at+len(y)], s.scale, s.shift, act)
	case s.add != nil:
		simd.AddClamp(y, x, s.add[at:at+len(y)], act)
	case s.scale != nil:
		simd.ScaleShift(y, x, s.scale, s.shift, act)
	case s.relu != 0 || &x[0] != &y[0]:
		simd.Clamp(y, x, act)
	}
}

func (ws *Workspace) depthwiseForward(s *Shape, x, w, y []float32, e *Epilogue) {
	l := ws.layout(s.allChannels(s.forward(0)))
	task := &ws.product
	*task = product{layout: l, src: x, dst: y, add: e.Residual, relu: e.relu(), act: e.Act, scratch: &ws.scratch}
	ws.panels = par.Grow(ws.panels, s.R*s.S*s.C)
	s.tapMajor(ws.panels, w)
	task.panels = ws.panels
	task.scale, task.shift = ws.affine(e, s.K)
	task.zeros = ws.zeroRow(l)
	if e.Moments != nil {
		task.moments = ws.chunkMoments(l)
	}
	task.do()
	if e.Moments != nil {
		merge(task.moments, e.Moments, 0)
	}
}

// tapMajor lays a depthwise convolution's filters out as its kernel reads them.
func (s *Shape) tapMajor(to, w []float32) {
	taps := s.R * s.S
	simd.Transpose(to, s.C, w, taps, s.C, taps)
}

// affine returns scale and shift for finish: both or neither.
func (ws *Workspace) affine(e *Epilogue, k int) (scale, shift []float32) {
	if e.Scale == nil && e.Shift == nil {
		return nil, nil
	}
	return ws.filled(0, e.Scale, 1, k), ws.filled(1, e.Shift, 0, k)
}

// filled returns v, or n times value if it is nil.
func (ws *Workspace) filled(i int, v []float32, value float32, n int) []float32 {
	if v != nil {
		return v
	}
	ws.vectors[i] = par.Grow(ws.vectors[i], n)
	for j := range ws.vectors[i] {
		ws.vectors[i][j] = value
	}
	return ws.vectors[i]
}

func (ws *Workspace) depthwiseData(s *Shape, f backPhase, dy, w, dx []float32, accumulate bool) {
	l := ws.layout(s.allChannels(s.backward(0, f)))
	task := &ws.product
	*task = product{layout: l, src: dy, dst: dx, scratch: &ws.scratch, backAdd: accumulate}
	ws.panels = par.Grow(ws.panels, f.tapsH*f.tapsW*s.C)
	for u := range f.tapsH {
		for v := range f.tapsW {
			tap := (f.r0+s.StrideH*(f.tapsH-1-u))*s.S + f.s0 + s.StrideW*(f.tapsW-1-v)
			for c := range s.C {
				ws.panels[(u*f.tapsW+v)*s.C+c] = w[c*s.R*s.S+tap]
			}
		}
	}
	task.panels = ws.panels
	task.do()
}

// sumDepthwise is sum's loop over a band for depthwise convolutions.
func (t *weightTask) sumDepthwise(a, g, to []float32, images, rows int) {
	d := simd.Depthwise{
		W: unsafe.Pointer(&to[0]), N: t.outW, C: 4 * t.cols, Taps: t.taps, TapsW: t.tapsW,
		XStep: 4 * t.strideW * t.pixel, XRow: 4 * t.slabW * t.pixel, YStep: 4 * t.dstCol,
	}
	for i := range images {
		for p := range rows {
			d.X = unsafe.Pointer(&a[i*t.imageLen()+p*t.strideH*t.slabW*t.pixel])
			d.Y = unsafe.Pointer(&g[(i*t.outH+p)*t.outW*t.dstCol])
			d.Weights()
		}
	}
}
