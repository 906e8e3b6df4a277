package conv

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

const (
	// halfBand bounds the bfloat16 values of a band's operands that one core sums, and
	// sharedBand those of one that all cores share.
	halfBand, sharedBand = 256 << 10, 2 << 20
	// halfSteps is how many steps a tile of filter gradients sums at a time, so that
	// its columns stay in the first-level cache for all rows.
	halfSteps = 16
	// halfGroup is the number of rows that a chunk of a shared band's sums takes.
	halfGroup = 64
	// packBlocks is how many blocks of 32 positions a chunk of a shared band packs.
	packBlocks = 8
)

// halfSums is how the gradient of filters is computed in bfloat16: the product of the
// input, turned so that a channel's positions lie side by side, and the output's
// gradient, pairs of positions side by side. Positions are laid out as in spreadLines, where
// dropped ones have the gradient 0; so each tap meets the same rows of the input, some
// positions further on:
//
//	input     [image][phase down][phase across][channel][position]
//	gradient  [16 filters][image][step of 32 positions][pair][filter]
//
// Where there are few channels the rows are the values of a whole run, which have only
// phases down; and one tap takes all positions of a band in a row, as if they were one
// image's.
type halfSums struct {
	flat, runs   bool
	rows         int // of the input: channels or values of a run
	spread       spreadLines
	downs, alsos int // phases down and across
	steps        int // of an image
	length       int // positions of a row of the input
	imageLen     int // values of the input
	koff         []int64
	coff         []int64
}

// halfSums decides how l, whose tr and depth are set, is summed in bfloat16.
func (l *weightLayout) halfSums() {
	h := &halfSums{rows: l.chans, downs: l.strideH, alsos: l.strideW}
	l.half = h
	switch {
	case l.taps == 1 && l.tapsW == 1:
		h.flat, h.downs, h.alsos = true, 1, 1
	case l.chans < 16 && l.tapsW > 1:
		h.runs, h.rows, h.alsos = true, l.tapsW*l.chans, 1
	}
	l.parts, l.groups = 0, 1
	most := halfBand
	if l.depth*l.cols > partialMax {
		l.parts, most = 1, sharedBand
		l.groups = l.depth / h.rows * ((h.rows + halfGroup - 1) / halfGroup)
	}
	size := max(most/(h.rows*h.downs*h.alsos+l.cols), 16*bf16.StepDepth)
	l.images, l.rows, l.bands = 1, min(l.outH, max(1, size/l.outW)), 1
	if l.rows < l.outH {
		l.bands = (l.outH + l.rows - 1) / l.rows
		l.rows = (l.outH + l.bands - 1) / l.bands
		l.bands = (l.outH + l.rows - 1) / l.rows
	} else {
		l.images = min(l.n, max(1, size/(l.outH*l.outW)))
		if l.parts == 0 {
			l.images = min(l.images, max(1, l.n/wantChunks))
		}
	}
	l.count = (l.n + l.images - 1) / l.images * l.bands
	if l.parts == 0 {
		l.parts = max(1, min(wantChunks, l.count, l.n*l.outH*l.outW*l.depth*l.cols/minChunk))
	}
	h.tables(l)
}

func (h *halfSums) tables(l *weightLayout) {
	positions, shift, images := 0, 0, l.images
	if h.flat {
		h.spread = spreadLines{wide: l.outW, pixels: l.outW, lines: l.rows}
		positions, images = l.images*l.rows*l.outW, 1
	} else {
		h.spread = newSpreadLines(l.geometry, l.rows)
		positions = (l.rows-1)*h.spread.wide + l.outW
		shift = (l.taps-1)/l.strideH*h.spread.wide + (l.tapsW-1)/l.strideW
		if h.runs {
			shift = (l.taps - 1) / l.strideH * h.spread.wide
		}
	}
	h.steps = (positions + bf16.StepDepth - 1) / bf16.StepDepth
	h.length = (h.steps*bf16.StepDepth + shift + 31) / 32 * 32
	if h.length%64 == 0 { // rows on all sets of the first cache
		h.length += 32
	}
	h.imageLen = h.downs * h.alsos * h.rows * h.length
	for n := range images {
		for s := range h.steps {
			h.koff = append(h.koff, int64(2*(n*h.imageLen+32*s)))
		}
	}
	for i := range h.rows {
		h.coff = append(h.coff, int64(i*l.cols))
	}
}

// slabs is how many images a band's operands hold one by one.
func (h *halfSums) slabs(images int) int {
	if h.flat {
		return 1
	}
	return images
}

// inputLen and gradientLen are the rooms for a band's operands, in float32; behind the
// input are the rows that its last tile reads.
func (l *weightLayout) inputLen() int {
	return (l.half.slabs(l.images)*l.half.imageLen + 16*l.half.length) / 2
}

func (l *weightLayout) gradientLen() int { return (l.cols + 15) / 16 * len(l.half.koff) * 256 }

// halfWeights sums the gradients of filters into the parts.
func (ws *Workspace) halfWeights(t *weightTask, work int) {
	l, h := t.weightLayout, t.half
	if l.groups == 1 {
		t.do(phaseSum, l.parts, work)
		return
	}
	ws.source, ws.packed = par.Grow(ws.source, l.inputLen()), par.Grow(ws.packed, l.gradientLen())
	t.padded, t.panels = ws.source, ws.packed
	for t.band = range l.count {
		_, images, _, _ := l.extent(t.band)
		t.do(phasePack, h.slabs(images)*h.packs(), work/l.count)
		t.do(phaseSum, l.groups, work/l.count)
	}
}

// packs is the number of chunks that an image's operands are packed in.
func (h *halfSums) packs() int { return (h.length/32 + packBlocks - 1) / packBlocks }

// halfPack packs a chunk of a shared band.
func (t *weightTask) halfPack(chunk int) {
	packs := t.half.packs()
	from := chunk % packs * packBlocks
	t.halfOperands(t.padded, t.panels, t.band, chunk/packs, from, from+packBlocks)
}

// halfSum computes a chunk: a part of the positions, or a group of rows of a shared
// band.
func (t *weightTask) halfSum(chunk int) {
	l, h := t.weightLayout, t.half
	sums := t.scratch.Get(bf16.SumLen)
	defer t.scratch.Put(sums)
	if l.groups > 1 {
		each := (h.rows + halfGroup - 1) / halfGroup
		row := chunk % each * halfGroup
		t.halfTap(t.padded, t.panels, t.partial, sums, t.band, chunk/each, row, min(row+halfGroup, h.rows), t.band > 0)
		return
	}
	to := t.partial[chunk*t.depth*t.cols:]
	buf := t.scratch.Get(l.inputLen() + l.gradientLen())
	defer t.scratch.Put(buf)
	input, gradient := buf[:l.inputLen()], buf[l.inputLen():]
	first, end := chunk*l.count/l.parts, (chunk+1)*l.count/l.parts
	for b := first; b < end; b++ {
		_, images, _, _ := t.extent(b)
		for i := range h.slabs(images) {
			t.halfOperands(input, gradient, b, i, 0, h.length/32)
		}
		for tap := range t.depth / h.rows {
			t.halfTap(input, gradient, to, sums, b, tap, 0, h.rows, b > first)
		}
	}
}

// halfTap multiplies rows of the input, as tap meets them, by the gradient.
func (t *weightTask) halfTap(input, gradient, to, sums []float32, band, tap, row, end int, add bool) {
	h := t.half
	_, images, _, _ := t.extent(band)
	r, v := tap/t.tapsW, tap%t.tapsW
	if h.runs {
		r, v = tap, 0
	}
	at := ((r%h.downs*h.alsos+v%h.alsos)*h.rows+row)*h.length + r/h.downs*h.spread.wide + v/h.alsos
	steps := h.slabs(images) * h.steps
	all := len(h.koff)
	tile := bf16.Tile{
		A: unsafe.Pointer(&bf16.View(input)[at]), AStep: 2 * h.length, ATile: 32 * h.length, BTile: 1024 * all,
		COff: &h.coff[0], Rows: end - row,
	}
	for k := 0; k < steps; k += halfSteps {
		tile.KOff, tile.Steps = &h.koff[k], min(halfSteps, steps-k)
		for j := 0; j < t.cols; j += bf16.BlockCols {
			tile.Cols = min(bf16.BlockCols, t.cols-j)
			tile.B = unsafe.Pointer(&gradient[(j/16*all+k)*256])
			tile.C = unsafe.Pointer(&to[(tap*h.rows+row)*t.cols+j])
			if add || k > 0 {
				tile.Add = tile.C
			}
			tile.Run(sums)
		}
	}
}

// halfOperands packs blocks of 32 positions of an image of a band, or of all of them.
func (t *weightTask) halfOperands(input, gradient []float32, band, image, from, end int) {
	h := t.half
	pairs := t.scratch.Get(16*(h.rows+15) + 2*h.rows)
	defer t.scratch.Put(pairs)
	wide := (h.rows + 15) / 16 * 16
	runs := pairs[16*wide:]
	p := positions{t: t, band: band, image: image}
	p.n0, p.images, p.p0, p.rows = t.extent(band)
	for b := from; b < min(end, h.length/32); b++ {
		for phase := range h.downs * h.alsos {
			for i := range 16 {
				at := 32*b + 2*i
				p.inputPair(bf16.Words(pairs[i*wide:]), at, phase/h.alsos, phase%h.alsos, runs)
			}
			to := input[((image*h.downs*h.alsos+phase)*h.rows*h.length+32*b)/2:]
			simd.Transpose(to, h.length/2, pairs, wide, 16, h.rows)
		}
		if b < h.steps {
			for i := range 16 {
				p.gradientPair(bf16.Words(gradient[((image*h.steps+b)*16+i)*16:]), 32*b+2*i)
			}
		}
	}
}

// positions finds the values at positions of an image of a band, or of all of its
// images in a row.
type positions struct {
	t                    *weightTask
	band, image          int
	n0, images, p0, rows int
}

// positionAt is where position i lies: image, line from the band's first, column.
func (p *positions) positionAt(i int) (n, line, q int) {
	line, q = i/p.t.half.spread.wide, i%p.t.half.spread.wide
	if p.t.half.flat {
		return p.n0 + line/p.rows, line % p.rows, q
	}
	return p.n0 + p.image, line, q
}

// gradientPair lays the output's gradients at positions i and i+1 side by side.
func (p *positions) gradientPair(to []uint32, i int) {
	t := p.t
	step := 256 * len(t.half.koff)
	a, b := p.gradient(i), p.gradient(i+1)
	if t.dyHalf {
		v := bf16.View(t.dy)
		bf16.PairHalves(to, step, sliceFrom(v, a, t.cols), sliceFrom(v, b, t.cols), t.cols)
		return
	}
	bf16.Pairs(to, step, sliceFrom(t.dy, a, t.cols), sliceFrom(t.dy, b, t.cols), t.cols)
}

// sliceFrom cuts n values out of v, from the i-th on; nil if i is negative.
func sliceFrom[T any](v []T, i, n int) []T {
	if i < 0 {
		return nil
	}
	return v[i : i+n]
}

// gradient returns where that of the output at position i begins, -1 where there is
// none.
func (p *positions) gradient(i int) int {
	n, line, q := p.positionAt(i)
	t := p.t
	if q >= t.outW || line >= p.rows || n >= p.n0+p.images {
		return -1
	}
	return ((n*t.outH+p.p0+line)*t.outW+q)*t.dstCol + t.dst
}

// inputPair lays the input's values at positions i and i+1 of a phase side by side.
func (p *positions) inputPair(to []uint32, i, down, also int, buf []float32) {
	t, h := p.t, p.t.half
	y0, x0 := p.pixel(i, down, also)
	y1, x1 := p.pixel(i+1, down, also)
	switch {
	case h.runs:
		bf16.Pairs(to, 16, p.run(y0, x0, buf[:h.rows]), p.run(y1, x1, buf[h.rows:2*h.rows]), h.rows)
	case t.srcHalf:
		v := bf16.View(t.src)
		bf16.PairHalves(to, 16, sliceFrom(v, p.channels(y0, x0), t.chans),
			sliceFrom(v, p.channels(y1, x1), t.chans), t.chans)
	default:
		bf16.Pairs(to, 16, sliceFrom(t.src, p.channels(y0, x0), t.chans),
			sliceFrom(t.src, p.channels(y1, x1), t.chans), t.chans)
	}
}

// pixel is the line, counted through all images, and the column of the input at
// position i of a phase; the line is -1 where there are zeros.
func (p *positions) pixel(i, down, also int) (y, x int) {
	n, line, q := p.positionAt(i)
	t := p.t
	y, x = (p.p0+line)*t.strideH+down+t.offH, q*t.strideW+also+t.offW
	if n >= p.n0+p.images || y < 0 || y >= t.srcH || line*t.strideH+down >= (p.rows-1)*t.strideH+t.taps {
		return -1, x
	}
	return n*t.srcH + y, x
}

// channels is where those of a pixel begin, -1 for zeros.
func (p *positions) channels(y, x int) int {
	if y < 0 || x < 0 || x >= p.t.srcW {
		return -1
	}
	return (y*p.t.srcW+x)*p.t.srcC + p.t.chan0
}

// run returns the values of a run, nil for zeros. One that leaves the image, or is not
// float32, is put together in buf.
func (p *positions) run(y, x int, buf []float32) []float32 {
	t := p.t
	if y < 0 {
		return nil
	}
	at := (y*t.srcW + x) * t.srcC
	if t.chans == t.srcC && x >= 0 && x+t.tapsW <= t.srcW && !t.srcHalf {
		return t.src[at:][:len(buf)]
	}
	clear(buf)
	for v := max(0, -x); v < min(t.tapsW, t.srcW-x); v++ {
		to, i := buf[v*t.chans:(v+1)*t.chans], at+v*t.srcC+t.chan0
		if t.srcHalf {
			bf16.Widen(to, bf16.View(t.src)[i:i+t.chans])
		} else {
			copy(to, t.src[i:])
		}
	}
	return buf
}
