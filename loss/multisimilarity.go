package loss

import (
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// MultiSimilarity weights each pair by how it compares with the other pairs of
// its anchor:
//
//	L = (1/alpha) log(1 + sum over p of exp(-alpha (S_ap - lambda)))
//	  + (1/beta) log(1 + sum over n of exp(beta (S_an - lambda)))
//
// over the pairs that multi-similarity mining kept. Terms are anchors; an
// anchor without positives or without negatives counts as 0. The default
// reduction is the mean.
//
// Wang et al. 2019, "Multi-similarity loss with general pair weighting for deep
// metric learning".
//
// Use it as a strong default on fine-grained retrieval; mining is part of the method, so no further choice is needed.
//
// Inside a class: positives more similar than lambda have little weight, which leaves some spread; easy positives
// leave more.
type MultiSimilarity struct {
	Alpha  *float64 // default 2
	Beta   *float64 // default 50
	Lambda *float64 // default 0.5
	Reduce Reduction
}

// Traits implements Loss.
func (l MultiSimilarity) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l MultiSimilarity) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l MultiSimilarity) Set(s *Set) {
	if !s.hasBothSides() {
		s.Term(0)
		return
	}
	alpha, beta, lambda := option.OrDefault(l.Alpha, 2), option.OrDefault(l.Beta, 50), option.OrDefault(l.Lambda, 0.5)
	v := linearSoftmax(s.DPos, s.Pos, -alpha, lambda, true) / alpha
	simd.Scale(s.DPos, -1, s.DPos)
	v += linearSoftmax(s.DNeg, s.Neg, beta, lambda, true) / beta
	s.Term(v)
}
