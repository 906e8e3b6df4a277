package conv

// BackwardData computes dx, the gradient of the input, from dy, the gradient of
// Forward's z:
//
//	dx[n,h,v,c] = sum over p,r,q,t,k with p*StrideH+r-PadH = h, q*StrideW+t-PadW = v of dy[n,p,q,k] * w[k,r,t,c]
//
// With accumulate it is added to what dx holds. dx must not overlap dy or w.
//
// Inputs whose row and column have the same remainder by the strides meet the
// same taps, so each such phase is itself a convolution of dy with stride 1.
func BackwardData(ws *Workspace, s *Shape, dy, w, dx []float32, accumulate bool) {
	s.mustFit(dx, s.Half.DX, w, dy, s.Half.DY, false)
	if len(dx) == 0 {
		return
	}
	if !accumulate && (s.R < s.StrideH || s.S < s.StrideW) {
		clear(dx) // some inputs meet no tap
	}
	for a := range min(s.StrideH, s.H) {
		for b := range min(s.StrideW, s.W) {
			f := backPhase{a: a, b: b, r0: (a + s.PadH) % s.StrideH, s0: (b + s.PadW) % s.StrideW}
			if f.r0 >= s.R || f.s0 >= s.S {
				continue
			}
			f.tapsH, f.tapsW = (s.R-f.r0+s.StrideH-1)/s.StrideH, (s.S-f.s0+s.StrideW-1)/s.StrideW
			if s.isDepthwise() {
				ws.depthwiseData(s, f, dy, w, dx, accumulate)
				continue
			}
			for g := range s.Groups {
				ws.groupData(s, g, f, dy, w, dx, accumulate)
			}
		}
	}
	ws.product = product{}
}

// backPhase is a phase of the stride: inputs a, b past a multiple of it, which
// meet every StrideH-th tap down from r0 and every StrideW-th across from s0.
type backPhase struct {
	a, b, r0, s0, tapsH, tapsW int
}

// backward returns the geometry of group g's phase on the way back.
func (s *Shape) backward(g int, f backPhase) geometry {
	cg, kg := s.C/s.Groups, s.K/s.Groups
	return geometry{
		bfloat16: s.UsesBFloat16(),
		n:        s.N, srcH: s.OutH(), srcW: s.OutW(), srcC: s.K, chan0: g * kg, chans: kg,
		taps: f.tapsH, tapsW: f.tapsW, strideH: 1, strideW: 1,
		offH: (f.a+s.PadH)/s.StrideH - (f.tapsH - 1), offW: (f.b+s.PadW)/s.StrideW - (f.tapsW - 1),
		outH: (s.H - f.a + s.StrideH - 1) / s.StrideH, outW: (s.W - f.b + s.StrideW - 1) / s.StrideW,
		dst: (f.a*s.W+f.b)*s.C + g*cg, dstImage: s.H * s.W * s.C,
		dstRow: s.StrideH * s.W * s.C, dstCol: s.StrideW * s.C, cols: cg,
	}
}

func (ws *Workspace) groupData(s *Shape, g int, f backPhase, dy, w, dx []float32, accumulate bool) {
	cg, kg := s.C/s.Groups, s.K/s.Groups
	task := &ws.product
	*task = product{layout: ws.layout(s.backward(g, f)), src: dy, dst: dx, scratch: &ws.scratch,
		srcHalf: s.Half.DY, dstHalf: s.Half.DX, addHalf: s.Half.DX}
	if accumulate {
		task.add = dx
	}
	task.panels = ws.loadFilters(task.layout, nil, packer{
		w: w[g*kg*s.R*s.S*cg:], depth: f.tapsH * f.tapsW * kg, cols: cg, back: s, phase: f,
	})
	task.do()
}
