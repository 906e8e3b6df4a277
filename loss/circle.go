package loss

import "github.com/kindred-ml/kindred/internal/base/option"

// Circle weights every similarity by its distance from its optimum:
//
//	L = log(1 + sum over n of exp(gamma a_n (S_an - m)) * sum over p of exp(-gamma a_p (S_ap - 1 + m)))
//	a_p = (1 + m - S_ap)_+,  a_n = (S_an + m)_+
//
// The weights a count as constants in the gradient, as in the paper. Terms are
// anchors with positives and negatives; the default reduction is the mean.
//
// Sun et al. 2020, "Circle loss: a unified perspective of pair similarity
// optimization".
//
// Use it when similar positives and dissimilar negatives should both be released early.
//
// Inside a class: positives beyond 1 - m have little weight, so a class keeps a small radius.
type Circle struct {
	Margin *float64 // m, default 0.4
	Gamma  *float64 // default 80
	Reduce Reduction
}

// Traits implements Loss.
func (l Circle) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l Circle) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l Circle) Set(s *Set) {
	if !s.hasBothSides() {
		return
	}
	m, gamma := option.OrDefault(l.Margin, 0.4), option.OrDefault(l.Gamma, 80)
	z := s.Scratch(len(s.Pos) + len(s.Neg))
	p, n := z[:len(s.Pos)], z[len(s.Pos):]
	for k, x := range s.Pos {
		a := max(0, 1+m-float64(x))
		p[k] = -gamma * a * (float64(x) - 1 + m)
	}
	for k, x := range s.Neg {
		a := max(0, float64(x)+m)
		n[k] = gamma * a * (float64(x) - m)
	}
	v, w := softplus(softmax(p, false) + softmax(n, false))
	s.Term(v)
	for k, x := range s.Pos {
		s.DPos[k] = float32(-w * p[k] * gamma * max(0, 1+m-float64(x)))
	}
	for k, x := range s.Neg {
		s.DNeg[k] = float32(w * n[k] * gamma * max(0, float64(x)+m))
	}
}
