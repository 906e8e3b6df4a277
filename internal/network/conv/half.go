package conv

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// halfSlab bounds the bfloat16 values of a chunk's source, so that it stays in the
// second-level cache for all panels of filters.
const halfSlab = 192 << 10

// roundsFrom is the least number of products in a sum that are worth a step of
// bfloat16. With fewer there is nothing to gain.
const roundsFrom = bf16.StepDepth

// UsesBFloat16 reports whether s is computed in bfloat16 where the workspace has it.
func (s *Shape) UsesBFloat16() bool { return s.R*s.S*(s.C/s.Groups) >= roundsFrom && !s.isDepthwise() }

// halfLayout is how a geometry's positions lie in front of bfloat16 tiles, whose
// rows must be equally far apart. A chunk's part of the source is rounded into a slab:
//
//   - With one tap (pointwise) position by position, 16 of them a tile:
//     [16 positions][step of 32 channels][position][channel].
//   - Else line by line with the padding, those of each phase of the vertical stride
//     by themselves. The positions of an image are then equally far apart from the
//     first to the last: of a line's, those beyond the last of the output are
//     computed and dropped. A filter's row meets a run of consecutive values; what is
//     read behind it meets zeros among the filters.
type halfLayout struct {
	pointwise bool
	run       int // values of a run: taps across times channels
	runSteps  int // steps of 32 for it
	steps     int // in all
	spread    spreadLines
	slabLen   int // bfloat16 values of an image's slab, or of a chunk's
	aStep     int // bytes from one row of a tile to the next
	aTile     int
	koff      []int64
	coff      []int64 // of an image's positions, or of a chunk's; negative for those that are dropped
}

// spreadLines is how the lines of a source are laid out with their padding: lines of
// the same remainder by the vertical stride one after another, each shortened to what
// the next line's zeros on the left can stand in for.
type spreadLines struct {
	wide   int // positions from one line of outputs to the next
	pixels int // of a line: wide times the stride across
	lines  int // of a phase
}

func newSpreadLines(g geometry, rows int) spreadLines {
	span := (g.outW-1)*g.strideW + g.tapsW
	zeros := max(0, g.offW+span-g.srcW) // on the right
	shared := min(max(0, -g.offW), zeros)
	wide := max(g.outW, (span-shared+g.strideW-1)/g.strideW)
	return spreadLines{wide, wide * g.strideW, ((rows-1)*g.strideH + g.taps + g.strideH - 1) / g.strideH}
}

// halfLayout cuts l's geometry for bfloat16.
func (l *layout) halfLayout() {
	h := &halfLayout{pointwise: l.taps == 1 && l.tapsW == 1, run: l.tapsW * l.chans}
	l.half = h
	h.runSteps = (h.run + bf16.StepDepth - 1) / bf16.StepDepth
	h.steps = l.taps * h.runSteps
	if l.streamed {
		l.streamLayout()
		h.pack(l.rows)
		for i := range l.rows {
			h.coff = append(h.coff, int64(i*l.cols))
		}
		return
	}
	if l.pooled {
		l.poolLayout()
	} else {
		l.cut(h)
	}
	if panels := (l.cols + bf16.BlockCols - 1) / bf16.BlockCols; l.chunks < wantChunks && !l.pooled {
		l.split = min((wantChunks+l.chunks-1)/l.chunks, panels)
	}
	if h.pointwise {
		h.packed(l)
	} else {
		h.lines(l)
	}
}

// cut decides on the images and rows of a chunk.
func (l *layout) cut(h *halfLayout) {
	l.split = 1
	// A chunk that reads its panels from further away than the second-level cache has
	// more positions.
	size := halfSlab
	least := 8 * bf16.BlockRows
	if h.steps*bf16.StepDepth*l.cols > 512<<10 {
		size, least = 2*size, 2*least
	}
	rowLen := l.strideH*l.outW*l.strideW*l.chans + 2*l.outW*l.cols
	if h.pointwise {
		rowLen = l.outW*l.chans + 2*l.outW*l.cols
	}
	l.images, l.bands = 1, 1
	l.rows = min(l.outH, max(size/rowLen, (least+l.outW-1)/l.outW))
	if l.rows < l.outH {
		l.bands = (l.outH + l.rows - 1) / l.rows
	} else if l.n < wantChunks && l.outH*l.outW > 2*least {
		l.bands = min((wantChunks+l.n-1)/l.n, l.outH*l.outW/least, l.outH)
	}
	l.rows = (l.outH + l.bands - 1) / l.bands
	l.bands = (l.outH + l.rows - 1) / l.rows
	if l.bands == 1 {
		want := max(size/(rowLen*l.outH), (least+l.outH*l.outW-1)/(l.outH*l.outW))
		if h.steps*bf16.StepDepth*l.cols <= 512<<10 {
			want = min(want, max(1, l.n/wantChunks))
		}
		l.images = max(1, min(want, l.n))
	}
	l.chunks = (l.n + l.images - 1) / l.images * l.bands
}

// pack lays so many positions one by one.
func (h *halfLayout) pack(positions int) {
	h.aStep, h.aTile = 64, 1024*h.steps
	h.slabLen = (positions + 15) / 16 * 512 * h.steps
	for s := range h.steps {
		h.koff = append(h.koff, int64(1024*s))
	}
}

// packed fills in the tables where positions are packed one by one.
func (h *halfLayout) packed(l *layout) {
	h.pack(l.images * l.rows * l.outW)
	for n := range l.images {
		for p := range l.rows {
			for q := range l.outW {
				h.coff = append(h.coff, int64(n*l.dstImage+p*l.dstRow+q*l.dstCol))
			}
		}
	}
}

// lines fills in the tables where lines are copied with their padding.
func (h *halfLayout) lines(l *layout) {
	h.spread = newSpreadLines(l.geometry, l.rows)
	line := h.spread.pixels * l.chans
	h.aStep = 2 * l.strideW * l.chans
	h.aTile = 16 * h.aStep
	// Behind the last line: what the last run ends in, then what rows of tiles read that
	// are dropped.
	h.slabLen = (l.strideH*h.spread.lines*line + h.run + 32 + 16*l.strideW*l.chans + 31) / 32 * 32
	for r := range l.taps {
		at := (r%l.strideH*h.spread.lines + r/l.strideH) * line
		for s := range h.runSteps {
			h.koff = append(h.koff, int64(2*(at+32*s)))
		}
	}
	for p := range l.rows {
		for q := range h.spread.wide {
			to := int64(-1)
			if q < l.outW {
				to = int64(p*l.dstRow + q*l.dstCol)
			}
			h.coff = append(h.coff, to)
		}
	}
}

// halfPositions is how many a tile column computes for rows of an image.
func (l *layout) halfPositions(rows int) int { return (rows-1)*l.half.spread.wide + l.outW }

// halfChunk is compute in bfloat16.
func (s *product) halfChunk(chunk, part, n0, images, p0, rows, base int) {
	h := s.half
	slabs := images
	if h.pointwise {
		slabs = 1
	}
	buf := s.scratch.Get((slabs*h.slabLen+1)/2 + bf16.SumLen)
	defer s.scratch.Put(buf)
	slab := bf16.View(buf[bf16.SumLen:])
	if h.pointwise {
		s.packPositions(slab, n0, images, p0, rows)
	} else {
		for i := range images {
			s.fillLines(slab[i*h.slabLen:(i+1)*h.slabLen], n0+i, p0, rows)
		}
	}
	panels := (s.cols + bf16.BlockCols - 1) / bf16.BlockCols
	first, end := part*panels/s.split, (part+1)*panels/s.split
	from, to := first*bf16.BlockCols, min(end*bf16.BlockCols, s.cols)
	if !s.dstHalf || s.act == nil && s.moments == nil {
		s.halfPanels(slab, buf[:bf16.SumLen], base, slabs, images, rows, from, to)
		s.activate(base, images, rows, from, to)
		s.measure(chunk, base, from, to)
		return
	}
	// What looks at results or changes them does so before they are rounded. Those of a
	// chunk lie without gaps on the way forward.
	wide := *s
	wide.dst = s.scratch.Get(images * rows * s.width * s.dstCol)
	defer s.scratch.Put(wide.dst)
	wide.dstHalf = false
	wide.addBase = base
	wide.halfPanels(slab, buf[:bf16.SumLen], 0, slabs, images, rows, from, to)
	wide.activate(0, images, rows, from, to)
	wide.measure(chunk, 0, from, to)
	out := bf16.View(s.dst)[base:]
	for i := 0; i < images*rows*s.width*s.dstCol; i += s.dstCol {
		bf16.Round(out[i+from:i+to], wide.dst[i+from:i+to])
	}
}

// halfPanels multiplies a chunk's slabs by the panels of columns from..to-1. The
// chunk's results begin at base.
func (s *product) halfPanels(slab []uint16, sums []float32, base, slabs, images, rows, from, to int) {
	h := s.half
	t := bf16.Tile{
		KOff: &h.koff[0], COff: &h.coff[0], Steps: h.steps, AStep: h.aStep, ATile: h.aTile, BTile: 1024 * h.steps,
		Rows: s.halfPositions(rows), ReLU: s.relu, HalfC: s.dstHalf, HalfAdd: s.addHalf,
	}
	if h.pointwise {
		t.Rows = images * rows * s.outW
	}
	for col := from; col < to; col += bf16.BlockCols {
		s.halfPanel(&t, col)
		for i := range slabs {
			at := base + col + i*s.dstImage
			t.A, t.C = unsafe.Pointer(&slab[i*h.slabLen]), valuePointer(s.dst, s.dstHalf, at)
			if s.add != nil {
				t.Add = valuePointer(s.add, s.addHalf, s.addBase+at)
			}
			t.Run(sums)
		}
	}
}

// halfPanel has t read the panel of the columns from col on.
func (s *product) halfPanel(t *bf16.Tile, col int) {
	t.Cols = min(bf16.BlockCols, s.cols-col)
	t.B = unsafe.Pointer(&s.panels[col*16*s.half.steps])
	if s.scale != nil {
		t.Scale = &s.scale[col]
	}
	if s.shift != nil {
		t.Shift = &s.shift[col]
	}
}

// valuePointer points to the i-th value of v.
func valuePointer(v []float32, half bool, i int) unsafe.Pointer {
	if half {
		return unsafe.Pointer(&bf16.View(v)[i])
	}
	return unsafe.Pointer(&v[i])
}

// packPositions rounds the positions of a chunk into tiles.
func (s *product) packPositions(slab []uint16, n0, images, p0, rows int) {
	at, step := 0, s.strideW*s.srcC
	tile := 512 * s.half.steps
	put := func(from, count int) {
		s.packRun(slab, at, from, step, count)
		at += count
	}
	if s.strideH == 1 && s.strideW == 1 && s.offH == 0 && s.offW == 0 && s.outW == s.srcW && s.outH == s.srcH {
		put((n0*s.srcH+p0)*s.srcW*s.srcC+s.chan0, images*rows*s.outW)
		return
	}
	for i := range images {
		for p := p0; p < p0+rows; p++ {
			h := p*s.strideH + s.offH
			for q := 0; q < s.outW; {
				// Positions q..end-1 lie within the image, or one does not.
				w, end := q*s.strideW+s.offW, q
				for h >= 0 && h < s.srcH && w >= 0 && end < s.outW && end*s.strideW+s.offW < s.srcW {
					end++
				}
				if end > q {
					put(((n0+i)*s.srcH+h)*s.srcW*s.srcC+w*s.srcC+s.chan0, end-q)
					q = end
					continue
				}
				for k := range s.half.steps {
					clear(slab[at/16*tile+at%16*32+512*k:][:32])
				}
				at, q = at+1, q+1
			}
		}
	}
}

// packRun rounds count positions, step values apart from the from-th on, into tiles from
// position at on.
func (s *product) packRun(slab []uint16, at, from, step, count int) {
	for count > 0 {
		k := min(count, 16-at%16)
		to := slab[at/16*512*s.half.steps+at%16*32:]
		if s.srcHalf {
			bf16.CopySteps(to, 512, bf16.View(s.src)[from:], step, k, s.chans)
		} else {
			bf16.RoundSteps(to, 512, s.src[from:], step, k, s.chans)
		}
		at, from, count = at+k, from+k*step, count-k
	}
}

// fillLines rounds the lines of image n that rows p0.. read into a slab.
func (s *product) fillLines(slab []uint16, n, p0, rows int) {
	lines, width := s.half.spread.lines, s.half.spread.pixels
	line := width * s.chans
	left := min(max(0, -s.offW), width)
	right := max(left, min(width, s.srcW-s.offW))
	for i := range s.strideH * lines {
		row := slab[i*line : (i+1)*line]
		h := (p0+i%lines)*s.strideH + i/lines + s.offH
		if h < 0 || h >= s.srcH || i%lines*s.strideH+i/lines >= (rows-1)*s.strideH+s.taps {
			clear(row)
			continue
		}
		clear(row[:left*s.chans])
		clear(row[right*s.chans:])
		if left == right {
			continue
		}
		from := ((n*s.srcH+h)*s.srcW + left + s.offW) * s.srcC
		if s.chans == s.srcC {
			s.values(row[left*s.chans:right*s.chans], from)
			continue
		}
		for v := range right - left {
			s.values(row[(left+v)*s.chans:][:s.chans], from+v*s.srcC+s.chan0)
		}
	}
	clear(slab[s.strideH*lines*line:][:s.half.run+32])
}

// values sets to to the source's values from the from-th on.
func (s *product) values(to []uint16, from int) {
	if s.srcHalf {
		copy(to, bf16.View(s.src)[from:])
		return
	}
	bf16.Round(to, s.src[from:from+len(to)])
}

// halfPacker writes filters as the panels that bfloat16 tiles read. It is a par.Task
// over 16 columns each.
type halfPacker struct {
	packer
	h       *halfLayout
	to      []float32 // pairs
	scratch *par.Scratch
}

// packHalf fills the workspace's panels as told.
func (ws *Workspace) packHalf(l *layout, p packer) []float32 {
	n := (p.cols + 15) / 16
	ws.panels = par.Grow(ws.panels, n*l.half.steps*256)
	ws.halfPacker = halfPacker{p, l.half, ws.panels, &ws.scratch}
	par.DoIf(p.depth*p.cols >= 64<<10, n, &ws.halfPacker)
	ws.halfPacker = halfPacker{}
	return ws.panels
}

// Run packs 16 columns.
func (p *halfPacker) Run(i int) {
	to := p.to[i*p.h.steps*256 : (i+1)*p.h.steps*256]
	n := min(16, p.cols-16*i)
	if p.back != nil {
		p.backColumns(to, 16*i, n)
		return
	}
	// A filter's runs are rounded, and the pairs of 16 filters transposed.
	if n < 16 {
		clear(to)
	}
	rows := p.scratch.Get(16 * p.h.steps * 16)
	defer p.scratch.Put(rows)
	taps := p.h.steps / p.h.runSteps
	for r := range taps {
		for j := range n {
			bf16.RoundSteps(bf16.View(rows[(j*p.h.steps+r*p.h.runSteps)*16:]), 32, p.w[(16*i+j)*p.depth+r*p.h.run:],
				p.h.run, 1, p.h.run)
		}
	}
	for s := range p.h.steps {
		simd.Transpose(to[256*s:], 16, rows[16*s:], 16*p.h.steps, n, 16)
	}
}

// backColumns packs n columns from the col-th on for the way back: row (u, v, k) of
// the panel is filter k at the phase's tap (u, v) from its last.
func (p *halfPacker) backColumns(to []float32, col, n int) {
	s, f := p.back, p.phase
	cg, kg := s.C/s.Groups, s.K/s.Groups
	for u := range f.tapsH {
		r := f.r0 + s.StrideH*(f.tapsH-1-u)
		value := func(j int) []float32 { // of a run
			if j >= p.h.run {
				return nil
			}
			t := f.s0 + s.StrideW*(f.tapsW-1-j/kg)
			return p.w[((j%kg*s.R+r)*s.S+t)*cg+col:][:n]
		}
		for j := 0; j < 32*p.h.runSteps; j += 2 {
			bf16.Pairs(bf16.Words(to[(u*p.h.runSteps*16+j/2)*16:]), 16, value(j), value(j+1), n)
		}
	}
}
