package mine

import "github.com/kindred-ml/kindred/internal/base/spell"

// Positive says which references from an anchor's own class count.
type Positive uint8

// Positive policies.
const (
	// EasyPositive takes the nearest positive: easy positive sampling (EPS, Levi
	// et al. 2021; Xuan et al. 2020). It leaves the modes of a class apart,
	// whereas the other policies pull them together.
	EasyPositive Positive = iota
	// RandomPositive draws one positive uniformly.
	RandomPositive
	// HardPositive takes the farthest positive. Of all policies it pulls a class
	// together the hardest.
	HardPositive
	// AllPositives takes every positive.
	AllPositives
	// MultiSimilarityPositives takes positives with S_ap < max S_an + epsilon
	// (Wang et al. 2019).
	MultiSimilarityPositives
	// HistogramPositive draws one positive so that near and far ones are equally
	// likely: it cuts the range of the anchor's distances to its positives into
	// Config.Bands equal bands, draws a non-empty band uniformly, then a positive in
	// it. It is the uniform histogram miner of Musgrave et al. 2020 ("PyTorch metric
	// learning"), applied to each anchor.
	HistogramPositive
	// SemiHardPositive takes the farthest positive with D_ap < D_an. The negative n is
	// chosen first; of several negatives n is the nearest. An anchor without such a
	// positive yields no triplet, and in a loss over pairs only its negatives count.
	// It can be combined with every negative policy except those that depend on the
	// positive: FaceNetNegative, SemiHardNegative and AngularNegative.
	SemiHardPositive
)

// Negative says which references from other classes count.
type Negative uint8

// Negative policies.
const (
	// FaceNetNegative draws uniformly among the negatives with D_ap < D_an < D_ap
	// + margin in the loss's own distance, or among all negatives if there is no
	// such negative (Schroff et al. 2015).
	FaceNetNegative Negative = iota
	// RandomNegative draws one negative uniformly.
	RandomNegative
	// HardNegative takes the nearest negative.
	HardNegative
	// EasyNegative takes the farthest negative.
	EasyNegative
	// SemiHardNegative takes the nearest negative with D_an > D_ap. An anchor
	// without one yields no tuple, or its nearest negative if Config.HardFallback
	// is set.
	SemiHardNegative
	// AllNegatives takes every negative.
	AllNegatives
	// DistanceNegative draws a negative with a weight inversely proportional to
	// the density of distances between uniformly distributed points on the sphere
	// (Wu et al. 2017).
	DistanceNegative
	// MultiSimilarityNegatives takes negatives with S_an > min S_ap - epsilon
	// (Wang et al. 2019).
	MultiSimilarityNegatives
	// AngularNegative draws, for each positive, uniformly among the negatives with
	// atan(|a-p| / (2 |n-c|)) > Config.Angle, c = (a+p)/2: those that see anchor and
	// positive under too wide an angle (the bound of Wang et al. 2017, "Deep metric
	// learning with angular loss"). A positive without such a negative yields no
	// tuple.
	AngularNegative
	// HistogramNegative draws, for each positive, a negative as HistogramPositive
	// draws a positive: all distances from the nearest to the farthest are equally
	// likely.
	HistogramNegative
)

var (
	positiveNames = [...]string{"easy", "random", "hard", "all", "ms", "histogram", "semihard"}
	negativeNames = [...]string{"facenet", "random", "hard", "easy", "semihard", "all", "distance", "ms",
		"angular", "histogram"}
)

// PositiveNames returns the names of the positive policies.
func PositiveNames() []string { return append([]string(nil), positiveNames[:]...) }

// NegativeNames returns the names of the negative policies.
func NegativeNames() []string { return append([]string(nil), negativeNames[:]...) }

func (p Positive) String() string { return spell.Name("Positive", int(p), positiveNames[:]) }

func (n Negative) String() string { return spell.Name("Negative", int(n), negativeNames[:]) }

// ParsePositive returns the positive policy with the given name.
func ParsePositive(name string) (Positive, error) {
	k, err := spell.Index("positive policy", name, positiveNames[:])
	return Positive(k), err
}

// ParseNegative returns the negative policy with the given name.
func ParseNegative(name string) (Negative, error) {
	k, err := spell.Index("negative policy", name, negativeNames[:])
	return Negative(k), err
}

// FollowsPositive reports whether the choice of a negative depends on the positive.
// Such a policy cannot be combined with SemiHardPositive.
func (n Negative) FollowsPositive() bool {
	return n == FaceNetNegative || n == SemiHardNegative || n == AngularNegative
}

// MarshalText returns the policy's name.
func (p Positive) MarshalText() ([]byte, error) {
	return spell.Text("positive policy", int(p), positiveNames[:])
}

// UnmarshalText reads a name.
func (p *Positive) UnmarshalText(text []byte) error {
	return spell.Set("positive policy", p, text, positiveNames[:])
}

// MarshalText returns the policy's name.
func (n Negative) MarshalText() ([]byte, error) {
	return spell.Text("negative policy", int(n), negativeNames[:])
}

// UnmarshalText reads a name.
func (n *Negative) UnmarshalText(text []byte) error {
	return spell.Set("negative policy", n, text, negativeNames[:])
}
