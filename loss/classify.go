package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// classifier is the part that softmax losses over class weights share:
// L = -log softmax of scale times the cosines, the own one changed.
type classifier struct{ proxies }

// addTerm computes the term of one embedding whose own logit, before scaling, is
// own with derivative slope.
func (*classifier) addTerm(s *Set, scale, own, slope float64) {
	z := s.Scratch(1 + len(s.Neg))
	z[0] = scale * own
	scaleShifted(z[1:], s.Neg, scale, 0)
	s.Term(max(0, softmax(z, false)-scale*own))
	s.DPos[0] = float32(scale * (z[0] - 1) * slope)
	for k := range s.Neg {
		s.DNeg[k] = float32(scale * z[1+k])
	}
}

// NormSoftmax is a softmax over cosines with normalised class weights:
//
//	L = -log( exp(S_y/T) / sum over classes z of exp(S_z/T) )
//
// Terms are embeddings, which should be normalised; the default reduction is
// the mean.
//
// Zhai and Wu 2019, "Classification is a strong baseline for deep metric
// learning"; Wang et al. 2017, "NormFace".
//
// Use it as a baseline: classification with normalised weights.
//
// Inside a class: each class has one direction to which all its members are drawn, so the modes of a class are merged
// whatever the mining.
type NormSoftmax struct {
	Temperature *float64 // default 0.05
	Rate        *float64 // learning rate of the class weights, default the network's
	Reduce      Reduction
	classifier
}

// Traits implements Loss.
func (l *NormSoftmax) Traits() Traits { return Traits{Reduction: l.Reduce, Proxies: 1} }

// Terms implements Loss.
func (l *NormSoftmax) Terms() Terms { return SetTerms(l) }

// Learn implements Learner: class weights start at N(0, 1).
func (l *NormSoftmax) Learn(classes, dim int, seed uint64) error {
	return l.learn(l.Rate, classes, dim, seed, 1)
}

// Set implements Sets.
func (l *NormSoftmax) Set(s *Set) {
	if len(s.Pos) > 0 {
		l.addTerm(s, 1/option.OrDefault(l.Temperature, 0.05), float64(s.Pos[0]), 1)
	}
}

// CosFace is a softmax over cosines with a margin on the sample's own class:
//
//	L = -log( exp(s (S_y - m)) / (exp(s (S_y - m)) + sum over z != y of exp(s S_z)) )
//
// Terms are embeddings, which should be normalised; the default reduction is
// the mean.
//
// Wang et al. 2018, "CosFace: large margin cosine loss for deep face
// recognition".
//
// Use it for verification with very many classes, such as faces.
//
// Inside a class: each class has one direction to which all its members are drawn, so the modes of a class are merged
// whatever the mining.
type CosFace struct {
	Margin *float64 // m, default 0.35
	Scale  *float64 // s, default 64
	Rate   *float64 // learning rate of the class weights, default the network's
	Reduce Reduction
	classifier
}

// Traits implements Loss.
func (l *CosFace) Traits() Traits { return Traits{Reduction: l.Reduce, Proxies: 1} }

// Terms implements Loss.
func (l *CosFace) Terms() Terms { return SetTerms(l) }

// Learn implements Learner: class weights start at N(0, 1).
func (l *CosFace) Learn(classes, dim int, seed uint64) error {
	return l.learn(l.Rate, classes, dim, seed, 1)
}

// Set implements Sets.
func (l *CosFace) Set(s *Set) {
	if len(s.Pos) > 0 {
		l.addTerm(s, option.OrDefault(l.Scale, 64), float64(s.Pos[0])-option.OrDefault(l.Margin, 0.35), 1)
	}
}

// ArcFace is a softmax over cosines with a margin on the angle to the sample's
// own class:
//
//	L = -log( exp(s cos(theta_y + m)) / (exp(s cos(theta_y + m)) + sum over z != y of exp(s S_z)) )
//
// Where theta_y + m exceeds pi, cos(theta_y + m) is replaced by S_y - m sin(m),
// which keeps it decreasing. Terms are embeddings, which should be normalised;
// the default reduction is the mean.
//
// Deng et al. 2019, "ArcFace: additive angular margin loss for deep face
// recognition".
//
// Use it for verification with very many classes, such as faces; the margin is an angle.
//
// Inside a class: each class has one direction to which all its members are drawn, so the modes of a class are merged
// whatever the mining.
type ArcFace struct {
	Margin *float64 // m in radians, default 0.5
	Scale  *float64 // s, default 64
	Rate   *float64 // learning rate of the class weights, default the network's
	Reduce Reduction
	classifier
}

// Traits implements Loss.
func (l *ArcFace) Traits() Traits { return Traits{Reduction: l.Reduce, Proxies: 1} }

// Terms implements Loss.
func (l *ArcFace) Terms() Terms { return SetTerms(l) }

// Learn implements Learner: class weights start at N(0, 1).
func (l *ArcFace) Learn(classes, dim int, seed uint64) error {
	return l.learn(l.Rate, classes, dim, seed, 1)
}

// Set implements Sets.
func (l *ArcFace) Set(s *Set) {
	if len(s.Pos) == 0 {
		return
	}
	own, slope := cosPlusMargin(float64(s.Pos[0]), option.OrDefault(l.Margin, 0.5))
	l.addTerm(s, option.OrDefault(l.Scale, 64), own, slope)
}

// cosPlusMargin returns cos(theta + m) for cos(theta) = c, and its derivative with
// respect to c; beyond theta + m = pi, c - m sin(m), which keeps falling.
func cosPlusMargin(c, m float64) (value, slope float64) {
	if c < -math.Cos(m) {
		value, slope = cosPlusAngle(c, 0)
		return value - m*math.Sin(m), slope
	}
	return cosPlusAngle(c, m)
}

// CurricularFace is ArcFace with growing weight, as training goes on, for classes that are nearer than
// the sample's own:
//
//	L = -log( exp(s cos(theta_y + m)) / (exp(s cos(theta_y + m)) + sum over z != y of exp(s N(S_z))) )
//	N(S) = S where S <= cos(theta_y + m), (t + S) S elsewhere
//
// t starts at 0 and is a moving average of the batches' mean of cos(theta_y); it counts as a constant
// in the gradient. Where theta_y + m exceeds pi, cos(theta_y + m) is replaced as in ArcFace, but not in
// the comparison. Terms are embeddings, which should be normalised; the default reduction is the mean.
//
// Huang et al. 2020, "CurricularFace: adaptive curriculum learning loss for deep
// face recognition".
//
// Use it for verification with very many classes, where arcface learns too slowly at first or too little from hard
// samples at the end.
//
// Inside a class: each class has one direction to which all its members are drawn, so the modes of a class are merged
// whatever the mining.
type CurricularFace struct {
	Margin   *float64 // m in radians, default 0.5
	Scale    *float64 // s, default 64
	Momentum *float64 // share of a batch in t, default 0.01
	Rate     *float64 // learning rate of the class weights, default the network's
	Reduce   Reduction
	proxies

	t *Param
}

// Traits implements Loss.
func (l *CurricularFace) Traits() Traits {
	return Traits{Reduction: l.Reduce, Proxies: 1, Passes: 1, Sums: 2}
}

// Terms implements Loss.
func (l *CurricularFace) Terms() Terms { return SetTerms(l) }

// Learn implements Learner: class weights start at N(0, 1).
func (l *CurricularFace) Learn(classes, dim int, seed uint64) error {
	l.t = newParam("t", 0, 1)
	return l.learn(l.Rate, classes, dim, seed, 1)
}

// Params implements Learner: the class weights, and t.
func (l *CurricularFace) Params() []*Param { return append(l.proxies.Params(), l.t) }

// Summary implements MultiPass: the similarity to the own class, and 1.
func (l *CurricularFace) Summary(_ int, s *Set, sums []float64) {
	if len(s.Pos) > 0 {
		sums[0], sums[1] = max(-1, min(1, float64(s.Pos[0]))), 1
	}
}

// Follow implements Running.
func (l *CurricularFace) Follow(total []float64) {
	if total[1] > 0 {
		share := option.OrDefault(l.Momentum, 0.01)
		l.t.Value[0] = float32(share*total[0]/total[1] + (1-share)*float64(l.t.Value[0]))
	}
}

// Set implements Sets.
func (l *CurricularFace) Set(s *Set) {
	if len(s.Pos) == 0 {
		return
	}
	c, m, scale, t := float64(s.Pos[0]), option.OrDefault(l.Margin, 0.5), option.OrDefault(l.Scale, 64),
		float64(l.t.Value[0])
	own, slope := cosPlusMargin(c, m)
	bound, _ := cosPlusAngle(c, m)
	z := s.Scratch(1 + len(s.Neg))
	z[0] = scale * own
	for k, x := range s.Neg {
		z[1+k] = scale * float64(x)
		if float64(x) > bound {
			z[1+k] *= t + float64(x)
		}
	}
	s.Term(max(0, softmax(z, false)-scale*own))
	s.DPos[0] = float32(scale * (z[0] - 1) * slope)
	for k, x := range s.Neg {
		d := scale * z[1+k]
		if float64(x) > bound {
			d *= t + 2*float64(x)
		}
		s.DNeg[k] = float32(d)
	}
}
