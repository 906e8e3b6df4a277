package pair

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

// split computes S = E Eᵀ, of rows of norm 1, on the matrix unit. Each number is the
// sum of two of bfloat16, hi + lo, but for 2⁻¹⁶ of it at most:
//
//	x y = (hi hi' + lo lo') + (hi lo' + lo hi') + at most 2⁻¹⁵ |x y|
//
// Products are exact in float32, and what is left out adds up to at most 2⁻¹⁵, in
// rows of 512 numbers to some 1e-6, twice what rounding does to the sums of a
// product in float32. A row holds pairs (hi, lo) and meets each column twice: once as
// it is, once with the two exchanged. The unit sums what the first of all pairs give
// and what the second give, and then adds the two sums, so exchanging row and column
// changes no bit, and equal rows have equal similarities.
type split struct {
	e, s    *matrix.Dense
	steps   int // of 16 coordinates
	packing bool
	packed  []float32 // pairs of bfloat16: [16 rows][step][row][coordinate]
	koff    []int64   // of the steps of a row: each comes twice
	coff    [bf16.BlockRows]int64
	buffers par.Scratch
}

const (
	// splitRows is the batch from which on it is used: it pays, and smaller ones have
	// the same bits with and without a matrix unit.
	splitRows = 1024
	// splitDepth is the least length of rows, in which errors cancel out well enough.
	splitDepth = 256
	// splitCols is the number of columns whose panels stay in the second-level cache.
	splitCols = 256
	block16   = 16 * 16
)

// usesSplit reports whether the similarities of rows are to be computed by split.
func usesSplit(r *Rows) bool {
	return r.Unit && r.E.Rows >= splitRows && r.E.Cols >= splitDepth && bf16.Active() == bf16.AMX
}

// run sets s, which must be square, to E Eᵀ.
func (p *split) run(e, s *matrix.Dense) {
	p.e, p.s = e, s
	n := e.Rows
	p.steps = (e.Cols + 15) / 16
	p.koff = resize(p.koff, 2*p.steps)
	for k := range p.koff {
		p.koff[k] = int64(k / 2 * block16 * 4)
	}
	for i := range p.coff {
		p.coff[i] = int64(i * s.Stride)
	}
	blocks := (n + bf16.BlockRows - 1) / bf16.BlockRows
	p.packed = resize(p.packed, 2*blocks*p.steps*block16)
	p.packing = true
	par.Do(blocks, p)
	p.packing = false
	par.Do((n+splitCols-1)/splitCols, p)
	p.e, p.s = nil, nil
}

// Run implements par.Task: 32 rows to pack, or columns to compute, the longest first.
func (p *split) Run(chunk int) {
	if p.packing {
		p.pack(chunk * bf16.BlockRows)
		return
	}
	p.columns(((p.e.Rows+splitCols-1)/splitCols - 1 - chunk) * splitCols)
}

// rowsAt returns the 16 packed rows from row i on.
func (p *split) rowsAt(i int) []float32 { return p.packed[i/16*p.steps*block16:][:p.steps*block16] }

// pack splits rows i..i+31.
func (p *split) pack(i int) {
	d := p.e.Cols
	buf := p.buffers.Get(3 * d)
	hi, lo, half := buf[:d], buf[d:2*d], bf16.View(buf[2*d:])[:d]
	for r := i; r < i+bf16.BlockRows; r++ {
		to := p.rowsAt(r)
		if r >= p.e.Rows {
			for k := range p.steps {
				clear(to[k*block16+r%16*16:][:16])
			}
			continue
		}
		bf16.Round(half, p.e.Row(r))
		bf16.Widen(hi, half)
		copy(lo, p.e.Row(r))
		simd.Axpy(-1, hi, lo)
		bf16.Pairs(bf16.Words(to[r%16*16:]), block16, hi, lo, d)
	}
	p.buffers.Put(buf)
}

// columns computes columns j.. down to the diagonal, and their mirror image.
func (p *split) columns(j int) {
	n := p.e.Rows
	end := min(j+splitCols, n)
	panel := 4 * p.steps * block16 // of 32 columns
	buf := p.buffers.Get((end-j+31)/32*panel + bf16.SumLen)
	sums := buf[:bf16.SumLen]
	panels := buf[bf16.SumLen:]
	for c := j; c < end; c += 32 {
		p.turn(panels[(c-j)/32*panel:][:panel/2], c)
		p.turn(panels[(c-j)/32*panel+panel/2:][:panel/2], c+16)
	}
	t := bf16.Tile{
		KOff: &p.koff[0], COff: &p.coff[0], Steps: 2 * p.steps,
		AStep: 64, ATile: 4 * p.steps * block16, BTile: 2 * panel,
	}
	for i := 0; i < end; i += bf16.BlockRows {
		t.A = unsafe.Pointer(&p.rowsAt(i)[0])
		t.Rows = min(bf16.BlockRows, n-i)
		for c := max(i, j); c < end; c += 32 {
			t.B = unsafe.Pointer(&panels[(c-j)/32*panel])
			t.C = unsafe.Pointer(&p.s.Data[i*p.s.Stride+c])
			t.Cols = min(32, end-c)
			t.Run(sums)
			if c > i {
				simd.Transpose(p.s.Data[c*p.s.Stride+i:], p.s.Stride, p.s.Data[i*p.s.Stride+c:], p.s.Stride, t.Rows,
					t.Cols)
			}
		}
	}
	p.buffers.Put(buf)
}

// turn makes columns of 16 rows, from row i on, as they are and exchanged.
func (p *split) turn(dst []float32, i int) {
	rows := p.rowsAt(i)
	for k := range p.steps {
		simd.Transpose(dst[2*k*block16:], 16, rows[k*block16:], 16, 16, 16)
		straight, crossed := bf16.Words(dst[2*k*block16:][:block16]), bf16.Words(dst[(2*k+1)*block16:][:block16])
		for q, w := range straight {
			crossed[q] = w<<16 | w>>16
		}
	}
}
