package mine

import (
	"math"

	"github.com/kindred-ml/kindred/pair"
)

// distanceWeighted draws, for each positive, a negative with probability
// proportional to min(MaxWeight, 1/q(D_an)), where
// q(d) = d^(dim-2) (1 - d²/4)^((dim-3)/2) is the density of distances between
// points spread uniformly over the unit sphere. D_an is clamped below at
// Nearest; beyond Cutoff, and from 2 on, the weight is 0. Where all weights of
// an anchor vanish it draws uniformly among its negatives.
//
// The maximum that keeps the exponentials in range is the anchor's own: one
// over the whole batch leaves most anchors with weights that underflow.
func (m *Miner) distanceWeighted(i int, s *Scratch, rng *stream) {
	d := m.t.Negatives(pair.Euclidean, i, s.dNeg)
	dim := float64(m.t.A.E.Cols)
	s.weight = grow(s.weight, len(d))
	largest := math.Inf(-1)
	nearest, cutoff := m.cfg.Nearest.Or(0.5), m.cfg.Cutoff.Or(1.4)
	most := math.Log(m.cfg.MaxWeight.Or(math.Inf(1)))
	for k, x := range d {
		s.weight[k] = math.Inf(-1)
		if float64(x) > cutoff || x >= 2 {
			continue
		}
		w := min(most, logInverseDensity(max(float64(x), nearest), dim))
		s.weight[k] = w
		largest = max(largest, w)
	}
	var total float64
	for k, w := range s.weight {
		if !math.IsInf(largest, -1) {
			total += math.Exp(w - largest)
		}
		s.weight[k] = total
	}
	s.Paired = len(s.Pos) > 0
	for range max(1, len(s.Pos)) {
		if total == 0 {
			s.Neg = append(s.Neg, m.negative(i, rng.below(len(d))))
			s.Fallback++
			continue
		}
		s.Neg = append(s.Neg, m.negative(i, firstAbove(s.weight, rng.unit()*total)))
	}
}

// logInverseDensity returns -log q(d).
func logInverseDensity(d, dim float64) float64 {
	return (2-dim)*math.Log(d) - (dim-3)/2*math.Log1p(-d*d/4)
}

// firstAbove returns the first index whose cumulative weight exceeds x.
func firstAbove(cumulative []float64, x float64) int {
	lo, hi := 0, len(cumulative)-1
	for lo < hi {
		mid := (lo + hi) / 2
		if cumulative[mid] > x {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
