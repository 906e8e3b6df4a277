package objective

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/internal/kernel/scan"
)

// MiningConfig chooses a miner. The zero value is easy positives with FaceNet's
// negatives at margin 0.2 in squared distance.
type MiningConfig struct {
	Positives PositivePolicy
	Negatives NegativePolicy
	// CustomPositives and CustomNegatives are policies of a program's own, each in place of the
	// one above.
	CustomPositives, CustomNegatives *CustomPolicy

	// PositiveRange and NegativeRange bound the distance of the positives and
	// negatives from the anchor, in Euclidean distance whatever the loss's distance
	// (default: any distance). The miner treats references outside as if they were
	// not in the batch.
	PositiveRange, NegativeRange DistanceRange

	// Margin (default 0.2), in squared or Euclidean distance, is the bound used by
	// FaceNetNegative.
	Margin    *float64
	Euclidean bool
	// HardFallback gives an anchor without a semi-hard negative its nearest
	// negative.
	HardFallback bool
	// Epsilon (default 0.1) is the slack of the multi-similarity policies.
	Epsilon *float64
	// Nearest (default 0.5), Cutoff (default 1.4) and MaxWeight (default none)
	// shape DistanceNegative: distances below Nearest count as Nearest, weights
	// are 0 beyond Cutoff, and no weight exceeds MaxWeight.
	Nearest, Cutoff, MaxWeight *float64
	// Angle (default 20), in degrees between 0 and 90, is the bound of AngularNegative.
	Angle *float64
	// Bands (default 100, at most 65536) is the number of bands of distance from
	// which the histogram policies draw.
	Bands int

	Seed uint64
}

// The defaults of Config.
const (
	defaultMargin  = 0.2
	defaultEpsilon = 0.1
	defaultNearest = 0.5
	defaultCutoff  = 1.4
	defaultAngle   = 20
	defaultBands   = 100
)

// Reach returns Nearest and Cutoff of DistanceNegative with defaults filled in: the
// distance below which all negatives have the same weight, and the distance beyond
// which it takes none.
func (c MiningConfig) Reach() (nearest, cutoff float64) {
	return option.OrDefault(c.Nearest, defaultNearest), option.OrDefault(c.Cutoff, defaultCutoff)
}

// Check returns an error for a policy that does not exist or a number out of range,
// and names its key.
func (c MiningConfig) Check() error {
	for _, own := range []*CustomPolicy{c.CustomPositives, c.CustomNegatives} {
		if own != nil && (own.Name == "" || own.Choose == nil) {
			return fmt.Errorf("the policy %q of your own needs a name and a function that chooses", own.Name)
		}
	}
	if int(c.Positives) >= len(positivePolicies) || int(c.Negatives) >= len(negativePolicies) {
		return fmt.Errorf("unknown policies %v and %v", c.Positives, c.Negatives)
	}
	if c.CustomPositives == nil && positivePolicies[c.Positives].followsOther &&
		c.CustomNegatives == nil && negativePolicies[c.Negatives].followsOther {
		return fmt.Errorf("positives is %v and negatives is %v: each would depend on the other; take positives "+
			"or negatives that do not", c.Positives, c.Negatives)
	}
	if err := c.PositiveRange.check("positives"); err != nil {
		return err
	}
	if err := c.NegativeRange.check("negatives"); err != nil {
		return err
	}
	nearest, cutoff := c.Reach()
	for _, n := range []struct {
		key   string
		value float64
	}{{"margin", option.OrDefault(c.Margin, defaultMargin)}, {"epsilon", option.OrDefault(c.Epsilon, defaultEpsilon)},
		{"nearest", nearest}} {
		if !(n.value >= 0 && n.value <= math.MaxFloat64) {
			return fmt.Errorf("%s is %v: it must be a number of at least 0", n.key, n.value)
		}
	}
	if a := option.OrDefault(c.Angle, defaultAngle); !(a > 0 && a < 90) {
		return fmt.Errorf("angle is %v: it must be between 0 and 90", a)
	}
	if c.Bands < 0 || c.Bands > maxBands {
		return fmt.Errorf("bands is %d: it must be from 0, for %d, to %d", c.Bands, defaultBands, maxBands)
	}
	if !(cutoff > 0 && cutoff <= math.MaxFloat64) {
		return fmt.Errorf("cutoff is %v: it must be above 0", cutoff)
	}
	if most := option.OrDefault(c.MaxWeight, math.MaxFloat64); !(most > 0 && most <= math.MaxFloat64) {
		return fmt.Errorf("max_weight is %v: it must be above 0", most)
	}
	if c.Nearest != nil && nearest > cutoff {
		return fmt.Errorf("nearest is %v, beyond the cutoff, %v", nearest, cutoff)
	}
	return nil
}

// minerScratch is the working memory of one goroutine that calls a Miner.
type minerScratch struct {
	Selection
	all    []int32 // the candidate positives
	dPos   []float32
	dNeg   []float32 // distances of the negatives, ascending by index
	scores []float32 // nearness or similarities of all references, -Inf where not negative
	offset float32   // D² = c - 2v, if nearness
	loaded scoreKind // of v
	rng    stream
	idx    []int32
	weight []float32
	center []float32 // between anchor and positive
	others []int32   // the candidate negatives, where they are listed
	band   []int32   // of each candidate
	filled []int32   // how many candidates each band holds

	negatives int // how many candidates there are
}

// scoreKind says what of this anchor's a Scratch holds.
type scoreKind uint8

const (
	noScores scoreKind = iota
	nearnessScores
	similarityScores
)

// miner applies a Config to the anchors of a table, for package objective; other
// callers use Select. Between calls of Begin several goroutines may use it at a time.
type miner struct {
	cfg     MiningConfig
	t       *pair.Table
	step    uint64
	pos     policy
	neg     policy
	density density
}

// newMiner returns a miner.
func newMiner(cfg MiningConfig) *miner { return &miner{cfg: cfg} }

// Configure changes the policies from the next Begin on.
func (m *miner) Configure(cfg MiningConfig) { m.cfg = cfg }

// Begin prepares the miner for the anchors of t in the given step.
func (m *miner) Begin(t *pair.Table, step uint64) {
	m.t, m.step = t, step
	m.pos, m.neg = positivePolicies[m.cfg.Positives], negativePolicies[m.cfg.Negatives]
	if own := m.cfg.CustomPositives; own != nil {
		m.pos = policy{choose: own.choosePositives}
	}
	if own := m.cfg.CustomNegatives; own != nil {
		m.neg = policy{choose: own.chooseNegatives}
	}
	if m.neg.begin != nil {
		m.neg.begin(m)
	}
}

// Mine chooses positives and negatives of anchor i, which must be loaded in the
// table. It chooses each side even if the other is empty, unless the policy depends
// on the other side. The result is valid until the next call with s.
func (m *miner) Mine(i int, s *minerScratch) *Selection {
	t := m.t
	s.Selection = Selection{Pos: s.Pos[:0], Neg: s.Neg[:0]}
	s.loaded = noScores
	s.rng = newStream(m.cfg.Seed, m.step, uint64(i))
	s.dNeg = grow(s.dNeg, t.NumRefs())
	s.scores = grow(s.scores, t.NumRefs())
	if cap(s.idx) < scan.ListCap(t.NumRefs()) {
		s.idx = make([]int32, 0, scan.ListCap(t.NumRefs()))
	}
	m.listCandidates(i, s)
	if !m.pos.followsOther {
		m.choosePositives(i, s)
	}
	if s.negatives > 0 {
		m.neg.choose(m, i, s, &s.rng)
	}
	if m.pos.followsOther {
		m.choosePositives(i, s)
	}
	return &s.Selection
}

// choosePositives fills s.Pos from s.all.
func (m *miner) choosePositives(i int, s *minerScratch) {
	if len(s.all) > 0 {
		m.pos.choose(m, i, s, &s.rng)
	}
}

var inf = float32(math.Inf(1))

// chooseMultiSimilarityPositives takes none of an anchor without negatives.
func (m *miner) chooseMultiSimilarityPositives(i int, s *minerScratch, _ *stream) {
	if s.negatives == 0 {
		return
	}
	m.loadSimilarities(i, s)
	hardest := scan.Largest(s.scores)
	limit := hardest + float32(option.OrDefault(m.cfg.Epsilon, defaultEpsilon))
	m.t.Values(pair.Similarity, i, s.all, s.dPos)
	for k, j := range s.all {
		if s.dPos[k] < limit {
			s.Pos = append(s.Pos, j)
		}
	}
}

func (m *miner) chooseMultiSimilarityNegatives(i int, s *minerScratch, _ *stream) {
	if len(s.all) == 0 {
		return
	}
	m.t.Values(pair.Similarity, i, s.all, s.dPos)
	limit := s.dPos[argmin(s.dPos)] - float32(option.OrDefault(m.cfg.Epsilon, defaultEpsilon))
	m.loadSimilarities(i, s)
	s.idx = scan.Between(s.scores, limit, inf, s.idx)
	switch len(s.idx) {
	case 0:
		s.NoCandidate++
	case m.t.NegativeCount(i):
		s.All = true
	default:
		s.Neg = append(s.Neg, s.idx...)
	}
}

// loadNearness loads s.v.
func (m *miner) loadNearness(i int, s *minerScratch) {
	if s.loaded != nearnessScores {
		s.offset = m.t.Nearness(i, s.scores)
		m.maskOutOfRange(s)
		s.loaded = nearnessScores
	}
}

// loadSimilarities loads s.v.
func (m *miner) loadSimilarities(i int, s *minerScratch) {
	if s.loaded != similarityScores {
		m.t.Similarities(i, s.scores)
		m.maskOutOfRange(s)
		s.loaded = similarityScores
	}
}

// nearestNegative returns the nearest negative. The anchor must have a negative.
func (m *miner) nearestNegative(i int, s *minerScratch) int32 {
	m.loadNearness(i, s)
	_, at := scan.MaxBelow(s.scores, inf)
	if m.t.AreNear(i, at) {
		// So near that similarities do not tell which is nearest.
		return m.candidateNegative(i, argmin(m.candidateDistances(pair.Squared, i, s)), s)
	}
	return int32(at)
}

// chooseSemiHardPositive takes the farthest positive nearer than the nearest of the chosen
// negatives. Distances are those that tell near points apart.
func (m *miner) chooseSemiHardPositive(i int, s *minerScratch, _ *stream) {
	if len(s.Neg) == 0 && !s.All {
		return
	}
	limit := inf
	nearest := s.Neg
	if s.All {
		nearest = []int32{m.nearestNegative(i, s)}
	}
	for _, j := range nearest {
		limit = min(limit, m.t.Value(pair.Squared, i, int(j), m.t.Row(i)[j]))
	}
	m.t.Values(pair.Squared, i, s.all, s.dPos)
	at := -1
	for k, d := range s.dPos {
		if d < limit && (at < 0 || d > s.dPos[at]) {
			at = k
		}
	}
	if at < 0 {
		s.NoCandidate++
		return
	}
	s.Pos = append(s.Pos, s.all[at])
}

// chooseSemiHard takes, for each positive, the nearest negative farther than it.
func (m *miner) chooseSemiHard(i int, s *minerScratch, _ *stream) {
	s.Paired = true
	m.loadNearness(i, s)
	for _, p := range s.Pos {
		_, at := scan.MaxBelow(s.scores, m.t.NearnessOf(i, int(p)))
		if m.t.AreNear(i, int(p)) || at >= 0 && m.t.AreNear(i, at) {
			at = m.semiHardByDifference(i, p, s)
		}
		switch {
		case at >= 0:
			s.Neg = append(s.Neg, int32(at))
		case m.cfg.HardFallback:
			s.Neg = append(s.Neg, m.nearestNegative(i, s))
			s.Fallback++
		default:
			s.Neg = append(s.Neg, -1)
			s.NoCandidate++
		}
	}
}

// semiHardByDifference is the choice among distances that similarities do not tell
// apart; -1 for none.
func (m *miner) semiHardByDifference(i int, p int32, s *minerScratch) int {
	d := m.candidateDistances(pair.Squared, i, s)
	dap := m.t.Value(pair.Squared, i, int(p), m.t.Row(i)[p])
	best, at := inf, -1
	for k, x := range d {
		if x > dap && x < best {
			best, at = x, k
		}
	}
	if at < 0 {
		return -1
	}
	return int(m.candidateNegative(i, at, s))
}

// chooseFaceNet draws, for each positive, among the negatives inside the margin.
func (m *miner) chooseFaceNet(i int, s *minerScratch, rng *stream) {
	s.Paired = true
	m.loadNearness(i, s)
	margin := option.OrDefault(m.cfg.Margin, defaultMargin)
	for _, p := range s.Pos {
		if m.t.AreNear(i, int(p)) {
			m.listInsideByDifference(i, p, s)
		} else {
			v := m.t.NearnessOf(i, int(p))
			lo := float64(v) - margin/2
			if m.cfg.Euclidean {
				d := math.Sqrt(max(0, float64(s.offset)-2*float64(v))) + margin
				lo = (float64(s.offset) - d*d) / 2
			}
			s.idx = scan.Between(s.scores, float32(lo), v, s.idx)
		}
		if len(s.idx) == 0 {
			s.Neg = append(s.Neg, m.candidateNegative(i, rng.intN(s.negatives), s))
			s.Fallback++
			continue
		}
		s.Neg = append(s.Neg, s.idx[rng.intN(len(s.idx))])
	}
}

// listInsideByDifference lists in s.idx the negatives inside the margin of a positive whose
// distance similarities do not tell.
func (m *miner) listInsideByDifference(i int, p int32, s *minerScratch) {
	measure := pair.Squared
	if m.cfg.Euclidean {
		measure = pair.Euclidean
	}
	d := m.candidateDistances(measure, i, s)
	dap := m.t.Value(measure, i, int(p), m.t.Row(i)[p])
	limit := float32(float64(dap) + option.OrDefault(m.cfg.Margin, defaultMargin))
	s.idx = s.idx[:0]
	for k, x := range d {
		if x > dap && x < limit {
			s.idx = append(s.idx, m.candidateNegative(i, k, s))
		}
	}
}

// candidateNegative returns the reference that is the k-th candidate negative of anchor i.
func (m *miner) candidateNegative(i, k int, s *minerScratch) int32 {
	if m.cfg.NegativeRange != (DistanceRange{}) {
		return s.others[k]
	}
	// The k-th negative is k plus the number of own references before it.
	own := m.t.Groups.NonNegatives(i)
	lo, hi := 0, len(own)
	for lo < hi {
		mid := (lo + hi) / 2
		if int(own[mid])-mid <= k {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int32(k + lo)
}

func argmin(x []float32) int {
	at := 0
	for k, v := range x {
		if v < x[at] {
			at = k
		}
	}
	return at
}

func argmax(x []float32) int {
	at := 0
	for k, v := range x {
		if v > x[at] {
			at = k
		}
	}
	return at
}

// grow returns a slice of length n, of s's storage where that suffices.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
