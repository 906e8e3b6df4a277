package loss

import (
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
