package decide

import (
	"context"
	"math"
)

// chance is the error (ECE) that probabilities would be found to have on a set if they were
// right: of n classes the shares of the bins differ from the truth by chance, and the error,
// a sum of absolute differences, is above 0 by them. With r(i, b) the change of the b-th
// difference that leaving out class i makes,
//
//	chance = 1/2 sum over bins of sqrt(2 / pi x n / (n - 1) x sum over classes of r(i, b)^2)
//
// which is the mean of the absolute value of a normal difference. A pair of different classes
// belongs to both. Pairs are not drawn one by one: as independent ones they would leave next
// to nothing to chance.
func (s *set) chance(ctx context.Context, f *fineCount, p func(distance float64) float64) (float64, error) {
	said := make([]float64, len(f.same))
	for k := range f.same {
		if f.same[k]+f.different[k] > 0 {
			said[k] = p(outward(s.by, above(uint32(k))))
		}
	}
	type sums struct {
		missed, excess  [reliabilityBins]float64 // of same pairs 1 - p, of different ones p
		same, different float64                  // pairs
	}
	n := s.identities()
	of := make([]sums, n)
	err := s.scan(ctx, func(i, lo int, values [][]float32) {
		t := &of[i]
		for r, v := range values {
			for j, d := range v {
				q := said[key(d)]
				b := min(int(q*reliabilityBins), reliabilityBins-1)
				switch {
				case j < s.first[i] || j >= s.first[i+1]:
					t.excess[b] += q
					t.different++
				case j != lo+r:
					t.missed[b] += 1 - q
					t.same++
				}
			}
		}
	}, func() {})
	if err != nil {
		return 0, err
	}
	var all sums
	for i := range of {
		all.same, all.different = all.same+of[i].same, all.different+of[i].different
		for b := range all.missed {
			all.missed[b], all.excess[b] = all.missed[b]+of[i].missed[b], all.excess[b]+of[i].excess[b]
		}
	}
	if all.same == 0 || all.different == 0 {
		return 0, nil
	}
	var out float64
	for b := range reliabilityBins {
		var squares float64
		for i := range of {
			r := (of[i].missed[b] - all.missed[b]*of[i].same/all.same) / all.same
			// Every pair of different classes was counted from both sides.
			r -= 2 * (of[i].excess[b] - all.excess[b]*of[i].different/all.different) / all.different
			squares += r * r
		}
		out += math.Sqrt(2/math.Pi*squares*float64(n)/float64(n-1)) / 2
	}
	return out, nil
}
