package objective

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/kernel/scan"
)

// chooseDistanceWeighted draws, for each positive, a negative with probability
// proportional to min(MaxWeight, 1/q(D_an)), where
// q(d) = d^(dim-2) (1 - d²/4)^((dim-3)/2) is the density of distances between
// points spread uniformly over the unit sphere. D_an is clamped below at
// Nearest; beyond Cutoff, and from 2 on, the weight is 0. Where all weights of
// an anchor vanish it draws uniformly among its negatives.
//
// The maximum that keeps the exponentials in range is the anchor's own: one
// over the whole batch leaves most anchors with weights that underflow.
func (m *miner) chooseDistanceWeighted(i int, s *minerScratch, rng *stream) {
	m.loadNearness(i, s)
	_, most := m.cfg.Reach()
	limit := float32((float64(s.offset) - most*most) / 2)
	s.idx = scan.Between(s.scores, math.Nextafter32(limit, -inf), inf, s.idx)
	s.weight = grow(s.weight, len(s.idx))
	largest := m.density.logWeights(s.scores, s.offset, s.idx, s.weight)
	var total float64
	if !math.IsInf(float64(largest), -1) {
		total = float64(scan.ExpSum(s.weight, s.weight, 1, -largest))
	}
	s.Paired = len(s.Pos) > 0
	for range max(1, len(s.Pos)) {
		if total == 0 {
			s.Neg = append(s.Neg, m.candidateNegative(i, rng.intN(s.negatives), s))
			s.Fallback++
			continue
		}
		s.Neg = append(s.Neg, s.idx[drawIndex(s.weight, rng.uniform()*total)])
	}
}

// drawIndex returns the first index at which the cumulative weight exceeds x, or the
// last of positive weight if rounding left it none.
func drawIndex(weight []float32, x float64) int {
	var sum float64
	last := 0
	for k, w := range weight {
		sum += float64(w)
		if sum > x {
			return k
		}
		if w > 0 {
			last = k
		}
	}
	return last
}

// density is log(1/q), clamped as the configuration says, as a function of the
// squared distance: a table between Nearest² and Cutoff², interpolated. Between
// its points the weights are off by a part in ten thousand at dimension 512.
type density struct {
	dim           int
	cfg           MiningConfig
	lo, hi, scale float64 // squared distances of the first and last point
	table         []float32
	direct        bool // the range reaches the pole at D = 2
	maxLogWeight  float32
}

const densityPoints = 1 << 13

func (d *density) prepare(cfg MiningConfig, dim int) {
	if d.dim == dim && d.cfg == cfg {
		return
	}
	d.dim, d.cfg = dim, cfg
	nearest, cutoff := cfg.Reach()
	d.lo, d.hi = nearest*nearest, cutoff*cutoff
	d.maxLogWeight = float32(math.Log(option.OrDefault(cfg.MaxWeight, math.Inf(1))))
	d.direct = !(d.lo > 0.01 && d.hi < 3.9 && d.hi > d.lo)
	if d.direct {
		return
	}
	d.table = grow(d.table, densityPoints+1)
	d.scale = densityPoints / (d.hi - d.lo)
	for k := range d.table {
		d.table[k] = float32(d.logInverse(d.lo + float64(k)/d.scale))
	}
}

// logInverse returns log(1/q) at a squared distance, -Inf from D = 2 on.
func (d *density) logInverse(d2 float64) float64 {
	if d2 >= 4 {
		return math.Inf(-1)
	}
	d2 = max(d2, 1e-12) // equal points, if Nearest is 0
	dim := float64(d.dim)
	return (2-dim)/2*math.Log(d2) - (dim-3)/2*math.Log1p(-d2/4)
}

// logWeights sets w[k] to the logarithm of the weight of the reference idx[k],
// whose squared distance is c - 2 v[idx[k]], and returns the largest.
func (d *density) logWeights(v []float32, c float32, idx []int32, w []float32) float32 {
	largest := -inf
	w = w[:len(idx)]
	if d.direct {
		for k, j := range idx {
			w[k] = min(d.maxLogWeight, float32(d.logInverse(max(d.lo, float64(c)-2*float64(v[j])))))
			largest = max(largest, w[k])
		}
		return largest
	}
	table := (*[densityPoints + 1]float32)(d.table)
	shift := float64(c) - d.lo
	for k, j := range idx {
		// Comparisons instead of min and max, which take care of NaN.
		at := (shift - 2*float64(v[j])) * d.scale
		if at < 0 {
			at = 0
		}
		if at > densityPoints-1 {
			at = densityPoints - 1
		}
		n := int(at)
		x := table[n] + float32(at-float64(n))*(table[n+1]-table[n])
		if x > d.maxLogWeight {
			x = d.maxLogWeight
		}
		if x > largest {
			largest = x
		}
		w[k] = x
	}
	return largest
}
