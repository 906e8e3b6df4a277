package conv

import (
	"runtime"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// A pointwise convolution has few products for each value that it reads and writes. Where
// no moments are taken, it is therefore computed a block of positions at a time, which
// goes through all panels of filters while the values of the next block are asked for, a
// line at each step of the sums. So the processor waits for memory in the first block of
// a chunk only. Sums and their order are those of any other product.

const (
	// streamPanels bounds the filters' values. Up to nearPanels they stay in the
	// second-level cache; more of them stream from the third, for more tiles at a time.
	streamPanels, nearPanels = 1 << 20, 64 << 10
	// streamBlock is about how many values of the output, and of what is added, a block
	// has; minNearRows, minFarRows and maxStreamRows bound its tiles of rows.
	streamBlock                            = 32 << 10
	minNearRows, minFarRows, maxStreamRows = 2, 4, 8
	// wantStreams is how many chunks even out the cores' speeds.
	wantStreams = 16
	lineBytes   = 64
)

// isStreamed reports whether the shape is computed so.
func (ws *Workspace) isStreamed(s *Shape, e *Epilogue) bool {
	fits := s.isPointwise() && e.Moments == nil && !e.Pool
	if ws.BFloat16 && s.UsesBFloat16() {
		// What changes results does so before they are rounded: a whole chunk's.
		return fits && bf16.Active() == bf16.AVX512 && (e.Act == nil || !s.Half.Y) && s.C*s.K <= streamPanels &&
			s.N*s.H*s.W >= wantChunks*streamRows(bf16.BlockRows, s.C*s.K/2, s.K)
	}
	return fits && simd.Active() == simd.AVX512 && s.C*s.K <= streamPanels &&
		s.N*s.H*s.W >= wantChunks*streamRows(simd.TileRows(), s.C*s.K, s.K)
}

// streamRows is the number of rows in a block, of tiles of tr rows. size is that of the
// filters.
func streamRows(tr, size, cols int) int {
	least := minNearRows
	if size > nearPanels {
		least = minFarRows
	}
	return tr * min(max(streamBlock/(2*cols)/tr, least), maxStreamRows)
}

// streamLayout cuts positions, which lie one after another in all images, into chunks
// of whole blocks.
func (l *layout) streamLayout() {
	positions := l.n * l.outH * l.outW
	if l.half != nil {
		l.rows = streamRows(bf16.BlockRows, l.chans*l.cols/2, l.cols)
	} else {
		l.rows = streamRows(l.tr, l.chans*l.cols, l.cols)
	}
	blocks := (positions + l.rows - 1) / l.rows
	l.images = max(1, (blocks+wantStreams-1)/wantStreams) // blocks of a chunk
	l.chunks, l.split = (blocks+l.images-1)/l.images, 1
	if l.half != nil {
		return
	}
	l.aoff, l.coff = make([]int64, l.rows), make([]int64, l.rows)
	for i := range l.rows {
		l.aoff[i], l.coff[i] = 4*int64(i*l.pixel), 4*int64(i*l.cols)
	}
}

// streamChunk computes a chunk.
func (s *product) streamChunk(chunk int) {
	positions := s.n * s.outH * s.outW
	first := chunk * s.images * s.rows
	end := min(first+s.images*s.rows, positions)
	var slab []float32
	switch {
	case s.half != nil:
		slab = s.scratch.Get(bf16.SumLen + s.half.slabLen/2)
		defer s.scratch.Put(slab)
	case s.copied:
		slab = s.scratch.Get(s.rows * s.pixel)
		defer s.scratch.Put(slab)
	}
	for from := first; from < end; from += s.rows {
		rows := min(s.rows, end-from)
		next := from + rows
		if next >= end { // likely to be this core's next chunk
			next = first + runtime.GOMAXPROCS(0)*s.images*s.rows
		}
		ahead := min(s.rows, positions-next)
		if s.half != nil {
			s.streamHalf(slab, from, rows, next, ahead)
			continue
		}
		a := s.src[from*s.chans:]
		if s.copied {
			for i := range rows {
				copy(slab[i*s.pixel:][:s.chans], a[i*s.chans:])
			}
			a = slab
		}
		s.streamTiles(a, from, rows, next, ahead)
		if s.act != nil {
			s.act(s.dst[from*s.cols : (from+rows)*s.cols])
		}
	}
}

// streamTiles multiplies a block of rows, and asks for those of the next one.
func (s *product) streamTiles(a []float32, from, rows, next, ahead int) {
	t := simd.Tile{AStep: 4, BStep: 4 * s.tc, AOffTile: 8 * s.tr, COffTile: 8 * s.tr, Inner: s.chans, Outer: 1,
		Blocks: 1, COff: &s.coff[0], ReLU: s.relu}
	full := rows / s.tr * s.tr
	tail := s.tail(full, rows)
	ask := s.planPrefetch(next, ahead, (rows+s.tr-1)/s.tr*s.chans)
	for j := 0; j < s.cols; j += s.tc {
		t.Cols = min(s.tc, s.cols-j)
		t.A, t.B = unsafe.Pointer(&a[0]), unsafe.Pointer(&s.panels[j*s.chans])
		t.C = unsafe.Pointer(&s.dst[from*s.cols+j])
		if s.add != nil {
			t.Add = unsafe.Pointer(&s.add[from*s.cols+j])
		}
		if s.scale != nil {
			t.Scale = &s.scale[j]
		}
		if s.shift != nil {
			t.Shift = &s.shift[j]
		}
		t.Next, t.NextStep = ask.panel()
		if full > 0 {
			t.Rows, t.AOff, t.COff = full, &s.aoff[0], &s.coff[0]
			t.Run()
		}
		if full < rows {
			t.Rows, t.AOff, t.COff = rows-full, &tail[0], &s.coff[full]
			t.Run()
		}
	}
}

// streamHalf computes a block of rows in bfloat16. room has that for a block's sums and for
// its source.
func (s *product) streamHalf(room []float32, from, rows, next, ahead int) {
	h := s.half
	slab := bf16.View(room[bf16.SumLen:])
	s.packRun(slab, 0, from*s.chans, s.chans, rows)
	t := bf16.Tile{
		A: unsafe.Pointer(&slab[0]), KOff: &h.koff[0], COff: &h.coff[0], Steps: h.steps, AStep: h.aStep,
		ATile: h.aTile, BTile: 1024 * h.steps, Rows: rows, ReLU: s.relu, HalfC: s.dstHalf, HalfAdd: s.addHalf,
	}
	ask := s.planPrefetch(next, ahead, (rows+7)/8*bf16.StepDepth/2*h.steps)
	for j := 0; j < s.cols; j += bf16.BlockCols {
		t.Next, t.NextStep = ask.panel()
		s.halfPanel(&t, j)
		t.C = valuePointer(s.dst, s.dstHalf, from*s.cols+j)
		if s.add != nil {
			t.Add = valuePointer(s.add, s.addHalf, from*s.cols+j)
		}
		t.Run(room[:bf16.SumLen])
	}
	if s.act != nil {
		s.act(s.dst[from*s.cols : (from+rows)*s.cols])
	}
}

// prefetchPlan deals the lines of some parts of memory to the steps of tiles.
type prefetchPlan struct {
	parts [3]part
	n     int
	steps int // of a panel
}

// part is where a part begins, and its lines.
type part struct {
	at    uintptr
	lines int
}

// planPrefetch returns the parts that the next rows need, for panels of so many steps.
func (s *product) planPrefetch(next, rows, steps int) prefetchPlan {
	ask := prefetchPlan{steps: steps}
	if rows <= 0 {
		return ask
	}
	if s.add != nil {
		ask.add(valuePointer(s.add, s.addHalf, next*s.cols), s.addHalf, rows*s.cols)
	}
	ask.add(valuePointer(s.src, s.srcHalf, next*s.chans), s.srcHalf, rows*s.chans)
	ask.add(valuePointer(s.dst, s.dstHalf, next*s.cols), s.dstHalf, rows*s.cols)
	return ask
}

// add adds a part of n values, bfloat16 or float32.
func (a *prefetchPlan) add(at unsafe.Pointer, half bool, n int) {
	size := 4
	if half {
		size = 2
	}
	a.parts[a.n] = part{uintptr(at), (n*size + lineBytes - 1) / lineBytes}
	a.n++
}

// panel returns where the tiles of a panel ask for lines, and the step from one to the next.
func (a *prefetchPlan) panel() (next uintptr, step int) {
	for i := range a.parts[:a.n] {
		p := &a.parts[i]
		if p.lines > 0 {
			next = p.at
			p.at, p.lines = p.at+uintptr(a.steps*lineBytes), p.lines-a.steps
			return next, lineBytes
		}
	}
	return 0, 0
}
