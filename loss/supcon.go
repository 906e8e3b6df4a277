package loss

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// SupCon is the supervised contrastive loss:
//
//	L = -(1/|P|) sum over p of log( exp(S_ap/T) / sum over others o of exp(S_ao/T) )
//
// where o runs over all chosen positives and negatives. Terms are anchors that
// have a positive; the default reduction is the mean.
//
// Khosla et al. 2020, "Supervised contrastive learning", in the form L_out.
//
// Use it for pre-training with labels, in large batches.
//
// Inside a class: all positives of an anchor are drawn in with equal weight, which collapses classes; easy positives
// turn it into ntxent on nearest neighbours.
type SupCon struct {
	Temperature *float64 // default 0.1
	Reduce      Reduction
}

// Traits implements Loss.
func (l SupCon) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l SupCon) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l SupCon) Set(s *Set) { addSoftTerm(s, option.OrDefault(l.Temperature, 0.1), math.Inf(1)) }

// MaskCon is SupCon with soft positives: the nearer a positive is, the more it counts.
//
//	L = -sum over p of w_p log( exp(S_ap/T) / sum over others o of exp(S_ao/T) )
//	w_p = exp(S_ap/T_s) / sum over positives q of exp(S_aq/T_s)
//
// where o runs over all chosen positives and negatives. The weights w count as constants in
// the gradient. Other views of the anchor's sample in the batch, by Batch.IDs of package
// objective, are positives too. With a large T_s the weights are equal, as in SupCon, for
// which other views of a sample do not count. With a small T_s the nearest positive has all
// the weight. Terms are anchors that have a positive; the default reduction is the mean.
//
// Feng and Patras 2023, "MaskCon: masked contrastive learning for coarse-labelled dataset".
// As there, the targets are a softmax of similarities, masked by the label, and the loss is
// the cross-entropy with them. The paper computes the similarities from another view of the
// anchor, by a momentum encoder, to a queue of earlier embeddings. It divides them by the
// largest, gives the other view the weight 1, divides by the sum, and mixes in the target of
// the self-supervised loss, which is the other view alone. Here the weights are from the
// anchor's own similarities within the batch, another view is weighted as any positive, and
// nothing is mixed in.
//
// Use it when a label covers several kinds and the finer ones should stay apart, best with two views of each picture
// in the batch: `sample.views: 2` and an augmentation (`data.augment`).
//
// Inside a class: an anchor is pulled to its nearest positives. A positive whose weight is below its share of the
// softmax is pushed away, as a negative is.
type MaskCon struct {
	Temperature *float64 // T, default 0.1
	Soft        *float64 // T_s, default 0.05
	Reduce      Reduction
}

// Traits implements Loss.
func (l MaskCon) Traits() Traits { return Traits{Reduction: l.Reduce, OtherViews: true} }

// Terms implements Loss.
func (l MaskCon) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l MaskCon) Set(s *Set) {
	addSoftTerm(s, option.OrDefault(l.Temperature, 0.1), option.OrDefault(l.Soft, 0.05))
}

// addSoftTerm counts the term of MaskCon with T = temperature and T_s = soft, which may be
// infinite.
func addSoftTerm(s *Set, temperature, soft float64) {
	if len(s.Pos) == 0 {
		return
	}
	a, np := 1/temperature, len(s.Pos)
	t := s.Scratch(2*np + len(s.Neg))
	w, z := t[:np], t[np:]
	nearest := float64(slices.Max(s.Pos))
	for k, x := range s.Pos {
		w[k] = (float64(x) - nearest) / soft // at most 0, however small soft is
	}
	softmax(w, false)
	scaleShifted(z[:np], s.Pos, a, 0)
	scaleShifted(z[np:], s.Neg, a, 0)
	all := softmax(z, false)
	var v float64
	for k, p := range s.Pos {
		v += w[k] * (all - a*float64(p))
		s.DPos[k] = float32(a * (z[k] - w[k]))
	}
	for k := range s.Neg {
		s.DNeg[k] = float32(a * z[np+k])
	}
	s.Term(max(0, v))
}
