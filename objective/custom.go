package objective

import "github.com/kindred-ml/kindred/internal/compute/pair"

// CustomPolicy is a policy of a program's own, for Config.CustomPositives or Config.CustomNegatives.
type CustomPolicy struct {
	// Name is what errors call it.
	Name string
	// Choose returns which of the candidates of an anchor count, as places in
	// Anchor.Candidates, which is never empty. It may return no place. For the same bits
	// from the same seed the choice must follow from the anchor alone. Several goroutines
	// call Choose at a time, and what it was given is valid until it returns.
	Choose func(a *Anchor) []int
}

// Anchor is a row of a batch for which a policy chooses. Do not change it.
type Anchor struct {
	// Row is the anchor's number in the batch. Candidates are the rows that can be chosen,
	// ascending, with those of the loss's memory after the batch: of the anchor's class for a
	// policy of positives, of other classes for one of negatives.
	Row        int
	Candidates []int32
	// Distances are the Euclidean distances of the candidates from the anchor.
	Distances []float32
	// Positives are those that were chosen before, for a policy of negatives, unless
	// positives are chosen by their negatives.
	Positives []int32

	rng *stream
}

// Draw returns a random number from 0 to n-1, which depends on the seed, the step and the
// anchor.
func (a *Anchor) Draw(n int) int { return a.rng.intN(n) }

// Names are those of the policies for positives and for negatives.
func (c MiningConfig) Names() (positives, negatives string) {
	positives, negatives = c.Positives.String(), c.Negatives.String()
	if c.CustomPositives != nil {
		positives = c.CustomPositives.Name
	}
	if c.CustomNegatives != nil {
		negatives = c.CustomNegatives.Name
	}
	return positives, negatives
}

func (o *CustomPolicy) choosePositives(m *miner, i int, s *minerScratch, rng *stream) {
	m.t.Values(pair.Euclidean, i, s.all, s.dPos)
	s.Pos = o.appendChosen(s.Pos, &Anchor{Row: i, Candidates: s.all, Distances: s.dPos, rng: rng})
}

func (o *CustomPolicy) chooseNegatives(m *miner, i int, s *minerScratch, rng *stream) {
	if m.cfg.NegativeRange == (DistanceRange{}) {
		s.others = m.t.NegativeIndices(i, s.others)
	}
	d := m.candidateDistances(pair.Euclidean, i, s)
	s.Neg = o.appendChosen(s.Neg, &Anchor{Row: i, Candidates: s.others, Distances: d, Positives: s.Pos, rng: rng})
	if len(s.Neg) == 0 {
		s.NoCandidate++
	}
}

// appendChosen appends the rows of what is chosen.
func (o *CustomPolicy) appendChosen(out []int32, a *Anchor) []int32 {
	for _, k := range o.Choose(a) {
		out = append(out, a.Candidates[k])
	}
	return out
}
