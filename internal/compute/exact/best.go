package exact

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/matrix"
)

// Options say how to find the best.
type Options struct {
	Distance Distance
	Memory   int64 // bytes of working memory, about
	// Progress, if set, is called with the share of the work that is done.
	Progress  func(done float64)
	FirstKind Kind // of the tiles; Automatic, except in tests
}

// TopK finds the k nearest rows of g for each row of queries, as package eval defines it, without the
// items that the queries are. rows and values hold k entries for each query in turn. Its only error is
// ctx.Err().
func TopK(ctx context.Context, queries, g *matrix.Dense, self Self, k int, opt Options) (rows []int32,
	values []float64, err error) {
	n := queries.Rows
	sp := NewSpace(queries, g, opt.Distance)
	begin := opt.FirstKind
	if begin == KindAuto {
		begin = quantized.KindFor(g.Cols) // after the first k items few pairs are of interest
	}
	r := NewRunner(sp, self, opt.Memory/2, begin)
	perQuery := int64(shortlistLen(k)*candidateBytes + 4*k + 88)
	cuts := SplitByMemory(n, opt.Memory/2, func(int) int64 { return perQuery })
	rows, values = make([]int32, n*k), make([]float64, n*k)
	for c, lo := range cuts[:len(cuts)-1] {
		hi := cuts[c+1]
		r.Progress = SubProgress(opt.Progress, lo, hi, n)
		l := newShortlists(sp, k, lo, hi)
		l.room.Store(opt.Memory / 4)
		if err := r.Run(ctx, l, lo, hi); err != nil {
			return nil, nil, err
		}
		err := par.ForContext(ctx, hi-lo, 16, func(a, b int) {
			for i := a; i < b; i++ {
				at := (lo + i) * k
				l.prune(i)
				l.writeNearest(i, rows[at:at+k], values[at:at+k])
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return rows, values, nil
}

// candidate is an item that may be among the k nearest, with bounds of its score.
type candidate struct {
	low, high float32
	row       int32
}

const candidateBytes = 12

// shortlistLen is how many candidates are kept before the hopeless ones are
// thrown out.
func shortlistLen(k int) int { return 2*k + 64 }

// shortlists keeps, for a range of queries, the items that may be among the k
// nearest.
type shortlists struct {
	sp    *Space
	lo    int // the first query
	k     int
	lists [][]candidate
	lows  [][]float32 // the k largest lower bounds, as a heap with the least on top
	floor []float64   // the least of them: at least k items reach it
	// last is the last of the k nearest so far of a query whose list was full of ties; others have none.
	last []*Item
	room atomic.Int64 // bytes by which lists may grow
}

func newShortlists(sp *Space, k, lo, hi int) *shortlists {
	n := hi - lo
	s := &shortlists{sp: sp, lo: lo, k: k, lists: make([][]candidate, n), lows: make([][]float32, n),
		floor: slices.Repeat([]float64{math.Inf(-1)}, n), last: make([]*Item, n)}
	size := shortlistLen(k)
	store, lows := make([]candidate, n*size), make([]float32, n*k)
	for i := range s.lists {
		s.lists[i] = store[i*size : i*size : (i+1)*size]
		s.lows[i] = lows[i*k : i*k : (i+1)*k]
	}
	return s
}

func (s *shortlists) Lowest(i int) float64 { return s.floor[i] }

func (s *shortlists) Take(i, j int, approx, band float64, coarse bool) (again bool) {
	if approx+band < s.floor[i] || coarse {
		return approx+band >= s.floor[i]
	}
	if last := s.last[i]; last != nil {
		if it := s.sp.Item(s.lo+i, int32(j)); s.sp.Compare(s.lo+i, &it, last) > 0 {
			return false
		}
	}
	low := quantized.RoundDown(approx - band)
	s.lists[i] = append(s.lists[i], candidate{low, quantized.RoundUp(approx + band), int32(j)})
	s.raise(i, low)
	if n := len(s.lists[i]); n == cap(s.lists[i]) {
		s.prune(i)
	}
	return false
}

// raise takes a lower bound into the k largest.
func (s *shortlists) raise(i int, low float32) {
	h := s.lows[i]
	if len(h) < s.k {
		h = append(h, low)
		s.lows[i] = h
		if len(h) == s.k {
			slices.Sort(h)
			s.floor[i] = float64(h[0])
		}
		return
	}
	if low <= h[0] {
		return
	}
	at := 0
	for {
		next := 2*at + 1
		if next+1 < len(h) && h[next+1] < h[next] {
			next++
		}
		if next >= len(h) || low <= h[next] {
			break
		}
		h[at] = h[next]
		at = next
	}
	h[at] = low
	s.floor[i] = float64(h[0])
}

// prune drops items that cannot reach the floor. Where wide bands leave the list full, it grows while there
// is room. After that the k nearest are kept by their exact scores: among rows that are all alike, each list
// would otherwise hold all rows.
func (s *shortlists) prune(i int) {
	floor, list := s.floor[i], s.lists[i]
	s.lists[i] = slices.DeleteFunc(list, func(c candidate) bool { return float64(c.high) < floor })
	if 4*len(s.lists[i]) <= 3*cap(list) {
		return
	}
	if s.room.Add(-candidateBytes*int64(cap(list))) >= 0 {
		s.lists[i] = slices.Grow(s.lists[i], cap(list))
		return
	}
	items := s.exactItems(i)[:s.k]
	s.last[i] = &items[s.k-1]
	near := make(map[int32]bool, s.k)
	for _, it := range items {
		near[it.Row] = true
	}
	s.lists[i] = slices.DeleteFunc(s.lists[i], func(c candidate) bool { return !near[c.row] })
}

// exactItems returns the candidates of query i with their exact scores, the nearest first.
func (s *shortlists) exactItems(i int) []Item {
	items := make([]Item, len(s.lists[i]))
	for c, cand := range s.lists[i] {
		items[c] = Item{Score: s.sp.score(s.lo+i, int(cand.row)), Row: cand.row}
	}
	s.sp.Sort(s.lo+i, items)
	return items
}

// writeNearest writes the k nearest of query i.
func (s *shortlists) writeNearest(i int, rows []int32, values []float64) {
	for e, it := range s.exactItems(i)[:len(rows)] {
		rows[e], values[e] = it.Row, s.sp.value(s.lo+i, it)
		if s.sp.dist == Euclidean {
			values[e] = -values[e]
		}
	}
}
