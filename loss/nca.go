package loss

// NCA is the first-order loss of a triplet of similarities:
//
//	L = log(1 + exp(S_an - S_ap))
//
// the negative log of the probability that the anchor chooses its positive
// rather than its negative. Terms are triplets; the default reduction is the
// mean.
//
// Goldberger et al. 2004, "Neighbourhood components analysis", on triplets as
// in Xuan et al. 2020, "Improved embeddings with easy positive triplet mining".
//
// Use it with easy positives and hard negatives, without a margin to choose.
//
// Inside a class: all chosen positives are pulled in equally. With all or random positives a class is drawn to one
// point; with easy positives only nearest neighbours are tied together, and a class may keep several modes.
type NCA struct {
	Reduce Reduction
}

// Traits implements Loss.
func (l NCA) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l NCA) Terms() Terms { return TupleTerms(l) }

// Tuples implements Tuples.
func (NCA) Tuples(ap, an, val, dap, dan []float32) {
	for k, p := range ap {
		v, w := softplus(float64(an[k]) - float64(p))
		val[k], dap[k], dan[k] = float32(v), float32(-w), float32(w)
	}
}

// NCA2 is the second-order loss of a triplet of similarities:
//
//	L = log(1 + exp(S_an²/2 - S_ap + S_ap²/2))
//
// With w the logistic function of the exponent, dL/dS_ap = -(1 - S_ap) w and
// dL/dS_an = S_an w: a positive that is already close and a negative that is
// already orthogonal are left alone. Terms are triplets; the default reduction
// is the mean.
//
// "Extreme triplet learning: effectively optimizing easy positives and hard
// negatives", ICLR submission of 2020, equation 16.
//
// Use it with hard negatives (EPHN), which its weights keep from collapsing the embedding: a very similar negative no
// longer dominates.
//
// Inside a class: positives already close are left alone, since their weight is 1 - S; with easy positives the modes
// of a class are kept.
type NCA2 struct {
	Reduce Reduction
}

// Traits implements Loss.
func (l NCA2) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l NCA2) Terms() Terms { return TupleTerms(l) }

// Tuples implements Tuples.
func (NCA2) Tuples(ap, an, val, dap, dan []float32) {
	for k := range ap {
		p, n := float64(ap[k]), float64(an[k])
		v, w := softplus(n*n/2 - p + p*p/2)
		val[k], dap[k], dan[k] = float32(v), float32(-(1-p)*w), float32(n*w)
	}
}

// SoftTriplet is the triplet loss with the hinge replaced by a softplus, so
// that no triplet is ever fully satisfied:
//
//	L = log(1 + exp(D_ap - D_an))
//
// with D Euclidean, or squared by choice. Terms are triplets; the default
// reduction is the mean.
//
// Hermans et al. 2017, "In defense of the triplet loss".
//
// Use it like triplet, when choosing a margin is a nuisance. It keeps pulling after a triplet is satisfied.
//
// Inside a class: like triplet, but as there is no margin at which pulling ends, collapse goes further if positives
// are random or hard.
type SoftTriplet struct {
	Squared bool // default Euclidean
	Reduce  Reduction
}

// Traits implements Loss.
func (l SoftTriplet) Traits() Traits {
	return Traits{Measure: measureOf(!l.Squared), Reduction: l.Reduce}
}

// Terms implements Loss.
func (l SoftTriplet) Terms() Terms { return TupleTerms(l) }

// Tuples implements Tuples.
func (SoftTriplet) Tuples(ap, an, val, dap, dan []float32) {
	for k, p := range ap {
		v, w := softplus(float64(p) - float64(an[k]))
		val[k], dap[k], dan[k] = float32(v), float32(w), float32(-w)
	}
}
