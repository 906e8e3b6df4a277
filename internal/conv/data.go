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
	s.mustFit(dx, w, dy)
	if len(dx) == 0 {
		return
	}
	if !accumulate && (s.R < s.StrideH || s.S < s.StrideW) {
		clear(dx) // some inputs meet no tap
	}
	cg, kg := s.C/s.Groups, s.K/s.Groups
	for g := range s.Groups {
		for a := range min(s.StrideH, s.H) {
			for b := range min(s.StrideW, s.W) {
				r0, s0 := (a+s.PadH)%s.StrideH, (b+s.PadW)%s.StrideW
				if r0 >= s.R || s0 >= s.S {
					continue
				}
				tapsH, tapsW := (s.R-r0+s.StrideH-1)/s.StrideH, (s.S-s0+s.StrideW-1)/s.StrideW
				l := ws.layout(geometry{
					n: s.N, srcH: s.OutH(), srcW: s.OutW(), srcC: s.K, chan0: g * kg, chans: kg,
					taps: tapsH, tapsW: tapsW, strideH: 1, strideW: 1,
					offH: (a+s.PadH)/s.StrideH - (tapsH - 1), offW: (b+s.PadW)/s.StrideW - (tapsW - 1),
					outH: (s.H - a + s.StrideH - 1) / s.StrideH, outW: (s.W - b + s.StrideW - 1) / s.StrideW,
					dst: (a*s.W+b)*s.C + g*cg, dstImage: s.H * s.W * s.C,
					dstRow: s.StrideH * s.W * s.C, dstCol: s.StrideW * s.C, cols: cg,
				})
				sw := &ws.sweep
				*sw = sweep{layout: l, src: dy, dst: dx, scratch: &ws.scratch}
				if accumulate {
					sw.add = dx
				}
				sw.panels = ws.pack(packer{
					w: w[g*kg*s.R*s.S*cg:], depth: tapsH * tapsW * kg, cols: cg,
					back: s, r0: r0, s0: s0, tapsH: tapsH, tapsW: tapsW,
				})
				sw.do()
			}
		}
	}
	ws.sweep = sweep{}
}
