package loss

import (
	"fmt"

	"github.com/kindred-ml/kindred/pair"
)

// Loss is what all losses have in common. A Loss must also be one of Tuples,
// Pairs and Sets. Its methods may be called by several goroutines at a time.
type Loss interface {
	// Measure is the value of a pair that the loss reads.
	Measure() pair.Measure
	// Reduction is how the loss's terms become one number.
	Reduction() Reduction
}

// Tuples is a sum over triplets.
type Tuples interface {
	Loss
	// Tuples sets val[k] to the loss of a triplet with measures ap[k] (anchor
	// and positive) and an[k] (anchor and negative), and dap[k] and dan[k] to
	// its derivatives. All slices have the same length.
	Tuples(ap, an, val, dap, dan []float32)
}

// Pairs is a sum over ordered pairs.
type Pairs interface {
	Loss
	// Pairs sets val[k] and dx[k] to the loss of a pair with measure x[k] and
	// its derivative, for positives or negatives of an anchor of the given
	// label. It returns the sum of the derivatives with respect to the
	// anchor's own parameter, 0 for a loss without one.
	Pairs(label int64, positive bool, x, val, dx []float32) float64
}

// Sets is a sum over anchors, each with all its positives and negatives.
type Sets interface {
	Loss
	// Set computes the terms of one anchor.
	Set(s *Set)
}

// Set is one anchor of a Sets loss.
type Set struct {
	Pos, Neg   []float32 // in: measures of the chosen positives and negatives
	DPos, DNeg []float32 // out: derivatives of Value, zero before
	Value      float64   // out: sum of the anchor's terms
	Terms      int       // out: how many terms, for the mean
	Active     int       // out: how many of them are not 0
}

// Reduction turns the sum of a loss's terms into its value.
type Reduction uint8

// The reductions. A batch without terms has the value 0.
const (
	DefaultReduction Reduction = iota // what the loss's definition says
	Mean                              // sum / number of terms
	MeanActive                        // sum / number of terms that are not 0
	Sum
)

var reductionNames = [...]string{"default", "mean", "mean-active", "sum"}

// ReductionNames returns the names of the reductions other than the default.
func ReductionNames() []string { return append([]string(nil), reductionNames[1:]...) }

func (r Reduction) String() string {
	if int(r) < len(reductionNames) {
		return reductionNames[r]
	}
	return fmt.Sprintf("Reduction(%d)", uint8(r))
}

// ParseReduction returns the reduction of that name.
func ParseReduction(name string) (Reduction, bool) {
	for i, s := range reductionNames[1:] {
		if s == name {
			return Reduction(i + 1), true
		}
	}
	return 0, false
}

// Or returns r, or def if r is the default.
func (r Reduction) Or(def Reduction) Reduction {
	if r == DefaultReduction {
		return def
	}
	return r
}

// Scale returns what the sum of terms is multiplied by.
func (r Reduction) Scale(terms, active int) float64 {
	switch r {
	case Sum:
		return 1
	case MeanActive:
		return 1 / float64(max(active, 1))
	}
	return 1 / float64(max(terms, 1))
}

// Optional is a number whose default is not 0.
type Optional = pair.Optional

// Value returns an Optional that is set to x.
func Value(x float64) Optional { return pair.Set(x) }
