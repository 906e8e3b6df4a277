package rank

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/coded"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
)

// headRunner ranks queries by their heads: some queries after the other against the whole
// gallery.
type headRunner struct {
	p     *problem
	sp    *space
	kept  coded.Kind
	order []int32 // of the gallery, random
	span  int     // columns that are packed at a time
	cols  *side   // the last that were
	tools sync.Pool
	nears []float32 // storage of heads
	rows  []int32

	open, pairs atomic.Int64 // pairs scored one by one in vain, and all

	report   sync.Mutex
	done     int // tiles
	total    int
	progress func(done float64)
}

func newHeadRunner(p *problem, sp *space, memory int64) *headRunner {
	n := p.g.X.Rows
	r := &headRunner{p: p, sp: sp, kept: p.opt.begin, order: make([]int32, n)}
	if r.kept == automatic {
		r.kept = coded.Suited(p.g.X.Cols)
	}
	for j := range r.order {
		r.order[j] = int32(j)
	}
	rng := rand.New(rand.NewPCG(1, 2)) // results do not depend on it
	rng.Shuffle(n, func(a, b int) { r.order[a], r.order[b] = r.order[b], r.order[a] })
	perSide := int(memory) / sideBytes(p.g.X.Cols, min(r.kept, coded.Bits16))
	r.span = max(block, perSide/block*block)
	r.tools.New = func() any { return newHeadTools(sp) }
	return r
}

// headTools are what a goroutine works with.
type headTools struct {
	*buffer
	header
	at []int32 // rows of the gallery
}

func newHeadTools(sp *space) *headTools {
	return &headTools{buffer: newBuffer(), header: header{nearness: newNearness(sp)}, at: make([]int32, block)}
}

// depth is how many items of query i's ranking count.
func (p *problem) depth(int) int {
	others := p.g.X.Rows
	if p.same {
		others--
	}
	if p.opt.Depth > 0 {
		return min(p.opt.Depth, others)
	}
	return others
}

// headNeed is the storage of the head of query i, and of its ranks.
func (p *problem) headNeed(i int) int64 {
	return int64(roomFor(p.depth(i)))*keptBytes + int64(p.marks(i))*4 + 128
}

// run ranks queries lo..hi-1 and returns their heads' items in order, as far as they
// count.
func (r *headRunner) run(ctx context.Context, lo, hi int) ([]answers, error) {
	n := r.p.g.X.Rows
	heads := r.heads(lo, hi)
	// Small enough for all cores to have some, large enough for rows of the gallery to
	// stay in the cache from one query to the next.
	panel := r.kept.Panel()
	grain := min(max((hi-lo)/(4*runtime.GOMAXPROCS(0))/panel, 1)*panel, block)
	r.done, r.total = 0, (hi-lo+grain-1)/grain*((n+block-1)/block)
	rows := r.sp.pack(r.sp.q, r.sp.qInv, lo, hi, false, r.kept)
	for glo := 0; glo < n; glo += r.span {
		ghi := min(glo+r.span, n)
		if r.cols == nil || r.cols.lo != glo || r.cols.kept != r.kept {
			r.cols = r.sp.packOrdered(r.sp.g, r.sp.gInv, r.order, glo, ghi, true, r.kept)
		}
		err := par.ForContext(ctx, hi-lo, grain, func(a, b int) {
			t := r.tools.Get().(*headTools)
			defer r.tools.Put(t)
			r.scan(ctx, t, rows, heads, a, b)
		})
		if err != nil {
			return nil, err
		}
	}
	out := make([]answers, hi-lo)
	err := par.ForContext(ctx, hi-lo, 16, func(a, b int) {
		t := r.tools.Get().(*headTools)
		defer r.tools.Put(t)
		for i := a; i < b; i++ {
			out[i] = r.finish(t, &heads[i], lo+i)
		}
	})
	if err == nil {
		err = ctx.Err()
	}
	return out, err
}

// heads are those of queries lo..hi-1, empty. Their storage is that of the last ones.
func (r *headRunner) heads(lo, hi int) []head {
	heads := make([]head, hi-lo)
	need := 0
	for i := range heads {
		heads[i].depth = r.p.depth(lo + i)
		need += roomFor(heads[i].depth)
	}
	if len(r.nears) < need {
		r.nears, r.rows = make([]float32, need), make([]int32, need)
	}
	near, row := r.nears, r.rows
	for i := range heads {
		room := roomFor(heads[i].depth)
		heads[i].near, near = near[:0:room], near[room:]
		heads[i].row, row = row[:0:room], row[room:]
		heads[i].begin()
	}
	return heads
}

// scan shows the heads of rows a..b-1 the columns that are packed.
func (r *headRunner) scan(ctx context.Context, t *headTools, rows *side, heads []head, a, b int) {
	cols := r.cols
	for tl := range cols.blocks {
		if ctx.Err() != nil {
			return
		}
		j0, j1 := cols.blockRange(tl)
		width := coded.Padded(j1 - j0)
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
			share := float64(seen) / float64(r.p.g.X.Rows)
			for i := a; i < b; i++ {
				t.guess(&heads[i], share)
			}
		}
		r.step()
	}
}

// decide takes 16 bits for what follows if 8 leave too much open.
func (r *headRunner) decide() {
	if r.kept == coded.Bits8 && r.open.Load() > r.pairs.Load()/32 {
		r.kept = coded.Finest()
	}
}

// step reports progress.
func (r *headRunner) step() {
	r.report.Lock()
	defer r.report.Unlock()
	r.done++
	r.progress(float64(r.done) / float64(r.total))
}

// row shows a head the items of block tl that can reach its floor, and tells how many did
// not.
func (r *headRunner) row(t *headTools, rows *side, h *head, i, tl int) (open int) {
	band := rows.band(i, r.cols.blocks[tl], r.sp)
	width := len(t.cols.Lo)
	scores, mask := t.scores[:width], t.mask[:width/16]
	row := dot16.Row{Scale: rows.scale[i], Half: rows.half[i], Lo: -math.MaxFloat32}
	if tl == 0 && r.cols.lo == 0 {
		t.tile.Filter(i, scores, mask, row, &t.cols)
		t.start(h, scores[:min(block, len(r.order))], rows.half[i], len(r.order))
	}
	row.Lo = coded.Below(h.floor - band + float64(rows.half[i]))
	t.tile.Filter(i, scores, mask, row, &t.cols)
	order := r.order[r.cols.lo+tl*block:]
	query := int32(rows.lo + i)
	at := t.at[:0]
	for w, m := range mask {
		for ; m != 0; m &= m - 1 {
			if j := order[16*w+bits.TrailingZeros32(m)]; j != query || !r.p.same {
				at = append(at, j)
			}
		}
	}
	return len(at) - t.takeAll(h, int(query), at)
}
