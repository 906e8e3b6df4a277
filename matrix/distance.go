package matrix

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// SquaredDistances computes C[i][j] = |a_i - b_j|^2 for the rows of A (r x d) and
// B (s x d), as |a_i|^2 + |b_j|^2 - 2 a_i.b_j with the norms folded into the
// product. C is r x s.
//
// Results are at least 0, and exactly 0 where the rows are equal: norms are
// summed in the product's own order. As in any such expansion the error is that
// of the norms, so distances far smaller than the vectors are only good to about
// 1e-6 (|a_i|^2 + |b_j|^2). NaN in a row makes its distances NaN.
//
// It panics if the shapes do not match. C must not overlap A or B.
func SquaredDistances(a, b, c *Dense) {
	if a.Cols != b.Cols || c.Rows != a.Rows || c.Cols != b.Rows {
		panic(fmt.Sprintf("matrix: distances of %d x %d and %d x %d into %d x %d", a.Rows, a.Cols, b.Rows, b.Cols,
			c.Rows, c.Cols))
	}
	if a.Cols == 0 {
		for i := range c.Rows {
			clear(c.Row(i))
		}
		return
	}
	p := productPool.Get().(*product)
	p.m, p.n, p.k = a.Rows, b.Rows, a.Cols
	p.a, p.b = newOperand(a, false), newOperand(b, true)
	p.c, p.ldc = c.Data, c.Stride
	p.alpha, p.add, p.clamp, p.singleBlock = -2, false, true, true
	p.normsA, p.normsB = p.norms.squaredNorms(a, p.normsA), p.normsB[:0]
	if sameRows(a, b) {
		p.normsB = append(p.normsB, p.normsA...)
	} else {
		p.normsB = p.norms.squaredNorms(b, p.normsB)
	}
	p.rowAdd, p.shift = p.normsA, p.normsB
	_ = p.run() // without a context it cannot fail
	p.release()
}

func sameRows(a, b *Dense) bool {
	return a.Rows == b.Rows && a.Stride == b.Stride && len(a.Data) > 0 && &a.Data[0] == &b.Data[0]
}

// normTask computes squared norms of rows as a product of the rows with
// themselves would: term after term.
type normTask struct {
	m   *Dense
	out []float32 // padded to whole tiles
	buf par.Scratch
}

// squaredNorms returns the squared norms of m's rows, padded with zeros so that tiles may
// read past the last, in out's memory if that is large enough.
func (t *normTask) squaredNorms(m *Dense, out []float32) []float32 {
	t.m, t.out = m, par.Grow(out, m.Rows+simd.MaxTileCols)
	clear(t.out)
	n := (m.Rows + simd.TileCols() - 1) / simd.TileCols()
	par.DoIf(m.Rows*m.Cols >= minChunk, n, t)
	out = t.out
	t.m, t.out = nil, nil
	return out
}

// Run takes as many rows as a tile has columns: transposed, they are columns to
// sum down.
func (t *normTask) Run(chunk int) {
	tc := simd.TileCols()
	i := chunk * tc
	rows := min(tc, t.m.Rows-i)
	buf := t.buf.Get((t.m.Cols + 2) * rows)
	defer t.buf.Put(buf)
	zero, sum, panel := buf[:rows], buf[rows:2*rows], buf[2*rows:]
	clear(zero)
	simd.Transpose(panel, rows, t.m.Data[i*t.m.Stride:], t.m.Stride, rows, t.m.Cols)
	simd.ColumnMoments(sum, t.out[i:i+rows], panel, zero, t.m.Cols, rows)
}
