package conv

import (
	"runtime"
	"unsafe"

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
	streamPanels, nearPanels = 256 << 10, 64 << 10
	// streamBlock is about how many values of the output, and of what is added, a block
	// has; nearLeast, farLeast and streamMost bound its tiles of rows.
	streamBlock                     = 32 << 10
	nearLeast, farLeast, streamMost = 2, 4, 8
	// wantStreams is how many chunks even out the cores' speeds.
	wantStreams = 16
	lineBytes   = 64
)

// streams reports whether the shape is computed so.
func (ws *Workspace) streams(s *Shape) bool {
	return s.pointwise() && !(ws.BFloat16 && s.Rounds()) && simd.Active() == simd.AVX512 && s.C*s.K <= streamPanels &&
		s.N*s.H*s.W >= wantChunks*streamRows(s.C, s.K)
}

// streamRows is the number of rows in a block.
func streamRows(chans, cols int) int {
	tr, least := simd.TileRows(), nearLeast
	if chans*cols > nearPanels {
		least = farLeast
	}
	return tr * min(max(streamBlock/(2*cols)/tr, least), streamMost)
}

// streamLayout cuts positions, which lie one after another in all images, into chunks
// of whole blocks.
func (l *layout) streamLayout() {
	positions := l.n * l.outH * l.outW
	l.rows = streamRows(l.chans, l.cols)
	blocks := (positions + l.rows - 1) / l.rows
	l.images = max(1, (blocks+wantStreams-1)/wantStreams) // blocks of a chunk
	l.chunks, l.split = (blocks+l.images-1)/l.images, 1
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
	if s.copied {
		slab = s.scratch.Get(s.rows * s.pixel)
		defer s.scratch.Put(slab)
	}
	for from := first; from < end; from += s.rows {
		rows := min(s.rows, end-from)
		next := from + rows
		if next >= end { // likely to be this core's next chunk
			next = first + runtime.GOMAXPROCS(0)*s.images*s.rows
		}
		a := s.src[from*s.chans:]
		if s.copied {
			for i := range rows {
				copy(slab[i*s.pixel:][:s.chans], a[i*s.chans:])
			}
			a = slab
		}
		s.streamTiles(a, from, rows, next, min(s.rows, positions-next))
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
	ask := asking{steps: (rows + s.tr - 1) / s.tr * s.chans}
	if ahead > 0 {
		if s.add != nil {
			ask.add(s.add[next*s.cols : (next+ahead)*s.cols])
		}
		if s.copied {
			ask.add(s.src[next*s.chans : (next+ahead)*s.chans])
		}
		ask.add(s.dst[next*s.cols : (next+ahead)*s.cols])
	}
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
		ask.begin(&t)
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

// asking deals the lines of some parts of memory to the steps of tiles.
type asking struct {
	parts [3][]float32
	n     int
	steps int // of a panel
}

func (a *asking) add(part []float32) {
	a.parts[a.n] = part
	a.n++
}

// begin has the tiles of a panel ask for the next lines.
func (a *asking) begin(t *simd.Tile) {
	t.NextStep = 0
	for i := range a.n {
		part := a.parts[i]
		if len(part) == 0 {
			continue
		}
		t.Next, t.NextStep = uintptr(unsafe.Pointer(&part[0])), lineBytes
		a.parts[i] = part[min(a.steps*lineBytes/4, len(part)):]
		return
	}
}
