package loss

import (
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/compute/pair"
)

// Traits say what a loss reads and asks for. The zero value is a loss that reads
// similarities, is the mean of its terms and takes any mining.
type Traits struct {
	Measure   Measure   // the value of a pair that the loss reads
	Reduction Reduction // how its terms become one number; the default is the mean

	// AllPairs: the loss is defined only for all positives with all negatives.
	AllPairs bool
	// Centered: it reads centred embeddings: from each embedding the mean of its
	// numbers is subtracted.
	Centered bool
	// CrossRows: a Sets loss that also reads Set.PosNeg, the measures between an
	// anchor's positives and its negatives, and is symmetric in anchor and
	// positive. Both must have the same negatives: package objective returns an
	// error if they differ. It holds the measures of the whole batch.
	CrossRows bool
	// Views: its positives are other rows of the anchor's sample, by Batch.IDs of
	// package objective; its negatives are the rows of other samples with the
	// anchor's label. Rows of other labels are neither.
	Views bool
	// OtherViews: other rows of the anchor's sample in the batch, by Batch.IDs of
	// package objective, are positives if their label says so. Without this trait
	// they form no pair with the anchor.
	OtherViews bool
	// Passes is the number of passes over the batch, up to 2, that a MultiPass
	// loss makes before Set, and Sums the number of sums of each pass.
	Passes, Sums int

	// Proxies is the number of proxies of each class with which a Sets loss
	// compares the embeddings, 0 for a loss between embeddings. Such a loss is a
	// Learner; its first parameter holds the proxies, one row each, those of class
	// 0 first. They are normalised before they are compared.
	Proxies int
	// ProxyAnchors: the proxies are the anchors and the embeddings their
	// references; otherwise it is the other way round.
	ProxyAnchors bool
}

// Measure is the value of a pair of embeddings that a loss reads.
type Measure uint8

// The measures of a pair (a, b).
const (
	Similarity = Measure(pair.Similarity) // S = a . b
	Squared    = Measure(pair.Squared)    // D² = |a - b|²
	Euclidean  = Measure(pair.Euclidean)  // D = |a - b|
)

// String returns the measure's name: similarity, squared or euclidean.
func (m Measure) String() string { return pair.Measure(m).String() }

// MarshalText returns the measure's name.
func (m Measure) MarshalText() ([]byte, error) { return pair.Measure(m).MarshalText() }

// UnmarshalText reads a name.
func (m *Measure) UnmarshalText(text []byte) error { return (*pair.Measure)(m).UnmarshalText(text) }

// measureOf is the measure of a loss that lets its user choose between distances.
func measureOf(euclidean bool) Measure {
	if euclidean {
		return Euclidean
	}
	return Squared
}

// Reduction turns the sum of a loss's terms into its value.
type Reduction uint8

// The reductions. The value of a batch without terms is 0.
const (
	DefaultReduction Reduction = iota // the one of the loss's definition
	Mean                              // sum / number of terms
	MeanActive                        // sum / number of terms that are not 0
	Sum
)

var reductionNames = enum.New[Reduction]("Reduction", "reduction", "default", "mean", "mean-active", "sum")

func (r Reduction) String() string { return reductionNames.Name(r) }

// ParseReduction returns the reduction with the given name, which may also be
// default.
func ParseReduction(name string) (Reduction, error) { return reductionNames.Parse(name) }

// MarshalText returns the reduction's name.
func (r Reduction) MarshalText() ([]byte, error) { return reductionNames.Marshal(r) }

// UnmarshalText reads a name.
func (r *Reduction) UnmarshalText(text []byte) error { return reductionNames.Unmarshal(r, text) }

// Or returns r, or def if r is the default.
func (r Reduction) Or(def Reduction) Reduction {
	if r == DefaultReduction {
		return def
	}
	return r
}

// Scale returns the factor by which the sum of terms is multiplied.
func (r Reduction) Scale(terms, active int) float64 {
	switch r {
	case Sum:
		return 1
	case MeanActive:
		return 1 / float64(max(active, 1))
	}
	return 1 / float64(max(terms, 1))
}
