package decide

import (
	"context"
	"math"
)

// distanceProbability is a probability by distance, with its reliability.
type distanceProbability struct {
	p           func(distance float64) float64
	reliability *Reliability
}

// computeChance computes the part of calibration errors (ECE) that is due to the finite number of classes. The
// shares in the bins differ from the truth by chance, and the error, a sum of absolute differences, is
// above 0 for that alone. With d(b) the difference of a bin and r(i, b) its change if class i is left
// out, the variance is
//
//	v(b) = n / (n - 1) x sum over classes of r(i, b)^2
//
// Chance is the error that perfectly calibrated probabilities would show: the sum over bins of
// sqrt(2 / pi x v(b)), the mean of the absolute value of a normal variable around 0. Debiased is the
// sum of
//
//	2 |d(b)| - E|N(|d(b)|, v(b))|
//
// which is the measured error less the error that as much chance would add to it (after Kumar, Liang
// and Ma, Verified Uncertainty Calibration, 2019, who assume independent outcomes). A pair of different
// classes belongs to both classes. Pairs are not independent; if they were, chance would be negligible.
func (s *set) computeChance(ctx context.Context, f *pairCounts, all ...distanceProbability) error {
	said := make([][]float64, len(all))
	for e := range all {
		said[e] = make([]float64, len(f.same))
		for k := range f.same {
			if f.same[k]+f.different[k] > 0 {
				said[e][k] = all[e].p(toDistance(s.distance, maxValueOf(uint32(k))))
			}
		}
	}
	n := s.numIdentities()
	of := make([][]calibrationGaps, n)
	err := s.scan(ctx, func(i, lo int, values [][]float32) {
		if of[i] == nil {
			of[i] = make([]calibrationGaps, len(all))
		}
		for r, v := range values {
			for j, d := range v {
				if j == lo+r {
					continue
				}
				other, k := int(s.identityOf[j]), orderKey(d)
				for e := range all {
					of[i][e].add(said[e][k], other == i, s.weight[i]*s.weight[other])
				}
			}
		}
	}, func() {})
	if err != nil {
		return err
	}
	for e := range all {
		var each []calibrationGaps
		for i := range of {
			each = append(each, of[i][e])
		}
		all[e].reliability.Chance, all[e].reliability.Debiased = chanceAndDebiased(each)
	}
	return nil
}

// calibrationGaps has, by bin of the probability, the sums of 1 - p for pairs of a class and of p for pairs with
// other classes.
type calibrationGaps struct {
	missed, excess  [reliabilityBins]float64
	same, different float64 // weights of pairs
}

func (m *calibrationGaps) add(p float64, same bool, weight float64) {
	b := min(int(p*reliabilityBins), reliabilityBins-1)
	if same {
		m.missed[b] += weight * (1 - p)
		m.same += weight
	} else {
		m.excess[b] += weight * p
		m.different += weight
	}
}

// chanceAndDebiased computes chance and debiased from the sums of every class.
func chanceAndDebiased(of []calibrationGaps) (chance, debiased float64) {
	var all calibrationGaps
	for i := range of {
		all.same, all.different = all.same+of[i].same, all.different+of[i].different
		for b := range all.missed {
			all.missed[b], all.excess[b] = all.missed[b]+of[i].missed[b], all.excess[b]+of[i].excess[b]
		}
	}
	if all.same == 0 || all.different == 0 {
		return 0, 0
	}
	n := float64(len(of))
	for b := range reliabilityBins {
		d := math.Abs(all.missed[b]/all.same-all.excess[b]/all.different) / 2
		var squares float64
		for i := range of {
			r := (of[i].missed[b] - all.missed[b]*of[i].same/all.same) / all.same
			// Pairs of different classes are counted from both sides.
			r -= 2 * (of[i].excess[b] - all.excess[b]*of[i].different/all.different) / all.different
			squares += r * r / 4
		}
		wide := math.Sqrt(squares * n / (n - 1))
		chance += meanAbsNormal(0, wide)
		debiased += 2*d - meanAbsNormal(d, wide)
	}
	return chance, debiased
}

// meanAbsNormal returns the mean of the absolute value of a normal variable.
func meanAbsNormal(mean, deviation float64) float64 {
	if deviation == 0 {
		return math.Abs(mean)
	}
	z := mean / deviation
	return deviation*math.Sqrt(2/math.Pi)*math.Exp(-z*z/2) + mean*math.Erf(z/math.Sqrt2)
}
