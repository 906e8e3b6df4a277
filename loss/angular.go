package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// Angular bounds the angle at the negative in the triangle of anchor, positive
// and negative:
//
//	L = log(1 + sum over n of exp(f_apn))
//	f_apn = 4 tan²(alpha) (a + p)·n - 2 (1 + tan²(alpha)) a·p
//
// Terms are ordered positive pairs with a negative; the default reduction is
// the mean. It takes all positives with all negatives, and holds all
// similarities of the batch at once, whatever the batch size.
//
// Wang et al. 2017, "Deep metric learning with angular loss", in its N-pair
// form (equation 7).
//
// Use it when classes differ in scale: it bounds an angle, not a distance.
//
// Inside a class: all positives are pulled in; the bound on the angle at the negative does not depend on the class's
// radius.
type Angular struct {
	Degrees *float64 // alpha, default 40
	Reduce  Reduction
}

// Traits implements Loss.
func (l Angular) Traits() Traits { return Traits{Reduction: l.Reduce, AllPairs: true, CrossRows: true} }

// Terms implements Loss.
func (l Angular) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l Angular) Set(s *Set) {
	if !s.hasBothSides() {
		return
	}
	t := math.Tan(option.OrDefault(l.Degrees, 40) * math.Pi / 180)
	t *= t
	z := s.Scratch(len(s.Neg))
	for k, p := range s.Pos {
		cross := s.PosNeg[k*len(s.Neg) : (k+1)*len(s.Neg)]
		for j, n := range s.Neg {
			z[j] = 4*t*(float64(n)+float64(cross[j])) - 2*(1+t)*float64(p)
		}
		s.Term(softmax(z, true))
		var sum float64
		for j, w := range z {
			// As much again for the pair (p, a), in which this similarity is
			// the one between positive and negative.
			s.DNeg[j] += float32(2 * 4 * t * w)
			sum += w
		}
		s.DPos[k] = float32(-2 * (1 + t) * sum)
	}
}
