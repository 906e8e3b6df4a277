package objective

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// Options describe an objective. The zero value is the triplet loss on the
// embeddings as given, with easy positives and FaceNet's negatives.
type Options struct {
	// Normalize divides each embedding by its norm first; the gradient goes
	// through the division. Leave it off if the network already ends in such a
	// layer.
	Normalize bool
	Mine      MiningConfig
	Loss      loss.Loss // default loss.Triplet{}

	// Classes is the number of classes; labels are then 0..Classes-1. Losses with
	// parameters for each class need it. Dim is the embeddings' dimension; losses
	// with proxies need it. Seed determines the initial values of these parameters.
	Classes, Dim int
	Seed         uint64

	// Part, if set, is the part of the embedding that the loss sees, divided by its
	// own norm, whatever Normalize says. Losses on several parts train several
	// heads: a layer cut into parts is several layers side by side.
	Part Part
	// Triplets says where the triplets of a loss over triplets come from; default
	// mining. Other rules draw them by Mine.Seed.
	Triplets TripletRule

	// Trim leaves out this fraction of the terms, those with the highest loss
	// (Levi et al. 2021, section 5.2.5). It is for losses over triplets or
	// pairs, and holds a batch's terms in memory.
	Trim float64
	// Memory is the number of earlier embeddings kept as further references (Wang
	// et al. 2020, "Cross-batch memory for embedding learning"). No gradient goes
	// to them. If batches have IDs, no embedding is compared with one of the same
	// sample from an earlier step; without IDs it is.
	Memory int
	// Relate, if set, replaces equality of labels: it says how a reference with
	// label b relates to an anchor with label a; see SharesLabel and CoarseNotFine.
	// Rule is the rule that a configuration names. Any rule but Equal needs a
	// Relate from the caller, who knows the labels.
	Relate func(a, b int64) Relation
	Rule   RelationRule

	// L2 adds this times the mean squared norm of the embeddings as given, and
	// ZeroMean this times the mean over embeddings of |sum of its numbers|.
	L2, ZeroMean float64

	// Plus are further objectives, added to this one times their weights. Their own
	// Plus must be empty. If they do not set Classes, Dim, Relate or seeds, they
	// take those of this one.
	Plus []Weighted
}

// Traits returns the traits of the loss.
func (o *Options) Traits() loss.Traits {
	if o.Loss == nil {
		return loss.Triplet{}.Traits()
	}
	return o.Loss.Traits()
}

// Weighted is an objective with a weight.
type Weighted struct {
	Weight  float64
	Options Options
}

// Batch says which samples the rows of a step's embeddings belong to.
type Batch struct {
	// Labels has one label for each row.
	Labels []int64
	// IDs has the identity of each row's sample. Rows with the same identity, in
	// the batch or in the memory, do not form a pair: they are neither positive nor
	// negative, except for a loss with the trait Views or OtherViews. Each is still an
	// anchor, and a reference for other samples. If IDs is nil, every row is a different
	// sample. Losses with proxies do not compare samples with each other and ignore it.
	IDs []int64
}

// Result is the outcome of one step. Counts are of the first loss only.
type Result struct {
	Value float64 // the reduced loss, regularisers and further losses included

	Tuples int // terms of the loss: triplets, pairs or anchors
	Active int // terms that are not 0

	Anchors     int // anchors that have a term
	NoPositive  int // anchors without a positive in the batch
	NoNegative  int // anchors without a negative in the batch
	NoCandidate int // choices for which a policy found nothing, or a range left nothing
	Fallbacks   int // choices for which it fell back to another policy
}

// Objective computes a loss and its gradient. It reuses its memory: after the
// first step of a given size, further ones allocate nothing. It must not be
// used by several goroutines at a time; it uses all cores itself.
type Objective struct {
	opts  Options
	terms []*term
	parts bool // some loss sees a part of the embedding only
	step  uint64
}

// New returns an objective. Options that contradict each other are an error.
func New(o Options) (*Objective, error) {
	obj := &Objective{opts: o}
	all := append([]Weighted{{Weight: 1, Options: o}}, o.Plus...)
	for k, w := range all {
		if k > 0 && len(w.Options.Plus) > 0 {
			return nil, errors.New("a further loss has further losses itself: list them all side by " +
				"side")
		}
		if k > 0 {
			inheritOptions(&w.Options, o)
			if first := w.Options.Part.First; first > 0 && first == w.Options.Dim {
				continue // the whole embedding, which the first loss sees
			}
		}
		t, err := newTerm(w)
		if err != nil {
			if k > 0 {
				err = fmt.Errorf("further loss %d: %w", k, err)
			}
			return nil, err
		}
		for _, p := range t.params {
			if k > 0 {
				p.Name = fmt.Sprintf("%d.%s", k, p.Name)
			}
		}
		obj.terms = append(obj.terms, t)
		obj.parts = obj.parts || !t.opts.Part.isWhole()
	}
	return obj, nil
}

// inheritOptions fills in what a further loss leaves to the first.
func inheritOptions(further *Options, o Options) {
	further.Classes = cmp.Or(further.Classes, o.Classes)
	further.Dim = cmp.Or(further.Dim, o.Dim)
	further.Seed = cmp.Or(further.Seed, o.Seed)
	further.Mine.Seed = cmp.Or(further.Mine.Seed, o.Mine.Seed)
	if traits := further.Traits(); further.Relate == nil && traits.Proxies == 0 && !traits.Views {
		further.Relate = o.Relate
	}
}

// Step computes the loss of the embeddings e (n x d) of a batch of n rows and
// writes its gradient with respect to e to grad, of the same shape; a nil grad
// asks for the value only. It also fills Grad of Params. It counts as one step
// for everything random, and adds the embeddings to the memory.
//
// An embedding that is not finite, or a label without a class, is an error, which
// names it. With a memory, a batch with identities after one without, or the
// reverse, is an error too. A batch in which nothing can be compared has the value
// 0 and a zero gradient, and the result says why. Step panics if the shapes do not
// match.
//
// Step checks ctx before each anchor. If ctx ends, it returns ctx.Err(), wrapped,
// in the middle of the step; do not use the objective again. Package train
// completes its steps and checks between them.
func (o *Objective) Step(ctx context.Context, e *matrix.Dense, b Batch, grad *matrix.Dense) (Result, error) {
	if len(b.Labels) != e.Rows || b.IDs != nil && len(b.IDs) != e.Rows {
		panic(fmt.Sprintf("objective: %d labels and %d identities for %d embeddings", len(b.Labels), len(b.IDs),
			e.Rows))
	}
	return o.run(ctx, e, b, nil, grad)
}

// StepTriplets is Step with the given triplets (anchor, positive, negative) in
// place of mined ones. ids are the identities of e's rows, or nil if each is a
// different sample. It is an error if the loss does not take triplets, an index is
// out of range, or an anchor is the same sample as its positive or its negative.
func (o *Objective) StepTriplets(ctx context.Context, e *matrix.Dense, ids []int64, triplets [][3]int32,
	grad *matrix.Dense) (Result, error) {
	if ids != nil && len(ids) != e.Rows {
		panic(fmt.Sprintf("objective: %d identities for %d embeddings", len(ids), e.Rows))
	}
	if o.terms[0].terms.Tuples() == nil || len(o.terms) > 1 || o.opts.Memory > 0 {
		return Result{}, errors.New("only a single loss over triplets, without a memory, takes given triplets")
	}
	for k, t := range triplets {
		for _, j := range t {
			if j < 0 || int(j) >= e.Rows {
				return Result{},
					fmt.Errorf("triplet %d is (%d, %d, %d), but there are %d embeddings", k, t[0], t[1], t[2], e.Rows)
			}
		}
		for _, j := range t[1:] {
			if j == t[0] || ids != nil && ids[j] == ids[t[0]] {
				return Result{}, fmt.Errorf("triplet %d is (%d, %d, %d), but %d and %d are the same sample, which "+
					"makes no pair", k, t[0], t[1], t[2], t[0], j)
			}
		}
	}
	if triplets == nil {
		triplets = [][3]int32{}
	}
	return o.run(ctx, e, Batch{}, triplets, grad)
}

func (o *Objective) run(ctx context.Context, e *matrix.Dense, b Batch, triplets [][3]int32, grad *matrix.Dense) (Result,
	error) {
	if grad != nil && (grad.Rows != e.Rows || grad.Cols != e.Cols) {
		panic(fmt.Sprintf("objective: a %d x %d gradient for %d x %d embeddings", grad.Rows, grad.Cols, e.Rows, e.Cols))
	}
	step := o.step
	o.step++
	if grad != nil && o.parts { // which no loss may see all of
		for i := range grad.Rows {
			clear(grad.Row(i))
		}
	}
	var result Result
	for k, t := range o.terms {
		if err := t.opts.Part.check(e.Cols); err != nil {
			return Result{}, err
		}
		e, grad := t.opts.Part.columns(e, &t.x), t.opts.Part.columns(grad, &t.grad)
		r, err := t.run(ctx, e, b, triplets, step, grad, k > 0 || o.parts)
		if err != nil {
			return Result{}, err
		}
		if k == 0 {
			result = r
		} else {
			result.Value += r.Value
		}
	}
	return result, nil
}

// SetMining changes the mining policies of the first loss from the next step
// on.
func (o *Objective) SetMining(c MiningConfig) error {
	t := o.terms[0]
	if err := checkMining(t.traits, c); err != nil {
		return err
	}
	t.miner.Configure(c)
	return nil
}

// Params returns the parameters of the losses; most have none. The number of a
// further loss precedes the names of its parameters, as in "1.beta".
func (o *Objective) Params() []*loss.Param {
	var all []*loss.Param
	for _, t := range o.terms {
		all = append(all, t.params...)
	}
	return all
}

// State is what an Objective needs, besides its parameters, to go on as if it had
// never stopped.
type State struct {
	Step   uint64   `json:"step"`
	Memory []Memory `json:"memory,omitempty"` // of each loss that has one
}

// Memory is the content of a cross-batch memory. Once it is full, Next is the
// position of the oldest embedding, which is replaced next.
type Memory struct {
	Dim        int       `json:"dim"`
	Next       int       `json:"next"`
	Embeddings []float32 `json:"embeddings"`
	Labels     []int64   `json:"labels"`
	// IDs are the identities of the samples, or nil if the steps had none.
	IDs []int64 `json:"ids,omitempty"`
	// Unit says for each embedding whether it was divided by its norm: then its
	// norm counts as exactly 1.
	Unit []bool `json:"unit"`
}

// State returns the state after the last step.
func (o *Objective) State() State {
	s := State{Step: o.step}
	for _, t := range o.terms {
		if t.memory.size > 0 {
			s.Memory = append(s.Memory, t.memory.save())
		}
	}
	return s
}

// Restore continues from s, which must come from an objective with the same
// options.
func (o *Objective) Restore(s State) error {
	k := 0
	for _, t := range o.terms {
		if t.memory.size == 0 {
			continue
		}
		if k == len(s.Memory) {
			return errors.New("the saved state of the loss lacks its cross-batch memory")
		}
		if err := t.memory.load(s.Memory[k]); err != nil {
			return err
		}
		k++
	}
	if k < len(s.Memory) {
		return errors.New("the saved state of the loss has a cross-batch memory, but the loss has none")
	}
	o.step = s.Step
	return nil
}
