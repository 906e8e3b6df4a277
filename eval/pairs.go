package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// CompareOptions are the options of comparisons. The zero value compares by Euclidean distance and uses
// the first column of labels.
type CompareOptions struct {
	Distance rank.Distance
	// Column is the column of labels that defines the classes.
	Column int
	// Self has the row of a separate gallery that each query itself is, or -1: such a pair is not compared.
	Self []int32
	// Progress, if set, is called from time to time, from one goroutine at a time, with
	// the share of the work done, 0 to 1.
	Progress func(done float64)
}

// ComparePairs counts all pairs of a query and a gallery item by their distance. A nil gallery means all
// pairs of two rows of queries, each once: n (n - 1) / 2 pairs for n rows. Equal rows are pairs like any
// others.
//
// It returns an error if the distance is unknown, if the sets do not fit together, or if a row is not
// finite (the error names it). It returns ErrNoGenuine or ErrNoImpostor without pairs of a kind, and
// ctx.Err(), wrapped, once ctx is done. The result is the same for any number of cores. Counting takes
// about 10 MB for each core, and up to 100 MB more if there are few enough pairs for an exact AUC. 1.8
// billion pairs of 128 coordinates take minutes on one core.
func ComparePairs(ctx context.Context, queries Set, gallery *Set, opt CompareOptions) (*Counts, error) {
	p, err := newProduct(queries, gallery, opt)
	if err != nil {
		return nil, err
	}
	pairs := len(p.rows) * len(p.cols)
	if p.same {
		pairs /= 2
	}
	few := pairs <= exactPairs
	var mu sync.Mutex
	var free []*kinds
	err = p.run(ctx, opt, func(t *tile) {
		mu.Lock()
		var k *kinds
		if n := len(free); n > 0 {
			k, free = free[n-1], free[:n-1]
		} else {
			k = &kinds{room: [2][]key{make([]key, 0, side*side), make([]key, 0, side*side)}}
		}
		mu.Unlock()
		k.room[0], k.room[1] = k.room[0][:0], k.room[1][:0]
		t.each(func(i int, genuine bool, lo, hi int) {
			kind := 0
			if genuine {
				kind = 1
			}
			for _, j := range p.cols[lo:hi] {
				d := p.distance(i, int(j))
				if k.room[kind] = append(k.room[kind], p.up(d)); few {
					k.distances[kind] = append(k.distances[kind], d-p.zero)
				}
			}
		})
		k.impostor.addAll(k.room[0])
		k.genuine.addAll(k.room[1])
		mu.Lock()
		free = append(free, k)
		mu.Unlock()
	})
	if err != nil {
		return nil, err
	}
	all := new(kinds)
	for _, k := range free {
		all.merge(k)
	}
	c := all.counts()
	c.ruler = p.ruler
	return c, c.check()
}

// product holds the pairs of rows and columns. Both are ordered by label, so that the genuine pairs of
// a row are adjacent.
type product struct {
	ruler
	distance        func(i, j int) float64
	labels, against []int64 // labels of the queries and of the gallery
	rows, cols      []int32
	// genuine[r] is the range of cols with the label of rows[r].
	genuine [][2]int32
	same    bool // columns are the rows, and a row is paired only with later ones
	// self is the place in cols of the item that each query is, or -1; nil without such items.
	self []int32
}

func newProduct(queries Set, gallery *Set, opt CompareOptions) (*product, error) {
	if err := opt.Distance.Check(); err != nil {
		return nil, err
	}
	if err := rank.Check(queries, gallery); err != nil {
		return nil, err
	}
	if opt.Column < 0 || opt.Column >= len(queries.Labels) {
		return nil, fmt.Errorf("column %d of %d columns of labels", opt.Column, len(queries.Labels))
	}
	g, same := queries, gallery == nil
	if !same {
		g = *gallery
		if err := rank.CheckSelf(opt.Self, queries.X.Rows, g.X.Rows); err != nil {
			return nil, err
		}
	}
	p := &product{ruler: rulerFor(queries.X, g.X, opt.Distance), distance: rank.Between(queries.X, g.X, opt.Distance),
		labels: queries.Labels[opt.Column], against: g.Labels[opt.Column], same: same}
	p.rows = byLabel(p.labels)
	p.cols = p.rows
	if !same {
		p.cols = byLabel(p.against)
	}
	p.placeSelf(opt.Self)
	p.genuine = make([][2]int32, len(p.rows))
	for r, i := range p.rows {
		y := p.labels[i]
		if r > 0 && p.labels[p.rows[r-1]] == y {
			p.genuine[r] = p.genuine[r-1]
			continue
		}
		lo := sort.Search(len(p.cols), func(c int) bool { return p.against[p.cols[c]] >= y })
		n := sort.Search(len(p.cols)-lo, func(c int) bool { return p.against[p.cols[lo+c]] > y })
		p.genuine[r] = [2]int32{int32(lo), int32(lo + n)}
	}
	return p, nil
}

// placeSelf finds the places of the items that the queries are.
func (p *product) placeSelf(rows []int32) {
	if rows == nil || p.same {
		return
	}
	place := make([]int32, len(p.cols))
	for at, j := range p.cols {
		place[j] = int32(at)
	}
	p.self = make([]int32, len(rows))
	for i, j := range rows {
		if p.self[i] = -1; j >= 0 {
			p.self[i] = place[j]
		}
	}
}

// byLabel returns the rows by increasing label, and rows of one label by their number.
func byLabel(labels []int64) []int32 {
	rows := make([]int32, len(labels))
	for i := range rows {
		rows[i] = int32(i)
	}
	slices.SortFunc(rows, func(a, b int32) int { return cmp.Or(cmp.Compare(labels[a], labels[b]), cmp.Compare(a, b)) })
	return rows
}

// side is the number of rows and of columns of a tile, so that the embeddings of both stay in the cache.
const side = 256

// tile holds the pairs of rows r0..r1-1 and columns c0..c1-1.
type tile struct {
	p              *product
	r0, r1, c0, c1 int
}

// run calls visit for all tiles, several at a time. Some tiles may have no pairs.
func (p *product) run(ctx context.Context, opt CompareOptions, visit func(*tile)) error {
	across := (len(p.cols) + side - 1) / side
	down := (len(p.rows) + side - 1) / side
	for b := range down {
		first := 0
		if p.same {
			first = b
		}
		r0 := b * side
		err := par.ForContext(ctx, across-first, 1, func(lo, hi int) {
			for c := first + lo; c < first+hi; c++ {
				visit(&tile{p, r0, min(r0+side, len(p.rows)), c * side, min((c+1)*side, len(p.cols))})
			}
		})
		if err != nil {
			return fmt.Errorf("comparing %d rows with %d: %w", len(p.rows), len(p.cols), err)
		}
		if opt.Progress != nil {
			opt.Progress(p.done(b+1, down))
		}
	}
	return nil
}

// done returns the share of the pairs in the first b of n bands of rows.
func (p *product) done(b, n int) float64 {
	f := float64(b) / float64(n)
	if p.same {
		return f * (2 - f)
	}
	return f
}

// each calls f for the pairs of every row i in turn, with a range of p.cols of one kind.
func (t *tile) each(f func(i int, genuine bool, lo, hi int)) {
	for r := t.r0; r < t.r1; r++ {
		lo := t.c0
		if t.p.same {
			lo = max(lo, r+1)
		}
		own := t.p.genuine[r]
		i := int(t.p.rows[r])
		a := max(lo, min(int(own[0]), t.c1))
		b := max(a, min(int(own[1]), t.c1))
		for k, to := range [...]int{a, b, t.c1} {
			if t.p.self != nil {
				if self := int(t.p.self[i]); lo <= self && self < to {
					if lo < self {
						f(i, k == 1, lo, self)
					}
					lo = self + 1
				}
			}
			if lo < to {
				f(i, k == 1, lo, to)
				lo = to
			}
		}
	}
}
