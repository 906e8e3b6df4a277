package objective

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/loss"
)

// passes is the state of the loops over a step's anchors, and what they have summed.
type passes struct {
	ctx       context.Context // of the step under way
	stopped   atomic.Bool     // ctx was done
	phase     phase
	lo, hi    int          // the loaded anchors
	chunk     []tally      // of this phase
	perAnchor []float64    // derivative of the anchor's own parameter
	summary   [2][]float64 // of each anchor in each pass
	total     [2][]float64
	pool      scratchPool
}

// phase is what a loop over the anchors is for: the passes of a MultiPass loss,
// the choice of terms to keep, or, last, values and gradients.
type phase int

const (
	firstPass phase = iota
	secondPass
	trimPhase
	finalPhase
)

// tally is what one chunk of anchors adds to the result.
type tally struct {
	value float64
	Result
}

// pass sums what the anchors contribute to a pass.
func (t *term) pass(pass int) error {
	sums, n := t.traits.Sums, t.table.Groups.Anchors()
	if need := budget.Product(int64(n), int64(sums)); need > int64(cap(t.summary[pass])) {
		what := fmt.Sprintf("sums of %d numbers for each of %d anchors", sums, n)
		if err := budget.Check(what, budget.Product(8, need)); err != nil {
			return err
		}
	}
	t.summary[pass] = resize(t.summary[pass], n*sums)
	clear(t.summary[pass])
	if err := t.runPhase(phase(pass)); err != nil {
		return err
	}
	t.total[pass] = resize(t.total[pass], sums)
	clear(t.total[pass])
	for i := range n {
		for k, v := range t.summary[pass][i*sums : (i+1)*sums] {
			t.total[pass][k] += v
		}
	}
	if l, ok := t.loss.(loss.Running); ok && pass == 0 {
		l.Follow(t.total[0])
	}
	return nil
}

// runPhase runs one phase over all anchors, a block at a time.
func (t *term) runPhase(p phase) error {
	n := t.table.Groups.Anchors()
	t.phase = p
	t.chunk = resize(t.chunk, pair.Chunks(n))
	clear(t.chunk)
	t.perAnchor = resize(t.perAnchor, n)
	clear(t.perAnchor)
	block := n
	if refs := t.table.NumRefs(); n*refs > t.maxSimilarities && !t.weights.Keep {
		block = max(1, t.maxSimilarities/refs/pair.Grain) * pair.Grain
	}
	for t.lo = 0; t.lo < n; t.lo += block {
		t.hi = min(t.lo+block, n)
		if !t.table.Loaded(t.lo, t.hi) {
			t.table.Load(t.lo, t.hi)
		}
		t.weights.Reserve()
		par.Do(pair.Chunks(t.hi-t.lo), t)
		if t.stopped.Load() {
			return fmt.Errorf("a loss at anchors %d to %d of %d: %w", t.lo, t.hi-1, n, t.ctx.Err())
		}
		if p == finalPhase {
			t.weights.Flush()
		}
	}
	if p == finalPhase {
		t.table.Unload()
	}
	return nil
}

// reduce adds up the tallies, and returns what the sum is multiplied by.
func (t *term) reduce() (Result, float64) {
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
	scale := t.traits.Reduction.Scale(sum.Tuples, sum.Active) * t.weight
	sum.Value = sum.value * scale
	return sum.Result, scale
}
