package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// NPair compares a positive with all chosen negatives at once:
//
//	L = log(1 + sum over n of exp(S_an - S_ap))
//
// Terms are pairs (anchor, positive) of anchors that have a negative; the
// default reduction is the mean.
//
// Sohn 2016, "Improved deep metric learning with multi-class N-pair loss
// objective".
//
// Use it when every batch contains many classes and all its negatives should count.
//
// Inside a class: all chosen positives are pulled in equally. With all or random positives a class is drawn to one
// point; with easy positives only nearest neighbours are tied together, and a class may keep several modes.
type NPair struct {
	Reduce Reduction
}

// Traits implements Loss.
func (l NPair) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l NPair) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (NPair) Set(s *Set) { addRatioTerms(s, 1) }

// NTXent is the normalised temperature-scaled cross entropy:
//
//	L = -log( exp(S_ap/T) / (exp(S_ap/T) + sum over n of exp(S_an/T)) )
//
// Terms are pairs (anchor, positive) of anchors that have a negative; the
// default reduction is the mean.
//
// Chen et al. 2020, "A simple framework for contrastive learning of visual
// representations", with labels; Sohn 2016 and van den Oord et al. 2018.
//
// Use it with views of the same image as positives, or with labels. The temperature sets the weight of the nearest
// negatives.
//
// Inside a class: all chosen positives are pulled in equally. With all or random positives a class is drawn to one
// point; with easy positives only nearest neighbours are tied together, and a class may keep several modes.
type NTXent struct {
	Temperature *float64 // default 0.07
	Reduce      Reduction
}

// Traits implements Loss.
func (l NTXent) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l NTXent) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l NTXent) Set(s *Set) { addRatioTerms(s, 1/option.OrDefault(l.Temperature, 0.07)) }

// addRatioTerms adds log(1 + sum over n of exp(a (S_an - S_ap))) for each positive.
func addRatioTerms(s *Set, a float64) {
	if !s.hasBothSides() {
		return
	}
	// The sum over negatives is the same for all positives: L_p is the
	// softplus of log(sum of exp(a S_an)) - a S_ap.
	all := linearSoftmax(s.DNeg, s.Neg, a, 0, false)
	var total float64
	for k, p := range s.Pos {
		v, w := softplus(all - a*float64(p))
		s.Term(v)
		s.DPos[k] = float32(-a * w)
		total += w
	}
	simd.Scale(s.DNeg, float32(a*total), s.DNeg)
}

// TupletMargin compares a positive, whose angle is reduced by a slack, with all
// chosen negatives:
//
//	L = log(1 + sum over n of exp(s (cos(theta_an) - cos(theta_ap - slack))))
//
// with cos(theta) = S; it is for normalised embeddings. Terms are pairs
// (anchor, positive) of anchors that have a negative; the default reduction is
// the mean.
//
// Yu and Tao 2019, "Deep metric learning with tuplet margin loss".
//
// Use it for N-pair batches; the slack keeps it from over-fitting to similar positives.
//
// Inside a class: positives nearer than the slack angle are pushed back to it, which opposes collapse at small scale.
type TupletMargin struct {
	Scale  *float64 // s, default 64
	Slack  *float64 // in radians, default 0.1
	Reduce Reduction
}

// Traits implements Loss.
func (l TupletMargin) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l TupletMargin) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l TupletMargin) Set(s *Set) {
	if !s.hasBothSides() {
		return
	}
	scale, slack := option.OrDefault(l.Scale, 64), option.OrDefault(l.Slack, 0.1)
	z := s.Scratch(len(s.Neg))
	scaleShifted(z, s.Neg, scale, 0)
	all := softmax(z, false)
	var total float64
	for k, p := range s.Pos {
		c, dc := cosPlusAngle(float64(p), -slack)
		v, w := softplus(all - scale*c)
		s.Term(v)
		s.DPos[k] = float32(-scale * w * dc)
		total += w
	}
	for k, w := range z {
		s.DNeg[k] = float32(scale * w * total)
	}
}

// cosPlusAngle returns cos(theta + angle) for cos(theta) = c, and its derivative with
// respect to c. Near theta = 0 and pi, where the derivative has a pole, it is
// held at its value a thousandth of a radian away; a c beyond -1 and 1, as
// embeddings off the sphere have it, counts as these, with the derivative 0.
func cosPlusAngle(c, angle float64) (value, slope float64) {
	sin := math.Sqrt(max(0, 1-c*c))
	slope = math.Cos(angle) + c/max(sin, 1e-3)*math.Sin(angle)
	if c <= -1 || c >= 1 {
		c, slope = max(-1, min(1, c)), 0
	}
	return c*math.Cos(angle) - sin*math.Sin(angle), slope
}
