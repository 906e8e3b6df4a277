package loss

import "github.com/kindred-ml/kindred/internal/base/option"

// Triplet wants the positive to be nearer than the negative by a margin:
//
//	L = (D_ap - D_an + m)_+
//
// with D squared Euclidean, as in the papers, or Euclidean. Between equal
// points the gradient of a Euclidean distance is taken as 0. Terms are
// triplets; the default reduction is the mean over all of them.
//
// Schroff et al. 2015, "FaceNet".
//
// Use it as a first choice for ranking tasks, and the loss with which most results are reported. Semi-hard or FaceNet
// negatives keep it stable; the hardest negatives may collapse everything early in training.
//
// Inside a class: it depends on the positive policy: random, all or hard positives collapse classes (with label noise
// or long training, to a point); easy positives keep look-alikes together and modes apart.
type Triplet struct {
	Margin    *float64 // default 0.2
	Euclidean bool     // default squared
	Reduce    Reduction
}

// Traits implements Loss.
func (l Triplet) Traits() Traits { return Traits{Measure: measureOf(l.Euclidean), Reduction: l.Reduce} }

// Terms implements Loss.
func (l Triplet) Terms() Terms { return TupleTerms(l) }

// Tuples implements Tuples.
func (l Triplet) Tuples(ap, an, val, dap, dan []float32) {
	m := float32(option.OrDefault(l.Margin, 0.2))
	for k, p := range ap {
		v := p - an[k] + m
		if v > 0 {
			val[k], dap[k], dan[k] = v, 1, -1
		} else {
			val[k], dap[k], dan[k] = 0, 0, 0
		}
	}
}
