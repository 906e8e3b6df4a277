package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// RankedList keeps positives within alpha - m and negatives beyond alpha:
//
//	L = (1-l) sum over p with D_ap > alpha - m of w_p (D_ap - alpha + m) / sum of w_p
//	  + l sum over n with D_an < alpha of w_n (alpha - D_an) / sum of w_n
//	w_p = exp(T_p (D_ap - alpha + m)),  w_n = exp(T_n (alpha - D_an))
//
// with D Euclidean. The weights count as constants in the gradient. Terms are
// anchors that have a positive or a negative; the default reduction is the
// mean.
//
// Wang et al. 2019, "Ranked list loss for deep metric learning".
//
// Use it when a class should keep a radius of its own by design.
//
// Inside a class: positives within alpha - m cost nothing: the class keeps a ball of that size and the structure
// within it.
type RankedList struct {
	Alpha     *float64 // default 1.2
	Margin    *float64 // m, default 0.4
	PosWeight *float64 // T_p, default 0
	NegWeight *float64 // T_n, default 10
	Imbalance *float64 // l, default 0.5
	Reduce    Reduction
}

// Traits implements Loss.
func (l RankedList) Traits() Traits { return Traits{Measure: Euclidean, Reduction: l.Reduce} }

// Terms implements Loss.
func (l RankedList) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l RankedList) Set(s *Set) {
	if len(s.Pos)+len(s.Neg) == 0 {
		return
	}
	alpha, share := option.OrDefault(l.Alpha, 1.2), option.OrDefault(l.Imbalance, 0.5)
	v := violations(s, s.Pos, s.DPos, alpha-option.OrDefault(l.Margin, 0.4), option.OrDefault(l.PosWeight, 0), 1,
		1-share)
	v += violations(s, s.Neg, s.DNeg, alpha, option.OrDefault(l.NegWeight, 10), -1, share)
	s.Term(v)
}

// violations returns share times the mean of v = sign (x - bound) over v > 0,
// weighted by exp(temperature v), and sets dx to its derivative.
func violations(s *Set, x, dx []float32, bound, temperature, sign, share float64) float64 {
	z := s.Scratch(len(x))
	for k, d := range x {
		z[k] = math.Inf(-1)
		if v := sign * (float64(d) - bound); v > 0 {
			z[k] = temperature * v
		}
	}
	if math.IsInf(softmax(z, false), -1) {
		return 0
	}
	var sum float64
	for k, w := range z {
		if w > 0 {
			sum += w * sign * (float64(x[k]) - bound)
			dx[k] = float32(share * w * sign)
		}
	}
	return share * sum
}
