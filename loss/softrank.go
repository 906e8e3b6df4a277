package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// SmoothAP is one minus the average precision of the anchor's ranking, with a
// sigmoid in place of each comparison of two similarities:
//
//	L = 1 - (1/|P|) sum over p of R_p / (R_p + N_p)
//	R_p = 1 + sum over other positives q of G(S_aq - S_ap)
//	N_p = sum over n of G(S_an - S_ap),  G(x) = 1 / (1 + exp(-x/T))
//
// Terms are anchors that have a positive; the default reduction is the mean.
//
// Brown et al. 2020, "Smooth-AP: smoothing the path towards large-scale image
// retrieval".
//
// Use it when average precision is what counts; unlike fastap it compares pairs with each other, not with bins, so it
// is sharper and costs more: each positive with every other sample.
//
// Inside a class: only the ranking counts: a class need not shrink once its members rank above others.
type SmoothAP struct {
	Temperature *float64 // T, default 0.01
	Reduce      Reduction
}

// Traits implements Loss.
func (l SmoothAP) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l SmoothAP) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l SmoothAP) Set(s *Set) {
	if len(s.Pos) == 0 {
		return
	}
	sharp := 1 / option.OrDefault(l.Temperature, 0.01)
	np, n := len(s.Pos), len(s.Pos)+len(s.Neg)
	t := s.Scratch(2 * n)
	d, slope := t[:n], t[n:] // of the sum over positives; of each comparison
	clear(d)
	var sum float64
	for p, x := range s.Pos {
		own := 1 + softCountAbove(s.Pos, float64(x), sharp, slope[:np]) - 0.5 // it is level with itself
		other := softCountAbove(s.Neg, float64(x), sharp, slope[np:])
		all := own + other
		sum += own / all
		addSlopes(d[:np], slope[:np], &d[p], other/(all*all))
		addSlopes(d[np:], slope[np:], &d[p], -own/(all*all))
	}
	s.Term(max(0, 1-sum/float64(np)))
	scaleTo(s.DPos, d[:np], -1/float64(np))
	scaleTo(s.DNeg, d[np:], -1/float64(np))
}

// RecallAtK is one minus the recall at several k, with a sigmoid in place of the
// comparison of a rank with k, and of each comparison of two similarities in the
// rank:
//
//	L = 1 - mean over k = 1, 2, 4, ..., K of min(k, sum over p of H(k - r_p)) / min(k, |P|)
//	r_p = 1 + sum over other positives and negatives z of G(S_az - S_ap)
//	G(x) = 1 / (1 + exp(-x/T)),  H(x) = 1 / (1 + exp(-x/T_k))
//
// Terms are anchors that have a positive; the default reduction is the mean. It is
// meant for batches of many classes; similarity mixup is not part of it.
//
// Patel et al. 2022, "Recall@k surrogate loss with large batches and similarity
// mixup".
//
// Use it when Recall@k is what counts, with batches of hundreds or thousands of samples of many classes.
//
// Inside a class: a positive is pulled while its rank is near one of the k; the far members of a class are left
// alone.
type RecallAtK struct {
	K               int      // default 16
	Temperature     *float64 // T, default 0.01
	RankTemperature *float64 // T_k, default 1
	Reduce          Reduction
}

// Traits implements Loss.
func (l RecallAtK) Traits() Traits { return Traits{Reduction: l.Reduce} }

// Terms implements Loss.
func (l RecallAtK) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l RecallAtK) Set(s *Set) {
	if len(s.Pos) == 0 {
		return
	}
	most := l.K
	if most <= 0 {
		most = 16
	}
	sharp, soft := 1/option.OrDefault(l.Temperature, 0.01), 1/option.OrDefault(l.RankTemperature, 1)
	np, n := len(s.Pos), len(s.Pos)+len(s.Neg)
	t := s.Scratch(2*n + 2*np)
	d, slope, rank, push := t[:n], t[n:2*n], t[2*n:2*n+np], t[2*n+np:]
	clear(d)
	clear(push)
	for p, x := range s.Pos {
		rank[p] = 1 + softCountAbove(s.Pos, float64(x), sharp, slope) - 0.5 +
			softCountAbove(s.Neg, float64(x), sharp, slope)
	}
	// push becomes the derivative of the sum of recalls with respect to each rank.
	var recall, ks float64
	for k := 1; k <= most; k *= 2 {
		ks++
		var hits float64
		for _, r := range rank {
			hits += logistic(soft * (float64(k) - r))
		}
		share := 1 / float64(min(k, np))
		recall += min(hits, float64(k)) * share
		if hits >= float64(k) {
			continue
		}
		for p, r := range rank {
			h := logistic(soft * (float64(k) - r))
			push[p] -= share * soft * h * (1 - h)
		}
	}
	s.Term(max(0, 1-recall/ks))
	for p, x := range s.Pos {
		if push[p] == 0 {
			continue
		}
		softCountAbove(s.Pos, float64(x), sharp, slope[:np])
		softCountAbove(s.Neg, float64(x), sharp, slope[np:])
		addSlopes(d, slope, &d[p], push[p])
	}
	scaleTo(s.DPos, d[:np], -1/ks)
	scaleTo(s.DNeg, d[np:], -1/ks)
}

// softCountAbove returns the soft number of x that are above at, the sum of
// logistic(sharp (x - at)), and sets slope to the derivatives of its terms.
func softCountAbove(x []float32, at, sharp float64, slope []float64) float64 {
	var sum float64
	for k, v := range x {
		z := sharp * (float64(v) - at)
		if math.Abs(z) > 40 { // 0 or 1 to the last bit
			slope[k] = 0
			if z > 0 {
				sum++
			}
			continue
		}
		g := logistic(z)
		slope[k] = sharp * g * (1 - g)
		sum += g
	}
	return sum
}

// addSlopes adds weight times slope to d, and takes the sum of what it added from own.
func addSlopes(d, slope []float64, own *float64, weight float64) {
	var sum float64
	for k, g := range slope {
		d[k] += weight * g
		sum += weight * g
	}
	*own -= sum
}

// logistic returns 1 / (1 + exp(-x)).
func logistic(x float64) float64 {
	_, g := softplus(x)
	return g
}

// scaleTo sets dst to a times x.
func scaleTo(dst []float32, x []float64, a float64) {
	for k, v := range x {
		dst[k] = float32(a * v)
	}
}
