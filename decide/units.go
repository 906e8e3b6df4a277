package decide

import (
	"context"

	"github.com/kindred-ml/kindred/internal/compute/groups"
)

// units are the units in which classes are drawn. A group of look-alikes, such as products of one maker or
// letters of one script, is a unit. Every other class is a separate unit.
type units struct {
	unitOf    []int     // the unit of each class
	numGroups int       // number of units of two classes or more
	numUnits  int       // number of units
	size      []int     // number of classes of each unit
	photos    []float64 // number of photos that each unit counts for
}

// unitsFromGroups returns the units, given a group of each class.
func (s *set) unitsFromGroups(of []int) *units {
	u := &units{unitOf: of, size: groups.Sizes(of)}
	u.numUnits = len(u.size)
	u.photos = make([]float64, u.numUnits)
	for i, unit := range of {
		u.photos[unit] += s.effectivePhotos(i)
	}
	for _, k := range u.size {
		if k > 1 {
			u.numGroups++
		}
	}
	return u
}

// singleUnits makes every class a unit.
func (s *set) singleUnits() *units {
	of := make([]int, s.numIdentities())
	for i := range of {
		of[i] = i
	}
	return s.unitsFromGroups(of)
}

// newUnits reports whether the classes of a set lie in groups, and in which.
func newUnits(ctx context.Context, s *set, seed uint64) (*units, error) {
	of, err := groups.Find(ctx, s.numIdentities(), s.x.Cols, func(add func(class int, row []float32)) {
		for i := range s.numIdentities() {
			for q := s.first[i]; q < s.first[i+1]; q++ {
				add(i, s.x.Row(q))
			}
		}
	}, seed)
	if err != nil {
		return nil, err
	}
	if of == nil {
		return s.singleUnits(), nil
	}
	return s.unitsFromGroups(of), nil
}

// unitSum has sums over units of their values by level, for the bound of the total.
type unitSum struct {
	sum, square, product []float64 // of v, v^2, v times the unit's weight
	most                 []float64
	weight, weights      float64 // sums of the weights and of their squares
}

func newUnitSum(levels int) *unitSum {
	return &unitSum{sum: make([]float64, levels), square: make([]float64, levels), product: make([]float64, levels),
		most: make([]float64, levels)}
}

// add adds a unit. If all units were alike, its share of the total would be proportional to its weight.
func (s *unitSum) add(values []float64, weight float64) {
	for k, v := range values {
		s.sum[k] += v
		s.square[k] += v * v
		s.product[k] += v * weight
		s.most[k] = max(s.most[k], v)
	}
	s.weight += weight
	s.weights += weight * weight
}

// relativeVariance returns, relative to the total at a level, the variance by leaving out one unit after the
// other, and the largest contribution of a unit. Both are 0 if the total is 0.
func (s *unitSum) relativeVariance(k int) (variance, most float64) {
	sum := s.sum[k]
	if sum == 0 {
		return 0, 0
	}
	v := s.square[k]/(sum*sum) - 2*s.product[k]/(sum*s.weight) + s.weights/(s.weight*s.weight)
	return max(0, v), s.most[k] / sum
}

// boundFactor returns the factor by which the total of new units may exceed the total of these, if one more unit
// may be like the one with the largest contribution.
func (s *unitSum) boundFactor(k int) float64 {
	variance, most := s.relativeVariance(k)
	return upperBound(1+most, boundVarianceFactor*(variance+most*most))
}
