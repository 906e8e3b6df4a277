package objective

import (
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/mine"
	"github.com/kindred-ml/kindred/pair"
)

// MatrixRows is the batch size up to which all similarities are held at once.
// A larger batch holds at most MatrixRows² of them at a time.
const MatrixRows = 4096

// term is one loss with its miner and the memory of a step.
type term struct {
	loss  loss.Loss
	miner *mine.Miner

	table   pair.Table
	weights pair.Weights
	given   givenTriplets // in place of the miner, if used

	lo, hi int // the loaded anchors
	chunk  []tally
	pool   pool
}

// tally is what one chunk of anchors adds to the result.
type tally struct {
	value float64
	Result
}

func (t *term) init(l loss.Loss, c mine.Config) {
	t.loss, t.miner = l, mine.New(c)
}

// run computes the sum of the loss's terms, its gradient dE with respect to
// the rows as the loss sees them, and the scale that makes both the reduced
// loss. The value in the result is scaled already.
func (t *term) run(rows *pair.Rows, labels []int64, triplets [][3]int32, step uint64, dE *mat.Dense) (Result, float64) {
	n := rows.E.Rows
	t.table.A, t.table.R = rows, rows
	t.given.set(n, triplets)
	if triplets == nil {
		t.table.Groups.Build(labels, labels, true)
	}
	t.miner.Begin(&t.table, step)
	t.weights.Reset(&t.table, t.loss.Measure(), dE, nil)
	t.chunk = resize(t.chunk, pair.Chunks(n))
	clear(t.chunk)

	block := n
	if n > MatrixRows {
		block = max(1, MatrixRows*MatrixRows/t.table.Refs()/pair.Grain) * pair.Grain
	}
	for t.lo = 0; t.lo < n; t.lo += block {
		t.hi = min(t.lo+block, n)
		t.table.Load(t.lo, t.hi)
		par.Do(pair.Chunks(t.hi-t.lo), t)
		t.weights.Flush()
	}
	t.weights.Gradient()

	var sum tally
	for _, c := range t.chunk {
		sum.value += c.value
		sum.Tuples += c.Tuples
		sum.Active += c.Active
		sum.Anchors += c.Anchors
		sum.NoPositive += c.NoPositive
		sum.NoNegative += c.NoNegative
		sum.NoCandidate += c.NoCandidate
		sum.Fallbacks += c.Fallbacks
	}
	scale := t.loss.Reduction().Scale(sum.Tuples, sum.Active)
	sum.Value = sum.value * scale
	return sum.Result, scale
}

// Run implements par.Task for a chunk of the loaded anchors.
func (t *term) Run(chunk int) {
	s := t.pool.get()
	lo := t.lo + chunk*pair.Grain
	for i := lo; i < min(lo+pair.Grain, t.hi); i++ {
		t.anchor(i, s, &t.chunk[lo/pair.Grain])
		t.weights.End(i)
	}
	t.pool.put(s)
}

// anchor mines for anchor i and takes its terms.
func (t *term) anchor(i int, s *scratch, sum *tally) {
	var sel *mine.Selection
	if t.given.used {
		sel = t.given.selection(i, &s.given)
	} else {
		sel = t.miner.Mine(i, &s.mine)
		own := t.table.Groups.Own(i)
		if len(own) == 0 || len(own) == 1 && int(own[0]) == t.table.Groups.Self(i) {
			sum.NoPositive++
		}
		if t.table.NegativeCount(i) == 0 {
			sum.NoNegative++
		}
		sum.NoCandidate += sel.NoCandidate
		sum.Fallbacks += sel.Fallback
	}
	switch l := t.loss.(type) {
	case loss.Tuples:
		t.tuples(l, i, sel, s, sum)
	case loss.Pairs, loss.Sets:
		panic("objective: not reached")
	}
}

// tuples takes the triplets of anchor i.
func (t *term) tuples(l loss.Tuples, i int, sel *mine.Selection, s *scratch, sum *tally) {
	if sel.Paired {
		dropUnpaired(sel)
	}
	if len(sel.Pos) == 0 || len(sel.Neg) == 0 && !sel.All {
		return
	}
	m := l.Measure()
	s.room(t.table.Refs(), len(sel.Pos)+len(sel.Neg))
	pos, dpos := s.pos[:len(sel.Pos)], s.dpos[:len(sel.Pos)]
	t.table.Values(m, i, sel.Pos, pos)
	neg := t.negatives(m, i, sel, s)
	dneg := s.dneg[:len(neg)]

	before := sum.Tuples
	if sel.Paired {
		val := s.val[:len(pos)]
		l.Tuples(pos, neg, val, dpos, dneg)
		sum.take(val)
	} else {
		clear(dneg)
		val, ap, dap, dan := s.val[:len(neg)], s.ap[:len(neg)], s.dap[:len(neg)], s.dan[:len(neg)]
		for k, x := range pos {
			for j := range ap {
				ap[j] = x
			}
			l.Tuples(ap, neg, val, dap, dan)
			sum.take(val)
			var d float64
			for j, v := range dap {
				d += float64(v)
				dneg[j] += dan[j]
			}
			dpos[k] = float32(d)
		}
	}
	if sum.Tuples > before {
		sum.Anchors++
	}
	t.emit(i, sel, pos, dpos, neg, dneg)
}

// take adds terms of the given values.
func (c *tally) take(val []float32) {
	c.Tuples += len(val)
	for _, v := range val {
		if v != 0 {
			c.value += float64(v)
			c.Active++
		}
	}
}

// negatives lists the measures of the selected negatives.
func (t *term) negatives(m pair.Measure, i int, sel *mine.Selection, s *scratch) []float32 {
	if sel.All {
		return t.table.Negatives(m, i, s.neg)
	}
	neg := s.neg[:len(sel.Neg)]
	t.table.Values(m, i, sel.Neg, neg)
	return neg
}

// emit hands the derivatives of anchor i's pairs over.
func (t *term) emit(i int, sel *mine.Selection, pos, dpos, neg, dneg []float32) {
	t.weights.Add(i, sel.Pos, pos, dpos)
	if sel.All {
		t.weights.Negatives(i, neg, dneg)
	} else {
		t.weights.Add(i, sel.Neg, neg, dneg)
	}
}

// dropUnpaired removes positives for which no negative was found.
func dropUnpaired(sel *mine.Selection) {
	n := 0
	for k, j := range sel.Neg {
		if j >= 0 {
			sel.Pos[n], sel.Neg[n] = sel.Pos[k], j
			n++
		}
	}
	sel.Pos, sel.Neg = sel.Pos[:n], sel.Neg[:n]
}

// givenTriplets stands in for a miner.
type givenTriplets struct {
	used     bool
	start    []int32
	pos, neg []int32
}

// set sorts the triplets by anchor, keeping their order otherwise.
func (g *givenTriplets) set(n int, triplets [][3]int32) {
	g.used = triplets != nil
	if !g.used {
		return
	}
	g.start = resize(g.start, n+1)
	clear(g.start)
	for _, t := range triplets {
		g.start[t[0]+1]++
	}
	for i := range n {
		g.start[i+1] += g.start[i]
	}
	g.pos, g.neg = resize(g.pos, len(triplets)), resize(g.neg, len(triplets))
	for _, t := range triplets {
		at := g.start[t[0]]
		g.start[t[0]]++
		g.pos[at], g.neg[at] = t[1], t[2]
	}
	copy(g.start[1:], g.start)
	g.start[0] = 0
}

func (g *givenTriplets) selection(i int, sel *mine.Selection) *mine.Selection {
	lo, hi := g.start[i], g.start[i+1]
	*sel = mine.Selection{Pos: g.pos[lo:hi], Neg: g.neg[lo:hi], Paired: true}
	return sel
}

// scratch is the memory of one goroutine.
type scratch struct {
	mine  mine.Scratch
	given mine.Selection

	pos, neg, dpos, dneg, val, ap, dap, dan []float32
}

// room makes the slices hold refs values, or as many as were selected.
func (s *scratch) room(refs, selected int) {
	n := max(refs, selected)
	for _, p := range []*[]float32{&s.pos, &s.neg, &s.dpos, &s.dneg, &s.val, &s.ap, &s.dap, &s.dan} {
		*p = resize(*p, n)
	}
}

// pool keeps scratches between chunks. What is in them does not matter, so
// who gets which does not either.
type pool struct {
	mu   sync.Mutex
	free []*scratch
}

func (p *pool) get() *scratch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		return s
	}
	return new(scratch)
}

func (p *pool) put(s *scratch) {
	p.mu.Lock()
	p.free = append(p.free, s)
	p.mu.Unlock()
}

// resize returns a slice of length n, of s's storage where that suffices.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
