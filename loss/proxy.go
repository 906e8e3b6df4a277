package loss

import (
	"cmp"
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// ProxyNCA compares embeddings with one learnable proxy per class:
//
//	L = -log( exp(-d(e, p_y)) / sum over z != y of exp(-d(e, p_z)) )
//
// with d the squared distance after both are multiplied by a scale; proxies are
// normalised, and embeddings should be too. The proxy of the embedding's own
// class is not in the denominator. Terms are embeddings, provided there are at
// least two classes; the default reduction is the mean.
//
// Movshovitz-Attias et al. 2017, "No fuss distance metric learning using
// proxies".
//
// Use it when batches cannot be balanced, or classes have few samples: no mining and fast convergence.
//
// Inside a class: each class has one direction to which all its members are drawn, so the modes of a class are merged
// whatever the mining.
type ProxyNCA struct {
	Scale  *float64 // default 3
	Rate   *float64 // learning rate of the proxies, default the network's
	Reduce Reduction
	proxies
}

// Traits implements Loss.
func (l *ProxyNCA) Traits() Traits { return Traits{Measure: Squared, Reduction: l.Reduce, Proxies: 1} }

// Terms implements Loss.
func (l *ProxyNCA) Terms() Terms { return SetTerms(l) }

// Learn implements Learner: proxies start at N(0, 1) / 8.
func (l *ProxyNCA) Learn(classes, dim int, seed uint64) error {
	return l.learn(l.Rate, classes, dim, seed, 1.0/8)
}

// Set implements Sets.
func (l *ProxyNCA) Set(s *Set) {
	if !s.hasBothSides() {
		return
	}
	a := option.OrDefault(l.Scale, 3)
	a *= a
	z := s.Scratch(len(s.Neg))
	scaleShifted(z, s.Neg, -a, 0)
	s.Term(a*float64(s.Pos[0]) + softmax(z, false))
	s.DPos[0] = float32(a)
	for k, w := range z {
		s.DNeg[k] = float32(-a * w)
	}
}

// ProxyAnchor treats each proxy as an anchor among the batch's embeddings:
//
//	L = 1/|P+| sum over proxies with positives of log(1 + sum over x of the class of exp(-alpha (S - delta)))
//	  + 1/|P| sum over proxies of log(1 + sum over other x of exp(alpha (S + delta)))
//
// Terms are proxies; the default reduction is the mean, which gives the formula
// above.
//
// Kim et al. 2020, "Proxy anchor loss for deep metric learning".
//
// Use it like proxynca, with gradients that give weight to hard samples; a strong default among proxy losses.
//
// Inside a class: each class has one direction to which all its members are drawn, so the modes of a class are merged
// whatever the mining.
type ProxyAnchor struct {
	Alpha  *float64 // default 32
	Delta  *float64 // margin, default 0.1
	Rate   *float64 // learning rate of the proxies, default the network's
	Reduce Reduction
	proxies
}

// Traits implements Loss.
func (l *ProxyAnchor) Traits() Traits {
	return Traits{Reduction: l.Reduce, Proxies: 1, ProxyAnchors: true}
}

// Terms implements Loss.
func (l *ProxyAnchor) Terms() Terms { return SetTerms(l) }

// Learn implements Learner: proxies start at N(0, 1) sqrt(2 / classes).
func (l *ProxyAnchor) Learn(classes, dim int, seed uint64) error {
	return l.learn(l.Rate, classes, dim, seed, math.Sqrt(2/float64(max(classes, 1))))
}

// Set implements Sets.
func (l *ProxyAnchor) Set(s *Set) {
	alpha, delta := option.OrDefault(l.Alpha, 32), option.OrDefault(l.Delta, 0.1)
	z := s.Scratch(max(len(s.Pos), len(s.Neg)))
	var v float64
	if len(s.Pos) > 0 {
		share := float64(s.Anchors) / float64(s.WithPositives)
		p := z[:len(s.Pos)]
		scaleShifted(p, s.Pos, -alpha, delta)
		v += share * softmax(p, true)
		for k, w := range p {
			s.DPos[k] = float32(-alpha * w * share)
		}
	}
	n := z[:len(s.Neg)]
	scaleShifted(n, s.Neg, alpha, -delta)
	v += softmax(n, true)
	for k, w := range n {
		s.DNeg[k] = float32(alpha * w)
	}
	s.Term(v)
}

// SoftTriple is a softmax over classes with several centres each:
//
//	L = -log( exp(la (S_y - delta)) / (exp(la (S_y - delta)) + sum over z != y of exp(la S_z)) )
//	S_c = sum over centres k of c of q_k S_k,  q = softmax of S_k / gamma
//
// Centres are normalised, and embeddings should be too. Terms are embeddings;
// the default reduction is the mean. The paper's regulariser, which merges
// centres, is left out.
//
// Qian et al. 2019, "SoftTriple loss: deep metric learning without triplet
// sampling".
//
// Use it like proxynca, for classes whose members have several looks.
//
// Inside a class: each class has several centres, so its modes may stay apart; around each centre members are drawn
// together.
type SoftTriple struct {
	La      *float64 // default 20
	Gamma   *float64 // default 0.1
	Delta   *float64 // margin, default 0.01
	Centers int      // per class, default 10
	Rate    *float64 // learning rate of the centres, default the network's
	Reduce  Reduction
	proxies
}

// Traits implements Loss.
func (l *SoftTriple) Traits() Traits { return Traits{Reduction: l.Reduce, Proxies: l.centers()} }

// Terms implements Loss.
func (l *SoftTriple) Terms() Terms { return SetTerms(l) }

// Learn implements Learner: centres start at N(0, 1).
func (l *SoftTriple) Learn(classes, dim int, seed uint64) error {
	l.per = l.centers()
	return l.learn(l.Rate, classes, dim, seed, 1)
}

// centers is the number of centres of each class.
func (l *SoftTriple) centers() int { return cmp.Or(max(l.Centers, 0), 10) }

// Set implements Sets.
func (l *SoftTriple) Set(s *Set) {
	if len(s.Pos) == 0 {
		return
	}
	k := l.centers()
	la, sharp := option.OrDefault(l.La, 20), 1/option.OrDefault(l.Gamma, 0.1)
	others := len(s.Neg) / k
	t := s.Scratch(1 + others + k)
	z, q := t[:1+others], t[1+others:]
	z[0] = la * (softmaxMean(s.Pos, q, sharp) - option.OrDefault(l.Delta, 0.01))
	own := z[0]
	for c := range others {
		z[1+c] = la * softmaxMean(s.Neg[c*k:(c+1)*k], q, sharp)
	}
	s.Term(max(0, softmax(z, false)-own))
	softmaxMeanGradient(s.Pos, s.DPos, q, sharp, la*(z[0]-1))
	for c := range others {
		softmaxMeanGradient(s.Neg[c*k:(c+1)*k], s.DNeg[c*k:(c+1)*k], q, sharp, la*z[1+c])
	}
}

// softmaxMean returns the mean of x weighted by q, which it sets to the softmax of
// sharp x.
func softmaxMean(x []float32, q []float64, sharp float64) float64 {
	scaleShifted(q, x, sharp, 0)
	softmax(q, false)
	var sum float64
	for k, w := range q {
		sum += w * float64(x[k])
	}
	return sum
}

// softmaxMeanGradient sets dx to d times the derivative of relaxed.
func softmaxMeanGradient(x, dx []float32, q []float64, sharp, d float64) {
	mean := softmaxMean(x, q, sharp)
	for k, w := range q {
		dx[k] = float32(d * w * (1 + sharp*(float64(x[k])-mean)))
	}
}

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
