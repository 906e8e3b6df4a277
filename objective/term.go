package objective

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/mine"
)

// MatrixRows is the batch size up to which all similarities are held at once.
// A larger batch holds at most MatrixRows² of them at a time.
const MatrixRows = 4096

// term is one loss with its miner and the memory of a step.
type term struct {
	opts   Options
	weight float64
	loss   loss.Loss
	traits loss.Traits // of the loss
	params []*loss.Param
	miner  *mine.Miner
	most   int // similarities held at a time

	rows        pair.Rows // the batch
	centred     pair.Rows // the batch, centred, for a loss that wants it
	proxies     pair.Rows
	p, pGrad    mat.Dense // the proxies as parameters, and their gradient
	proxyLabels []int64
	memory      memory
	labels      []int64 // of the anchors

	table   pair.Table
	weights pair.Weights
	x, grad mat.Dense     // the loss's part of the batch and of the gradient
	drawn   drawn         // triplets, for a rule other than mining
	given   givenTriplets // in place of the miner, if used
	trim    trimmed
	dE, dP  mat.Dense

	ctx           context.Context // of the step under way
	stopped       atomic.Bool     // ctx was done
	phase         phase
	lo, hi        int // the loaded anchors
	chunk         []tally
	perAnchor     []float64    // derivative of the anchor's own parameter
	summary       [2][]float64 // of each anchor in each pass
	total         [2][]float64
	withPositives int
	pool          pool
}

// phase is what a loop over the anchors is for: the passes of a MultiPass loss,
// the choice of terms to keep, or, last, values and gradients.
type phase int

const (
	firstPass phase = iota
	secondPass
	trimming
	final
)

// tally is what one chunk of anchors adds to the result.
type tally struct {
	value float64
	Result
}

func newTerm(w Weighted) (*term, error) {
	o := w.Options
	if o.Loss == nil {
		o.Loss = loss.Triplet{}
	}
	if err := o.Part.check(o.Dim); err != nil {
		return nil, err
	}
	if o.Dim = o.Part.dim(o.Dim); !o.Part.whole() {
		o.Normalize = true
	}
	traits := o.Loss.Traits()
	if err := checkLoss(o.Loss, traits); err != nil {
		return nil, err
	}
	if err := o.check(w.Weight, traits); err != nil {
		return nil, err
	}
	params, err := o.learn(traits)
	if err != nil {
		return nil, err
	}
	t := &term{opts: o, weight: w.Weight, loss: o.Loss, traits: traits, params: params, miner: mine.New(o.Mine),
		most: MatrixRows * MatrixRows}
	t.memory.size = o.Memory
	t.weights.Keep = traits.CrossRows
	return t, nil
}

// run computes the term, adds its gradient to grad or replaces it, and returns
// the result with the weighted, reduced value.
func (t *term) run(ctx context.Context, x *mat.Dense, b Batch, triplets [][3]int32, step uint64, grad *mat.Dense,
	add bool) (Result, error) {
	if t.opts.Triplets != MinedTriplets && triplets == nil {
		triplets = t.drawn.draw(t.opts.Triplets, b, t.opts.Mine.Seed, step)
	}
	if err := t.prepare(x, b, triplets); err != nil {
		return Result{}, err
	}
	t.ctx = ctx
	t.stopped.Store(false)
	t.miner.Begin(&t.table, step)
	anchors, dR := &t.dE, (*mat.Dense)(nil)
	if t.traits.Proxies > 0 {
		dR = &t.dP
		if t.traits.ProxyAnchors {
			anchors, dR = dR, anchors
		}
	}
	t.weights.Reset(&t.table, t.traits.Measure, anchors, dR)

	for pass := range t.traits.Passes {
		if err := t.pass(pass); err != nil {
			return Result{}, err
		}
	}
	if t.opts.Trim > 0 {
		t.trim.reset(pair.Chunks(t.table.Groups.Anchors()))
		if err := t.loop(trimming); err != nil {
			return Result{}, err
		}
		t.trim.choose(t.opts.Trim)
	}
	if err := t.loop(final); err != nil {
		return Result{}, err
	}
	t.weights.Gradient()

	r, scale := t.reduce()
	if l, ok := t.loss.(loss.Whole); ok && t.weight > 0 {
		// Like the pairs' gradient, this one is multiplied by scale in backward.
		r.Value += t.weight * l.Whole(t.seen().E, t.weight/scale, &t.dE)
	}
	if t.memory.size > 0 {
		t.memory.push(t.seen(), b)
	}
	if grad != nil {
		t.backward(scale, grad, add)
	}
	r.Value += t.regularise(x, grad)
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return r, fmt.Errorf("the loss is %v on finite embeddings: they are too large for it; normalise them or "+
			"lower the learning rate", r.Value)
	}
	return r, nil
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
	if err := t.loop(phase(pass)); err != nil {
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

// seen returns the batch as the loss sees it.
func (t *term) seen() *pair.Rows {
	if t.traits.Centered {
		return &t.centred
	}
	return &t.rows
}

// prepare sets up anchors, references and groups.
func (t *term) prepare(x *mat.Dense, b Batch, triplets [][3]int32) error {
	if err := t.rows.Set(x, t.opts.Normalize); err != nil {
		return err
	}
	if t.traits.Centered {
		t.centred.Center(&t.rows)
	}
	shape(&t.dE, x.Rows, x.Cols)
	batch := t.seen()
	t.table.A, t.table.R = batch, batch
	labels := b.Labels
	t.labels = labels
	t.given.set(x.Rows, triplets)
	if t.given.used {
		t.table.Groups.BuildNone(x.Rows)
		return nil
	}
	if _, ok := t.loss.(loss.PerLabel); ok && len(t.params[0].Value) > 1 {
		if err := t.checkLabels(labels, len(t.params[0].Value)); err != nil {
			return err
		}
	}
	if t.traits.Proxies > 0 {
		return t.prepareProxies(labels)
	}
	if t.traits.Views {
		return t.prepareViews(b)
	}
	refs := b
	if t.memory.size > 0 {
		var err error
		if t.table.R, refs, err = t.memory.references(batch, b); err != nil {
			return err
		}
	}
	if t.opts.Relate == nil {
		t.table.Groups.Build(labels, refs.Labels, true)
	} else {
		relate := t.opts.Relate
		t.table.Groups.BuildBy(len(labels), len(refs.Labels), true,
			func(i, j int) Relation { return relate(labels[i], refs.Labels[j]) })
	}
	if refs.IDs != nil {
		t.table.Groups.Merge(refs.IDs)
	}
	if t.traits.CrossRows && !t.table.Groups.SharedNegatives() {
		return errors.New("this loss compares a positive with its anchor's negatives, so both must have the same " +
			"ones: a sample under two labels, or a relation of labels that is not transitive, does not suit it")
	}
	return nil
}

// prepareViews groups the rows of a loss between views of the same sample.
func (t *term) prepareViews(b Batch) error {
	if b.IDs == nil {
		return errors.New("this loss compares views of the same sample: the identities of the batch must say which " +
			"rows these are")
	}
	t.table.Groups.BuildBy(len(b.Labels), len(b.Labels), true, func(i, j int) Relation {
		switch {
		case b.IDs[i] == b.IDs[j]:
			return Positive
		case b.Labels[i] == b.Labels[j]:
			return Negative
		}
		return Ignored
	})
	return nil
}

func (t *term) checkLabels(labels []int64, classes int) error {
	for i, y := range labels {
		if y < 0 || y >= int64(classes) {
			return fmt.Errorf("sample %d has label %d, but the loss learns for labels 0 to %d", i, y, classes-1)
		}
	}
	return nil
}

func (t *term) prepareProxies(labels []int64) error {
	param := t.params[0]
	n, d := param.Shape[0], param.Shape[1]
	if d != t.rows.E.Cols {
		return fmt.Errorf("proxies have %d numbers, embeddings %d", d, t.rows.E.Cols)
	}
	if err := t.checkLabels(labels, n/t.traits.Proxies); err != nil {
		return err
	}
	t.p = mat.Dense{Rows: n, Cols: d, Stride: d, Data: param.Value}
	t.pGrad = mat.Dense{Rows: n, Cols: d, Stride: d, Data: param.Grad}
	if err := t.proxies.Set(&t.p, true); err != nil {
		return fmt.Errorf("proxies: %w", err)
	}
	t.proxyLabels = resize(t.proxyLabels, n)
	for k := range t.proxyLabels {
		t.proxyLabels[k] = int64(k / t.traits.Proxies)
	}
	shape(&t.dP, n, d)
	if t.traits.ProxyAnchors {
		t.table.A = &t.proxies
		t.table.Groups.Build(t.proxyLabels, labels, false)
		t.labels = t.proxyLabels
		t.withPositives = 0
		for i := range n {
			if len(t.table.Groups.Own(i)) > 0 {
				t.withPositives++
			}
		}
	} else {
		t.table.R = &t.proxies
		t.table.Groups.Build(labels, t.proxyLabels, false)
		t.withPositives = len(labels)
	}
	return nil
}

// loop runs one phase over all anchors, a block at a time.
func (t *term) loop(p phase) error {
	n := t.table.Groups.Anchors()
	t.phase = p
	t.chunk = resize(t.chunk, pair.Chunks(n))
	clear(t.chunk)
	t.perAnchor = resize(t.perAnchor, n)
	clear(t.perAnchor)
	block := n
	if refs := t.table.Refs(); n*refs > t.most && !t.weights.Keep {
		block = max(1, t.most/refs/pair.Grain) * pair.Grain
	}
	for t.lo = 0; t.lo < n; t.lo += block {
		t.hi = min(t.lo+block, n)
		if !t.table.Loaded(t.lo, t.hi) {
			t.table.Load(t.lo, t.hi)
		}
		t.weights.Room()
		par.Do(pair.Chunks(t.hi-t.lo), t)
		if t.stopped.Load() {
			return fmt.Errorf("a loss at anchors %d to %d of %d: %w", t.lo, t.hi-1, n, t.ctx.Err())
		}
		if p == final {
			t.weights.Flush()
		}
	}
	if p == final {
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

// backward turns dE and dP into gradients of what was given.
func (t *term) backward(scale float64, grad *mat.Dense, add bool) {
	if t.traits.Centered {
		t.centred.Uncenter(&t.dE)
	}
	t.rows.Backward(&t.dE, scale, grad, add)
	if t.traits.Proxies > 0 {
		t.proxies.Backward(&t.dP, scale, &t.pGrad, false)
	}
	if l, ok := t.loss.(loss.PerLabel); ok {
		l.Learned(t.labels, t.perAnchor, scale)
	}
}

// regularise returns the value of the regularisers and adds their gradient.
func (t *term) regularise(x, grad *mat.Dense) float64 {
	l2, zero := t.opts.L2*t.weight, t.opts.ZeroMean*t.weight
	if l2 == 0 && zero == 0 || x.Rows == 0 {
		return 0
	}
	var value float64
	n := float64(x.Rows)
	for i := range x.Rows {
		var sq, sum float64
		for _, v := range x.Row(i) {
			sq += float64(v) * float64(v)
			sum += float64(v)
		}
		value += (l2*sq + zero*math.Abs(sum)) / n
		if grad == nil {
			continue
		}
		slope := 0.0
		if sum != 0 {
			slope = math.Copysign(zero/n, sum)
		}
		g := grad.Row(i)
		for k, v := range x.Row(i) {
			g[k] += float32(2*l2/n*float64(v) + slope)
		}
	}
	return value
}

// shape makes m r x c.
func shape(m *mat.Dense, r, c int) {
	m.Rows, m.Cols, m.Stride = r, c, c
	m.Data = resize(m.Data, r*c)
}
