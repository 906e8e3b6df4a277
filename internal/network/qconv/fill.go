package qconv

import (
	"github.com/kindred-ml/kindred/internal/kernel/qgemm"
)

// fill copies what a chunk reads of group g to its slab, with the padding, which is the
// byte of zero. It does nothing where chunks read the input in place.
func (t *task) fill(slab []uint8, n0, images, p0, rows, g int) {
	if !t.copied {
		return
	}
	s := &t.table.shape
	for i := range images {
		to := slab[i*t.slabH*t.slabW*t.pixel:]
		lines := (rows-1)*s.StrideH + s.R
		if t.pixel == s.C && t.slabW == s.W && s.PadW+s.EndW+s.PadH+s.EndH == 0 {
			t.values(to[:lines*s.W*s.C], (n0+i)*s.H*s.W*s.C+p0*s.StrideH*s.W*s.C)
			continue
		}
		for line := range lines {
			t.fillLine(to[line*t.slabW*t.pixel:][:t.slabW*t.pixel], n0+i, p0*s.StrideH-s.PadH+line, g)
		}
	}
}

// fillLine copies row h of an image, which may lie outside it.
func (t *task) fillLine(row []uint8, n, h, g int) {
	s := &t.table.shape
	left := min(s.PadW, t.slabW)
	right := max(left, min(t.slabW, s.W+s.PadW))
	if h < 0 || h >= s.H {
		left, right = t.slabW, t.slabW
	}
	zeros(row[:left*t.pixel], t.x.Zero)
	zeros(row[right*t.pixel:], t.x.Zero)
	if left == right {
		return
	}
	from := ((n*s.H+h)*s.W + left - s.PadW) * s.C
	if t.pixel == s.C {
		t.values(row[left*t.pixel:right*t.pixel], from)
		return
	}
	for v := range right - left {
		t.values(row[(left+v)*t.pixel:][:t.pixel], from+v*s.C+g*t.pixel)
	}
}

// values sets to to the input's values from the from-th on.
func (t *task) values(to []uint8, from int) {
	if t.x.Bytes != nil {
		copy(to, t.x.Bytes[from:])
		return
	}
	qgemm.Quantize(to, t.x.Floats[from:from+len(to)], t.x.factor(), float32(t.x.Zero))
}

// zeros fills row with a byte.
func zeros(row []uint8, zero uint8) {
	if zero == 0 || len(row) == 0 {
		clear(row)
		return
	}
	row[0] = zero
	for n := 1; n < len(row); n *= 2 {
		copy(row[n:], row[:n])
	}
}
