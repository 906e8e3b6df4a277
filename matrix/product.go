package matrix

import (
	"context"
	"sync"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

const (
	// blockK bounds how much of the inner dimension a panel of B covers. Such a
	// panel streams from the second-level cache or the third for each tile, which
	// costs little; shorter ones would stay in the first but have C read and
	// written more often (320: 342 GFLOP/s at 2048^3, 1024: 424, 2048: 443).
	blockK = 2048
	// minChunk is the least number of multiply-adds worth handing to another
	// core.
	minChunk = 1 << 18
	// targetChunks is how many chunks even out the cores' speeds.
	targetChunks = 8
)

// blockSizes are sizes that results do not depend on, as large as the processor's caches
// make best.
type blockSizes struct {
	// a bounds the values of A that a chunk goes through again for each panel: they
	// stay in the second-level cache.
	a int
	// b bounds the values of B that are packed at a time.
	b int
}

func chooseBlockSizes(f simd.Family) blockSizes {
	if f == simd.Sapphire {
		return blockSizes{a: 128 << 10, b: 4 << 20}
	}
	return blockSizes{a: 64 << 10, b: 1 << 20}
}

// product is one blocked matrix product
//
//	C = act(alpha op(A) op(B) + shift (per column) + rowAdd (per row) + C if add)
//
// B is packed into panels of TileCols columns, shared by all chunks; A is read
// where it lies, or copied where its layout would defeat the cache. Each
// element of C sums over k in ascending order within blocks of k whose size
// depends on k alone.
type product struct {
	m, n, k        int
	a, b           operand
	c              []float32
	ldc            int
	alpha          float32
	add            bool
	shift, rowAdd  []float32       // nil, or padded to whole tiles
	clamp          bool            // act(v) = max(v, 0)
	singleBlock    bool            // the inner dimension is not cut into blocks
	ctx            context.Context // nil, or looked at between blocks
	tr, tc         int             // size of the tile
	blocks         blockSizes
	j0, jn, k0, kn int // the block of B at hand
	rows, cols     int // size of a chunk
	chunksJ        int
	packing        bool
	panels         []float32
	scale          [simd.MaxTileCols]float32
	copies         par.Scratch
	normsA, normsB []float32
	norms          normTask
}

// operand is a matrix or its transpose.
type operand struct {
	data   []float32
	stride int
	trans  bool
}

func newOperand(m *Dense, trans bool) operand { return operand{m.Data, m.Stride, trans} }

var productPool = sync.Pool{New: func() any { return new(product) }}

// run computes the product. All fields down to singleBlock must be set. Its only
// error is that of ctx.
func (p *product) run() error {
	if p.m == 0 || p.n == 0 {
		return nil
	}
	if p.k == 0 {
		panic("matrix: empty inner dimension")
	}
	p.tr, p.tc = simd.TileRows(), simd.TileCols()
	p.blocks = chooseBlockSizes(simd.Processor())
	for j := range p.scale {
		p.scale[j] = p.alpha
	}
	kn := p.k
	if !p.singleBlock {
		blocks := (p.k + blockK - 1) / blockK
		kn = (p.k + blocks - 1) / blocks
	}
	p.jn = max(p.tc, min(roundUp(p.n, p.tc), p.blocks.b/kn/p.tc*p.tc))
	p.panels = par.Grow(p.panels, p.jn*kn)
	for p.j0 = 0; p.j0 < p.n; p.j0 += p.jn {
		jn := min(p.jn, p.n-p.j0)
		p.chooseChunks(jn, kn)
		for p.k0 = 0; p.k0 < p.k; p.k0 += kn {
			if p.ctx != nil {
				if err := p.ctx.Err(); err != nil {
					return err
				}
			}
			p.kn = min(kn, p.k-p.k0)
			p.packing = true
			p.runChunks((jn+p.tc-1)/p.tc, jn*p.kn*8)
			p.packing = false
			p.runChunks((p.m+p.rows-1)/p.rows*p.chunksJ, p.m*jn*p.kn)
		}
	}
	return nil
}

func (p *product) runChunks(chunks, work int) {
	par.DoIf(work >= 2*minChunk, chunks, p)
}

// chooseChunks chooses the size of chunks: rows as blocks.a allows, but at least targetChunks
// in all where the work suffices; of about one size, as cores end together then.
func (p *product) chooseChunks(jn, kn int) {
	want := min(targetChunks, max(1, p.m*jn*kn/minChunk))
	tiles, panels := (p.m+p.tr-1)/p.tr, (jn+p.tc-1)/p.tc
	most := max(1, p.blocks.a/kn/p.tr)
	each, split := min(most, max(1, tiles/want)), 1
	if tiles <= most && panels >= 2*want {
		each, split = tiles, want // few rows, many columns
	} else if count := (tiles + each - 1) / each; count < want {
		split = min((want+count-1)/count, panels)
	}
	p.rows = each * p.tr
	p.cols = (panels + split - 1) / split * p.tc
	p.chunksJ = (panels*p.tc + p.cols - 1) / p.cols
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Run packs a panel of B or computes a chunk of C.
func (p *product) Run(chunk int) {
	if p.packing {
		p.pack(chunk)
		return
	}
	i0 := chunk / p.chunksJ * p.rows
	j0 := chunk % p.chunksJ * p.cols
	p.compute(i0, min(i0+p.rows, p.m), j0, min(j0+p.cols, p.jn, p.n-p.j0))
}

// pack writes panel number i of the block: kn rows of tc columns, zeros beyond
// the last column.
func (p *product) pack(i int) {
	j := p.j0 + i*p.tc
	n := min(p.tc, p.n-j)
	dst := p.panels[i*p.tc*p.kn : (i+1)*p.tc*p.kn]
	if n < p.tc {
		clear(dst)
	}
	if p.b.trans {
		simd.Transpose(dst, p.tc, p.b.data[min(j*p.b.stride+p.k0, len(p.b.data)):], p.b.stride, n, p.kn)
		return
	}
	for k := range p.kn {
		copy(dst[k*p.tc:k*p.tc+n], p.b.data[(p.k0+k)*p.b.stride+j:])
	}
}

// compute fills rows i0..i1-1 and columns j0..j1-1, counted within the block.
func (p *product) compute(i0, i1, j0, j1 int) {
	if j1 <= j0 {
		return
	}
	t := simd.Tile{
		Blocks: 1, Outer: 1, Inner: p.kn, BStep: 4 * p.tc,
		CTile: 4 * p.tr * p.ldc,
	}
	full := (i1 - i0) / p.tr * p.tr
	var aoff, coff, atail [simd.MaxTileRows]int64
	var step int
	a, lda, copied := p.leftRows(i0, i1, (j1-j0)/p.tc)
	if p.a.trans { // a holds tiles of kn x tr
		t.AStep, t.ATile, step = 4*p.tr, 4*p.tr*p.kn, 4
	} else {
		t.AStep, t.ATile, step = 4, 4*p.tr*lda, 4*lda
	}
	for i := range p.tr {
		aoff[i] = int64(i * step)
		atail[i] = int64(min(i, max(i1-i0-full-1, 0)) * step)
		coff[i] = int64(4 * i * p.ldc)
	}
	t.COff = &coff[0]
	if p.alpha != 1 {
		t.Scale = &p.scale[0]
	}
	last := p.k0+p.kn >= p.k
	if last && p.clamp {
		t.ReLU = 1
	}
	for j := j0; j < j1; j += p.tc {
		t.Cols = min(p.tc, j1-j, p.n-p.j0-j)
		t.B = unsafe.Pointer(&p.panels[j*p.kn : j*p.kn+1][0])
		if last && p.shift != nil {
			t.Shift = &p.shift[p.j0+j]
		}
		for _, part := range [2]struct {
			from, rows int
			aoff       *int64
		}{{0, full, &aoff[0]}, {full, i1 - i0 - full, &atail[0]}} {
			if part.rows == 0 {
				continue
			}
			t.Rows, t.AOff = part.rows, part.aoff
			t.A = unsafe.Pointer(unsafe.SliceData(a[min(part.from/p.tr*(t.ATile/4), len(a)):]))
			t.C = unsafe.Pointer(&p.c[(i0+part.from)*p.ldc+p.j0+j])
			if p.add || p.k0 > 0 {
				t.Add = t.C
			}
			if last && p.rowAdd != nil {
				t.RowAdd = &p.rowAdd[i0+part.from]
			}
			t.Run()
		}
	}
	if copied {
		p.copies.Put(a)
	}
}

// leftRows returns rows i0..i1-1 of op(A) within the block of k in a layout that
// tiles can read: as they lie, or a copy.
func (p *product) leftRows(i0, i1, panels int) (a []float32, stride int, copied bool) {
	if p.a.trans {
		a = p.copies.Get(roundUp(i1-i0, p.tr) * p.kn)
		for i := i0; i < i1; i += p.tr {
			dst := a[(i-i0)*p.kn:]
			n := min(p.tr, i1-i)
			for k := range p.kn {
				copy(dst[k*p.tr:k*p.tr+n], p.a.data[(p.k0+k)*p.a.stride+i:])
			}
		}
		return a, 0, true
	}
	// Rows a multiple of 1 KiB apart fall on few sets of the first cache, so
	// that a tile's rows would evict each other.
	if panels < 8 && p.a.stride%256 != 0 {
		return p.a.data[min(i0*p.a.stride+p.k0, len(p.a.data)):], p.a.stride, false
	}
	stride = roundUp(p.kn, 16) + 16
	if stride/16%2 == 0 {
		stride += 16
	}
	a = p.copies.Get((i1 - i0) * stride)
	for i := i0; i < i1; i++ {
		copy(a[(i-i0)*stride:(i-i0)*stride+p.kn], p.a.data[i*p.a.stride+p.k0:])
	}
	return a, stride, true
}
