package exact

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/scan"
)

// HeadRanker finds the first items in the rankings of queries: some queries at a time against
// the whole gallery.
type HeadRanker struct {
	// Progress is called with the share of the range that is done.
	Progress func(done float64)

	sp    *Space
	self  Self
	depth int // how many items of a ranking count
	kept  Kind
	order []int32 // of the gallery, random
	span  int     // columns that are packed at a time
	cols  *side   // the last that were
	tools sync.Pool
	nears []float32 // storage of heads
	rows  []int32

	open, pairs atomic.Int64 // pairs scored one by one in vain, and all

	report sync.Mutex
	done   int // tiles
	total  int
}

// NewHeadRanker is for the first depth items of each ranking, 0 for all. The gallery's codes take up
// at most the given bytes.
func NewHeadRanker(sp *Space, self Self, depth int, memory int64, begin Kind) *HeadRanker {
	n := sp.g.Rows
	others := self.MaxOthers(n)
	depth = cmp.Or(depth, others)
	r := &HeadRanker{sp: sp, self: self, depth: min(depth, others), kept: begin, order: shuffled(n)}
	if r.kept == KindAuto {
		r.kept = quantized.KindFor(sp.g.Cols)
	}
	perSide := int(memory) / sideBytes(sp.g.Cols, min(r.kept, quantized.Bits16))
	r.span = max(block, perSide/block*block)
	r.tools.New = func() any {
		return &headTools{buffer: newBuffer(), headFiller: headFiller{nearScorer: newNearScorer(sp)},
			at: make([]int32, scan.ListCap(block))}
	}
	return r
}

// shuffled returns 0..n-1 in a random order, which is always the same. Results do not depend on it.
func shuffled(n int) []int32 {
	order := make([]int32, n)
	for j := range order {
		order[j] = int32(j)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(n, func(a, b int) { order[a], order[b] = order[b], order[a] })
	return order
}

// HeadBytes is the storage of a head.
func (r *HeadRanker) HeadBytes() int64 { return int64(listLen(r.depth))*keptBytes + 128 }

// headTools are what a goroutine works with.
type headTools struct {
	*buffer
	headFiller
	at   []int32 // rows of the gallery
	head Head
}

// Run shows the heads of queries lo..hi-1, several at a time and in any order.
func (r *HeadRanker) Run(ctx context.Context, lo, hi int, show func(h *Head)) error {
	n := r.sp.g.Rows
	heads := r.heads(lo, hi)
	// Small enough for all cores to have some, large enough for rows of the gallery to
	// stay in the cache from one query to the next.
	panel := r.kept.Panel()
	grain := min(max((hi-lo)/(4*runtime.GOMAXPROCS(0))/panel, 1)*panel, 4*block)
	r.done, r.total = 0, (hi-lo+grain-1)/grain*((n+block-1)/block)
	rows := r.sp.querySide(lo, hi, r.kept)
	for glo := 0; glo < n; glo += r.span {
		ghi := min(glo+r.span, n)
		if r.cols == nil || r.cols.lo != glo || r.cols.kept != r.kept {
			r.cols = r.sp.itemSide(r.order, glo, ghi, r.kept)
		}
		err := par.ForContext(ctx, hi-lo, grain, func(a, b int) {
			t := r.tools.Get().(*headTools)
			defer r.tools.Put(t)
			r.scan(ctx, t, rows, heads, a, b)
		})
		if err != nil {
			return err
		}
	}
	err := par.ForContext(ctx, hi-lo, 16, func(a, b int) {
		t := r.tools.Get().(*headTools)
		defer r.tools.Put(t)
		for i := a; i < b; i++ {
			r.completeHead(t, &heads[i], lo+i)
			t.head = Head{Query: lo + i, Depth: r.depth, Places: t.head.Places, head: &heads[i], t: t}
			show(&t.head)
		}
	})
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// completeHead makes sure that a head has all items that are among the first: where a guess of its
// floor was wrong, it goes over the whole gallery again.
func (r *HeadRanker) completeHead(t *headTools, h *head, i int) {
	if t.dropExcess(h) {
		return
	}
	h.reset()
	self := r.self.ItemOf(i)
	for from := 0; from < len(r.order); from += block {
		at := t.at[:0]
		for _, j := range r.order[from:min(from+block, len(r.order))] {
			if int(j) != self {
				at = append(at, j)
			}
		}
		t.offerAll(h, i, at)
	}
	t.dropExcess(h)
}

// heads returns empty heads for queries lo..hi-1. They reuse the storage of the previous ones.
func (r *HeadRanker) heads(lo, hi int) []head {
	heads := make([]head, hi-lo)
	room := listLen(r.depth)
	if need := room * len(heads); len(r.nears) < need {
		r.nears, r.rows = make([]float32, need), make([]int32, need)
	}
	for i := range heads {
		h := &heads[i]
		h.depth, h.near, h.row = r.depth, r.nears[i*room:i*room:(i+1)*room], r.rows[i*room:i*room:(i+1)*room]
		h.reset()
	}
	return heads
}

// scan shows the heads of rows a..b-1 the columns that are packed.
func (r *HeadRanker) scan(ctx context.Context, t *headTools, rows *side, heads []head, a, b int) {
	cols := r.cols
	for tl := range cols.blocks {
		if ctx.Err() != nil {
			return
		}
		j0, j1 := cols.blockRange(tl)
		width := quantized.Padded(j1 - j0)
		t.cols.Scale, t.cols.Half = cols.scale[j0:j0+width], cols.half[j0:j0+width]
		t.cols.Lo = t.cols.Lo[:width]
		for j := range t.cols.Lo {
			t.cols.Lo[j] = float32(math.Inf(1)) // columns look for none
		}
		t.tile.Begin(rows.rows, a, b, cols.cols, j0, j1)
		panel := r.kept.Panel()
		open := 0
		for p := a; p < b; p += panel {
			t.tile.Multiply(p)
			for i := p; i < min(p+panel, b); i++ {
				open += r.row(t, rows, &heads[i], i, tl)
			}
		}
		r.open.Add(int64(open))
		r.pairs.Add(int64((b - a) * (j1 - j0)))
		seen := cols.lo + j1
		if at := seen / block; at > 1 && at&(at-1) == 0 {
			share := float64(seen) / float64(r.sp.g.Rows)
			for i := a; i < b; i++ {
				t.guessFloor(&heads[i], share)
			}
		}
		r.reportTile()
	}
}

// ChooseKind changes to 16 bits if 8 bits leave too many pairs open.
func (r *HeadRanker) ChooseKind() {
	if r.kept == quantized.Bits8 && r.open.Load() > r.pairs.Load()/32 {
		r.kept = quantized.FinestFastKind()
	}
}

// reportTile reports progress.
func (r *HeadRanker) reportTile() {
	r.report.Lock()
	defer r.report.Unlock()
	r.done++
	r.Progress(float64(r.done) / float64(r.total))
}

// row shows a head the items of block tl that can reach its floor, and returns how many did
// not.
func (r *HeadRanker) row(t *headTools, rows *side, h *head, i, tl int) (open int) {
	band := rows.band(i, r.cols.blocks[tl], r.sp)
	width := len(t.cols.Lo)
	scores, mask := t.scores[:width], t.mask[:width/16]
	row := dot16.Row{Scale: rows.scale[i], Half: rows.half[i], Lo: -math.MaxFloat32}
	if tl == 0 && r.cols.lo == 0 {
		t.tile.Filter(i, scores, mask, row, &t.cols)
		t.guessFirstFloor(h, scores[:min(block, len(r.order))], rows.half[i], len(r.order))
	}
	row.Lo = quantized.RoundDown(h.floor - band + float64(rows.half[i]))
	t.tile.Filter(i, scores, mask, row, &t.cols)
	found := scan.Between(scores, nextBelow(row.Lo), float32(math.Inf(1)), t.at)
	order, query := r.order[r.cols.lo+tl*block:], int32(rows.lo+i)
	at, self := found[:0], int32(r.self.ItemOf(int(query)))
	for _, k := range found {
		if j := order[k]; j != self {
			at = append(at, j)
		}
	}
	return len(at) - t.offerAll(h, int(query), at)
}
