package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// CompareOptions are the options of comparisons. The zero value compares by Euclidean distance and uses
// the first column of labels.
type CompareOptions struct {
	Distance Distance
	// Column is the column of labels that defines the classes.
	Column int
	// SelfRows has the row of a separate gallery that each query itself is, or -1: such a pair is not compared.
	SelfRows []int32
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
	p, err := newPairProduct(queries, gallery, opt)
	if err != nil {
		return nil, err
	}
	pairs := len(p.rows) * len(p.cols)
	if p.isSymmetric {
		pairs /= 2
	}
	few := pairs <= exactPairs
	var mu sync.Mutex
	var free []*pairHistograms
	err = p.visitTiles(ctx, opt, func(t *tile) {
		mu.Lock()
		var k *pairHistograms
		if n := len(free); n > 0 {
			k, free = free[n-1], free[:n-1]
		} else {
			k = &pairHistograms{buffers: [2][]key{make([]key, 0, tileSide*tileSide), make([]key, 0, tileSide*tileSide)}}
		}
		mu.Unlock()
		k.buffers[0], k.buffers[1] = k.buffers[0][:0], k.buffers[1][:0]
		t.visitRuns(func(i int, genuine bool, lo, hi int) {
			kind := 0
			if genuine {
				kind = 1
			}
			for _, j := range p.cols[lo:hi] {
				d := p.distance(i, int(j))
				if k.buffers[kind] = append(k.buffers[kind], p.roundUp(d)); few {
					k.distances[kind] = append(k.distances[kind], d-p.zero)
				}
			}
		})
		k.impostor.addAll(k.buffers[0])
		k.genuine.addAll(k.buffers[1])
		mu.Lock()
		free = append(free, k)
		mu.Unlock()
	})
	if err != nil {
		return nil, err
	}
	all := new(pairHistograms)
	for _, k := range free {
		all.merge(k)
	}
	c := all.toCounts()
	c.keyScale = p.keyScale
	return c, c.check()
}

// pairProduct holds the pairs of rows and columns. Both are ordered by label, so that the genuine pairs of
// a row are adjacent.
type pairProduct struct {
	keyScale
	distance              func(i, j int) float64
	labels, galleryLabels []int64 // labels of the queries and of the gallery
	rows, cols            []int32
	// genuine[r] is the range of cols with the label of rows[r].
	genuine     [][2]int32
	isSymmetric bool // columns are the rows, and a row is paired only with later ones
	// selfPlace is the place in cols of the item that each query is, or -1; nil without such items.
	selfPlace []int32
}

func newPairProduct(queries Set, gallery *Set, opt CompareOptions) (*pairProduct, error) {
	if err := opt.Distance.Check(); err != nil {
		return nil, err
	}
	if err := CheckSets(queries, gallery); err != nil {
		return nil, err
	}
	if opt.Column < 0 || opt.Column >= len(queries.Labels) {
		return nil, fmt.Errorf("there is no column %d among the %d columns of labels", opt.Column, len(queries.Labels))
	}
	g, same := queries, gallery == nil
	if !same {
		g = *gallery
		if err := CheckSelf(opt.SelfRows, queries.X.Rows, g.X.Rows); err != nil {
			return nil, err
		}
	}
	p := &pairProduct{keyScale: newKeyScale(queries.X, g.X, opt.Distance),
		distance: DistanceFunc(queries.X, g.X, opt.Distance),
		labels:   queries.Labels[opt.Column], galleryLabels: g.Labels[opt.Column], isSymmetric: same}
	p.rows = sortByLabel(p.labels)
	p.cols = p.rows
	if !same {
		p.cols = sortByLabel(p.galleryLabels)
	}
	p.placeSelf(opt.SelfRows)
	p.genuine = make([][2]int32, len(p.rows))
	for r, i := range p.rows {
		y := p.labels[i]
		if r > 0 && p.labels[p.rows[r-1]] == y {
			p.genuine[r] = p.genuine[r-1]
			continue
		}
		lo := sort.Search(len(p.cols), func(c int) bool { return p.galleryLabels[p.cols[c]] >= y })
		n := sort.Search(len(p.cols)-lo, func(c int) bool { return p.galleryLabels[p.cols[lo+c]] > y })
		p.genuine[r] = [2]int32{int32(lo), int32(lo + n)}
	}
	return p, nil
}

// placeSelf finds the places of the items that the queries are.
func (p *pairProduct) placeSelf(rows []int32) {
	if rows == nil || p.isSymmetric {
		return
	}
	place := make([]int32, len(p.cols))
	for at, j := range p.cols {
		place[j] = int32(at)
	}
	p.selfPlace = make([]int32, len(rows))
	for i, j := range rows {
		if p.selfPlace[i] = -1; j >= 0 {
			p.selfPlace[i] = place[j]
		}
	}
}

// sortByLabel returns the rows by increasing label, and rows of one label by their number.
func sortByLabel(labels []int64) []int32 {
	rows := make([]int32, len(labels))
	for i := range rows {
		rows[i] = int32(i)
	}
	slices.SortFunc(rows, func(a, b int32) int { return cmp.Or(cmp.Compare(labels[a], labels[b]), cmp.Compare(a, b)) })
	return rows
}

// tileSide is the number of rows and of columns of a tile, so that the embeddings of both stay in the cache.
const tileSide = 256

// tile holds the pairs of rows r0..r1-1 and columns c0..c1-1.
type tile struct {
	p              *pairProduct
	r0, r1, c0, c1 int
}

// visitTiles calls visit for all tiles, several at a time. Some tiles may have no pairs.
func (p *pairProduct) visitTiles(ctx context.Context, opt CompareOptions, visit func(*tile)) error {
	across := (len(p.cols) + tileSide - 1) / tileSide
	down := (len(p.rows) + tileSide - 1) / tileSide
	for b := range down {
		first := 0
		if p.isSymmetric {
			first = b
		}
		r0 := b * tileSide
		err := par.ForContext(ctx, across-first, 1, func(lo, hi int) {
			for c := first + lo; c < first+hi; c++ {
				visit(&tile{p, r0, min(r0+tileSide, len(p.rows)), c * tileSide, min((c+1)*tileSide, len(p.cols))})
			}
		})
		if err != nil {
			return fmt.Errorf("comparing %d rows with %d: %w", len(p.rows), len(p.cols), err)
		}
		if opt.Progress != nil {
			opt.Progress(p.shareDone(b+1, down))
		}
	}
	return nil
}

// shareDone returns the share of the pairs in the first b of n bands of rows.
func (p *pairProduct) shareDone(b, n int) float64 {
	f := float64(b) / float64(n)
	if p.isSymmetric {
		return f * (2 - f)
	}
	return f
}

// visitRuns calls f for the pairs of every row i in turn, with a range of p.cols of one kind.
func (t *tile) visitRuns(f func(i int, genuine bool, lo, hi int)) {
	for r := t.r0; r < t.r1; r++ {
		lo := t.c0
		if t.p.isSymmetric {
			lo = max(lo, r+1)
		}
		own := t.p.genuine[r]
		i := int(t.p.rows[r])
		a := max(lo, min(int(own[0]), t.c1))
		b := max(a, min(int(own[1]), t.c1))
		for k, to := range [...]int{a, b, t.c1} {
			if t.p.selfPlace != nil {
				if self := int(t.p.selfPlace[i]); lo <= self && self < to {
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
