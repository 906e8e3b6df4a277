package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/mappedfile"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/nearest"
	"github.com/kindred-ml/kindred/store"
)

// Query is a search for the nearest items.
type Query struct {
	// Vector is the query's embedding. It must be finite and have the index's dimension.
	Vector []float32
	// K is the most items to find; default 10.
	K int
	// Filter limits the items that can be found; nil: no limit.
	Filter *store.Filter
	// Exclude has ids of items to leave out, such as the query's own.
	Exclude []string
	// Exact makes the search read all lists of an index that is cut into lists.
	Exact bool
	// Vectors requests the vectors of the hits.
	Vectors bool
}

// Result is the answer to a query: its hits, nearest first, with ties in the order of
// their ids. Their vectors are nil unless the query requested them.
type Result struct {
	Hits []store.Hit
	// Exact reports that no nearer item was missed.
	Exact bool
	// Items is the number of items of the index, Passed the number of those that passed the
	// filter and were not excluded.
	Items, Passed int
}

// Search finds the K items nearest to a vector, or fewer if there are no more. Searches that
// arrive while others are running share the next pass over the vectors. The error is
// an *InputError or a *store.FilterError if the query is invalid.
func (x *Index) Search(ctx context.Context, q Query) (*Result, error) {
	q.K = cmp.Or(q.K, 10)
	if q.K < 0 {
		return nil, inputf("%d nearest items: must be at least 1", q.K)
	}
	if err := checkQuery(q.Vector, x.dim); err != nil {
		return nil, err
	}
	p := &pendingQuery{ctx: ctx, q: q, done: make(chan struct{})}
	x.b.enqueue(p)
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
		return nil, fmt.Errorf("searching: %w", ctx.Err())
	}
}

// pendingQuery is a query that waits for its answer.
type pendingQuery struct {
	ctx  context.Context
	q    Query
	done chan struct{}

	// The results of a pass.
	allowed []bitmap
	counts  []int // sizes of allowed
	passed  int
	exact   bool
	found   []rowScore
	result  *Result
	err     error
}

// rowScore is a row of a view and its score.
type rowScore struct {
	part, row int32
	score     float64
}

// answer finds the results of queries in one pass, or in two if the lists of the first pass had
// too few items.
func (v *view) answer(ctx context.Context, batch []*pendingQuery) error {
	var asked []*pendingQuery
	for _, p := range batch {
		if p.err = v.prepare(p); p.err == nil && p.passed > 0 {
			asked = append(asked, p)
		}
	}
	if err := v.searchOnce(ctx, asked); err != nil {
		return err
	}
	asked = slices.DeleteFunc(asked, func(p *pendingQuery) bool {
		return p.err != nil || p.exact || len(p.found) >= min(p.q.K, p.passed)
	})
	if len(asked) == 0 {
		return nil
	}
	for _, p := range asked {
		p.q.Exact = true
	}
	return v.searchOnce(ctx, asked)
}

// prepare finds the rows that a query may find.
func (v *view) prepare(p *pendingQuery) (err error) {
	if p.allowed, err = v.matchingRows(p.q.Filter); err != nil {
		return err
	}
	p.counts = v.countSets(p.q.Filter, p.allowed)
	owned := make([]bool, len(p.allowed))
	for _, id := range p.q.Exclude {
		at, row, ok, err := v.find(id)
		if err != nil {
			return err
		}
		if !ok || !p.allowed[at].has(row) {
			continue
		}
		if !owned[at] {
			p.allowed[at], owned[at] = slices.Clone(p.allowed[at]), true
		}
		p.allowed[at].clear(row)
		p.counts[at]--
	}
	p.passed, p.found = 0, nil
	for _, n := range p.counts {
		p.passed += n
	}
	return nil
}

// countSets returns the sizes of the sets that passing returned for a filter.
func (v *view) countSets(f *store.Filter, sets []bitmap) []int {
	out := make([]int, len(sets))
	for at, set := range sets {
		switch {
		case f != nil:
			out[at] = set.count()
		case at < len(v.parts):
			out[at] = v.parts[at].seg.n - v.parts[at].numRemoved
		default:
			out[at] = v.tail.rows() - v.tail.numRemoved
		}
	}
	return out
}

// searchOnce searches for queries in one pass over the vectors.
func (v *view) searchOnce(ctx context.Context, asked []*pendingQuery) error {
	if len(asked) == 0 {
		return nil
	}
	var parts []nearest.Part
	var origin []rowRef // first rows of the parts
	for at, p := range v.parts {
		parts = append(parts, nearest.Part{X: p.seg.x, Codes: &p.seg.codes, Guard: p.seg.guard})
		origin = append(origin, rowRef{int32(at), 0})
	}
	t := v.tail
	for lo := 0; lo < t.rows(); lo += nearest.Block {
		hi := min(lo+nearest.Block, t.rows())
		p := nearest.Part{X: t.x[lo*t.dim : hi*t.dim]}
		if k := lo / nearest.Block; k < len(t.codes) {
			p.Codes = t.codes[k]
		}
		parts, origin = append(parts, p), append(origin, rowRef{int32(len(v.parts)), int32(lo)})
	}
	queries := make([]*nearest.Query, len(asked))
	for i, p := range asked {
		queries[i] = v.nearestQuery(p, origin)
	}
	err := nearest.Search(ctx, exact.Distance(v.m.Distance), v.m.Dim, parts, queries, func(a, b nearest.Found) int {
		x, y := origin[a.Part], origin[b.Part]
		return strings.Compare(v.id(int(x.part), int(x.row+a.Row)), v.id(int(y.part), int(y.row+b.Row)))
	})
	if err != nil {
		return err
	}
	for i, p := range asked {
		p.found, p.err = p.found[:0], queries[i].Err
		for _, f := range queries[i].Found {
			o := origin[f.Part]
			p.found = append(p.found, rowScore{o.part, o.row + f.Row, f.Score})
		}
	}
	return nil
}

// nearestQuery returns a query for package nearest.
func (v *view) nearestQuery(p *pendingQuery, origin []rowRef) *nearest.Query {
	q := &nearest.Query{X: p.q.Vector, K: min(p.q.K, p.passed), Done: func() bool { return p.ctx.Err() != nil }}
	p.exact = true
	lists := v.m.Lists
	for _, o := range origin {
		set, count := p.allowed[o.part], p.counts[o.part]
		var within []nearest.Range
		if int(o.part) == len(v.parts) {
			first := int(o.row) / 64 // blocks are whole words
			set = set[first:min(first+nearest.Block/64, len(set))]
			count = set.count()
		} else if s := v.parts[o.part].seg; !p.q.Exact && lists != nil && lists.Probes < len(s.lists)-1 {
			within, p.exact = s.rowsOfLists(p.q.Vector, lists.Probes), false
		}
		q.Allowed, q.Counts, q.Within = append(q.Allowed, set), append(q.Counts, count), append(q.Within, within)
	}
	return q
}

// makeResult makes the result of a query.
func (v *view) makeResult(p *pendingQuery) {
	if p.err != nil {
		return
	}
	p.result = &Result{Exact: p.exact || p.passed == 0, Items: v.numItems(), Passed: p.passed, Hits: []store.Hit{}}
	for _, f := range p.found {
		e, err := v.itemAt(int(f.part), int(f.row))
		if err != nil {
			p.err = err
			return
		}
		if !p.q.Vectors {
			e.Vector = nil
		}
		value := f.score
		if v.m.Distance == eval.Euclidean { // the squared distance is what Distance.FromValue takes
			value = -value
		}
		p.result.Hits = append(p.result.Hits, store.Hit{Item: e, Distance: v.m.Distance.FromValue(value)})
	}
}

// search answers queries and wakes up their callers.
func (x *Index) search(batch []*pendingQuery) {
	v, err := x.acquire()
	if err == nil {
		if e := mappedfile.Access(func() { err = v.answer(context.Background(), batch) }); e != nil {
			err = e
		}
	}
	for _, p := range batch {
		if p.err == nil && err != nil {
			p.err = err
		}
		if err == nil {
			v.makeResult(p)
		}
		close(p.done)
	}
	if v != nil {
		v.release()
	}
}
