package loss

import (
	"github.com/kindred-ml/kindred/internal/base/option"
)

// Contrastive pulls positives together and pushes negatives a margin away:
//
//	L = D for positives, (m - D)_+ for negatives
//
// with D Euclidean, or squared by choice. Terms are pairs; the default
// reduction is the mean over all pairs used. An anchor with only positives or
// only negatives contributes those.
//
// Hadsell et al. 2006, "Dimensionality reduction by learning an invariant
// mapping", in the linear form common in metric learning.
//
// Use it when an absolute threshold on distance will be used, as in verification.
//
// Inside a class: positives are pulled to distance 0 without slack: the strongest collapse of all pair losses with
// all positives. With easy positives only neighbours are merged.
type Contrastive struct {
	Margin  *float64 // default 0.5
	Squared bool     // default Euclidean
	Reduce  Reduction
}

// Traits implements Loss.
func (l Contrastive) Traits() Traits {
	return Traits{Measure: measureOf(!l.Squared), Reduction: l.Reduce}
}

// Terms implements Loss.
func (l Contrastive) Terms() Terms { return PairTerms(l) }

// Pairs implements Pairs.
func (l Contrastive) Pairs(_ int64, positive bool, x, val, dx []float32) float64 {
	if positive {
		for k, d := range x {
			val[k], dx[k] = d, 1
		}
		return 0
	}
	m := float32(option.OrDefault(l.Margin, 0.5))
	for k, d := range x {
		val[k], dx[k] = 0, 0
		if d < m {
			val[k], dx[k] = m-d, -1
		}
	}
	return 0
}

// SNRContrastive is a contrastive loss on the ratio of noise to signal:
//
//	d = var(a - b) / var(a)
//	L = d for positives, (m - d)_+ for negatives
//
// with var the variance of the numbers in one embedding. Each embedding is
// centred at its own mean before the comparison, which makes d a ratio of
// squared lengths. Terms are the pairs of anchors whose variance is not 0; the
// default reduction is the mean.
//
// Yuan et al. 2019, "Signal-to-noise ratio: a robust distance metric for deep
// metric learning", without its zero-mean regulariser, which is
// objective.Options.ZeroMean here.
//
// Use it when embeddings are not normalised and their scale should not matter.
//
// Inside a class: all chosen positives are pulled in equally. With all or random positives a class is drawn to one
// point; with easy positives only nearest neighbours are tied together, and a class may keep several modes.
type SNRContrastive struct {
	Margin *float64 // default 1
	Reduce Reduction
}

// Traits implements Loss.
func (l SNRContrastive) Traits() Traits {
	return Traits{Measure: Squared, Reduction: l.Reduce, Centered: true}
}

// Terms implements Loss.
func (l SNRContrastive) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l SNRContrastive) Set(s *Set) {
	if s.Sq == 0 {
		return
	}
	inv := 1 / s.Sq
	m := option.OrDefault(l.Margin, 1)
	for k, x := range s.Pos {
		d := float64(x) * inv
		s.Term(d)
		s.DPos[k] = float32(inv)
		s.DSq -= d * inv
	}
	for k, x := range s.Neg {
		d := float64(x) * inv
		s.Term(max(0, m-d))
		if d < m {
			s.DNeg[k] = float32(-inv)
			s.DSq += d * inv
		}
	}
}
