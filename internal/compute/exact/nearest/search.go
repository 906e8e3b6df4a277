package nearest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/mappedfile"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/cosine"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
)

// Part is rows to search. X holds them one after another. Without Codes, as few
// rows that came just now are, every one is scored exactly.
type Part struct {
	X     []float32
	Codes *Codes
	// Guard, if set, is asked before rows of the part count.
	Guard Guard
}

// Range is rows Lo..Hi-1 of a part.
type Range struct{ Lo, Hi int }

// Query is a search: what to look for and, afterwards, what was found.
type Query struct {
	X []float32
	K int
	// Allowed holds, for each part, the rows that count as a set of bits, and Counts, if
	// set, how many they are.
	Allowed [][]uint64
	Counts  []int
	// Within, if set, holds the ranges of each part to look at,
	// ascending. Rows outside them may be looked at too.
	Within [][]Range
	// Done, if set, reports whether nobody waits for the answer any more.
	Done func() bool

	// Found are the K nearest, or all if fewer count, nearest first. Scored is how
	// many rows were scored exactly.
	Found  []Found
	Scored atomic.Int64
	// Err is the error of reading rows that should have counted; then Found is empty.
	Err error

	mu      sync.Mutex
	list    []Found       // what may be among the nearest
	floor   atomic.Uint64 // math.Float64bits of a score below which no row counts
	inverse float64       // of X's length
	slack   float64       // bounds the error of a score, of cosines only
}

// Found is a row and its exact score: minus the squared distance, the cosine or the
// product. Cosines equal those of package eval: rounded once where the order depends on it.
type Found struct {
	Part, Row int32
	Score     float64
}

// Search answers queries by one pass over parts whose rows have dimension d. Those
// with equal scores are in the order that tie gives. The error is ctx.Err(), or comes from
// a part that could not be read.
func Search(ctx context.Context, distance exact.Distance, d int, parts []Part, queries []*Query,
	tie func(a, b Found) int) error {
	for _, q := range queries {
		q.inverse = quantized.InverseNorm(q.X)
		q.slack = 0
		if distance == exact.Cosine && q.inverse > 0 { // a query of zeros has cosine 0 with all rows
			q.slack = cosine.ErrorBound(d)
		}
		q.list = make([]Found, 0, q.K+max(16, q.K/2))
		q.floor.Store(math.Float64bits(math.Inf(-1)))
	}
	var tiles sync.Pool // of *tile, kept between the parts
	for i := range parts {
		s := &scan{distance: distance, d: d, at: int32(i), part: &parts[i], queries: queries, tiles: &tiles}
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("searching part %d of %d: %w", i+1, len(parts), err)
		}
	}
	var fault firstError
	par.For(len(queries), 1, func(lo, _ int) {
		fault.note(mappedfile.Access(func() { queries[lo].keepNearest(parts, tie) }))
	})
	return fault.err
}

// firstError keeps one of the errors of tasks that run together.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) note(err error) {
	if err != nil {
		f.mu.Lock()
		f.err = cmp.Or(f.err, err)
		f.mu.Unlock()
	}
}

func (q *Query) scoreFloor() float64 { return math.Float64frombits(q.floor.Load()) }

// count is the number of rows of a part that count.
func (q *Query) count(part int32) int {
	if q.Counts != nil {
		return q.Counts[part]
	}
	n := 0
	for _, w := range q.Allowed[part] {
		n += bits.OnesCount64(w)
	}
	return n
}

// allows reports whether a row counts.
func (q *Query) allows(part int32, row int) bool {
	set := q.Allowed[part]
	return row>>6 < len(set) && set[row>>6]>>(row&63)&1 != 0
}

// addFound adds a row with its score.
func (q *Query) addFound(f Found) {
	if f.Score < q.scoreFloor() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, f)
	if len(q.list) == cap(q.list) {
		q.prune()
	}
}

// prune raises the floor to the K-th largest score, less the rounding errors of it
// and of another score, and drops what does not reach it. If ties leave the list full, the list grows.
func (q *Query) prune() {
	slices.SortFunc(q.list, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	floor := q.list[q.K-1].Score - 2*q.slack
	q.floor.Store(math.Float64bits(floor))
	size := cap(q.list)
	q.list = slices.DeleteFunc(q.list, func(f Found) bool { return f.Score < floor })
	if 4*len(q.list) > 3*size {
		q.list = slices.Grow(q.list, size)
	}
}

// keepNearest keeps the K nearest.
func (q *Query) keepNearest(parts []Part, tie func(a, b Found) int) {
	if q.Err != nil {
		q.Found, q.list = nil, nil
		return
	}
	if len(q.list) > q.K {
		q.prune()
	}
	order := func(a, b Found) int {
		if a.Score != b.Score {
			return cmp.Compare(b.Score, a.Score)
		}
		return tie(a, b)
	}
	slices.SortFunc(q.list, order)
	if q.slack > 0 {
		q.roundCosines(parts, order)
	}
	q.Found, q.list = q.list[:min(q.K, len(q.list))], nil
}

// roundCosines rounds the cosines once that are so close that rounding may have changed their order,
// and those that may be 1 or -1.
func (q *Query) roundCosines(parts []Part, order func(a, b Found) int) {
	list := slices.Clone(q.list)
	items := make([]exact.Item, len(list)) // whose rows are places in the list
	for k, f := range list {
		items[k] = exact.Item{Score: f.Score, Row: int32(k)}
	}
	row := func(it *exact.Item) []float32 {
		f, d := list[it.Row], len(q.X)
		return parts[f.Part].X[int(f.Row)*d:][:d]
	}
	found := func(it exact.Item) Found {
		f := list[it.Row]
		f.Score = it.Score
		return f
	}
	settle := func(it *exact.Item) { it.Score, it.IsFinal = cosine.Similarity(q.X, row(it)), true }
	exact.SortClose(items, q.K, q.slack, settle,
		func(a, b *exact.Item) bool { return cosine.IsParallel(row(a), row(b)) },
		func(a, b exact.Item) int { return order(found(a), found(b)) })
	for k := range items[:min(q.K, len(items))] {
		if it := &items[k]; !it.IsFinal && exact.IsExtreme(it.Score, q.slack) {
			settle(it)
		}
		q.list[k] = found(items[k])
	}
}

// directShare is the share of a part's rows, as its denominator, up to which scoring the
// rows that count one by one costs less than the scan of all.
const directShare = 32

// scan is the part of a pass that goes over one part.
type scan struct {
	distance exact.Distance
	d        int
	at       int32
	part     *Part
	queries  []*Query
	tiles    *sync.Pool
	placed   *placedQueries // those that go over the codes
}

// run shows the queries the rows of the part.
func (s *scan) run(ctx context.Context) error {
	var coded, direct []*Query
	n := len(s.part.X) / s.d
	for _, q := range s.queries {
		if q.Done != nil && q.Done() {
			continue
		}
		count := q.count(s.at)
		switch {
		case count == 0:
		case s.part.Codes == nil || count*directShare <= n:
			direct = append(direct, q)
		default:
			coded = append(coded, q)
		}
	}
	var fault firstError
	if len(coded) > 0 {
		s.placed = s.part.Codes.placeQueries(coded)
		direct = append(direct, s.placed.far...)
	}
	err := par.ForContext(ctx, len(direct), 1, func(lo, _ int) {
		fault.note(mappedfile.Access(func() { s.scoreAll(direct[lo]) }))
	})
	if err != nil || fault.err != nil || s.placed == nil || len(s.placed.places) == 0 {
		return cmp.Or(err, fault.err)
	}
	const grain = 16 // blocks
	lists := s.placed.queriesByBlock(s.at, Blocks(n))
	err = par.ForContext(ctx, Blocks(n), grain, func(lo, hi int) {
		fault.note(mappedfile.Access(func() {
			t := newTile(s)
			t.blocks(lo, hi, lists)
			s.tiles.Put(t)
		}))
	})
	return cmp.Or(err, fault.err)
}

// scoreAll scores every row that counts.
func (s *scan) scoreAll(q *Query) {
	for w, word := range q.Allowed[s.at] {
		for ; word != 0; word &= word - 1 {
			r := w*64 + bits.TrailingZeros64(word)
			s.score(q, r)
		}
	}
}

// score shows a query a row.
func (s *scan) score(q *Query, r int) {
	if g := s.part.Guard; g != nil {
		if err := g.Rows(r, r+1); err != nil {
			q.fail(err)
			return
		}
	}
	q.Scored.Add(1)
	q.addFound(Found{s.at, int32(r), score(s.distance, q.X, s.part.X[r*s.d:(r+1)*s.d], q.inverse)})
}
