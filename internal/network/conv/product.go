package conv

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

const (
	// slab bounds the values that a chunk reads and writes, so that they stay in
	// the second-level cache for all panels of filters.
	slab = 96 << 10
	// minTiles is the least number of tiles in a chunk, where the source has it.
	minTiles = 8
	// minChunk is the least number of multiply-adds worth another core.
	minChunk = 1 << 18
	// wantChunks is how many chunks even out the cores' speeds.
	wantChunks = 8
)

// geometry says which values of a channels-last source a convolution reads for
// each of its positions, and where in the destination the position lies. All of
// a Shape's passes over activations take this form: forward, and backward to
// the input once for every phase of the stride.
type geometry struct {
	n, srcH, srcW, srcC int
	chan0, chans        int // the group's channels of the source
	taps, tapsW         int // taps down and across
	strideH, strideW    int
	offH, offW          int // source row and column of the first position's first tap
	outH, outW          int // positions of an image
	dst                 int // destination of the first position, in values
	dstImage            int
	dstRow, dstCol      int
	cols                int // output channels, from dst
	depthwise           bool
	bfloat16            bool // where the workspace has it
	fed                 bool // another product writes the slabs
	streamed            bool // computed as stream.go has it
	evaluated           bool // forward in evaluation
	pooled              bool // the maxima of thirds are all that is kept
}

// window is how a part of the source lies in front of tiles: in place, or copied
// to a slab that has the padding and only the group's channels.
type window struct {
	geometry
	copied bool
	slabW  int // columns of a slab, or of the source
	pixel  int // values from one pixel to the next
}

func newWindow(g geometry) window {
	inside := g.offH >= 0 && g.offW >= 0 &&
		g.offH+(g.outH-1)*g.strideH+g.taps <= g.srcH && g.offW+(g.outW-1)*g.strideW+g.tapsW <= g.srcW
	if inside && g.chans == g.srcC && !g.fed {
		return window{g, false, g.srcW, g.srcC}
	}
	return window{g, true, (g.outW-1)*g.strideW + g.tapsW, g.chans}
}

// spread has pixels lie further apart where they would fall on few sets of the
// first cache.
func (w *window) spread(every int) {
	if w.chans%every == 0 {
		w.copied, w.slabW, w.pixel = true, (w.outW-1)*w.strideW+w.tapsW, w.chans+16
	}
}

// fill copies the part of image n that rows p0.. read, zeros where it ends.
func (w *window) fill(to []float32, src source, n, p0, rows int) {
	line := w.slabW * w.pixel
	// Columns left..right-1 of the slab lie within the image.
	left := min(max(0, -w.offW), w.slabW)
	right := max(left, min(w.slabW, w.srcW-w.offW))
	for i := range (rows-1)*w.strideH + w.taps {
		row := to[i*line : (i+1)*line]
		h := p0*w.strideH + w.offH + i
		if h < 0 || h >= w.srcH {
			clear(row)
			continue
		}
		clear(row[:left*w.pixel])
		clear(row[right*w.pixel:])
		if right == left {
			continue
		}
		from := ((n*w.srcH+h)*w.srcW + left + w.offW) * w.srcC
		if w.chans == w.srcC && w.pixel == w.chans {
			src.copy(row[left*w.pixel:right*w.pixel], from)
			continue
		}
		for v := range right - left {
			src.copy(row[(left+v)*w.pixel:][:w.chans], from+v*w.srcC+w.chan0)
		}
	}
}

// source holds activations, perhaps as bfloat16.
type source struct {
	v    []float32
	half bool
}

// copy sets to to the values from the from-th on.
func (s source) copy(to []float32, from int) {
	if s.half {
		bf16.Widen(to, bf16.View(s.v)[from:from+len(to)])
		return
	}
	copy(to, s.v[from:])
}

// depth is the number of products that a result sums.
func (g *geometry) depth() int {
	if g.depthwise {
		return g.taps * g.tapsW
	}
	return g.taps * g.tapsW * g.chans
}

// layout is what depends on a geometry alone: how it is cut into chunks, and
// the tables of offsets that a chunk's tiles read.
type layout struct {
	window
	tr, tc       int
	images, rows int // a chunk's size: images > 1 or whole images, else rows of one
	bands        int // chunks of rows in an image
	chunks       int // in all, of positions
	split        int // parts that the panels are dealt to
	slabH        int // a slab's rows per image
	aoff, coff   []int64
	wino         bool        // computed by Winograd's F(2x2, 3x3)
	wino4        bool        // computed by Winograd's F(4x4, 3x3)
	together     bool        // with wino4: all cores go through a chunk together
	half         *halfLayout // of bfloat16, or nil
	width        int         // positions across; with wino, outW is rounded up
}

func newLayout(g geometry) *layout {
	l := &layout{window: newWindow(g), tr: simd.TileRows(), tc: simd.TileCols(), width: g.outW}
	if g.bfloat16 {
		l.halfLayout()
		return l
	}
	if g.pooled {
		l.poolLayout()
		l.slabH = (l.rows-1)*g.strideH + g.taps
		l.tables()
		return l
	}
	if g.usesWinograd4() {
		l.wino4Layout()
		return l
	}
	if g.usesWinograd() {
		l.winoLayout()
		return l
	}
	// For few panels a copy of rows 1 KiB apart costs more than the four sets that they fall on.
	if g.taps == 1 && g.tapsW == 1 && !(g.streamed && g.chans == 256 && g.cols <= 128) {
		l.spread(256)
	}
	if g.streamed {
		l.streamLayout()
		return l
	}
	// A row of the chunk, read and written. A chunk has enough positions at
	// least that its last tile does not matter.
	rowLen := l.slabW*g.strideH*l.pixel + g.outW*g.cols
	least := (minTiles*l.tr + g.outW - 1) / g.outW
	l.images, l.rows, l.bands = 1, min(g.outH, max(slab/rowLen, least)), 1
	switch {
	case l.rows < g.outH || g.n < wantChunks:
		need := max((g.outH+l.rows-1)/l.rows, min((wantChunks+g.n-1)/g.n, g.outH*g.outW/(4*l.tr), g.outH), 1)
		l.rows = (g.outH + need - 1) / need
		l.bands = (g.outH + l.rows - 1) / l.rows
	default:
		l.images = max(1, min(max(slab/(rowLen*g.outH), (least+g.outH-1)/g.outH), g.n/wantChunks))
	}
	l.chunks = (g.n + l.images - 1) / l.images * l.bands
	l.split = 1
	if panels := (g.cols + l.tc - 1) / l.tc; l.chunks < wantChunks && !g.depthwise {
		l.split = min((wantChunks+l.chunks-1)/l.chunks, panels)
	}
	l.slabH = (l.rows-1)*g.strideH + g.taps
	l.tables()
	return l
}

func (l *layout) tables() {
	size := (l.images*l.rows*l.outW + l.tr - 1) / l.tr * l.tr
	l.aoff, l.coff = make([]int64, size), make([]int64, size)
	image := l.slabH * l.slabW * l.pixel
	if !l.copied {
		image = l.srcH * l.srcW * l.srcC
	}
	i := 0
	for n := range l.images {
		for p := range l.rows {
			for q := range l.outW {
				l.aoff[i] = 4 * int64(n*image+(p*l.strideH*l.slabW+q*l.strideW)*l.pixel)
				l.coff[i] = 4 * int64(n*l.dstImage+p*l.dstRow+q*l.dstCol)
				i++
			}
		}
	}
}

// extent returns the images and the rows of positions of a chunk.
func (l *layout) extent(chunk int) (n0, images, p0, rows int) {
	n0, p0 = chunk/l.bands*l.images, chunk%l.bands*l.rows
	return n0, min(l.images, l.n-n0), p0, min(l.rows, l.outH-p0)
}

// product multiplies every position's source values with packed filters. It is a
// par.Task over chunks of positions times parts of the panels.
type product struct {
	*layout
	src, dst, add             []float32 // add: nil, or laid out as dst
	srcHalf, dstHalf, addHalf bool      // they are bfloat16
	addBase                   int       // values before those of add that belong to dst's first
	panels                    []float32 // [panel][taps][tapsW][chans][tc]
	scale, shift              []float32 // nil, or padded to whole panels
	relu                      int       // as simd.Tile has it
	act                       func(y []float32)
	moments                   []chunkMoments // of each chunk, or nil
	backAdd                   bool           // depthwise: add to dst
	zeros                     []float32      // depthwise: a row of the source
	scratch                   *par.Scratch
	before                    *product // fills the slabs, if the layout is fed
}

func (s *product) do() {
	work := s.n * s.outH * s.outW * s.depth() * s.cols
	par.DoIf(work >= 2*minChunk, s.chunks*s.split, s)
}

// Run computes one chunk.
func (s *product) Run(chunk int) {
	part := chunk % s.split
	chunk /= s.split
	if s.streamed {
		s.streamChunk(chunk)
		return
	}
	if s.pooled {
		s.pooledChunk(chunk)
		return
	}
	n0, images, p0, rows := s.extent(chunk)
	s.compute(chunk, part, n0, images, p0, rows, s.geometry.dst+n0*s.dstImage+p0*s.dstRow)
}

// compute computes rows from p0 on of images from n0 on, for a part of the panels. The
// results begin at base.
func (s *product) compute(chunk, part, n0, images, p0, rows, base int) {
	if s.half != nil {
		s.halfChunk(chunk, part, n0, images, p0, rows, base)
		return
	}
	var a []float32
	banded := s.isBanded()
	switch {
	case banded:
	case s.copied:
		a = s.scratch.Get(s.images * s.slabH * s.slabW * s.pixel)
		defer s.scratch.Put(a)
		for i := range images {
			if s.before != nil {
				s.before.fillSlab(a[i*s.slabH*s.slabW*s.pixel:], n0+i, p0, rows)
				continue
			}
			s.fill(a[i*s.slabH*s.slabW*s.pixel:], source{v: s.src}, n0+i, p0, s.slabRows(rows))
		}
	default:
		a = s.src[((n0*s.srcH+p0*s.strideH+s.offH)*s.srcW+s.offW)*s.srcC:]
	}
	positions := images * rows * s.width
	if s.wino || s.geometry.depthwise {
		switch {
		case banded:
			for i := range images {
				s.bandRows(s.dst[base+i*s.dstImage:], n0+i, p0, rows)
			}
		case s.wino:
			s.winoChunk(a, base, images, rows, s.width)
		default:
			s.depthwiseRows(a, base, n0, images, p0, rows)
		}
		s.activate(base, images, rows, 0, s.cols)
		s.measure(chunk, base, 0, s.cols)
		return
	}
	panels := (s.cols + s.tc - 1) / s.tc
	first, end := part*panels/s.split, (part+1)*panels/s.split
	s.tiles(a, chunk, base, positions, first, end)
	s.activate(base, images, rows, first*s.tc, min(end*s.tc, s.cols))
	s.measure(chunk, base, first*s.tc, min(end*s.tc, s.cols))
}

// tiles multiplies the positions of a chunk with panels first..end-1.
func (s *product) tiles(a []float32, chunk, base, positions, first, end int) {
	full := positions / s.tr * s.tr
	tail := s.tail(full, positions)
	t := simd.Tile{
		A:     unsafe.Pointer(&a[0]),
		AStep: 4, BStep: 4 * s.tc,
		AOffTile: 8 * s.tr, COffTile: 8 * s.tr,
		Inner: s.tapsW * s.chans, Outer: s.taps, Blocks: 1,
		ARun: 4 * (s.slabW*s.pixel - s.tapsW*s.chans),
	}
	t.ReLU = s.relu
	depth := s.depth() * s.tc
	ask, asked := s.planNextChunk(chunk, positions)
	// Panels that do not stay in the second-level cache are asked for while the one before
	// is in use.
	far, tiles := s.depth()*s.cols > nearPanels, (positions+s.tr-1)/s.tr
	step := min((4*s.tc+tiles-1)/tiles, lineBytes)
	for j := first; j < end; j++ {
		col := j * s.tc
		t.Cols = min(s.tc, s.cols-col)
		t.B = unsafe.Pointer(&s.panels[j*depth])
		t.C = unsafe.Pointer(&s.dst[base+col])
		if s.add != nil {
			t.Add = unsafe.Pointer(&s.add[base+col])
		}
		if s.scale != nil {
			t.Scale = &s.scale[col]
		}
		if s.shift != nil {
			t.Shift = &s.shift[col]
		}
		switch {
		case j >= end-asked:
			t.Next, t.NextStep = ask.panel()
		case far && j+1 < end:
			t.Next, t.NextStep = uintptr(unsafe.Pointer(&s.panels[(j+1)*depth])), step
		default:
			t.NextStep = 0
		}
		if full > 0 {
			t.Rows, t.AOff, t.COff = full, &s.aoff[0], &s.coff[0]
			t.Run()
		}
		if full < positions {
			t.Rows, t.AOff, t.COff = positions-full, &tail[0], &s.coff[full]
			t.Run()
		}
	}
}

// tail is where rows from full on lie; a tile that ends beyond the rows reads the last one
// again.
func (l *layout) tail(full, rows int) (off [simd.MaxTileRows]int64) {
	for i := range off {
		off[i] = l.aoff[min(full+i, rows-1)]
	}
	return off
}

// activate applies act to some columns of a chunk.
func (s *product) activate(base, images, rows, from, to int) {
	if s.act == nil {
		return
	}
	for i := range images {
		for p := range rows {
			row := s.dst[base+i*s.dstImage+p*s.dstRow:]
			if from == 0 && to == s.dstCol {
				s.act(row[:s.width*to])
				continue
			}
			for q := range s.width {
				s.act(row[q*s.dstCol+from : q*s.dstCol+to])
			}
		}
	}
}

// slabRows is the number of rows of positions that a chunk's slab serves.
func (l *layout) slabRows(rows int) int {
	if l.wino {
		return (rows + 1) / 2 * 2
	}
	return rows
}

// measure takes the moments of some columns of a chunk while it is in cache.
func (s *product) measure(chunk, base, from, to int) {
	if s.moments == nil {
		return
	}
	scratch := s.scratch.Get(s.cols)
	s.moments[chunk].measure(s.dst[base:], scratch, s.dstCol, from, to)
	s.scratch.Put(scratch)
}
