package eval

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact"
)

// tally counts for a range of queries the gallery items that precede each positive. The positives that
// still matter, because their rank can be within the depth, are the query's marks, nearest first.
type tally struct {
	p           *problem
	sp          *exact.Space
	lo, n       int
	start       []int     // marks of query lo+i begin at start[i]
	score       []float64 // exact scores of the marks, in the space
	row         []int32   // rows of the marks
	isSettled   []bool    // whether the score of each mark is settled
	ahead       []int32   // number of items between a mark and the one before it
	remaining   []int32   // number of remaining marks, by query
	aheadOfLast []int32   // number of items ahead of the last remaining mark, by query
}

// markBytes is the memory of a mark, and queryBytes the memory of a query.
const (
	markBytes  = 17
	queryBytes = 16
)

// maxMarks returns the largest number of marks that query i needs.
func (p *problem) maxMarks(i int) int {
	if p.opt.FirstOnly {
		return len(p.members)
	}
	n := 0
	for c := range p.members {
		n += p.numPositives(i, c)
	}
	if p.opt.Depth > 0 {
		n = min(n, p.opt.Depth)
	}
	return n
}

// newTally makes the tally of queries lo..hi-1 and scores their positives.
func newTally(ctx context.Context, p *problem, sp *exact.Space, lo, hi int) (*tally, error) {
	n := hi - lo
	t := &tally{
		p: p, sp: sp, lo: lo, n: n, start: make([]int, n+1),
		remaining: make([]int32, n), aheadOfLast: make([]int32, n),
	}
	for i := range n {
		t.start[i+1] = t.start[i] + p.maxMarks(lo+i)
	}
	total := t.start[n]
	t.score, t.row, t.ahead = make([]float64, total), make([]int32, total), make([]int32, total)
	t.isSettled = make([]bool, total)
	err := par.ForContext(ctx, n, 8, func(a, b int) {
		var w markBuffer
		for i := a; i < b; i++ {
			items := w.nearest(p, sp, lo+i, t.start[i+1]-t.start[i])
			for k, it := range items {
				at := t.start[i] + k
				t.score[at], t.row[at], t.isSettled[at] = it.Score, it.Row, it.IsFinal
			}
			t.remaining[i] = int32(len(items))
		}
	})
	return t, err
}

// markBuffer collects the marks of a query.
type markBuffer struct {
	rows  []int32
	items []exact.Item
}

// nearest returns the limit nearest positives of query i in order, or with First the nearest positive of
// each column.
func (w *markBuffer) nearest(p *problem, sp *exact.Space, i, limit int) []exact.Item {
	w.rows = p.positives(w.rows[:0], i)
	w.items = w.items[:0]
	for _, j := range w.rows {
		w.items = append(w.items, sp.Item(i, j))
	}
	if p.opt.FirstOnly {
		w.items = p.nearestByColumn(sp, w.items, i)
		return w.items
	}
	sp.Sort(i, w.items)
	return w.items[:min(limit, len(w.items))]
}

// nearestByColumn keeps the nearest item of each column.
func (p *problem) nearestByColumn(sp *exact.Space, items []exact.Item, i int) []exact.Item {
	var out []exact.Item
	for c, labels := range p.g.Labels {
		y := p.q.Labels[c][i]
		best := -1
		for k := range items {
			if labels[items[k].Row] == y && (best < 0 || sp.Compare(i, &items[k], &items[best]) < 0) {
				best = k
			}
		}
		if best >= 0 {
			out = append(out, items[best])
		}
	}
	sp.Sort(i, out)
	return slices.CompactFunc(out, func(a, b exact.Item) bool { return a.Row == b.Row })
}

// Lowest returns the score of query i's last mark.
func (t *tally) Lowest(i int) float64 {
	if t.remaining[i] == 0 {
		return math.Inf(1)
	}
	return t.score[t.start[i]+int(t.remaining[i])-1]
}

// Take puts gallery row j among the marks of query i.
func (t *tally) Take(i, j int, approx, band float64, coarse bool) (again bool) {
	from := t.start[i]
	m := int(t.remaining[i])
	k := m // j is nearer than marks[k:]
	for marks := t.score[from : from+m]; k > 0 && marks[k-1] < approx-band; k-- {
		if k > 16 { // binary search while far from the end
			if h := k / 2; marks[h] < approx-band {
				k = h + 1
			}
		}
	}
	if k > 0 && t.score[from+k-1] <= approx+band {
		if coarse {
			return true
		}
		it := t.sp.Item(t.lo+i, int32(j))
		for k > 0 && t.precedes(i, &it, from+k-1) {
			k--
		}
	}
	if k == m {
		return false
	}
	t.ahead[from+k]++
	t.aheadOfLast[i]++
	if depth := t.p.opt.Depth; depth > 0 && int(t.aheadOfLast[i]) >= depth {
		t.dropHopeless(i)
	}
	return false
}

// precedes reports whether an item precedes the mark at a place in the lists.
func (t *tally) precedes(i int, it *exact.Item, at int) bool {
	mark := exact.Item{Score: t.score[at], Row: t.row[at], IsFinal: t.isSettled[at]}
	return t.sp.Compare(t.lo+i, it, &mark) < 0
}

// Marks implements exact.Counter.
func (t *tally) Marks(i int) []float64 { return t.score[t.start[i]:][:t.remaining[i]] }

// Nearer implements exact.Counter.
func (t *tally) Nearer(i, j, m int) bool {
	at := t.start[i] + m
	if row := t.row[at]; t.sp.SameDirection(int32(j), row) {
		return int32(j) < row
	}
	it := t.sp.Item(t.lo+i, int32(j))
	return t.precedes(i, &it, at)
}

// Add implements exact.Counter.
func (t *tally) Add(i int, ahead []int32) {
	n := min(int(t.remaining[i]), len(ahead))
	if n == 0 {
		return
	}
	before := int32(0)
	for m, all := range ahead[:n] {
		t.ahead[t.start[i]+m] += all - before
		before = all
	}
	t.aheadOfLast[i] += before
	if t.p.opt.Depth > 0 {
		t.dropHopeless(i)
	}
}

// dropHopeless drops the marks of query i that have too many items ahead of them.
func (t *tally) dropHopeless(i int) {
	for t.remaining[i] > 0 && int(t.aheadOfLast[i]) >= t.p.opt.Depth {
		t.remaining[i]--
		t.aheadOfLast[i] -= t.ahead[t.start[i]+int(t.remaining[i])]
	}
}

// visitRanks calls visit with the ranks of all queries in order.
func (t *tally) visitRanks(ctx context.Context, visitRanks func(RankedQuery)) error {
	var ranks []int32
	for i := range t.n {
		if i%16 == 0 { // a query may have many thousand positives
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		from := t.start[i]
		for c, labels := range t.p.g.Labels {
			y := t.p.q.Labels[c][t.lo+i]
			ranks = ranks[:0]
			rank := int32(1)
			for k := range int(t.remaining[i]) {
				rank += t.ahead[from+k]
				if labels[t.row[from+k]] == y {
					ranks = append(ranks, rank)
					if t.p.opt.FirstOnly {
						break
					}
				}
			}
			visitRanks(RankedQuery{Index: t.lo + i, Column: c, Positives: t.p.numPositives(t.lo+i, c), Ranks: ranks})
		}
	}
	return nil
}
