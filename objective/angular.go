package objective

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// chooseAngular draws, for each positive, among the negatives that it and the anchor are
// seen from at an angle above Angle,
//
//	atan( |a-p| / (2 |n-c|) ) > angle,  c = (a+p)/2,
//
// which is |n-c|² < |a-p|² / (4 tan² angle). Distances are taken between the vectors
// themselves: |n-c|² from similarities would lose all its digits where it matters,
// near 0.
func (m *miner) chooseAngular(i int, s *minerScratch, rng *stream) {
	s.Paired = true
	a := m.t.A.E.Row(i)
	tan := math.Tan(option.OrDefault(m.cfg.Angle, defaultAngle) * math.Pi / 180)
	s.center = grow(s.center, len(a))
	if m.cfg.NegativeRange == (DistanceRange{}) {
		s.others = m.t.NegativeIndices(i, s.others)
	}
	for _, p := range s.Pos {
		var apart float64 // |a-p|²
		for k, x := range m.t.R.E.Row(int(p)) {
			d := float64(a[k]) - float64(x)
			apart += d * d
			s.center[k] = a[k]/2 + x/2
		}
		limit := apart / (4 * tan * tan)
		s.idx = s.idx[:0]
		for _, j := range s.others {
			if isInsideBall(m.t.R.E.Row(int(j)), s.center, limit) {
				s.idx = append(s.idx, j)
			}
		}
		if len(s.idx) == 0 {
			s.Neg = append(s.Neg, -1)
			s.NoCandidate++
			continue
		}
		s.Neg = append(s.Neg, s.idx[rng.intN(len(s.idx))])
	}
}

// isInsideBall reports whether |x-c|² < limit.
func isInsideBall(x, c []float32, limit float64) bool {
	var sum float64
	for k, v := range x {
		d := float64(v) - float64(c[k])
		sum += d * d
		if sum >= limit {
			return false
		}
	}
	return sum < limit
}
