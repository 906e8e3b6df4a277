package quantized

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/matrix"
)

// Tile computes the scores of a block of rows and up to Block columns, panel by panel of
// the rows. One is used by one goroutine at a time, for any rows and columns.
//
//	t.Begin(rows, i0, i1, cols, j0, j1)
//	for p := i0; p < i1; p += kind.Panel() {
//		t.Multiply(p)
//		for i := p; i < min(p+kind.Panel(), i1); i++ {
//			t.Filter(i, ...) // or Best
//		}
//	}
type Tile struct {
	rows   *Rows
	cols   *Columns
	lo     int // the first row: of the panel, or of the block for Float32
	j0     int
	width  int // columns, padded
	ints   []int32
	floats matrix.Dense // products of Float32
}

// Begin turns to rows i0..i1-1 and columns j0..j1-1. j0 begins a panel of 32, i0 one of
// the kind's.
func (t *Tile) Begin(r *Rows, i0, i1 int, c *Columns, j0, j1 int) {
	t.rows, t.cols, t.j0, t.width = r, c, j0, Padded(j1-j0)
	if r.kind != Float32 {
		t.ints = resize(t.ints, r.kind.Panel()*t.width)
		return
	}
	t.lo = i0
	t.floats = matrix.Dense{Rows: i1 - i0, Cols: j1 - j0, Stride: t.width, Data: resize(t.floats.Data, (i1-i0)*t.width)}
	matrix.Gemm(false, true, 1, r.floats.RowRange(i0, i1), c.floats.RowRange(j0, j1), 0, &t.floats)
}

// Multiply turns to the panel of rows that begins with row p. Float32 has them all at
// once.
func (t *Tile) Multiply(p int) {
	if t.rows.kind == Float32 {
		return
	}
	t.lo = p
	d := t.rows.d
	if t.rows.kind == Bits8 {
		const panel = dot8.RowPanel
		depth := dot8.Depth(d)
		dot8.Strip(t.ints, t.rows.bytes[p*depth:(p+panel)*depth], t.rows.bias[p:p+panel],
			t.cols.Bytes[t.j0*depth:(t.j0+t.width)*depth], depth)
		return
	}
	const panel = dot16.RowPanel
	values := 2 * dot16.Pairs(d)
	dot16.Strip(t.ints, t.rows.ints[p*values:(p+panel)*values],
		t.cols.Ints[t.j0*values:(t.j0+t.width)*values], values/2)
}

// Filter is dot16.Filter for row i, of the panel, and all columns of the tile. Scale is
// not used for Float32.
func (t *Tile) Filter(i int, scores []float32, mask []uint32, row dot16.Row, cols *dot16.Columns) {
	if t.rows.kind != Float32 {
		dot16.Filter(scores, mask, t.strip(i), row, cols)
		return
	}
	clear(mask)
	products := t.floats.Row(i - t.lo)
	half, lo := cols.Half[:len(products)], cols.Lo[:len(products)]
	for j := len(products); j < len(scores); j++ {
		scores[j] = float32(math.Inf(-1)) // as what fills up the last panel has in integers
	}
	scores = scores[:len(products)]
	for j, v := range products {
		s := v - half[j]
		scores[j] = s
		if s >= row.Lo {
			mask[j/16] |= 1 << (j % 16)
		}
		if s-row.Half >= lo[j] {
			mask[j/16] |= 1 << (16 + j%16)
		}
	}
}

// Best is dot16.Best for row i, of the panel, and all columns of the tile, the first of
// which is column base of all. What fills up the last panel has no scores for Float32.
func (t *Tile) Best(i int, scores []float32, scale float32, cols *dot16.Columns, base int, top *dot16.Top) {
	if t.rows.kind != Float32 {
		dot16.Best(scores, t.strip(i), scale, cols, int32(base), top)
		return
	}
	products := t.floats.Row(i - t.lo)
	half, scores := cols.Half[:len(products)], scores[:len(products)]
	for j, v := range products {
		scores[j] = v - half[j]
		top.Take(scores[j], int32(base+j))
	}
}

// strip is the products of row i, of the panel, in integers.
func (t *Tile) strip(i int) []int32 { return t.ints[(i-t.lo)*t.width : (i-t.lo+1)*t.width] }
