package loss

import (
	"cmp"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// SubcenterArcFace is ArcFace with several centres for each class; the nearest counts:
//
//	L = -log( exp(s cos(theta_y + m)) / (exp(s cos(theta_y + m)) + sum over z != y of exp(s S_z)) )
//	S_c = max over centres k of c of S_k,  cos(theta_y) = S_y
//
// Where theta_y + m exceeds pi, cos(theta_y + m) is replaced as in ArcFace. If centres are equally
// near, the first counts. Terms are embeddings, which should be normalised; the default reduction is
// the mean.
//
// Deng et al. 2020, "Sub-center ArcFace: boosting face recognition by large-scale
// noisy web faces".
//
// Use it for verification with very many classes whose labels are wrong here and there, or whose members have several
// looks.
//
// Inside a class: each class has several centres, so its modes may stay apart, and mislabelled samples gather at a
// centre of their own.
type SubcenterArcFace struct {
	Margin  *float64 // m in radians, default 0.5
	Scale   *float64 // s, default 64
	Centers int      // per class, default 3
	Rate    *float64 // learning rate of the centres, default the network's
	Reduce  Reduction
	proxies
}

// Traits implements Loss.
func (l *SubcenterArcFace) Traits() Traits { return Traits{Reduction: l.Reduce, Proxies: l.centers()} }

// Terms implements Loss.
func (l *SubcenterArcFace) Terms() Terms { return SetTerms(l) }

// Learn implements Learner: centres start at N(0, 1).
func (l *SubcenterArcFace) Learn(classes, dim int, seed uint64) error {
	l.per = l.centers()
	return l.learn(l.Rate, classes, dim, seed, 1)
}

// centers is the number of centres of each class.
func (l *SubcenterArcFace) centers() int { return cmp.Or(max(l.Centers, 0), 3) }

// Set implements Sets.
func (l *SubcenterArcFace) Set(s *Set) {
	if len(s.Pos) == 0 {
		return
	}
	k, scale := l.centers(), option.OrDefault(l.Scale, 64)
	others := len(s.Neg) / k
	z := s.Scratch(1 + others)
	at := argmax(s.Pos)
	own, slope := cosPlusMargin(float64(s.Pos[at]), option.OrDefault(l.Margin, 0.5))
	z[0] = scale * own
	for c := range others {
		group := s.Neg[c*k : (c+1)*k]
		z[1+c] = scale * float64(group[argmax(group)])
	}
	s.Term(max(0, softmax(z, false)-scale*own))
	s.DPos[at] = float32(scale * (z[0] - 1) * slope)
	for c := range others {
		s.DNeg[c*k+argmax(s.Neg[c*k:(c+1)*k])] = float32(scale * z[1+c])
	}
}

// argmax returns the place of the largest similarity.
func argmax(x []float32) int {
	at := 0
	for k, v := range x {
		if v > x[at] {
			at = k
		}
	}
	return at
}
