package eval

import (
	"context"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/compute/exact"
)

// problem is a ranking task with the gallery indexed by label.
type problem struct {
	q, g    Set
	self    exact.Self
	opt     RankOptions
	members []map[int64][]int32 // gallery rows of each label, increasing, by column
}

func newProblem(q, g Set, self exact.Self, opt RankOptions) *problem {
	p := &problem{q: q, g: g, self: self, opt: opt}
	for _, labels := range g.Labels {
		m := make(map[int64][]int32)
		for j, y := range labels {
			m[y] = append(m[y], int32(j))
		}
		p.members = append(p.members, m)
	}
	return p
}

// positives appends to dst the gallery rows that share a label of any column with query i, in increasing
// order and without the query itself.
func (p *problem) positives(dst []int32, i int) []int32 {
	n, self := len(dst), p.self.ItemOf(i)
	for c, m := range p.members {
		for _, j := range m[p.q.Labels[c][i]] {
			if int(j) != self {
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

// numPositives returns R of query i in column c.
func (p *problem) numPositives(i, c int) int {
	y := p.q.Labels[c][i]
	r := len(p.members[c][y])
	if self := p.self.ItemOf(i); self >= 0 && p.g.Labels[c][self] == y {
		r--
	}
	return r
}

// defaultMemory is the default of Options.Memory, unless it is more than a quarter of the limit on memory.
const defaultMemory = 256 << 20

// space returns the space in which approximate scores are computed.
func (p *problem) space() *exact.Space {
	return exact.NewSpace(p.q.X, p.g.X, exact.Distance(p.opt.Distance))
}

// run ranks. If an approximate score does not show on which side of a mark an item is, the pair is
// scored exactly, so the ranks are exact. Its only error is that of ctx.
func (p *problem) run(ctx context.Context, visit func(RankedQuery)) error {
	memory := p.opt.memoryLimit()
	sp := p.space()
	if p.usesOrdering() {
		return p.runOrdered(ctx, sp, visit)
	}
	if p.usesHeads() && sp.Fits() {
		return p.runHeads(ctx, sp, visit)
	}
	// Half of the memory is for marks, half for packed rows.
	r := exact.NewRunner(sp, p.self, memory/2, p.opt.tileKind)
	from, n := p.opt.From, p.opt.To-p.opt.From
	cuts := exact.SplitByMemory(n, memory/2, func(i int) int64 {
		return int64(p.maxMarks(from+i))*markBytes +
			queryBytes
	})
	for g := range len(cuts) - 1 {
		r.Progress = exact.SubProgress(p.opt.Progress, cuts[g], cuts[g+1], n)
		lo, hi := from+cuts[g], from+cuts[g+1]
		t, err := newTally(ctx, p, sp, lo, hi)
		if err != nil {
			return err
		}
		if err := r.Run(ctx, t, lo, hi); err != nil {
			return err
		}
		if err := t.visitRanks(ctx, visit); err != nil {
			return err
		}
	}
	return nil
}

// maxMeanMarks is the mean number of marks of a query up to which ranking counts marks. With more, finding
// the first items of the ranking is faster.
const maxMeanMarks = 40

// usesHeads reports whether to rank by heads.
func (p *problem) usesHeads() bool {
	if p.opt.FirstOnly || p.opt.heads == choiceNo {
		return false
	}
	if p.opt.heads == choiceYes {
		return true
	}
	if p.opt.Depth == 0 {
		return false
	}
	marks := 0
	for i := p.opt.From; i < p.opt.To; i++ {
		marks += p.maxMarks(i)
	}
	n := p.opt.To - p.opt.From
	// The marks of good embeddings end long before a depth that is far beyond their number.
	return marks > maxMeanMarks*n && 4*marks >= p.opt.Depth*n
}

// runHeads ranks by heads.
func (p *problem) runHeads(ctx context.Context, sp *exact.Space, visit func(RankedQuery)) error {
	memory := p.opt.memoryLimit()
	r := exact.NewHeadRanker(sp, p.self, p.opt.Depth, memory/2, p.opt.tileKind)
	from, n := p.opt.From, p.opt.To-p.opt.From
	cuts := exact.SplitByMemory(n, memory/2, func(i int) int64 { return r.HeadBytes() + 4*int64(p.maxMarks(from+i)) })
	// the first block shows how much 8 bits leave open
	if first := min(exact.Block, n); cuts[1] > first && n > 4*first {
		cuts = slices.Insert(cuts, 1, first)
	}
	for g := range len(cuts) - 1 {
		r.Progress = exact.SubProgress(p.opt.Progress, cuts[g], cuts[g+1], n)
		ranks, err := p.rankHeads(ctx, r, from+cuts[g], from+cuts[g+1])
		if err != nil {
			return err
		}
		p.visitRanks(ranks, from+cuts[g], visit)
		r.ChooseKind()
	}
	return nil
}

func (o *RankOptions) memoryLimit() int64 {
	if o.Memory <= 0 {
		return min(defaultMemory, max(budget.Limit()/4, 1<<20))
	}
	return o.Memory
}
