package loss

import "github.com/kindred-ml/kindred/matrix"

// Loss is the interface of all losses. Several goroutines may call its methods at a time.
type Loss interface {
	// Traits says what the loss reads and asks for. They must not change once the
	// loss is in use.
	Traits() Traits
	// Terms returns the loss as what it is a sum of: TupleTerms, PairTerms, SetTerms or
	// BatchTerms of the loss itself. A type that embeds another loss needs its own.
	Terms() Terms
}

// Terms is a loss as what it is a sum of. The functions below make it; the zero value is no loss.
type Terms struct {
	tuples  Tuples
	pairs   Pairs
	sets    Sets
	batches Batches
}

// TupleTerms returns the terms of a loss that is a sum over triplets.
func TupleTerms(l Tuples) Terms { return Terms{tuples: l} }

// PairTerms returns the terms of a loss that is a sum over pairs.
func PairTerms(l Pairs) Terms { return Terms{pairs: l} }

// SetTerms returns the terms of a loss that is a sum over anchors with all their positives and negatives.
func SetTerms(l Sets) Terms { return Terms{sets: l} }

// BatchTerms returns the terms of a loss of a whole batch.
func BatchTerms(l Batches) Terms { return Terms{batches: l} }

// Tuples returns the loss if it is a sum over triplets, else nil.
func (t Terms) Tuples() Tuples { return t.tuples }

// Pairs returns the loss if it is a sum over pairs, else nil.
func (t Terms) Pairs() Pairs { return t.pairs }

// Sets returns the loss if it is a sum over anchors with all their positives and negatives, else nil.
func (t Terms) Sets() Sets { return t.sets }

// Batches returns the loss if it is one of a whole batch, else nil.
func (t Terms) Batches() Batches { return t.batches }

// Loss returns the loss whose terms they are, nil for the zero value.
func (t Terms) Loss() Loss {
	switch {
	case t.tuples != nil:
		return t.tuples
	case t.pairs != nil:
		return t.pairs
	case t.sets != nil:
		return t.sets
	case t.batches != nil:
		return t.batches
	}
	return nil
}

// Tuples is a loss that is a sum over triplets.
type Tuples interface {
	Loss
	// Tuples sets val[k] to the loss of a triplet with measures ap[k] (anchor
	// and positive) and an[k] (anchor and negative), and dap[k] and dan[k] to
	// its derivatives. All slices have the same length.
	Tuples(ap, an, val, dap, dan []float32)
}

// Pairs is a loss that is a sum over ordered pairs (anchor, other).
type Pairs interface {
	Loss
	// Pairs sets val[k] and dx[k] to the loss of a pair with measure x[k] and
	// its derivative, for positives or negatives of an anchor of the given
	// label. It returns the sum of the derivatives with respect to the
	// parameter of the anchor's label, 0 for a loss without one.
	Pairs(label int64, positive bool, x, val, dx []float32) float64
}

// Sets is a loss that is a sum over anchors, each with all the positives and
// negatives chosen for it.
type Sets interface {
	Loss
	// Set computes the terms of one anchor. Either side may be empty.
	Set(s *Set)
}

// MultiPass is a Sets loss whose terms depend on more than one anchor: earlier
// passes over the batch, as many as its traits say, summarise each anchor.
type MultiPass interface {
	Sets
	// Summary writes what an anchor contributes to a pass, 0 or 1, to sums, which
	// has as many numbers as the traits say and is zero before.
	Summary(pass int, s *Set, sums []float64)
}

// Running is a MultiPass loss with a state over batches, such as a moving average.
// The state is a parameter whose gradient stays 0, so that it is saved with the
// others.
type Running interface {
	MultiPass
	Learner
	// Follow takes the total of the batch's first pass, before the terms of that
	// step are computed. No other method is called at the same time.
	Follow(total []float64)
}

// Whole is a loss with a term in the embeddings themselves, besides its tuples,
// pairs or sets.
type Whole interface {
	Loss
	// Whole returns the value of that term for the embeddings e (n x d), as the
	// loss sees them, and adds weight times its gradient to grad, of the same
	// shape. The reduction does not change it. No other method is called at the
	// same time.
	Whole(e *matrix.Dense, weight float64, grad *matrix.Dense) float64
}

// Batches is a loss of a whole batch. It chooses no pairs itself: mining, the reduction, a memory and trimming do not
// apply to it.
type Batches interface {
	Loss
	// Batch returns the loss of the embeddings e (n x d), as the loss sees them, and puts its gradient into grad, of
	// the same shape, which is zero before. labels has the label of each row. No other method is called at the same
	// time.
	Batch(e *matrix.Dense, labels []int64, grad *matrix.Dense) (float64, error)
}

// Set is one anchor of a Sets loss. Its slices belong to the caller.
type Set struct {
	Pos, Neg   []float32 // in: measures of the chosen positives and negatives
	DPos, DNeg []float32 // out: derivatives of Value, zero before
	Value      float64   // out: sum of the anchor's terms
	Terms      int       // out: how many terms, for the mean
	Active     int       // out: how many of them are not 0

	// Sq is the squared norm of the anchor, DSq (out) the derivative with respect
	// to it.
	Sq, DSq float64
	// Anchors is the number of anchors, WithPositives the number of those that
	// have a positive.
	Anchors, WithPositives int

	// Total is the sum over anchors of each pass of a MultiPass loss. For a loss
	// without proxies, Own and Others are the first numbers of the first pass for
	// the anchor and for each of its positives.
	Total  [2][]float64
	Own    float64
	Others []float64
	// PosNeg holds, for a loss with the trait CrossRows, the measures of each
	// positive and each negative: len(Pos) rows of len(Neg).
	PosNeg []float32

	tmp []float64
}

// Term counts one term of value v.
func (s *Set) Term(v float64) {
	s.Terms++
	s.Value += v
	if v != 0 {
		s.Active++
	}
}

// Scratch returns n numbers of arbitrary content, valid until the next call.
func (s *Set) Scratch(n int) []float64 {
	if cap(s.tmp) < n {
		s.tmp = make([]float64, n)
	}
	return s.tmp[:n]
}

// hasBothSides reports whether the anchor has positives and negatives.
func (s *Set) hasBothSides() bool { return len(s.Pos) > 0 && len(s.Neg) > 0 }
