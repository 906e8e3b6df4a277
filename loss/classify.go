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
