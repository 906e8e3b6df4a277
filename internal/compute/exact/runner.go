package exact

import (
	"context"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
)

// Sink takes the pairs that a range of queries asks for. Queries are counted from
// the start of the range; calls for one query never overlap.
type Sink interface {
	// Lowest is the exact score below which query i does not need an item;
	// +Inf if it needs none. It never falls.
	Lowest(i int) float64
	// Take is called with gallery row j, whose exact score is within band of approx. If
	// the score is coarse and does not decide, it may ask to be called again with a
	// finer score.
	Take(i, j int, approx, band float64, coarse bool) (again bool)
}

// Runner visits the tiles of block x block approximate scores of all pairs of
// query and gallery item. It shows a sink every pair that can reach the score the
// query asks for, and possibly others. If queries and gallery are the same and all
// fit in one range, a tile serves both its rows and its columns, which halves the
// products.
type Runner struct {
	sp      *Space
	near    *nearScorer // of pairs that 8 bits leave open
	self    Self
	kept    Kind
	coarser bool // 8 bits may be tried
	span    int  // rows of a side
	buffers sync.Pool
	// Progress is called with the share of the range that is done.
	Progress func(done float64)

	sink     Sink
	counter  Counter // the sink, if it counts and counting in bulk is fast
	interest float64 // pairs of interest in the last tiles, a share of all; each may be twice
	lo, hi   int     // the range of queries
	locks    []sync.Mutex
}

// NewRunner makes a runner whose sides take up at most the given bytes. Its tiles begin
// with the given precision; Automatic is for sinks that first ask for most pairs.
func NewRunner(sp *Space, self Self, memory int64, begin Kind) *Runner {
	r := &Runner{sp: sp, near: newNearScorer(sp), self: self, kept: begin, Progress: func(float64) {}}
	if begin == KindAuto {
		r.kept = quantized.FinestFastKind()
		r.coarser = quantized.KindFor(sp.g.Cols) == quantized.Bits8
	}
	r.buffers.New = func() any { return newBuffer() }
	// As integers of 16 bits, even if 8 turn out to be enough.
	perSide := int(memory/2) / sideBytes(sp.g.Cols, min(r.kept, quantized.Bits16))
	r.span = max(block, perSide/block*block)
	return r
}

// SplitByMemory cuts n queries into ranges whose needs fit in the given bytes: range g is
// cuts[g]..cuts[g+1].
func SplitByMemory(n int, memory int64, need func(i int) int64) []int {
	out := []int{0}
	var used int64
	for i := range n {
		b := need(i)
		if used+b > memory && used > 0 {
			out = append(out, i)
			used = 0
		}
		used += b
	}
	return append(out, n)
}

// SubProgress is a progress function for the part lo..hi of n, of one for all, which may be nil.
func SubProgress(progress func(float64), lo, hi, n int) func(float64) {
	return func(done float64) {
		if progress != nil {
			progress((float64(lo) + done*float64(hi-lo)) / float64(n))
		}
	}
}

// Run shows s the pairs of queries lo..hi-1. It looks at ctx before each tile.
func (r *Runner) Run(ctx context.Context, s Sink, lo, hi int) error {
	r.sink, r.lo, r.hi, r.locks = s, lo, hi, make([]sync.Mutex, (hi-lo)/block+1)
	r.counter, r.interest = nil, 2
	if c, ok := s.(Counter); ok && dot16.IsFast() {
		r.counter = c
	}
	n := r.sp.g.Rows
	both := r.self.Same && hi-lo == n
	blocks := func(rows int) int { return (rows + block - 1) / block }
	total, done := blocks(hi-lo)*blocks(n), 0
	if both {
		total = blocks(n) * (blocks(n) + 1) / 2
	}
	for qlo := lo; qlo < hi; qlo += r.span {
		qhi := min(qlo+r.span, hi)
		rows := r.sp.querySide(qlo, qhi, r.kept)
		first := 0
		if both {
			first = qlo
		}
		for glo := first; glo < n; glo += r.span {
			ghi := min(glo+r.span, n)
			if rows.kept != r.kept { // decided after the last tile of the span before
				rows = r.sp.querySide(qlo, qhi, r.kept)
			}
			cols := r.sp.itemSide(nil, glo, ghi, r.kept)
			tiles := tileOrder(len(rows.blocks), len(cols.blocks), both && glo == qlo)
			for len(tiles) > 0 {
				k := 64 // tiles between reports of progress
				if r.coarser || r.kept == quantized.Bits8 || r.counter != nil && r.interest > 1./64 {
					k = 16 // and between decisions
				}
				k = min(k, len(tiles))
				t := &tileTask{r: r, rows: rows, cols: cols, tiles: tiles[:k], both: both}
				if err := par.ForContext(ctx, k, 1, func(i, _ int) { t.run(i) }); err != nil {
					return err
				}
				tiles = tiles[k:]
				done += k
				r.Progress(float64(done) / float64(total))
				if r.adjustKind(t, done > total/16) && len(tiles) > 0 {
					rows = r.sp.querySide(qlo, qhi, r.kept)
					cols = r.sp.itemSide(nil, glo, ghi, r.kept)
				}
			}
		}
	}
	return nil
}

// adjustKind reports whether the tiles after t are better computed at another precision: in 8
// bits once so few pairs are of interest that those which 8 bits leave open will be few,
// and in 16 for good where they are not, except among the first tiles, in which most
// pairs are of interest. It changes no result.
func (r *Runner) adjustKind(t *tileTask, settled bool) (changed bool) {
	pairs := int64(len(t.tiles) * block * block)
	r.interest = float64(t.shown.Load()) / float64(pairs)
	few := r.interest < 1./64
	switch {
	case r.coarser && r.kept == quantized.Bits16 && few:
		r.kept = quantized.Bits8
	case r.kept == quantized.Bits8 && settled && t.again.Load() > pairs/16:
		r.kept = quantized.Bits16
	default:
		return false
	}
	r.coarser = false
	return true
}

// tile is a block of rows and a block of columns.
type tile struct{ i, j int }

// tileOrder lists the tiles of a side's rows and columns, of a triangle only those on
// and above the diagonal, so that tiles computed at the same time share neither
// rows nor columns and do not wait for each other's locks.
func tileOrder(rows, cols int, triangle bool) []tile {
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
	tile    quantized.Tile
	scores  []float32
	mask    []uint32
	rowLo   []float32
	bandRow []float64
	bandCol []float64
	cols    dot16.Columns
	bulk    *bulkCounts
}

func newBuffer() *buffer {
	return &buffer{
		scores:  make([]float32, quantized.MaxPanel*block),
		mask:    make([]uint32, quantized.MaxPanel*block/16),
		rowLo:   make([]float32, block),
		bandRow: make([]float64, block),
		bandCol: make([]float64, block),
		cols:    dot16.Columns{Lo: make([]float32, block)},
	}
}

// tileTask computes tiles, in any order and several at a time.
type tileTask struct {
	r          *Runner
	rows, cols *side
	tiles      []tile
	both       bool
	shown      atomic.Int64 // pairs that passed the filter
	again      atomic.Int64 // and those that took a finer score
}

// run computes one tile: scores of its pairs panel by panel, then the counts of
// those that reach the lowest mark of their row or column.
func (k *tileTask) run(chunk int) {
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
	bulk := k.bulk(b, tl, mirror)
	width := quantized.Padded(j1 - j0)
	b.cols.Scale, b.cols.Half, b.cols.Lo = k.cols.scale[j0:j0+width], k.cols.half[j0:j0+width], b.cols.Lo[:width]
	b.tile.Begin(k.rows.rows, i0, i1, k.cols.cols, j0, j1)
	words, panel := width/16, k.rows.kept.Panel()
	for p := i0; p < i1; p += panel {
		end := min(p+panel, i1)
		b.tile.Multiply(p)
		any := uint32(0)
		for i := p; i < end; i++ {
			mask := b.mask[(i-p)*words : (i-p+1)*words]
			row := dot16.Row{Scale: k.rows.scale[i], Half: k.rows.half[i], Lo: b.rowLo[i-i0]}
			scores := b.scores[(i-p)*width : (i-p+1)*width]
			b.tile.Filter(i, scores, mask, row, &b.cols)
			if bulk != nil {
				k.countRow(bulk, scores, i, i0, j0)
				continue
			}
			for _, m := range mask {
				any |= m
			}
		}
		if any != 0 {
			k.count(b, tl, p, end, i0, j0, width, mirror)
		}
	}
	if bulk != nil {
		k.addCounts(bulk, tl, mirror)
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
		b.bandRow[i-i0] = k.rows.band(i, k.cols.blocks[tl.j], k.r.sp)
		low := k.r.sink.Lowest(k.rows.lo + i - k.r.lo)
		b.rowLo[i-i0] = quantized.RoundDown(low - b.bandRow[i-i0] + float64(k.rows.half[i]))
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
		b.bandCol[j-j0] = k.cols.band(j, k.rows.blocks[tl.i], k.r.sp)
		b.cols.Lo[j-j0] = quantized.RoundDown(k.r.sink.Lowest(k.cols.lo+j-k.r.lo) - b.bandCol[j-j0])
		wanted = wanted || b.cols.Lo[j-j0] < inf
	}
	lock.Unlock()
	return wanted
}

// lock returns the lock on what the sink keeps for block b of a side.
func (k *tileTask) lock(b int, s *side) *sync.Mutex { return &k.r.locks[(s.lo+b*block-k.r.lo)/block] }

// count counts the pairs of a panel that passed the filter.
func (k *tileTask) count(b *buffer, tl tile, p, end, i0, j0, width int, mirror bool) {
	lo := k.r.lo
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
	shown, again := 0, 0
	for i := p; i < end; i++ {
		mask := b.mask[(i-p)*words : (i-p+1)*words]
		for w, m := range mask {
			shown += bits.OnesCount32(m)
			for ; m != 0; m &= m - 1 {
				bit := bits.TrailingZeros32(m)
				j := w*16 + bit%16
				row, col := k.rows.lo+i, k.cols.lo+j0+j
				score := float64(b.scores[(i-p)*width+j]) - float64(k.rows.half[i])
				switch {
				case bit >= 16:
					again += k.show(col-lo, row, score, b.bandCol[j])
				case col != k.r.self.ItemOf(row):
					again += k.show(row-lo, col, score, b.bandRow[i-i0])
				}
			}
		}
	}
	k.shown.Add(int64(shown))
	k.again.Add(int64(again))
}

// show tells the sink of gallery row j for query i of the range, and again with a finer
// score if it asks for that.
func (k *tileTask) show(i, j int, score, band float64) (again int) {
	if s := k.r.sink; s.Take(i, j, score, band, k.rows.kept == quantized.Bits8) {
		score = k.r.near.score(k.r.lo+i, j)
		s.Take(i, j, score, k.r.near.band(score), false)
		return 1
	}
	return 0
}
