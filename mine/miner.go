package mine

import (
	"math"

	"github.com/kindred-ml/kindred/pair"
)

// Config chooses a miner. The zero value is easy positives with FaceNet's
// negatives at margin 0.2 in squared distance.
type Config struct {
	Positives Positive
	Negatives Negative

	// Margin (default 0.2), in squared distance or Euclidean, bounds
	// FaceNetNegative.
	Margin    Optional
	Euclidean bool
	// HardFallback gives an anchor without a semi-hard negative its nearest one.
	HardFallback bool
	// Epsilon (default 0.1) is the slack of the multi-similarity policies.
	Epsilon Optional
	// Nearest (default 0.5), Cutoff (default 1.4) and MaxWeight (default none)
	// shape DistanceNegative: distances are clamped below at Nearest, weights
	// vanish beyond Cutoff, and none exceeds MaxWeight.
	Nearest, Cutoff, MaxWeight Optional

	Seed uint64
}

// Optional is a number whose default is not 0.
type Optional = pair.Optional

// Value returns an Optional that is set to x.
func Value(x float64) Optional { return pair.Set(x) }

// Selection is what a Miner chose for one anchor. Its storage is reused by the
// next call with the same Scratch.
type Selection struct {
	Pos, Neg []int32
	// Paired: Neg[k] was chosen for Pos[k], -1 if there was no candidate.
	// Otherwise every positive goes with every negative.
	Paired bool
	// All: the negatives are all there are; Neg is empty.
	All bool
	// NoCandidate counts positives for which the negative policy found nothing,
	// Fallback those for which it fell back to another policy.
	NoCandidate, Fallback int
}

// Scratch is the memory of one goroutine that calls a Miner.
type Scratch struct {
	Selection
	all    []int32
	dPos   []float32
	dNeg   []float32
	weight []float64
}

// Miner applies a Config to the anchors of a table. It may be used by several
// goroutines at a time between calls of Begin.
type Miner struct {
	cfg  Config
	t    *pair.Table
	step uint64
}

// New returns a miner.
func New(cfg Config) *Miner { return &Miner{cfg: cfg} }

// Configure changes the strategies from the next Begin on.
func (m *Miner) Configure(cfg Config) { m.cfg = cfg }

// Begin directs the miner to the anchors of t in the given step.
func (m *Miner) Begin(t *pair.Table, step uint64) { m.t, m.step = t, step }

// Mine chooses positives and negatives of anchor i, which must be loaded in the
// table. Each side is chosen even if the other is empty, except by negative
// policies that look at the positive.
func (m *Miner) Mine(i int, s *Scratch) *Selection {
	t := m.t
	s.Selection = Selection{Pos: s.Pos[:0], Neg: s.Neg[:0]}
	rng := newStream(m.cfg.Seed, m.step, uint64(i))
	s.all = t.Groups.Positives(i, s.all)
	s.dPos = grow(s.dPos, len(s.all))
	s.dNeg = grow(s.dNeg, t.Refs())
	negatives := t.NegativeCount(i)

	m.positives(i, s, &rng)
	if negatives == 0 {
		return &s.Selection
	}
	switch m.cfg.Negatives {
	case AllNegatives:
		s.All = true
	case HardNegative:
		d := t.Negatives(pair.Squared, i, s.dNeg)
		s.Neg = append(s.Neg, m.negative(i, argmin(d)))
	case EasyNegative:
		d := t.Negatives(pair.Squared, i, s.dNeg)
		s.Neg = append(s.Neg, m.negative(i, argmax(d)))
	case RandomNegative:
		s.Paired = len(s.Pos) > 0
		for range max(1, len(s.Pos)) {
			s.Neg = append(s.Neg, m.negative(i, rng.below(negatives)))
		}
	case DistanceNegative:
		m.distanceWeighted(i, s, &rng)
	case MultiSimilarityNegatives:
		m.multiSimilarityNegatives(i, s)
	case SemiHardNegative:
		m.semiHard(i, s)
	case FaceNetNegative:
		m.faceNet(i, s, &rng)
	}
	return &s.Selection
}

// positives fills s.Pos from s.all.
func (m *Miner) positives(i int, s *Scratch, rng *stream) {
	if len(s.all) == 0 {
		return
	}
	t := m.t
	switch m.cfg.Positives {
	case AllPositives:
		s.Pos = append(s.Pos, s.all...)
	case RandomPositive:
		s.Pos = append(s.Pos, s.all[rng.below(len(s.all))])
	case EasyPositive:
		t.Values(pair.Squared, i, s.all, s.dPos)
		s.Pos = append(s.Pos, s.all[argmin(s.dPos)])
	case HardPositive:
		t.Values(pair.Squared, i, s.all, s.dPos)
		s.Pos = append(s.Pos, s.all[argmax(s.dPos)])
	case MultiSimilarityPositives:
		if t.NegativeCount(i) == 0 {
			return
		}
		limit := slicesMax(t.Negatives(pair.Similarity, i, s.dNeg)) + float32(m.cfg.Epsilon.Or(0.1))
		t.Values(pair.Similarity, i, s.all, s.dPos)
		for k, j := range s.all {
			if s.dPos[k] < limit {
				s.Pos = append(s.Pos, j)
			}
		}
	}
}

func (m *Miner) multiSimilarityNegatives(i int, s *Scratch) {
	if len(s.all) == 0 {
		return
	}
	t := m.t
	t.Values(pair.Similarity, i, s.all, s.dPos)
	limit := s.dPos[argmin(s.dPos)] - float32(m.cfg.Epsilon.Or(0.1))
	d := t.Negatives(pair.Similarity, i, s.dNeg)
	m.collect(i, s, d, func(x float32) bool { return x > limit })
	if len(s.Neg) == 0 {
		s.NoCandidate++
	}
}

// collect appends the negatives whose value in d passes keep.
func (m *Miner) collect(i int, s *Scratch, d []float32, keep func(float32) bool) {
	own, o, j := m.t.Groups.Own(i), 0, int32(0)
	for _, x := range d {
		for o < len(own) && own[o] == j {
			o++
			j++
		}
		if keep(x) {
			s.Neg = append(s.Neg, j)
		}
		j++
	}
}

// semiHard takes, for each positive, the nearest negative farther than it.
func (m *Miner) semiHard(i int, s *Scratch) {
	s.Paired = true
	d := m.t.Negatives(pair.Squared, i, s.dNeg)
	s.dPos = s.dPos[:len(s.Pos)]
	m.t.Values(pair.Squared, i, s.Pos, s.dPos)
	for _, dap := range s.dPos {
		best, at := float32(math.Inf(1)), -1
		for k, x := range d {
			if x > dap && x < best {
				best, at = x, k
			}
		}
		switch {
		case at >= 0:
			s.Neg = append(s.Neg, m.negative(i, at))
		case m.cfg.HardFallback:
			s.Neg = append(s.Neg, m.negative(i, argmin(d)))
			s.Fallback++
		default:
			s.Neg = append(s.Neg, -1)
			s.NoCandidate++
		}
	}
}

// faceNet draws, for each positive, among the negatives inside the margin.
func (m *Miner) faceNet(i int, s *Scratch, rng *stream) {
	s.Paired = true
	measure := pair.Squared
	if m.cfg.Euclidean {
		measure = pair.Euclidean
	}
	margin := m.cfg.Margin.Or(0.2)
	d := m.t.Negatives(measure, i, s.dNeg)
	s.dPos = s.dPos[:len(s.Pos)]
	m.t.Values(measure, i, s.Pos, s.dPos)
	for _, dap := range s.dPos {
		limit := float32(float64(dap) + margin)
		n := 0
		for _, x := range d {
			if x > dap && x < limit {
				n++
			}
		}
		if n == 0 {
			s.Neg = append(s.Neg, m.negative(i, rng.below(len(d))))
			s.Fallback++
			continue
		}
		skip := rng.below(n)
		for k, x := range d {
			if x > dap && x < limit {
				if skip == 0 {
					s.Neg = append(s.Neg, m.negative(i, k))
					break
				}
				skip--
			}
		}
	}
}

// negative returns the reference that is the k-th negative of anchor i.
func (m *Miner) negative(i, k int) int32 {
	// The k-th negative is k plus the number of own references before it.
	own := m.t.Groups.Own(i)
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

func slicesMax(x []float32) float32 { return x[argmax(x)] }

// grow returns a slice of length n, of s's storage where that suffices.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
