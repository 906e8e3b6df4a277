package rank

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/kindred-ml/kindred/internal/par"
)

// rowBlock is the number of queries ranked between two visits.
const rowBlock = 64

// byRows ranks query by query from a full row of float64 scores. It serves
// queries with any number of positives and is the definition in code; the cost
// is a float64 dot product for every pair.
func (p *problem) byRows(ctx context.Context, visit func(Query)) error {
	n := p.q.X.Rows
	work := make([]rowWork, rowBlock)
	for lo := 0; lo < n; lo += rowBlock {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+rowBlock, n)
		par.For(hi-lo, 1, func(a, b int) {
			for i := a; i < b; i++ {
				work[i].rank(p, lo+i)
			}
		})
		for i := lo; i < hi; i++ {
			work[i-lo].emit(p, i, visit)
		}
		if p.opt.Progress != nil {
			p.opt.Progress(float64(hi) / float64(n))
		}
	}
	return nil
}

// item is a gallery row with its nearness to a query.
type item struct {
	score float64
	row   int32
}

// compareItems orders the nearest first, ties by the lowest row.
func compareItems(a, b item) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Compare(a.row, b.row)
}

// rowWork ranks one query at a time.
type rowWork struct {
	rows      []int32
	positives []item
	ahead     []int32 // ahead[t]: items between positive t-1 and positive t
	ranks     []int32
}

func (w *rowWork) rank(p *problem, i int) {
	w.rows = p.positives(w.rows[:0], i)
	w.positives = w.positives[:0]
	for _, j := range w.rows {
		w.positives = append(w.positives, item{p.scorer.score(i, int(j)), j})
	}
	w.ahead = append(w.ahead[:0], make([]int32, len(w.positives)+1)...)
	if len(w.positives) == 0 {
		return
	}
	slices.SortFunc(w.positives, compareItems)
	last := w.positives[len(w.positives)-1]
	for j := range p.g.X.Rows {
		if p.same && j == i {
			continue
		}
		it := item{p.scorer.score(i, j), int32(j)}
		if compareItems(it, last) >= 0 {
			continue
		}
		t := sort.Search(len(w.positives), func(t int) bool { return compareItems(it, w.positives[t]) < 0 })
		w.ahead[t]++
	}
}

// emit visits the columns of query i. A positive that counts in one column only
// still takes its place in the ranking of the others.
func (w *rowWork) emit(p *problem, i int, visit func(Query)) {
	for c := range p.members {
		y := p.q.Labels[c][i]
		w.ranks = w.ranks[:0]
		rank := int32(1)
		for t, it := range w.positives {
			rank += w.ahead[t]
			if p.opt.Depth > 0 && int(rank) > p.opt.Depth || p.opt.First && len(w.ranks) == 1 {
				break
			}
			if p.g.Labels[c][it.row] == y {
				w.ranks = append(w.ranks, rank)
			}
		}
		visit(Query{Index: i, Column: c, R: p.count(i, c), Ranks: w.ranks})
	}
}
