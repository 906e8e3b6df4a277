package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// GeneralizedLifted compares soft maxima over an anchor's pairs:
//
//	L = ( log sum over p of exp(D_ap) + log sum over n of exp(m - D_an) )_+
//
// with D Euclidean. Terms are anchors with positives and negatives; the default reduction is the
// mean.
//
// Hermans et al. 2017, "In defense of the triplet loss".
//
// Use it like lifted, but smoother and anchor by anchor.
//
// Inside a class: the farthest positive dominates the soft maximum, so classes are pulled in from their outskirts.
type GeneralizedLifted struct {
	Margin *float64 // default 1
	Reduce Reduction
}

// Traits implements Loss.
func (l GeneralizedLifted) Traits() Traits { return Traits{Measure: Euclidean, Reduction: l.Reduce} }

// Terms implements Loss.
func (l GeneralizedLifted) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l GeneralizedLifted) Set(s *Set) {
	if !s.hasBothSides() {
		return
	}
	z := s.Scratch(len(s.Pos) + len(s.Neg))
	p, n := z[:len(s.Pos)], z[len(s.Pos):]
	scaleShifted(p, s.Pos, 1, 0)
	scaleShifted(n, s.Neg, -1, option.OrDefault(l.Margin, 1))
	v := max(0, softmax(p, false)+softmax(n, false))
	s.Term(v)
	if v == 0 {
		return
	}
	for k, w := range p {
		s.DPos[k] = float32(w)
	}
	for k, w := range n {
		s.DNeg[k] = float32(-w)
	}
}

// Lifted is the lifted structure loss. It compares every positive pair with the negatives of both
// its items:
//
//	J_ij = log( sum over n in N(i) of exp(m - D_in) + sum over n in N(j) of exp(m - D_jn) ) + D_ij
//	L = 1/2 (J_ij)_+²
//
// with D Euclidean. Terms are ordered positive pairs (the paper counts each
// pair once); the default reduction is the mean. It takes all positives with
// all negatives.
//
// Song et al. 2016, "Deep metric learning via lifted structured feature
// embedding".
//
// Use it when a batch is small and every pair in it should count.
//
// Inside a class: every positive pair is pulled in until its hinge is met; classes collapse as with all positives.
type Lifted struct {
	Margin *float64 // default 1
	Reduce Reduction
}

// Traits implements Loss.
func (l Lifted) Traits() Traits {
	return Traits{Measure: Euclidean, Reduction: l.Reduce, AllPairs: true, Passes: 1, Sums: 1}
}

// Terms implements Loss.
func (l Lifted) Terms() Terms { return SetTerms(l) }

// Summary implements MultiPass: the log of the anchor's sum over negatives.
func (l Lifted) Summary(_ int, s *Set, sums []float64) {
	z := s.Scratch(len(s.Neg))
	scaleShifted(z, s.Neg, -1, option.OrDefault(l.Margin, 1))
	sums[0] = softmax(z, false)
}

// Set implements Sets.
func (l Lifted) Set(s *Set) {
	if len(s.Pos) == 0 {
		return
	}
	// dA is the derivative with respect to the anchor's log-sum. The pair
	// (j, i) depends on it as much as (i, j): J is symmetric.
	var dA float64
	for k, d := range s.Pos {
		a, b := s.Own, s.Others[k]
		top := max(a, b)
		if math.IsInf(top, -1) {
			continue
		}
		sum := math.Exp(a-top) + math.Exp(b-top)
		j := max(0, top+math.Log(sum)+float64(d))
		s.Term(j * j / 2)
		s.DPos[k] = float32(j)
		dA += 2 * j * math.Exp(a-top) / sum
	}
	if dA == 0 {
		return
	}
	z := s.Scratch(len(s.Neg))
	scaleShifted(z, s.Neg, -1, option.OrDefault(l.Margin, 1))
	softmax(z, false)
	for k, w := range z {
		s.DNeg[k] = float32(-w * dA)
	}
}
