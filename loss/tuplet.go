package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
)

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
