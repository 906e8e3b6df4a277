package conv

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// ForwardPair computes a depthwise convolution and the pointwise one that reads it,
// with their epilogues, in float32, to the bits of two calls of Forward. What lies between them is
// made a chunk at a time and stays in the cache. It panics as Forward does, if the
// shapes are not a depthwise and a pointwise one that fit each other, or if the first epilogue asks for
// moments or has a residual.
func ForwardPair(ws *Workspace, depth, point *Shape, x, wd, wp, y []float32, ed, ep *Epilogue) {
	nx, nd, between := depth.Len()
	from, np, ny := point.Len()
	if !IsPair(depth, point) || between != from || point.C != depth.K || ed.Moments != nil || ed.Residual != nil ||
		len(x) != nx || len(wd) != nd || len(wp) != np || len(y) != ny {
		panic(fmt.Sprintf("conv: %d, %d, %d and %d values for the pair %+v and %+v", len(x), len(wd), len(wp), len(y),
			*depth, *point))
	}
	ed.mustFit(depth)
	ep.mustFit(point)
	if len(y) == 0 {
		return
	}
	g := point.forward(0)
	g.fed, g.bfloat16 = true, false
	l := ws.layout(g)
	ws.between = *ws.layout(depth.allChannels(depth.forward(0)))
	d := &ws.between
	d.dst, d.dstImage, d.dstRow, d.dstCol = 0, 0, l.slabW*l.pixel, l.pixel
	ws.filters = par.Grow(ws.filters, depth.R*depth.S*depth.C)
	depth.tapMajor(ws.filters, wd)
	ws.feeder = product{layout: d, src: x, relu: ed.relu(), act: ed.Act, scratch: &ws.scratch, panels: ws.filters,
		zeros: ws.zeroRow(d), scale: ws.filled(2, ed.Scale, 1, depth.K), shift: ws.filled(3, ed.Shift, 0, depth.K)}

	task := &ws.product
	*task = product{layout: l, dst: y, add: ep.Residual, relu: ep.relu(), act: ep.Act, scratch: &ws.scratch,
		before: &ws.feeder}
	task.panels = ws.loadFilters(l, ep.Filters, packer{w: wp, depth: point.C, cols: point.K})
	task.scale, task.shift = ws.padded(0, ep.Scale, 0, point.K), ws.padded(1, ep.Shift, 0, point.K)
	if ep.Moments != nil {
		task.moments = ws.chunkMoments(l)
	}
	task.do()
	if ep.Moments != nil {
		merge(task.moments, ep.Moments, 0)
	}
	ws.product, ws.feeder = product{}, product{}
}

// isPointwise reports whether s is a linear map at each position.
func (s *Shape) isPointwise() bool {
	return s.R == 1 && s.S == 1 && s.StrideH == 1 && s.StrideW == 1 && s.Groups == 1 && s.PadH+s.PadW+s.EndH+s.EndW == 0
}

// IsPair reports whether ForwardPair takes the two shapes.
func IsPair(depth, point *Shape) bool { return depth.isDepthwise() && point.isPointwise() }

// fillSlab computes rows p0.. of an image of a depthwise convolution to the slab of the
// product that reads it.
func (s *product) fillSlab(to []float32, n, p0, rows int) {
	t := *s
	t.dst = to
	if s.isBanded() {
		t.bandRows(to, n, p0, rows)
		t.activate(0, 1, rows, 0, s.cols)
		return
	}
	a := s.src
	if s.copied {
		slab := s.scratch.Get(((rows-1)*s.strideH + s.taps) * s.slabW * s.pixel)
		defer s.scratch.Put(slab)
		s.fill(slab, source{v: s.src}, n, p0, rows)
		a = slab
	} else {
		a = a[((n*s.srcH+p0*s.strideH+s.offH)*s.srcW+s.offW)*s.srcC:]
	}
	t.depthwiseRows(a, 0, n, 1, p0, rows)
	t.activate(0, 1, rows, 0, s.cols)
}

// planNextChunk has the last panels of a chunk ask for what the core's next chunk is likely to
// read first, and returns how many panels that takes.
func (s *product) planNextChunk(chunk, positions int) (ask prefetchPlan, panels int) {
	if s.before == nil {
		return ask, 0
	}
	next := chunk + runtime.GOMAXPROCS(0)
	if next >= s.chunks {
		return ask, 0
	}
	source := s.before.source(s, next)
	if len(source) == 0 {
		return ask, 0
	}
	ask.steps = (positions + s.tr - 1) / s.tr * s.chans
	ask.add(unsafe.Pointer(&source[0]), false, len(source))
	return ask, (ask.parts[0].lines + ask.steps - 1) / ask.steps
}

// source returns the rows of images that a chunk of the product at reads through s.
func (s *product) source(at *product, chunk int) []float32 {
	n0, images, p0, rows := at.extent(chunk)
	end := max(0, min(s.srcH, (p0+rows-1)*s.strideH+s.offH+s.taps))
	from := max(0, min(end, p0*s.strideH+s.offH))
	line := s.srcW * s.srcC
	return s.src[(n0*s.srcH+from)*line : ((n0+images-1)*s.srcH+end)*line]
}
