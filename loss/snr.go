package loss

import "github.com/kindred-ml/kindred/internal/base/option"

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
