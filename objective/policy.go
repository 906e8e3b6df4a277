package objective

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/compute/pair"
)

// PositivePolicy says which references from an anchor's own class count.
type PositivePolicy uint8

// Positive policies.
const (
	// EasyPositive takes the nearest positive: easy positive sampling (EPS, Levi
	// et al. 2021; Xuan et al. 2020). It leaves the modes of a class apart,
	// whereas the other policies pull them together.
	EasyPositive PositivePolicy = iota
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

// NegativePolicy says which references from other classes count.
type NegativePolicy uint8

// Negative policies.
const (
	// FaceNetNegative draws uniformly among the negatives with D_ap < D_an < D_ap
	// + margin in the loss's own distance, or among all negatives if there is no
	// such negative (Schroff et al. 2015).
	FaceNetNegative NegativePolicy = iota
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

// policy is what is known of a policy.
type policy struct {
	name        string
	description string // completes "a sample is pulled towards", or "pushed away from", in plain words
	// choose fills s.Pos from s.all, or s.Neg from the candidates. There is at least one
	// sample to choose from.
	choose func(m *miner, i int, s *minerScratch, rng *stream)
	// followsOther reports whether the choice depends on the choice of the other side, which is then
	// made first. Otherwise positives are chosen before negatives.
	followsOther bool
	// begin, if not nil, prepares the miner for a table.
	begin func(m *miner)
}

// positivePolicies and negativePolicies are all policies.
var positivePolicies = [...]policy{
	EasyPositive: {name: "easy", description: "the nearest one of its class",
		choose: func(m *miner, i int, s *minerScratch, _ *stream) {
			m.t.Values(pair.Squared, i, s.all, s.dPos)
			s.Pos = append(s.Pos, s.all[argmin(s.dPos)])
		}},
	RandomPositive: {name: "random", description: "one of its class at random",
		choose: func(_ *miner, _ int, s *minerScratch, rng *stream) {
			s.Pos = append(s.Pos, s.all[rng.intN(len(s.all))])
		}},
	HardPositive: {name: "hard", description: "the farthest one of its class",
		choose: func(m *miner, i int, s *minerScratch, _ *stream) {
			m.t.Values(pair.Squared, i, s.all, s.dPos)
			s.Pos = append(s.Pos, s.all[argmax(s.dPos)])
		}},
	AllPositives: {name: "all", description: "all of its class",
		choose: func(_ *miner, _ int, s *minerScratch, _ *stream) { s.Pos = append(s.Pos, s.all...) }},
	MultiSimilarityPositives: {name: "ms", description: "the ones of its class that are not clearly nearer than the " +
		"nearest one of another class",
		choose: (*miner).chooseMultiSimilarityPositives},
	HistogramPositive: {name: "histogram", description: "one of its class at random, near and far ones equally often",
		choose: func(m *miner, i int, s *minerScratch, rng *stream) {
			m.t.Values(pair.Euclidean, i, s.all, s.dPos)
			m.drawByHistogram(s.dPos, 1, s, rng, func(k int) { s.Pos = append(s.Pos, s.all[k]) })
		}},
	SemiHardPositive: {name: "semihard", description: "the farthest one of its class that is nearer than the negative",
		choose: (*miner).chooseSemiHardPositive, followsOther: true},
}

var negativePolicies = [...]policy{
	FaceNetNegative: {name: "facenet", description: "one of another class that is slightly farther than the positive",
		choose: (*miner).chooseFaceNet, followsOther: true},
	RandomNegative: {name: "random", description: "one of another class at random",
		choose: func(m *miner, i int, s *minerScratch, rng *stream) {
			s.Paired = len(s.Pos) > 0
			for range max(1, len(s.Pos)) {
				s.Neg = append(s.Neg, m.candidateNegative(i, rng.intN(s.negatives), s))
			}
		}},
	HardNegative: {name: "hard", description: "the nearest one of another class",
		choose: func(m *miner, i int, s *minerScratch, _ *stream) { s.Neg = append(s.Neg, m.nearestNegative(i, s)) }},
	EasyNegative: {name: "easy", description: "the farthest one of another class",
		choose: func(m *miner, i int, s *minerScratch, _ *stream) {
			s.Neg = append(s.Neg, m.candidateNegative(i, argmax(m.candidateDistances(pair.Squared, i, s)), s))
		}},
	SemiHardNegative: {name: "semihard",
		description: "the nearest one of another class that is farther than the positive",
		choose:      (*miner).chooseSemiHard, followsOther: true},
	AllNegatives: {name: "all", description: "all of the other classes",
		choose: func(m *miner, i int, s *minerScratch, _ *stream) {
			if s.All = s.negatives == m.t.NegativeCount(i); !s.All {
				s.Neg = append(s.Neg, s.others...)
			}
		}},
	DistanceNegative: {name: "distance", description: "one of another class at random, near and far ones equally often",
		choose: (*miner).chooseDistanceWeighted, begin: func(m *miner) { m.density.prepare(m.cfg, m.t.A.E.Cols) }},
	MultiSimilarityNegatives: {name: "ms",
		description: "the ones of other classes that are not clearly farther than the " +
			"farthest one of its class",
		choose: (*miner).chooseMultiSimilarityNegatives},
	AngularNegative: {name: "angular",
		description: "one of another class that is close to it and the positive, measured " +
			"as an angle",
		choose: (*miner).chooseAngular, followsOther: true},
	HistogramNegative: {name: "histogram", description: "one of another class at random, all distances equally often",
		choose: func(m *miner, i int, s *minerScratch, rng *stream) {
			s.Paired = len(s.Pos) > 0
			m.drawByHistogram(m.candidateDistances(pair.Euclidean, i, s), max(1, len(s.Pos)), s, rng, func(k int) {
				s.Neg = append(s.Neg, m.candidateNegative(i, k, s))
			})
		}},
}

// policyByNumber returns the policy with a number, or an empty policy for an unknown number.
func policyByNumber(policies []policy, k int) policy {
	if k < len(policies) {
		return policies[k]
	}
	return policy{}
}

func policyNames(policies []policy) []string {
	names := make([]string, len(policies))
	for k := range policies {
		names[k] = policies[k].name
	}
	return names
}

var (
	positiveNames = enum.New[PositivePolicy]("Positive", "positive policy", policyNames(positivePolicies[:])...)
	negativeNames = enum.New[NegativePolicy]("Negative", "negative policy", policyNames(negativePolicies[:])...)
)

// PositivePolicyNames returns the names of the positive policies.
func PositivePolicyNames() []string { return slices.Clone(positiveNames.List) }

// NegativePolicyNames returns the names of the negative policies.
func NegativePolicyNames() []string { return slices.Clone(negativeNames.List) }

func (p PositivePolicy) String() string { return positiveNames.Name(p) }

func (n NegativePolicy) String() string { return negativeNames.Name(n) }

// Words says in plain words what a sample is pulled towards: "the nearest one of its
// class".
func (p PositivePolicy) Words() string {
	return policyByNumber(positivePolicies[:], int(p)).description
}

// Words says in plain words what a sample is pushed away from: "the nearest one of
// another class".
func (n NegativePolicy) Words() string {
	return policyByNumber(negativePolicies[:], int(n)).description
}

// ParsePositivePolicy returns the positive policy with the given name.
func ParsePositivePolicy(name string) (PositivePolicy, error) { return positiveNames.Parse(name) }

// ParseNegativePolicy returns the negative policy with the given name.
func ParseNegativePolicy(name string) (NegativePolicy, error) { return negativeNames.Parse(name) }

// FollowsPositive reports whether the choice of a negative depends on the positive.
// Such a policy cannot be combined with SemiHardPositive.
func (n NegativePolicy) FollowsPositive() bool {
	return int(n) < len(negativePolicies) && negativePolicies[n].followsOther
}

// MarshalText returns the policy's name.
func (p PositivePolicy) MarshalText() ([]byte, error) { return positiveNames.Marshal(p) }

// UnmarshalText reads a name.
func (p *PositivePolicy) UnmarshalText(text []byte) error { return positiveNames.Unmarshal(p, text) }

// MarshalText returns the policy's name.
func (n NegativePolicy) MarshalText() ([]byte, error) { return negativeNames.Marshal(n) }

// UnmarshalText reads a name.
func (n *NegativePolicy) UnmarshalText(text []byte) error { return negativeNames.Unmarshal(n, text) }
