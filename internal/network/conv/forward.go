package conv

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
)

// Forward computes the convolution (as deep learning names it: the cross
// correlation)
//
//	z[n,p,q,k] = sum over r,t,c of x[n, p*StrideH+r-PadH, q*StrideW+t-PadW, g*C/G+c] * w[k,r,t,c]
//
// with g the group of filter k and zeros outside the image, applies the
// epilogue (which may be nil) and stores y, shape N x OutH x OutW x K.
// x is N x H x W x C, w is K x R x S x C/Groups. y must not overlap x or w, but
// may be the epilogue's Residual. It panics if a slice does not have the size
// that the shape says. With a pool in the epilogue y has the size of its output.
func Forward(ws *Workspace, s *Shape, x, w, y []float32, e *Epilogue) {
	if e == nil {
		e = &ws.plain
	}
	s.mustFit(x, s.Half.X, w, y, s.Half.Y, e.Pool)
	e.mustFit(s)
	if len(y) == 0 {
		return
	}
	if e.Pool && (!s.CanPool() || e.Residual != nil || e.Moments != nil) {
		panic(fmt.Sprintf("conv: %+v cannot be pooled, or not with a residual or moments", *s))
	}
	if s.isDepthwise() {
		ws.depthwiseForward(s, x, w, y, e)
		ws.product = product{}
		return
	}
	cg, kg := s.C/s.Groups, s.K/s.Groups
	for g := range s.Groups {
		geometry := s.forward(g)
		geometry.streamed, geometry.evaluated = ws.isStreamed(s, e), e.Filters != nil && !e.Filters.Precise
		geometry.pooled = e.Pool
		geometry.bfloat16 = geometry.bfloat16 && (bf16.Active() == bf16.AMX || !geometry.usesWinograd4())
		l := ws.layout(geometry)
		task := &ws.product
		*task = product{layout: l, src: x, dst: y, add: e.Residual, relu: e.relu(), act: e.Act, scratch: &ws.scratch,
			srcHalf: s.Half.X, dstHalf: s.Half.Y, addHalf: e.HalfResidual}
		task.panels = ws.loadFilters(l, e.Filters, packer{w: w[g*kg*s.R*s.S*cg:], depth: s.R * s.S * cg, cols: kg})
		if l.wino || l.wino4 {
			task.scale, task.shift = ws.affine(e, s.K)
		} else {
			task.scale = ws.padded(0, e.Scale, g*kg, kg)
			task.shift = ws.padded(1, e.Shift, g*kg, kg)
		}
		if e.Moments != nil {
			task.moments = ws.chunkMoments(l)
		}
		if l.wino4 {
			ws.wino4Do(task)
			continue
		}
		task.do()
		if e.Moments != nil {
			merge(task.moments, e.Moments, g*kg)
		}
	}
	ws.product = product{}
}

// forward returns the geometry of group g on the way forward.
func (s *Shape) forward(g int) geometry {
	cg, kg, oh, ow := s.C/s.Groups, s.K/s.Groups, s.OutH(), s.OutW()
	return geometry{
		bfloat16: s.UsesBFloat16(),
		n:        s.N, srcH: s.H, srcW: s.W, srcC: s.C, chan0: g * cg, chans: cg, taps: s.R, tapsW: s.S,
		strideH: s.StrideH, strideW: s.StrideW, offH: -s.PadH, offW: -s.PadW,
		outH: oh, outW: ow, dst: g * kg, dstImage: oh * ow * s.K, dstRow: ow * s.K, dstCol: s.K, cols: kg,
	}
}
