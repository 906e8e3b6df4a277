package loss

import "github.com/kindred-ml/kindred/internal/compute/pair"

// Traits say what a loss reads and asks for. The zero value is a loss that reads
// similarities, is the mean of its terms and takes whatever mining chooses.
type Traits struct {
	Measure   Measure   // the value of a pair that the loss reads
	Reduction Reduction // how its terms become one number; the default is the mean

	// AllPairs: the loss is defined only for all positives with all negatives.
	AllPairs bool
	// Centered: it reads centred embeddings. The mean of its own numbers is
	// subtracted from each.
	Centered bool
	// CrossRows: a Sets loss that also reads Set.PosNeg, the measures between an
	// anchor's positives and its negatives, and is symmetric in anchor and
	// positive. Both must have the same negatives: package objective refuses a
	// batch in which they differ. It holds the measures of the whole batch.
	CrossRows bool
	// Views: its positives are other rows of the anchor's sample, as Batch.IDs of
	// package objective says, and its negatives the rows of other samples with the
	// anchor's label. Rows of other labels are neither.
	Views bool
	// Passes is the number of passes over the batch, up to 2, that a MultiPass
	// loss makes before Set, and Sums how many numbers each adds up.
	Passes, Sums int

	// Proxies is the number of proxies of each class with which a Sets loss
	// compares the embeddings, 0 for a loss between embeddings. Such a loss is a
	// Learner; its first parameter holds the proxies, one row each, those of class
	// 0 first. They are normalised before they are compared.
	Proxies int
	// ProxyAnchors: the proxies are the anchors and the embeddings their
	// references, rather than the other way round.
	ProxyAnchors bool
}

// Measure is the value of a pair of embeddings that a loss reads.
type Measure = pair.Measure

// The measures of a pair (a, b).
const (
	Similarity = pair.Similarity // S = a . b
	Squared    = pair.Squared    // D² = |a - b|²
	Euclidean  = pair.Euclidean  // D = |a - b|
)

// distance is the measure of a loss that lets its user choose between distances.
func distance(euclidean bool) Measure {
	if euclidean {
		return Euclidean
	}
	return Squared
}
