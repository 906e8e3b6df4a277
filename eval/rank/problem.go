package rank

import (
	"context"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// problem is one ranking task with the gallery indexed by label.
type problem struct {
	q, g    Set
	same    bool // queries are the gallery
	opt     Options
	scorer  *scorer
	members []map[int64][]int32 // per column: gallery rows of a label, increasing
}

func newProblem(q, g Set, same bool, opt Options) *problem {
	p := &problem{q: q, g: g, same: same, opt: opt, scorer: newScorer(q.X, g.X, opt.Distance)}
	for _, labels := range g.Labels {
		m := make(map[int64][]int32)
		for j, y := range labels {
			m[y] = append(m[y], int32(j))
		}
		p.members = append(p.members, m)
	}
	return p
}

// positives appends to dst the gallery rows that share a label of any column
// with query i, increasing, without the query itself.
func (p *problem) positives(dst []int32, i int) []int32 {
	n := len(dst)
	for c, m := range p.members {
		for _, j := range m[p.q.Labels[c][i]] {
			if !p.same || int(j) != i {
				dst = append(dst, j)
			}
		}
	}
	if len(p.members) > 1 {
		slices.Sort(dst[n:])
		dst = dst[:n+len(slices.Compact(dst[n:]))]
	}
	return dst
}

// count returns R of query i in column c.
func (p *problem) count(i, c int) int {
	y := p.q.Labels[c][i]
	r := len(p.members[c][y])
	if p.same {
		r--
	}
	return r
}

// defaultMemory is the working storage if Options names none, as far as the limit on memory has that four
// times.
const defaultMemory = 256 << 20

// run ranks. Where an approximate score leaves open on which side of a mark an
// item stands, the pair is scored exactly; so the ranks are those of the exact
// scores. Its only error is that of ctx.
func (p *problem) run(ctx context.Context, visit func(Query)) error {
	memory := p.opt.memory()
	sp := newSpace(p.scorer)
	if p.byHeads() && sp.fits() {
		return p.runHeads(ctx, sp, visit)
	}
	// One half of the memory is for marks, one for packed rows.
	r := newRunner(sp, p.same, memory/2, p.opt.begin)
	from, n := p.opt.From, p.opt.To-p.opt.From
	cuts := groups(n, memory/2, func(i int) int64 { return int64(p.marks(from+i))*markBytes + queryBytes })
	for g := range len(cuts) - 1 {
		r.progress = p.opt.share(cuts[g], cuts[g+1], n)
		lo, hi := from+cuts[g], from+cuts[g+1]
		t, err := newTally(ctx, p, sp, lo, hi)
		if err != nil {
			return err
		}
		if err := r.run(ctx, t, lo, hi); err != nil {
			return err
		}
		if err := t.visit(ctx, visit); err != nil {
			return err
		}
	}
	return nil
}

// mostMarked is the mean number of marks of a query up to which these are counted: more
// are found faster among the first items of the ranking.
const mostMarked = 40

// byHeads tells whether to rank by heads.
func (p *problem) byHeads() bool {
	if p.opt.First || p.opt.heads == never {
		return false
	}
	if p.opt.heads == always {
		return true
	}
	if p.opt.Depth == 0 {
		return false
	}
	marks := 0
	for i := p.opt.From; i < p.opt.To; i++ {
		marks += p.marks(i)
	}
	n := p.opt.To - p.opt.From
	// Marks of good embeddings end long before a depth that is far beyond their number.
	return marks > mostMarked*n && 4*marks >= p.opt.Depth*n
}

// runHeads is run by heads.
func (p *problem) runHeads(ctx context.Context, sp *space, visit func(Query)) error {
	memory := p.opt.memory()
	r := newHeadRunner(p, sp, memory/2)
	from, n := p.opt.From, p.opt.To-p.opt.From
	cuts := groups(n, memory/2, func(i int) int64 { return p.headNeed(from + i) })
	if first := min(block, n); cuts[1] > first && n > 4*first { // which shows what 8 bits leave open
		cuts = slices.Insert(cuts, 1, first)
	}
	for g := range len(cuts) - 1 {
		r.progress = p.opt.share(cuts[g], cuts[g+1], n)
		ranks, err := r.run(ctx, from+cuts[g], from+cuts[g+1])
		if err != nil {
			return err
		}
		r.visit(ranks, from+cuts[g], visit)
		r.decide()
	}
	return nil
}

func (o *Options) memory() int64 {
	if o.Memory <= 0 {
		return min(defaultMemory, max(budget.Limit()/4, 1<<20))
	}
	return o.Memory
}

// share returns a progress function for the part lo..hi of n.
func (o *Options) share(lo, hi, n int) func(float64) {
	return func(done float64) {
		if o.Progress != nil {
			o.Progress((float64(lo) + done*float64(hi-lo)) / float64(n))
		}
	}
}
