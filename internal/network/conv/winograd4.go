package conv

import (
	"runtime"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// In evaluation 3 x 3 convolutions at stride 1 are computed by Winograd's F(4x4, 3x3).
// A group of rows of patches is transformed, multiplied by the filters at each of the 36
// values, and transformed back. Groups of few channels fit the second-level cache and are
// each computed by one core. Where the filters do not fit it, all cores go through a large
// group together, so that the filters are read once for it.
//
// Evaluation in bfloat16 does the same without a matrix unit: a quarter of the products in
// float32 take less time than all of them in bfloat16.

const (
	wino4Values = 36
	// minWino4Channels and maxWino4Channels bound the channels on either side, wino4Side the outputs
	// across and down.
	minWino4Channels, maxWino4Channels, wino4Side = 32, 512, 4
	// wino4Near bounds the channels on both sides, together, of groups for one core, and
	// wino4Patches is about how many patches these have: whole tiles.
	wino4Near, wino4Patches = 256, 42
	// wino4Far bounds the transformed values of a group for all cores.
	wino4Far = 16 << 20
)

// usesWinograd4 reports whether a geometry is computed so. That does not depend on the number
// of images: an image has the same result in any batch.
func (g *geometry) usesWinograd4() bool {
	return g.evaluated && simd.HasWinograd4() && g.taps == 3 && g.tapsW == 3 && g.strideH == 1 && g.strideW == 1 &&
		!g.depthwise && g.chans == g.srcC && g.dstCol == g.cols && g.chans%16 == 0 && g.cols%16 == 0 &&
		min(g.chans, g.cols) >= minWino4Channels && max(g.chans, g.cols) <= maxWino4Channels &&
		min(g.outH, g.outW) >= wino4Side
}

// wino4Layout cuts a geometry into groups.
func (l *layout) wino4Layout() {
	l.wino4 = true
	across, down := (l.outW+3)/4, (l.outH+3)/4
	all := l.n * down // rows of patches
	l.slabW, l.slabH = 4*across+2, 6
	l.rows = min(all, max(1, wino4Patches/across))
	if l.chans+l.cols > wino4Near {
		l.together = true
		l.rows = min(all, max(1, wino4Far/(wino4Values*(l.chans+winoPad+l.cols))/across))
	}
	l.chunks = (all + l.rows - 1) / l.rows
	l.rows = (all + l.chunks - 1) / l.chunks // of about one size
	l.chunks, l.split = (all+l.rows-1)/l.rows, 1
}

// wino4Task is the par.Task of such a convolution: over groups, or over the parts of one.
type wino4Task struct {
	*product
	across, down int
	phase        int // of the group that all cores are at
	group        wino4Group
}

// wino4Group is a group with its transformed values.
type wino4Group struct {
	first, rows, patches, padded int
	v, m                         []float32
}

const (
	wino4In = iota
	wino4Multiply
	wino4Out
)

// wino4Do computes the convolution.
func (ws *Workspace) wino4Do(s *product) {
	t := &ws.wino4
	*t = wino4Task{product: s, across: (s.outW + 3) / 4, down: (s.outH + 3) / 4}
	defer func() { *t = wino4Task{} }()
	if !t.together {
		work := s.n * s.outH * s.outW * s.depth() * s.cols
		par.DoIf(work >= 2*minChunk, s.chunks, t)
		return
	}
	for chunk := range s.chunks {
		t.group = t.begin(chunk, func(n int) []float32 {
			ws.values = par.Grow(ws.values, n)
			return ws.values
		})
		for _, phase := range []struct{ phase, parts int }{
			{wino4In, t.group.rows}, {wino4Multiply, wino4Values}, {wino4Out, t.group.rows},
		} {
			t.phase = phase.phase
			par.Do(phase.parts, t)
		}
	}
}

// Run computes a group, or a part of the group that all cores are at.
func (t *wino4Task) Run(i int) {
	if t.together {
		t.part(&t.group, t.phase, i)
		return
	}
	g := t.begin(i, t.scratch.Get)
	defer t.scratch.Put(g.v)
	for row := range g.rows {
		t.part(&g, wino4In, row)
	}
	for k := range wino4Values {
		t.part(&g, wino4Multiply, k)
	}
	for row := range g.rows {
		t.part(&g, wino4Out, row)
	}
}

// begin describes a group, with room from get.
func (t *wino4Task) begin(chunk int, get func(n int) []float32) wino4Group {
	g := wino4Group{first: chunk * t.rows}
	g.rows = min(t.rows, t.n*t.down-g.first)
	g.patches = g.rows * t.across
	g.padded = (g.patches + t.tr - 1) / t.tr * t.tr
	g.v = get(wino4Values * (g.padded*(t.chans+winoPad) + g.patches*t.cols))
	g.m = g.v[wino4Values*g.padded*(t.chans+winoPad):]
	return g
}

func (t *wino4Task) part(g *wino4Group, phase, i int) {
	switch phase {
	case wino4In:
		t.input(g, i)
	case wino4Multiply:
		t.multiply(g, i)
	default:
		t.output(g, i)
	}
}

// aligned returns room for values between the transforms, from what has lineBytes more.
func aligned(tmp []float32) []float32 {
	off := -int(uintptr(unsafe.Pointer(&tmp[0]))/4) & (lineBytes/4 - 1)
	return tmp[off : off+simd.Winograd4Room]
}

// input transforms a row of patches.
func (t *wino4Task) input(g *wino4Group, row int) {
	line := t.slabW * t.chans
	slab := t.scratch.Get(t.slabH*line + simd.Winograd4Room + lineBytes)
	defer t.scratch.Put(slab)
	image, p := (g.first+row)/t.down, 4*((g.first+row)%t.down)
	t.fill(slab, source{t.src, t.srcHalf}, image, p, t.slabH-2)
	lda := t.chans + winoPad
	simd.Winograd4Input(g.v[row*t.across*lda:], slab, t.across, t.chans, line, winoPad, g.padded*lda,
		aligned(slab[t.slabH*line:]))
}

// multiply computes value k of all patches.
func (t *wino4Task) multiply(g *wino4Group, k int) {
	lda := t.chans + winoPad
	var aoff, coff [simd.MaxTileRows]int64
	for i := range t.tr {
		aoff[i], coff[i] = int64(4*i*lda), int64(4*i*t.cols)
	}
	tile := simd.Tile{
		AOff: &aoff[0], COff: &coff[0], AStep: 4, BStep: 4 * t.tc, Inner: t.chans, Outer: 1, Blocks: 1,
		ATile: 4 * t.tr * lda, CTile: 4 * t.tr * t.cols, Rows: g.patches, NextStep: lineBytes,
		A: unsafe.Pointer(&g.v[k*g.padded*lda]),
	}
	panel := t.chans * t.tc
	procs := runtime.GOMAXPROCS(0)
	for j := 0; j < t.cols; j += t.tc {
		at := (j/t.tc*wino4Values + k) * panel
		next := unsafe.Pointer(&t.panels[(k+1)%wino4Values*panel])
		if j+t.tc < t.cols {
			next = unsafe.Pointer(&t.panels[at+wino4Values*panel])
		} else if k+procs < wino4Values && t.together {
			next = unsafe.Pointer(&g.v[(k+procs)*g.padded*lda])
		}
		tile.Cols = min(t.tc, t.cols-j)
		tile.B, tile.Next = unsafe.Pointer(&t.panels[at]), uintptr(next)
		tile.C = unsafe.Pointer(&g.m[k*g.patches*t.cols+j])
		tile.Run()
	}
}

// output transforms a row of patches back, to four rows of the output or to those that
// are left.
func (t *wino4Task) output(g *wino4Group, row int) {
	line := 4 * t.across * t.cols
	out := t.scratch.Get(4*line + simd.Winograd4Room + lineBytes)
	defer t.scratch.Put(out)
	image, p := (g.first+row)/t.down, 4*((g.first+row)%t.down)
	simd.Winograd4Output(out, g.m[row*t.across*t.cols:], t.across, t.cols, g.patches*t.cols, aligned(out[4*line:]))
	for r := p; r < min(p+4, t.outH); r++ {
		t.store(t.geometry.dst+image*t.dstImage+r*t.dstRow, out[(r-p)*line:][:t.width*t.cols])
	}
}

// store stores a row of the output, x, with what follows applied. It changes x.
func (s *product) store(at int, x []float32) {
	row := *s
	if row.dst = x; !s.dstHalf {
		row.dst = s.dst[at : at+len(x)]
	}
	switch {
	case s.addHalf:
		row.add = s.scratch.Get(len(x))
		defer s.scratch.Put(row.add)
		source{s.add, true}.copy(row.add, at)
	case s.add != nil:
		row.add = s.add[at : at+len(x)]
	}
	row.finish(0, x)
	if s.act != nil {
		s.act(row.dst)
	}
	if s.dstHalf {
		bf16.Round(bf16.View(s.dst)[at:at+len(x)], x)
	}
}
