package conv

import (
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// packer writes filters as the panels that a product reads: [panel][depth][tc],
// zeros beyond the last column. A panel's column is a filter on the way
// forward, an input channel on the way back. It is a par.Task over panels.
type packer struct {
	w           []float32 // of one group
	depth, cols int
	back        *Shape // nil on the way forward
	phase       backPhase
	panels      []float32
	tc          int
}

// pack fills the workspace's panels as told.
func (ws *Workspace) pack(l *layout, p packer) []float32 {
	if l.half != nil {
		return ws.packHalf(l, p)
	}
	p.tc = simd.TileCols()
	n := (p.cols + p.tc - 1) / p.tc
	ws.panels = par.Grow(ws.panels, n*p.depth*p.tc)
	p.panels = ws.panels
	ws.packer = p
	par.DoIf(p.depth*p.cols >= 64<<10, n, &ws.packer)
	ws.packer = packer{}
	return ws.panels
}

// Run packs one panel.
func (p *packer) Run(i int) {
	col := i * p.tc
	n := min(p.tc, p.cols-col)
	dst := p.panels[i*p.depth*p.tc : (i+1)*p.depth*p.tc]
	if n < p.tc {
		clear(dst)
	}
	if p.back == nil {
		simd.Transpose(dst, p.tc, p.w[col*p.depth:], p.depth, n, p.depth)
		return
	}
	// Row (u, v, k) of the panel is filter k at the phase's tap (u, v) from its
	// last, where the filter meets the input's pixel as dy's pixels ascend.
	s, f := p.back, p.phase
	cg, kg := s.C/s.Groups, s.K/s.Groups
	for u := range f.tapsH {
		r := f.r0 + s.StrideH*(f.tapsH-1-u)
		for v := range f.tapsW {
			t := f.s0 + s.StrideW*(f.tapsW-1-v)
			for k := range kg {
				copy(dst[:n], p.w[((k*s.R+r)*s.S+t)*cg+col:])
				dst = dst[p.tc:]
			}
		}
	}
}
