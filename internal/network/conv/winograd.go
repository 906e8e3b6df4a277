package conv

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

const (
	// winoPatches is about how many patches a chunk transforms at a time.
	winoPatches = 98
	// winoPad keeps patches of many channels off each other's cache sets.
	winoPad = 16
	// minWinoChannels and maxWinoChannels bound the channels on either side for which 16
	// multiplications in place of 36 pay for the transforms: with fewer there is
	// too little to save, with more the transformed filters outgrow the caches.
	minWinoChannels, maxWinoChannels = 32, 256
)

// usesWinograd reports whether a geometry is computed by Winograd's F(2x2, 3x3).
func (g *geometry) usesWinograd() bool {
	return simd.HasWinograd() && g.taps == 3 && g.tapsW == 3 && g.strideH == 1 && g.strideW == 1 && !g.depthwise &&
		g.chans == g.srcC && g.dstCol == g.cols && g.chans%16 == 0 && g.cols%16 == 0 &&
		min(g.chans, g.cols) >= minWinoChannels && max(g.chans, g.cols) <= maxWinoChannels && min(g.outH, g.outW) >= 8
}

// winoLayout cuts a geometry into chunks of whole rows of patches.
func (l *layout) winoLayout() {
	l.wino, l.copied, l.split, l.pixel = true, true, 1, l.chans
	across, down := (l.outW+1)/2, (l.outH+1)/2
	l.images, l.bands, l.rows = 1, 1, l.outH
	if most := max(1, winoPatches/across); most < down {
		l.bands = (down + most - 1) / most
		l.rows = 2 * ((down + l.bands - 1) / l.bands)
		l.bands = (l.outH + l.rows - 1) / l.rows
	} else {
		l.images = max(1, min(winoPatches/(across*down), (l.n+wantChunks-1)/wantChunks))
	}
	l.chunks = (l.n + l.images - 1) / l.images * l.bands
	// A slab has an even number of rows and columns of outputs.
	l.outW = 2 * across
	l.slabW = l.outW + 2
	l.slabH = (l.rows+1)/2*2 + 2
}

// winoChunk computes a chunk: transforms its patches, multiplies their 16 values
// by those of the filters, and transforms the products to rows of the output.
func (s *product) winoChunk(slab []float32, base, images, rows, width int) {
	across, down := s.outW/2, (rows+1)/2
	patches := images * down * across
	padded := (patches + s.tr - 1) / s.tr * s.tr
	lda, line := s.chans+winoPad, s.slabW*s.chans
	v := s.scratch.Get(16*padded*lda + 16*patches*s.cols + 2*s.outW*s.cols)
	defer s.scratch.Put(v)
	m := v[16*padded*lda:]
	out := m[16*patches*s.cols:]
	for i := range images * down {
		image, row := i/down, i%down
		simd.WinogradInput(v[i*across*lda:], slab[(image*s.slabH+2*row)*line:], across, s.chans, line, winoPad,
			padded*lda)
	}

	var aoff, coff [simd.MaxTileRows]int64
	for i := range s.tr {
		aoff[i], coff[i] = int64(4*i*lda), int64(4*i*s.cols)
	}
	t := simd.Tile{
		AOff: &aoff[0], COff: &coff[0], AStep: 4, BStep: 4 * s.tc, Inner: s.chans, Outer: 1, Blocks: 1,
		ATile: 4 * s.tr * lda, CTile: 4 * s.tr * s.cols, Rows: patches,
	}
	for k := range 16 {
		t.A = unsafe.Pointer(&v[k*padded*lda])
		for j := 0; j < s.cols; j += s.tc {
			t.Cols = min(s.tc, s.cols-j)
			t.B = unsafe.Pointer(&s.panels[(j/s.tc*16+k)*s.chans*s.tc])
			t.C = unsafe.Pointer(&m[k*patches*s.cols+j])
			t.Run()
		}
	}

	for i := range images * down {
		image, row := i/down, 2*(i%down)
		simd.WinogradOutput(out, m[i*across*s.cols:], across, s.cols, patches*s.cols)
		for r := row; r < min(row+2, rows); r++ {
			s.finish(base+image*s.dstImage+r*s.dstRow, out[(r-row)*s.outW*s.cols:][:width*s.cols])
		}
	}
}
