package rank

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// tally counts, for a range of queries, how many gallery items stand ahead of
// each positive. The positives that still matter, those whose rank can be within
// the depth, are the query's marks, nearest first.
type tally struct {
	p      *problem
	sp     *space
	lo, n  int
	start  []int     // marks of query lo+i begin at start[i]
	score  []float64 // of the marks, exact, in the space
	row    []int32   // of the marks
	ahead  []int32   // items between this mark and the one before
	alive  []int32   // marks left, by query
	before []int32   // items ahead of the last of them
}

// markBytes is the storage of one mark, queryBytes that of one query.
const (
	markBytes  = 16
	queryBytes = 16
)

// marks returns how many marks query i can need.
func (p *problem) marks(i int) int {
	if p.opt.First {
		return len(p.members)
	}
	n := 0
	for c := range p.members {
		n += p.count(i, c)
	}
	if p.opt.Depth > 0 {
		n = min(n, p.opt.Depth)
	}
	return n
}

// newTally scores the positives of queries lo..hi-1.
func newTally(ctx context.Context, p *problem, sp *space, lo, hi int) (*tally, error) {
	n := hi - lo
	t := &tally{
		p: p, sp: sp, lo: lo, n: n, start: make([]int, n+1),
		alive: make([]int32, n), before: make([]int32, n),
	}
	for i := range n {
		t.start[i+1] = t.start[i] + p.marks(lo+i)
	}
	total := t.start[n]
	t.score, t.row, t.ahead = make([]float64, total), make([]int32, total), make([]int32, total)
	err := par.ForContext(ctx, n, 8, func(a, b int) {
		var w markWork
		for i := a; i < b; i++ {
			items := w.nearest(p, sp, lo+i, t.start[i+1]-t.start[i])
			for k, it := range items {
				t.score[t.start[i]+k], t.row[t.start[i]+k] = it.score, it.row
			}
			t.alive[i] = int32(len(items))
		}
	})
	return t, err
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

// markWork collects the marks of one query at a time.
type markWork struct {
	rows  []int32
	items []item
}

// nearest returns the limit nearest positives of query i, or with First the
// nearest of each column, in order.
func (w *markWork) nearest(p *problem, sp *space, i, limit int) []item {
	w.rows = p.positives(w.rows[:0], i)
	w.items = w.items[:0]
	for _, j := range w.rows {
		w.items = append(w.items, item{sp.exact(i, int(j)), j})
	}
	if p.opt.First {
		w.items = p.firsts(w.items, i)
		return w.items
	}
	slices.SortFunc(w.items, compareItems)
	return w.items[:min(limit, len(w.items))]
}

// firsts keeps the nearest item of each column.
func (p *problem) firsts(items []item, i int) []item {
	var out []item
	for c, labels := range p.g.Labels {
		y := p.q.Labels[c][i]
		best := -1
		for k, it := range items {
			if labels[it.row] == y && (best < 0 || compareItems(it, items[best]) < 0) {
				best = k
			}
		}
		if best >= 0 {
			out = append(out, items[best])
		}
	}
	slices.SortFunc(out, compareItems)
	return slices.Compact(out)
}

// lowest is the score of query i's last mark.
func (t *tally) lowest(i int) float64 {
	if t.alive[i] == 0 {
		return math.Inf(1)
	}
	return t.score[t.start[i]+int(t.alive[i])-1]
}

// take puts gallery row j among the marks of query i.
func (t *tally) take(i, j int, approx, band float64, coarse bool) (again bool) {
	from := t.start[i]
	m := int(t.alive[i])
	k := m // j is nearer than marks[k:]
	for marks := t.score[from : from+m]; k > 0 && marks[k-1] < approx-band; k-- {
		if k > 16 { // by halves while far from the end
			if h := k / 2; marks[h] < approx-band {
				k = h + 1
			}
		}
	}
	if k > 0 && t.score[from+k-1] <= approx+band {
		if coarse {
			return true
		}
		it := item{t.sp.exact(t.lo+i, j), int32(j)}
		for k > 0 && compareItems(it, item{t.score[from+k-1], t.row[from+k-1]}) < 0 {
			k--
		}
	}
	if k == m {
		return false
	}
	t.ahead[from+k]++
	t.before[i]++
	if depth := t.p.opt.Depth; depth > 0 && int(t.before[i]) >= depth {
		t.drop(i)
	}
	return false
}

// marks implements counter.
func (t *tally) marks(i int) []float64 { return t.score[t.start[i]:][:t.alive[i]] }

// nearer implements counter.
func (t *tally) nearer(i, j, m int) bool {
	at := t.start[i] + m
	return compareItems(item{t.sp.exact(t.lo+i, j), int32(j)}, item{t.score[at], t.row[at]}) < 0
}

// add implements counter.
func (t *tally) add(i int, ahead []int32) {
	n := min(int(t.alive[i]), len(ahead))
	if n == 0 {
		return
	}
	before := int32(0)
	for m, all := range ahead[:n] {
		t.ahead[t.start[i]+m] += all - before
		before = all
	}
	t.before[i] += before
	if t.p.opt.Depth > 0 {
		t.drop(i)
	}
}

// drop gives up the marks of query i that have too many items ahead of them.
func (t *tally) drop(i int) {
	for t.alive[i] > 0 && int(t.before[i]) >= t.p.opt.Depth {
		t.alive[i]--
		t.before[i] -= t.ahead[t.start[i]+int(t.alive[i])]
	}
}

// visit tells the ranks of all queries in order.
func (t *tally) visit(ctx context.Context, visit func(Query)) error {
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
			for k := range int(t.alive[i]) {
				rank += t.ahead[from+k]
				if labels[t.row[from+k]] == y {
					ranks = append(ranks, rank)
					if t.p.opt.First {
						break
					}
				}
			}
			visit(Query{Index: t.lo + i, Column: c, R: t.p.count(t.lo+i, c), Ranks: ranks})
		}
	}
	return nil
}
