package pair

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

// gram computes S = E Eᵀ at half the cost of a product: panels of columns down
// to the diagonal, each mirrored while it is in the cache. Element (i, j) sums
// over the dimensions in ascending order whatever i and j are, so equal rows
// have equal similarities to the last bit.
type gram struct {
	e, s   *matrix.Dense
	tr, tc int
	aoff   []int64 // byte offset of each row of E, of a whole number of tiles
	coff   [simd.MaxTileRows]int64
	packed par.Scratch
}

// run sets s, which must be square, to E Eᵀ.
func (g *gram) run(e, s *matrix.Dense) {
	g.e, g.s = e, s
	g.tr, g.tc = simd.TileRows(), simd.TileCols()
	n := e.Rows
	if n == 0 {
		return
	}
	if e.Cols == 0 {
		zero(s)
		return
	}
	// A panel's last tile of rows may end past the panel's diagonal block.
	g.aoff = resize(g.aoff, n+g.tr)
	for i := range g.aoff {
		g.aoff[i] = int64(4 * min(i, n-1) * e.Stride)
	}
	for i := range g.tr {
		g.coff[i] = int64(4 * i * s.Stride)
	}
	panels := (n + g.tc - 1) / g.tc
	par.DoIf(n*n/2*e.Cols >= serialWork, panels, g)
	g.e, g.s = nil, nil
}

// serialWork is the number of multiply-adds below which another core costs more
// than it saves.
const serialWork = 1 << 18

// Run implements par.Task: one panel of columns, the longest first.
func (g *gram) Run(chunk int) {
	n, d := g.e.Rows, g.e.Cols
	j := ((n+g.tc-1)/g.tc - 1 - chunk) * g.tc
	cols := min(g.tc, n-j)
	panel := g.packed.Get(d * g.tc)
	if cols < g.tc {
		clear(panel)
	}
	simd.Transpose(panel, g.tc, g.e.Data[j*g.e.Stride:], g.e.Stride, cols, d)
	t := simd.Tile{
		A: unsafe.Pointer(&g.e.Data[0]), B: unsafe.Pointer(&panel[0]), C: unsafe.Pointer(&g.s.Data[j]),
		AOff: &g.aoff[0], COff: &g.coff[0],
		AStep: 4, BStep: 4 * g.tc, Inner: d, Outer: 1, Blocks: 1,
		AOffTile: 8 * g.tr, CTile: 4 * g.tr * g.s.Stride,
		Rows: j + cols, Cols: cols,
	}
	t.Run()
	g.packed.Put(panel)
	mirror(g.s, j, cols)
}

// mirror copies the part of columns j..j+cols-1 above row j to the rows below.
func mirror(s *matrix.Dense, j, cols int) {
	if j > 0 {
		simd.Transpose(s.Data[j*s.Stride:], s.Stride, s.Data[j:], s.Stride, j, cols)
	}
}

// symmetrize replaces a square W by W + Wᵀ.
type symmetrize struct{ w *matrix.Dense }

const symmetrizeBlock = 32

func (s *symmetrize) run(w *matrix.Dense) {
	s.w = w
	par.Do((w.Rows+symmetrizeBlock-1)/symmetrizeBlock, s)
	s.w = nil
}

// Run implements par.Task: columns j..j+31 above the diagonal block, with the
// rows that mirror them, the longest first.
func (s *symmetrize) Run(chunk int) {
	w := s.w
	n := w.Rows
	j := ((n+symmetrizeBlock-1)/symmetrizeBlock - 1 - chunk) * symmetrizeBlock
	cols := min(symmetrizeBlock, n-j)
	var block [symmetrizeBlock * symmetrizeBlock]float32
	for i := 0; i < j; i += symmetrizeBlock {
		// Rows i.. of the columns gain the transpose of columns i.. of the rows.
		simd.Transpose(block[:], symmetrizeBlock, w.Data[j*w.Stride+i:], w.Stride, cols, symmetrizeBlock)
		for r := range symmetrizeBlock {
			simd.Axpy(1, block[r*symmetrizeBlock:r*symmetrizeBlock+cols],
				w.Data[(i+r)*w.Stride+j:(i+r)*w.Stride+j+cols])
		}
		simd.Transpose(w.Data[j*w.Stride+i:], w.Stride, w.Data[i*w.Stride+j:], w.Stride, symmetrizeBlock, cols)
	}
	for a := range cols {
		for b := range a {
			x, y := &w.Data[(j+a)*w.Stride+j+b], &w.Data[(j+b)*w.Stride+j+a]
			*x += *y
			*y = *x
		}
		w.Data[(j+a)*w.Stride+j+a] *= 2
	}
}
