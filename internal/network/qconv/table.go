package qconv

import (
	"github.com/kindred-ml/kindred/internal/kernel/qgemm"
	"github.com/kindred-ml/kindred/internal/network/conv"
)

const (
	// slabBytes bounds the bytes that a chunk reads, so that they stay in the
	// second-level cache for all panels of filters.
	slabBytes = 192 << 10
	// leastRows is the number of positions that make a chunk worth reading the panels.
	leastRows = 96
	// wantChunks is how many chunks even out the cores' speeds.
	wantChunks = 8
)

// table is how a convolution of so many images is cut into chunks: some images, or some
// rows of positions of one, and the offsets that the tiles of a chunk read.
type table struct {
	shape        conv.Shape // as it is computed
	floats       bool       // the input is float32
	copied       bool       // chunks read a slab with the padding
	images, rows int
	bands        int // chunks of an image
	chunks       int
	split        int // parts that the panels are dealt to
	slabH, slabW int
	pixel        int // bytes from one pixel to the next
	aoff, coff   []int64
	koff         []int64
}

// asColumn is s, for pointwise convolutions as one of single positions in a column, which
// can be cut anywhere.
func asColumn(s conv.Shape) conv.Shape {
	if s.R*s.S == 1 && s.StrideH*s.StrideW == 1 && s.PadH+s.PadW+s.EndH+s.EndW == 0 {
		s.N, s.H, s.W = 1, s.N*s.H*s.W, 1
	}
	return s
}

// newTable cuts a convolution; floats tells that its input is float32, deep that the kernel
// for depthwise ones computes it.
func newTable(s conv.Shape, floats, splits, deep bool) table {
	t := table{shape: asColumn(s), floats: floats}
	s = t.shape
	oh, ow := s.OutH(), s.OutW()
	padded := s.PadH+s.PadW+s.EndH+s.EndW > 0
	t.copied = padded || floats || !deep && (s.Groups > 1 || s.C%4 != 0)
	t.slabW, t.pixel = s.W, s.C
	if t.copied {
		t.slabW = (ow-1)*s.StrideW + s.S
		if !deep {
			t.pixel = s.C / s.Groups
		}
	}
	rowBytes := t.slabW*s.StrideH*t.pixel + ow*s.K
	least := (leastRows + ow - 1) / ow
	t.images, t.bands = 1, 1
	t.rows = min(oh, max(slabBytes/rowBytes, least))
	if s.N*oh*ow > wantChunks*leastRows && s.N < wantChunks { // enough for every core
		t.rows = min(t.rows, max(least, (s.N*oh+wantChunks-1)/wantChunks))
	}
	t.bands = (oh + t.rows - 1) / t.rows
	t.rows = (oh + t.bands - 1) / t.bands
	t.bands = (oh + t.rows - 1) / t.rows
	if t.bands == 1 {
		t.images = min(s.N, max(1, min(slabBytes/(rowBytes*oh), max(s.N/wantChunks, (least+oh-1)/oh))))
	}
	t.chunks = (s.N + t.images - 1) / t.images * t.bands
	t.split = 1
	if panels := (s.K/s.Groups + qgemm.BlockCols - 1) / qgemm.BlockCols; splits && t.chunks < wantChunks {
		t.split = min(panels, (wantChunks+t.chunks-1)/t.chunks)
	}
	t.slabH = (t.rows-1)*s.StrideH + s.R
	if !deep {
		t.offsets(oh, ow)
	}
	return t
}

// offsets fills in what tiles read.
func (t *table) offsets(oh, ow int) {
	s := &t.shape
	image := t.slabH * t.slabW * t.pixel
	if !t.copied {
		image = s.H * s.W * s.C
	}
	n := t.images * t.rows * ow
	t.aoff, t.coff = make([]int64, qgemm.Padded(n)), make([]int64, qgemm.Padded(n))
	for i := range t.aoff {
		at := min(i, n-1)
		img, p, q := at/(t.rows*ow), at/ow%t.rows, at%ow
		t.aoff[i] = int64(img*image + (p*s.StrideH*t.slabW+q*s.StrideW)*t.pixel)
		t.coff[i] = int64(((img*oh+p)*ow + q) * s.K)
	}
	t.koff = make([]int64, s.R)
	for r := range t.koff {
		t.koff[r] = int64(r * t.slabW * t.pixel)
	}
}

// extent returns the images and the rows of positions of a chunk.
func (t *table) extent(chunk int) (n0, images, p0, rows int) {
	n0, p0 = chunk/t.bands*t.images, chunk%t.bands*t.rows
	return n0, min(t.images, t.shape.N-n0), p0, min(t.rows, t.shape.OutH()-p0)
}

// taps are the places of a depthwise filter's taps in front of a position.
func (t *table) taps() []int64 {
	off := make([]int64, 0, t.shape.R*t.shape.S)
	for r := range t.shape.R {
		for u := range t.shape.S {
			off = append(off, int64((r*t.slabW+u)*t.pixel))
		}
	}
	return off
}
