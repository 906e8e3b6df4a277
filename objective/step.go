package objective

import (
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/loss"
)

// Run implements par.Task for a chunk of the loaded anchors.
func (t *term) Run(chunk int) {
	s := t.pool.get()
	lo := t.lo + chunk*pair.Grain
	for i := lo; i < min(lo+pair.Grain, t.hi) && !t.isStopped(); i++ {
		t.addAnchor(i, s, &t.chunk[lo/pair.Grain])
		switch t.phase {
		case trimPhase:
			t.trim.endAnchor(i)
		case finalPhase:
			t.weights.End(i)
		}
	}
	t.pool.put(s)
}

// isStopped reports whether the step is to be cut short.
func (t *term) isStopped() bool {
	if !t.stopped.Load() && t.ctx.Err() != nil {
		t.stopped.Store(true)
	}
	return t.stopped.Load()
}

// addAnchor mines for anchor i and takes its terms.
func (t *term) addAnchor(i int, s *scratch, sum *tally) {
	sel := t.selectPairs(i, s, sum)
	if l := t.terms.Tuples(); l != nil {
		t.addTuples(l, i, sel, s, sum)
	}
	if l := t.terms.Pairs(); l != nil {
		t.addPairs(l, i, sel, s, sum)
	}
	if l := t.terms.Sets(); l != nil {
		t.addSet(l, i, sel, s, sum)
	}
}

// selectPairs returns the selection of anchor i.
func (t *term) selectPairs(i int, s *scratch, sum *tally) *Selection {
	trimmed := t.phase == finalPhase && t.opts.Trim > 0
	if t.given.used {
		if trimmed {
			return t.trim.selection(i, &s.kept)
		}
		return t.given.selection(i, &s.given)
	}
	sel := t.miner.Mine(i, &s.mine)
	if t.table.Groups.PositiveCount(i) == 0 {
		sum.NoPositive++
	}
	if t.table.NegativeCount(i) == 0 {
		sum.NoNegative++
	}
	sum.NoCandidate += sel.NoCandidate
	sum.Fallbacks += sel.Fallback
	if trimmed {
		return t.trim.selection(i, &s.kept)
	}
	return sel
}

// addTuples takes the triplets of anchor i.
func (t *term) addTuples(l loss.Tuples, i int, sel *Selection, s *scratch, sum *tally) {
	if sel.Paired {
		dropUnpaired(sel)
	}
	if len(sel.Pos) == 0 || len(sel.Neg) == 0 && !sel.All {
		return
	}
	sum.Anchors++
	m := pair.Measure(t.traits.Measure)
	s.reserve(t.table.NumRefs(), max(len(sel.Pos), len(sel.Neg)))
	pos, dpos := s.pos[:len(sel.Pos)], s.dpos[:len(sel.Pos)]
	t.table.Values(m, i, sel.Pos, pos)
	neg := t.negativeMeasures(m, i, sel, s)
	dneg := s.dneg[:len(neg)]

	if sel.Paired {
		val := s.val[:len(pos)]
		l.Tuples(pos, neg, val, dpos, dneg)
		if t.phase == trimPhase {
			t.trim.addTuples(i, sel.Pos, sel.Neg, val)
			return
		}
		sum.addTerms(val)
		t.emitGradients(i, sel, s, pos, dpos, neg, dneg)
		return
	}
	clear(dneg)
	val, ap, dap, dan := s.val[:len(neg)], s.ap[:len(neg)], s.dap[:len(neg)], s.dan[:len(neg)]
	for k, x := range pos {
		if len(neg) > 1<<12 && t.isStopped() { // an anchor may have 10^8 triplets
			return
		}
		for j := range ap {
			ap[j] = x
		}
		l.Tuples(ap, neg, val, dap, dan)
		if t.phase == trimPhase {
			t.trim.addCrossPairs(i, sel.Pos[k], t.negativeIndices(i, sel, s), val)
			continue
		}
		sum.addTerms(val)
		var d float64
		for j, v := range dap {
			d += float64(v)
			dneg[j] += dan[j]
		}
		dpos[k] = float32(d)
	}
	if t.phase == finalPhase {
		t.emitGradients(i, sel, s, pos, dpos, neg, dneg)
	}
}

// addPairs takes the pairs of anchor i.
func (t *term) addPairs(l loss.Pairs, i int, sel *Selection, s *scratch, sum *tally) {
	dedupeNegatives(sel)
	m := pair.Measure(t.traits.Measure)
	s.reserve(t.table.NumRefs(), max(len(sel.Pos), len(sel.Neg)))
	pos, dpos := s.pos[:len(sel.Pos)], s.dpos[:len(sel.Pos)]
	t.table.Values(m, i, sel.Pos, pos)
	neg := t.negativeMeasures(m, i, sel, s)
	dneg := s.dneg[:len(neg)]
	if len(pos)+len(neg) == 0 {
		return
	}
	sum.Anchors++
	label := t.labels[i]
	val := s.val[:len(pos)]
	d := l.Pairs(label, true, pos, val, dpos)
	if t.phase == trimPhase {
		t.trim.addPairs(i, sel.Pos, true, val)
	} else {
		sum.addTerms(val)
	}
	val = s.val[:len(neg)]
	d += l.Pairs(label, false, neg, val, dneg)
	if t.phase == trimPhase {
		t.trim.addPairs(i, t.negativeIndices(i, sel, s), false, val)
		return
	}
	sum.addTerms(val)
	t.perAnchor[i] = d
	t.emitGradients(i, sel, s, pos, dpos, neg, dneg)
}

// addSet takes the terms of anchor i, or its summary in an earlier pass.
func (t *term) addSet(l loss.Sets, i int, sel *Selection, s *scratch, sum *tally) {
	dedupeNegatives(sel)
	m := pair.Measure(t.traits.Measure)
	s.reserve(t.table.NumRefs(), max(len(sel.Pos), len(sel.Neg)))
	set := &s.set
	set.Pos, set.DPos = s.pos[:len(sel.Pos)], s.dpos[:len(sel.Pos)]
	t.table.Values(m, i, sel.Pos, set.Pos)
	set.Neg = t.negativeMeasures(m, i, sel, s)
	set.DNeg = s.dneg[:len(set.Neg)]
	set.Sq, set.DSq = float64(t.table.A.Sq[i]), 0
	set.Anchors, set.WithPositives = t.table.Groups.Anchors(), t.withPositives
	set.Total = t.total
	if t.traits.Passes > 0 {
		if t.phase != finalPhase {
			n := t.traits.Sums
			l.(loss.MultiPass).Summary(int(t.phase), set, t.summary[t.phase][i*n:(i+1)*n])
			return
		}
		set.Own = t.summary[0][i*t.traits.Sums]
		set.Others = set.Others[:0]
		if t.traits.Proxies == 0 {
			for _, j := range sel.Pos {
				set.Others = append(set.Others, t.summary[0][int(j)*t.traits.Sums])
			}
		}
	}
	if t.traits.CrossRows {
		set.PosNeg = resize(set.PosNeg, len(sel.Pos)*len(set.Neg))
		for k, j := range sel.Pos {
			t.table.CrossSimilarities(int(j), i, set.PosNeg[k*len(set.Neg):(k+1)*len(set.Neg)])
		}
	}
	clear(set.DPos)
	clear(set.DNeg)
	set.Value, set.Terms, set.Active = 0, 0, 0
	l.Set(set)
	if set.Terms > 0 && len(set.Pos)+len(set.Neg) > 0 {
		sum.Anchors++
	}
	sum.value += set.Value
	sum.Tuples += set.Terms
	sum.Active += set.Active
	t.emitGradients(i, sel, s, set.Pos, set.DPos, set.Neg, set.DNeg)
	if set.DSq != 0 {
		t.weights.Anchor(i, 2*set.DSq)
	}
}

// addTerms adds terms of the given values.
func (c *tally) addTerms(val []float32) {
	c.Tuples += len(val)
	for _, v := range val {
		if v != 0 {
			c.value += float64(v)
			c.Active++
		}
	}
}

// negativeMeasures lists the measures of the selected negatives.
func (t *term) negativeMeasures(m pair.Measure, i int, sel *Selection, s *scratch) []float32 {
	if sel.All {
		return t.table.Negatives(m, i, s.neg)
	}
	neg := s.neg[:len(sel.Neg)]
	t.table.Values(m, i, sel.Neg, neg)
	return neg
}

// negativeIndices lists the selected negatives.
func (t *term) negativeIndices(i int, sel *Selection, s *scratch) []int32 {
	if sel.All {
		s.idx = t.table.NegativeIndices(i, s.idx)
		return s.idx
	}
	return sel.Neg
}

// emitGradients hands the derivatives of anchor i's pairs over.
func (t *term) emitGradients(i int, sel *Selection, s *scratch, pos, dpos, neg, dneg []float32) {
	t.weights.Add(i, sel.Pos, pos, dpos)
	if sel.Paired || len(neg) < minPairsToSkip {
		t.weights.Add(i, t.negativeIndices(i, sel, s), neg, dneg)
		return
	}
	var largest float32
	for _, d := range dpos {
		largest = max(largest, d, -d)
	}
	ref := sel.Neg
	if sel.All {
		ref = nil
	}
	t.weights.AddMany(i, ref, neg, dneg, largest, &s.keep)
}

// minPairsToSkip is the number of pairs that are not worth weeding out.
const minPairsToSkip = 32

// dropUnpaired removes positives for which no negative was found.
func dropUnpaired(sel *Selection) {
	n := 0
	for k, j := range sel.Neg {
		if j >= 0 {
			sel.Pos[n], sel.Neg[n] = sel.Pos[k], j
			n++
		}
	}
	sel.Pos, sel.Neg = sel.Pos[:n], sel.Neg[:n]
}

// dedupeNegatives makes a set of the negatives that were chosen one for each positive.
func dedupeNegatives(sel *Selection) {
	if !sel.Paired {
		return
	}
	sel.Paired = false
	slices.Sort(sel.Neg)
	sel.Neg = slices.Compact(sel.Neg)
	if len(sel.Neg) > 0 && sel.Neg[0] < 0 {
		sel.Neg = sel.Neg[1:]
	}
}

// scratch is the memory of one goroutine.
type scratch struct {
	mine  minerScratch
	given Selection
	kept  Selection
	set   loss.Set
	idx   []int32
	keep  []int32

	pos, neg, dpos, dneg, val, ap, dap, dan []float32
}

// reserve makes the slices hold refs values, or as many as were selected.
func (s *scratch) reserve(refs, selected int) {
	n := max(refs, selected)
	for _, p := range [...]*[]float32{&s.pos, &s.neg, &s.dpos, &s.dneg, &s.val, &s.ap, &s.dap, &s.dan} {
		*p = resize(*p, n)
	}
}

// scratchPool keeps scratches between chunks. What is in them does not matter, so
// who gets which does not either.
type scratchPool struct {
	mu   sync.Mutex
	free []*scratch
}

func (p *scratchPool) get() *scratch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		return s
	}
	return new(scratch)
}

func (p *scratchPool) put(s *scratch) {
	p.mu.Lock()
	p.free = append(p.free, s)
	p.mu.Unlock()
}

// resize returns a slice of length n, of s's storage where that suffices.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
