package loss

import "github.com/kindred-ml/kindred/pair"

// SNRContrastive is a contrastive loss on the ratio of noise to signal:
//
//	d = var(a - b) / var(a)
//	L = d for positives, (m - d)_+ for negatives
//
// with var the variance over the numbers of one embedding. Embeddings are
// centred, each at its own mean, before they are compared, which makes d a
// ratio of squared lengths. Terms are pairs of anchors whose variance is not 0;
// the default reduction is the mean.
//
// Yuan et al. 2019, "Signal-to-noise ratio: a robust distance metric for deep
// metric learning", without its zero-mean regulariser, which is
// objective.Options.ZeroMean here.
type SNRContrastive struct {
	Margin Optional // default 1
	Reduce Reduction
}

// Measure implements Loss.
func (SNRContrastive) Measure() pair.Measure { return pair.Squared }

// Reduction implements Loss.
func (l SNRContrastive) Reduction() Reduction { return l.Reduce.Or(Mean) }

// Centered implements Centered.
func (SNRContrastive) Centered() {}

// Set implements Sets.
func (l SNRContrastive) Set(s *Set) {
	if s.Sq == 0 {
		return
	}
	inv := 1 / s.Sq
	m := l.Margin.Or(1)
	for k, x := range s.Pos {
		d := float64(x) * inv
		s.term(d)
		s.DPos[k] = float32(inv)
		s.DSq -= d * inv
	}
	for k, x := range s.Neg {
		d := float64(x) * inv
		s.term(max(0, m-d))
		if d < m {
			s.DNeg[k] = float32(-inv)
			s.DSq += d * inv
		}
	}
}

// Centered is a loss on embeddings from each of which its own mean is taken.
type Centered interface{ Centered() }
