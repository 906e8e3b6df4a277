package loss

import "github.com/kindred-ml/kindred/internal/base/option"

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
