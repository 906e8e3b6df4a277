package objective

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/compute/pair"
)

// DistanceRange is a range of Euclidean distances, both ends included; the zero value is all
// distances. Vectors of norm 1 with cosine similarity S have the distance sqrt(2 - 2S),
// so similarities from a to b are distances from sqrt(2 - 2b) to sqrt(2 - 2a).
type DistanceRange struct {
	From *float64 // default 0
	To   *float64 // default no end
}

// check reports ends that make no sense, under the names that they have in
// configurations.
func (r DistanceRange) check(side string) error {
	from, to := option.OrDefault(r.From, 0), option.OrDefault(r.To, math.MaxFloat64)
	for _, n := range []struct {
		key   string
		value float64
	}{{"from", from}, {"to", to}} {
		if !(n.value >= 0 && n.value <= math.MaxFloat64) {
			return fmt.Errorf("%s_%s is %v: it must be a number of at least 0", side, n.key, n.value)
		}
	}
	if from > to {
		return fmt.Errorf("%s_from is %v, beyond %s_to, %v", side, from, side, to)
	}
	return nil
}

// filter removes those of idx from it whose distances, in d, are outside the range.
func (r DistanceRange) filter(idx []int32, d []float32) []int32 {
	from, to := float32(option.OrDefault(r.From, 0)), float32(option.OrDefault(r.To, math.Inf(1)))
	n := 0
	for k, j := range idx {
		if d[k] >= from && d[k] <= to {
			idx[n] = j
			n++
		}
	}
	return idx[:n]
}

// listCandidates lists what anchor i may choose from: s.all are the positives, s.others the
// negatives if there is a range of them, and s.negatives is how many there are.
func (m *miner) listCandidates(i int, s *minerScratch) {
	t := m.t
	s.all = t.Groups.Positives(i, s.all)
	s.dPos = grow(s.dPos, len(s.all))
	s.negatives = t.NegativeCount(i)
	if r := m.cfg.PositiveRange; r != (DistanceRange{}) && len(s.all) > 0 {
		t.Values(pair.Euclidean, i, s.all, s.dPos)
		s.all = r.filter(s.all, s.dPos)
		s.dPos = s.dPos[:len(s.all)]
		if len(s.all) == 0 {
			s.NoCandidate++
		}
	}
	if r := m.cfg.NegativeRange; r != (DistanceRange{}) && s.negatives > 0 {
		s.others = r.filter(t.NegativeIndices(i, s.others), t.Negatives(pair.Euclidean, i, s.dNeg))
		s.negatives = len(s.others)
		if s.negatives == 0 {
			s.NoCandidate++
		}
	}
}

// maskOutOfRange sets s.v, which has an entry for each reference, to -Inf for negatives outside
// their range.
func (m *miner) maskOutOfRange(s *minerScratch) {
	if m.cfg.NegativeRange == (DistanceRange{}) {
		return
	}
	k := 0
	for j := range s.scores {
		if k < len(s.others) && int(s.others[k]) == j {
			k++
			continue
		}
		s.scores[j] = -inf
	}
}

// candidateDistances returns measure q between anchor i and each of its candidate negatives,
// ascending.
func (m *miner) candidateDistances(q pair.Measure, i int, s *minerScratch) []float32 {
	if m.cfg.NegativeRange == (DistanceRange{}) {
		return m.t.Negatives(q, i, s.dNeg)
	}
	d := s.dNeg[:len(s.others)]
	m.t.Values(q, i, s.others, d)
	return d
}
