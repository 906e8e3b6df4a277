package objective

import (
	"context"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// MatrixRows is the batch size up to which all similarities are held at once.
// A larger batch holds at most MatrixRows² of them at a time.
const MatrixRows = 4096

// term is one loss with its miner and the memory of a step.
type term struct {
	comparison
	passes
	miner           *miner
	maxSimilarities int // similarities held at a time
	weights         pair.Weights
	x, grad         matrix.Dense   // the loss's part of the batch and of the gradient
	sampler         tripletSampler // triplets, for a rule other than mining
	trim            trimmer
}

func newTerm(w Weighted) (*term, error) {
	o := w.Options
	if o.Loss == nil {
		o.Loss = loss.Triplet{}
	}
	if err := o.Part.check(o.Dim); err != nil {
		return nil, err
	}
	if o.Dim = o.Part.numDims(o.Dim); !o.Part.isWhole() {
		o.Normalize = true
	}
	traits := o.Loss.Traits()
	if err := checkLoss(o.Loss, traits); err != nil {
		return nil, err
	}
	if err := o.check(w.Weight, traits); err != nil {
		return nil, err
	}
	params, err := o.createParams(traits)
	if err != nil {
		return nil, err
	}
	t := &term{comparison: comparison{termConfig: termConfig{o, w.Weight, o.Loss, o.Loss.Terms(), traits, params}},
		miner:           newMiner(o.Mine),
		maxSimilarities: MatrixRows * MatrixRows}
	t.memory.size = o.Memory
	t.weights.Keep = traits.CrossRows
	return t, nil
}

// run computes the term, adds its gradient to grad or replaces it, and returns
// the result with the weighted, reduced value.
func (t *term) run(ctx context.Context, x *matrix.Dense, b Batch, triplets [][3]int32, step uint64, grad *matrix.Dense,
	add bool) (Result, error) {
	if t.opts.Triplets != MinedTriplets && triplets == nil {
		triplets = t.sampler.sample(t.opts.Triplets, b, t.opts.Mine.Seed, step)
	}
	if err := t.prepare(x, b, triplets); err != nil {
		return Result{}, err
	}
	if l := t.terms.Batches(); l != nil {
		return t.runBatchLoss(l, x, b, grad, add)
	}
	t.ctx = ctx
	t.stopped.Store(false)
	t.miner.Begin(&t.table, step)
	anchors, dR := &t.dE, (*matrix.Dense)(nil)
	if t.traits.Proxies > 0 {
		dR = &t.dP
		if t.traits.ProxyAnchors {
			anchors, dR = dR, anchors
		}
	}
	t.weights.Reset(&t.table, pair.Measure(t.traits.Measure), anchors, dR)

	for pass := range t.traits.Passes {
		if err := t.pass(pass); err != nil {
			return Result{}, err
		}
	}
	if t.opts.Trim > 0 {
		t.trim.reset(pair.Chunks(t.table.Groups.Anchors()))
		if err := t.runPhase(trimPhase); err != nil {
			return Result{}, err
		}
		t.trim.dropHighest(t.opts.Trim)
	}
	if err := t.runPhase(finalPhase); err != nil {
		return Result{}, err
	}
	t.weights.Gradient()

	r, scale := t.reduce()
	if l, ok := t.loss.(loss.Whole); ok && t.weight > 0 {
		// Like the pairs' gradient, this one is multiplied by scale in backward.
		r.Value += t.weight * l.Whole(t.lossRows().E, t.weight/scale, &t.dE)
	}
	if t.memory.size > 0 {
		t.memory.push(t.lossRows(), b)
	}
	if grad != nil {
		t.backward(scale, grad, add)
	}
	return t.addRegularizers(r, x, grad)
}

// runBatchLoss is run for a loss of the whole batch. Its terms are the rows.
func (t *term) runBatchLoss(l loss.Batches, x *matrix.Dense, b Batch, grad *matrix.Dense, add bool) (Result, error) {
	clear(t.dE.Data)
	v, err := l.Batch(t.lossRows().E, b.Labels, &t.dE)
	if err != nil {
		return Result{}, err
	}
	if grad != nil {
		t.backward(t.weight, grad, add)
	}
	return t.addRegularizers(Result{Value: t.weight * v, Tuples: x.Rows, Active: x.Rows, Anchors: x.Rows}, x, grad)
}

// addRegularizers adds the regularisers to a result and checks that it is a number.
func (t *term) addRegularizers(r Result, x, grad *matrix.Dense) (Result, error) {
	r.Value += regularizerLoss(x, t.opts.L2*t.weight, t.opts.ZeroMean*t.weight, grad)
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return r, fmt.Errorf("the loss is %v on finite embeddings: they are too large for it; normalise them or "+
			"lower the learning rate", r.Value)
	}
	return r, nil
}

// backward turns dE and dP into gradients of what was given.
func (t *term) backward(scale float64, grad *matrix.Dense, add bool) {
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

// regularizerLoss returns the value of the regularisers l2 and zero, of the weights of Options.L2 and
// ZeroMean, and adds their gradient to grad, which may be nil.
func regularizerLoss(x *matrix.Dense, l2, zero float64, grad *matrix.Dense) float64 {
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

// reshape makes m r x c.
func reshape(m *matrix.Dense, r, c int) {
	m.Rows, m.Cols, m.Stride = r, c, c
	m.Data = resize(m.Data, r*c)
}
