package loss

import "github.com/kindred-ml/kindred/pair"

// MultiSimilarity weighs each pair by how it compares with the others of its
// anchor:
//
//	L = (1/alpha) log(1 + sum over p of exp(-alpha (S_ap - lambda)))
//	  + (1/beta) log(1 + sum over n of exp(beta (S_an - lambda)))
//
// over the pairs that multi-similarity mining kept. Terms are anchors; one that
// lacks either side counts with 0. The default reduction is the mean.
//
// Wang et al. 2019, "Multi-similarity loss with general pair weighting for deep
// metric learning".
type MultiSimilarity struct {
	Alpha  Optional // default 2
	Beta   Optional // default 50
	Lambda Optional // default 0.5
	Reduce Reduction
}

// Measure implements Loss.
func (MultiSimilarity) Measure() pair.Measure { return pair.Similarity }

// Reduction implements Loss.
func (l MultiSimilarity) Reduction() Reduction { return l.Reduce.Or(Mean) }

// Set implements Sets.
func (l MultiSimilarity) Set(s *Set) {
	if !s.both() {
		s.term(0)
		return
	}
	alpha, beta, lambda := l.Alpha.Or(2), l.Beta.Or(50), l.Lambda.Or(0.5)
	z := s.scratch(max(len(s.Pos), len(s.Neg)))
	p := z[:len(s.Pos)]
	scaled(p, s.Pos, -alpha, lambda)
	v := softmax(p, true) / alpha
	for k, w := range p {
		s.DPos[k] = float32(-w)
	}
	n := z[:len(s.Neg)]
	scaled(n, s.Neg, beta, lambda)
	v += softmax(n, true) / beta
	for k, w := range n {
		s.DNeg[k] = float32(w)
	}
	s.term(v)
}
