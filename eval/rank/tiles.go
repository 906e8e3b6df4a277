package rank

import (
	"context"
	"math"
	"math/bits"
	"sync"

	"github.com/kindred-ml/kindred/internal/dot16"
	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/mat"
)

// defaultMemory is the working storage if Options names none.
const defaultMemory = 256 << 20

// run ranks in tiles of block x block approximate scores. Where an approximate
// score leaves open on which side of a mark an item stands, the pair is scored
// exactly; so the ranks are those of the exact scores. If queries and gallery are
// the same and their marks fit in memory, a tile serves both its rows and its
// columns, which halves the products.
func (p *problem) run(ctx context.Context, visit func(Query)) error {
	memory := p.opt.Memory
	if memory <= 0 {
		memory = defaultMemory
	}
	sp := newSpace(p.scorer)
	r := &runner{p: p, sp: sp, ints: dot16.Fast(), buffers: sync.Pool{New: func() any { return newBuffer() }}}
	// One half of the memory is for marks, one for packed rows.
	r.span = max(block, int(memory/4)/sideBytes(p.g.X.Cols, r.ints)/block*block)
	groups := p.groups(memory / 2)
	for g := 0; g+1 < len(groups); g++ {
		lo, hi := groups[g], groups[g+1]
		r.progress = func(done float64) {
			if p.opt.Progress != nil {
				p.opt.Progress((float64(lo) + done*float64(hi-lo)) / float64(p.q.X.Rows))
			}
		}
		t := newTally(p, sp, lo, hi)
		if err := r.rank(ctx, t, p.same && len(groups) == 2); err != nil {
			return err
		}
		t.visit(visit)
	}
	return nil
}

// groups cuts the queries into ranges whose marks fit in the given bytes: range g
// is groups[g]..groups[g+1].
func (p *problem) groups(memory int64) []int {
	out := []int{0}
	var used int64
	for i := range p.q.X.Rows {
		need := int64(p.marks(i))*markBytes + queryBytes
		if used+need > memory && used > 0 {
			out = append(out, i)
			used = 0
		}
		used += need
	}
	return append(out, p.q.X.Rows)
}

// runner goes over the tiles of one tally.
type runner struct {
	p        *problem
	sp       *space
	ints     bool
	span     int // rows of a side
	buffers  sync.Pool
	progress func(done float64)
}

// rank counts every pair of a query of t and a gallery item. With both, queries
// and gallery are the same and only tiles on and above the diagonal are computed.
func (r *runner) rank(ctx context.Context, t *tally, both bool) error {
	n := r.p.g.X.Rows
	blocks := func(rows int) int { return (rows + block - 1) / block }
	total, done := blocks(t.n)*blocks(n), 0
	if both {
		total = blocks(n) * (blocks(n) + 1) / 2
	}
	for qlo := t.lo; qlo < t.lo+t.n; qlo += r.span {
		qhi := min(qlo+r.span, t.lo+t.n)
		rows := r.sp.pack(r.p.q.X, r.sp.qInv, qlo, qhi, dot16.RowPanel, r.ints)
		first := 0
		if both {
			first = qlo
		}
		for glo := first; glo < n; glo += r.span {
			cols := r.sp.pack(r.p.g.X, r.sp.gInv, glo, min(glo+r.span, n), dot16.ColPanel, r.ints)
			tiles := order(len(rows.blocks), len(cols.blocks), both && glo == qlo)
			const batch = 64 // tiles between looks at ctx
			for len(tiles) > 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				k := min(batch, len(tiles))
				par.Do(k, &tileTask{r: r, t: t, rows: rows, cols: cols, tiles: tiles[:k], both: both})
				tiles = tiles[k:]
				done += k
				r.progress(float64(done) / float64(total))
			}
		}
	}
	return nil
}

// tile is a block of rows and a block of columns.
type tile struct{ i, j int }

// order lists the tiles of a side's rows and columns, of a triangle only those on
// and above the diagonal, so that tiles computed at the same time share neither
// rows nor columns and do not wait for each other's locks.
func order(rows, cols int, triangle bool) []tile {
	var out []tile
	for shift := range cols {
		for i := range rows {
			j := (i + shift) % cols
			if triangle {
				if j = i + shift; j >= cols {
					break
				}
			}
			out = append(out, tile{i, j})
		}
	}
	return out
}

// buffer is the working storage of one tile.
type buffer struct {
	products []int32
	scores   []float32
	mask     []uint32
	rowLo    []float32
	bandRow  []float64
	bandCol  []float64
	cols     dot16.Columns
	dense    *mat.Dense // products as floats
}

func newBuffer() *buffer {
	return &buffer{
		products: make([]int32, dot16.RowPanel*block),
		scores:   make([]float32, dot16.RowPanel*block),
		mask:     make([]uint32, dot16.RowPanel*block/16),
		rowLo:    make([]float32, block),
		bandRow:  make([]float64, block),
		bandCol:  make([]float64, block),
		cols:     dot16.Columns{Lo: make([]float32, block)},
	}
}

// tileTask computes tiles, in any order and several at a time.
type tileTask struct {
	r          *runner
	t          *tally
	rows, cols *side
	tiles      []tile
	both       bool
}

// Run computes one tile: scores of its pairs panel by panel, then the counts of
// those that reach the lowest mark of their row or column.
func (k *tileTask) Run(chunk int) {
	b := k.r.buffers.Get().(*buffer)
	defer k.r.buffers.Put(b)
	tl := k.tiles[chunk]
	i0, i1 := k.rows.blockRange(tl.i)
	j0, j1 := k.cols.blockRange(tl.j)
	diagonal := k.rows.lo+i0 == k.cols.lo+j0
	mirror := k.both && !diagonal
	if !k.thresholds(b, tl, mirror) {
		return
	}
	width := (j1 - j0 + dot16.ColPanel - 1) / dot16.ColPanel * dot16.ColPanel
	b.cols.Scale, b.cols.Half, b.cols.Lo = k.cols.scale[j0:j0+width], k.cols.half[j0:j0+width], b.cols.Lo[:width]
	if !k.r.ints {
		k.product(b, i0, i1, j0, j1)
	}
	words := width / 16
	for p := i0; p < i1; p += dot16.RowPanel {
		end := min(p+dot16.RowPanel, i1)
		if k.r.ints {
			k.strip(b, p, j0, width)
		}
		any := uint32(0)
		for i := p; i < end; i++ {
			mask := b.mask[(i-p)*words : (i-p+1)*words]
			row := dot16.Row{Scale: k.rows.scale[i], Half: k.rows.half[i], Lo: b.rowLo[i-i0]}
			scores := b.scores[(i-p)*width : (i-p+1)*width]
			if k.r.ints {
				dot16.Filter(scores, mask, b.products[(i-p)*width:(i-p+1)*width], row, &b.cols)
			} else {
				filterFloats(scores, mask, b.dense.Row(i-i0), row, &b.cols)
			}
			for _, m := range mask {
				any |= m
			}
		}
		if any != 0 {
			k.count(b, tl, p, end, i0, j0, width, mirror)
		}
	}
}

// thresholds fills in the scores that rows and columns of a tile look for, and
// tells whether any looks for one. With mirror unset columns look for none.
func (k *tileTask) thresholds(b *buffer, tl tile, mirror bool) bool {
	i0, i1 := k.rows.blockRange(tl.i)
	j0, j1 := k.cols.blockRange(tl.j)
	wanted := false
	inf := float32(math.Inf(1))
	lock := k.lock(tl.i, k.rows)
	lock.Lock()
	for i := i0; i < i1; i++ {
		b.bandRow[i-i0] = k.rows.band(i, k.cols.blocks[tl.j])
		low := k.t.lowest(k.rows.lo + i - k.t.lo)
		b.rowLo[i-i0] = below(low - b.bandRow[i-i0] + float64(k.rows.half[i]))
		wanted = wanted || b.rowLo[i-i0] < inf
	}
	lock.Unlock()
	b.cols.Lo = b.cols.Lo[:block]
	for j := range b.cols.Lo {
		b.cols.Lo[j] = inf
	}
	if !mirror {
		return wanted
	}
	lock = k.lock(tl.j, k.cols)
	lock.Lock()
	for j := j0; j < j1; j++ {
		b.bandCol[j-j0] = k.cols.band(j, k.rows.blocks[tl.i])
		b.cols.Lo[j-j0] = below(k.t.lowest(k.cols.lo+j-k.t.lo) - b.bandCol[j-j0])
		wanted = wanted || b.cols.Lo[j-j0] < inf
	}
	lock.Unlock()
	return wanted
}

// below returns a float32 that is at most x; infinities stay.
func below(x float64) float32 {
	f := float32(x)
	if float64(f) > x {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// lock returns the lock on the marks of block b of a side.
func (k *tileTask) lock(b int, s *side) *sync.Mutex {
	return &k.t.locks[(s.lo+b*block-k.t.lo)/block]
}

// strip multiplies one panel of rows with the columns of a tile.
func (k *tileTask) strip(b *buffer, p, j0, width int) {
	pairs := dot16.Pairs(k.r.p.g.X.Cols)
	x := k.rows.ints[p*2*pairs : (p+dot16.RowPanel)*2*pairs]
	y := k.cols.ints[j0*2*pairs : (j0+width)*2*pairs]
	dot16.Strip(b.products[:dot16.RowPanel*width], x, y, pairs)
}

// product multiplies the whole tile in float32.
func (k *tileTask) product(b *buffer, i0, i1, j0, j1 int) {
	if b.dense == nil {
		b.dense = mat.New(block, block)
	}
	c := &mat.Dense{Rows: i1 - i0, Cols: j1 - j0, Stride: block, Data: b.dense.Data}
	mat.Gemm(false, true, 1, k.rows.floats.RowRange(i0, i1), k.cols.floats.RowRange(j0, j1), 0, c)
}

// filterFloats is dot16.Filter for products in float32.
func filterFloats(v []float32, mask []uint32, products []float32, row dot16.Row, cols *dot16.Columns) {
	clear(mask)
	for j := range v {
		s := products[j] - cols.Half[j]
		v[j] = s
		if s >= row.Lo {
			mask[j/16] |= 1 << (j % 16)
		}
		if s-row.Half >= cols.Lo[j] {
			mask[j/16] |= 1 << (16 + j%16)
		}
	}
}

// count counts the pairs of a panel that passed the filter.
func (k *tileTask) count(b *buffer, tl tile, p, end, i0, j0, width int, mirror bool) {
	t := k.t
	lock := k.lock(tl.i, k.rows)
	lock.Lock()
	defer lock.Unlock()
	if mirror {
		// Tiles lie above the diagonal, so locks are taken in increasing order.
		lock := k.lock(tl.j, k.cols)
		lock.Lock()
		defer lock.Unlock()
	}
	words := width / 16
	for i := p; i < end; i++ {
		mask := b.mask[(i-p)*words : (i-p+1)*words]
		for w, m := range mask {
			for ; m != 0; m &= m - 1 {
				bit := bits.TrailingZeros32(m)
				j := w*16 + bit%16
				row, col := k.rows.lo+i, k.cols.lo+j0+j
				score := float64(b.scores[(i-p)*width+j]) - float64(k.rows.half[i])
				switch {
				case bit >= 16:
					t.count(col-t.lo, row, score, b.bandCol[j])
				case row != col || !k.r.p.same:
					t.count(row-t.lo, col, score, b.bandRow[i-i0])
				}
			}
		}
	}
}
