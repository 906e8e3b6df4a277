package objective

import (
	"fmt"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/mine"
	"github.com/kindred-ml/kindred/pair"
)

// Options describe an objective. The zero value is the triplet loss on the
// embeddings as given, with easy positives and FaceNet's negatives.
type Options struct {
	// Normalize divides each embedding by its norm first; the gradient goes
	// through the division. Leave it off if the network ends in that layer.
	Normalize bool
	Mine      mine.Config
	Loss      loss.Loss // default loss.Triplet{}
}

// Result is what one step found.
type Result struct {
	Value float64 // the reduced loss

	Tuples int // terms of the loss: triplets, pairs or anchors
	Active int // terms that are not 0

	Anchors     int // anchors that have a term
	NoPositive  int // anchors without a positive in the batch
	NoNegative  int // anchors without a negative in the batch
	NoCandidate int // choices for which the negative policy found nothing
	Fallbacks   int // choices for which it fell back to another policy
}

// Objective computes a loss and its gradient. It reuses its memory: after the
// first step of a size, further ones allocate nothing. It is not for use by
// several goroutines at a time; it uses all cores itself.
type Objective struct {
	opts Options
	rows pair.Rows
	term term
	step uint64
	dE   mat.Dense
}

// New returns an objective. It is an error if the options contradict each other.
func New(o Options) (*Objective, error) {
	if o.Loss == nil {
		o.Loss = loss.Triplet{}
	}
	switch o.Loss.(type) {
	case loss.Tuples, loss.Pairs, loss.Sets:
	default:
		return nil, fmt.Errorf("objective: %T is none of loss.Tuples, loss.Pairs and loss.Sets", o.Loss)
	}
	obj := &Objective{opts: o}
	obj.term.init(o.Loss, o.Mine)
	return obj, nil
}

// Step computes the loss of embeddings e (n x d) with the given n labels and
// writes its gradient with respect to e to grad, of the same shape; a nil grad
// asks for the value only. It counts as one step for everything random.
//
// An embedding that is not finite is an error that names its row. A batch in
// which nothing is comparable has the value 0 and a zero gradient, and the
// result says why. Step panics if the shapes do not match.
func (o *Objective) Step(e *mat.Dense, labels []int64, grad *mat.Dense) (Result, error) {
	return o.run(e, labels, nil, grad)
}

// StepTriplets is Step on given triplets (anchor, positive, negative) in place
// of mined ones. It is an error if the loss does not take triplets or an index
// is out of range.
func (o *Objective) StepTriplets(e *mat.Dense, triplets [][3]int32, grad *mat.Dense) (Result, error) {
	if _, ok := o.opts.Loss.(loss.Tuples); !ok {
		return Result{}, fmt.Errorf("the loss %T does not take triplets", o.opts.Loss)
	}
	for k, t := range triplets {
		for _, j := range t {
			if j < 0 || int(j) >= e.Rows {
				return Result{}, fmt.Errorf("triplet %d is (%d, %d, %d), but there are %d embeddings", k, t[0], t[1], t[2], e.Rows)
			}
		}
	}
	if triplets == nil {
		triplets = [][3]int32{}
	}
	return o.run(e, nil, triplets, grad)
}

func (o *Objective) run(e *mat.Dense, labels []int64, triplets [][3]int32, grad *mat.Dense) (Result, error) {
	if triplets == nil && len(labels) != e.Rows {
		panic(fmt.Sprintf("objective: %d labels for %d embeddings", len(labels), e.Rows))
	}
	if grad != nil && (grad.Rows != e.Rows || grad.Cols != e.Cols) {
		panic(fmt.Sprintf("objective: a %d x %d gradient for %d x %d embeddings", grad.Rows, grad.Cols, e.Rows, e.Cols))
	}
	if err := o.rows.Set(e, o.opts.Normalize); err != nil {
		return Result{}, err
	}
	o.shape(e.Rows, e.Cols)
	step := o.step
	o.step++
	r, scale := o.term.run(&o.rows, labels, triplets, step, &o.dE)
	if grad != nil {
		o.rows.Backward(&o.dE, scale, grad)
	}
	return r, nil
}

// shape makes dE r x c.
func (o *Objective) shape(r, c int) {
	o.dE.Rows, o.dE.Cols, o.dE.Stride = r, c, c
	if cap(o.dE.Data) < r*c {
		o.dE.Data = make([]float32, r*c)
	}
	o.dE.Data = o.dE.Data[:r*c]
}

// SetMining changes the strategies from the next step on.
func (o *Objective) SetMining(c mine.Config) {
	o.opts.Mine = c
	o.term.miner = mine.New(c)
}

// State is what an Objective needs, beside its parameters, to go on as if it
// had never stopped.
type State struct {
	Step uint64 `json:"step"`
}

// State returns the state after the last step.
func (o *Objective) State() State { return State{Step: o.step} }

// Restore continues from s.
func (o *Objective) Restore(s State) error {
	o.step = s.Step
	return nil
}
