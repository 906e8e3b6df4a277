package loss

import "github.com/kindred-ml/kindred/internal/base/option"

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
