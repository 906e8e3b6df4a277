package discover

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// minReferenceClasses is the least number of classes from which the scatter of one sub-class is learned. A
// probability of one in twenty does not show in fewer.
const minReferenceClasses = 24

// usualScatter is the scatter of a class without sub-classes: the mean squared distance of a row from its class's mean,
// with one degree of freedom less. It is the median over the classes, because most have no sub-classes. It does
// not depend on the number of rows.
type usualScatter float64

// newUsualScatter computes usual from the scatters of classes, without zeros. It returns nil if there are too few.
func newUsualScatter(classes []*measuredClass) *usualScatter {
	var scatter []float64
	for _, c := range classes {
		if c.scatter > 0 {
			scatter = append(scatter, c.scatter)
		}
	}
	if len(scatter) < minReferenceClasses {
		return nil
	}
	u := usualScatter(median(scatter))
	return &u
}

// chooseNumGroups returns the least number of groups, at least 2, at which the groups of an agglomeration of
// n rows scatter no more than a class without sub-classes.
func (u *usualScatter) chooseNumGroups(merges []ward.Merge, n, most int) int {
	var within float64
	for _, m := range merges {
		within += m.Height / 2
	}
	for k := 1; k < most && k <= len(merges); k++ {
		if k > 1 && within <= float64(*u)*float64(n-k) {
			return k
		}
		within -= merges[len(merges)-k].Height / 2
	}
	return max(2, most)
}

// numMergedPairs is the number of merged pairs of classes, from which a share is known to 8 %.
const numMergedPairs = 40

// measureDetectionRate returns the share of classes in which several sub-classes would be found if each
// class were merged with the class whose mean is nearest.
func (s *classSet) measureDetectionRate(ctx context.Context, x *matrix.Dense, classes []*measuredClass,
	opt *Options) (float64, error) {
	var pairs []*measuredClass
	for k := 0; k < len(classes) && len(classes) > 1; k += (len(classes) + numMergedPairs - 1) / numMergedPairs {
		a := classes[k]
		b := nearestClass(a, classes)
		pairs = append(pairs, &measuredClass{label: a.label, sample: slices.Concat(a.sample, b.sample)})
	}
	if err := s.forEachClass(ctx, pairs, func(c *measuredClass, rng *rand.Rand) error {
		if err := c.findGaps(ctx, x, opt, rng); err != nil {
			return err
		}
		return c.followChains(ctx, s.even, opt, rng)
	}, opt.Seed); err != nil {
		return 0, err
	}
	found := 0.0
	for _, c := range pairs {
		if probabilityBeyond(c.p, s.common) <= opt.Level {
			found++
		}
	}
	return found / max(float64(len(pairs)), 1), nil
}

// nearestClass returns the other class whose mean is nearest to that of a.
func nearestClass(a *measuredClass, classes []*measuredClass) (with *measuredClass) {
	least := math.Inf(1)
	for _, b := range classes {
		var d float64
		for j, v := range a.mean {
			d += (v - b.mean[j]) * (v - b.mean[j])
		}
		if a != b && (d < least || with == nil) {
			least, with = d, b
		}
	}
	return with
}

// meanAndScatter returns the mean of rows and their variance, summed over the coordinates; 0 for one row.
func meanAndScatter(x *matrix.Dense) (mean []float64, variance float64) {
	mean = make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			mean[j] += float64(v) / float64(x.Rows)
		}
	}
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			variance += (float64(v) - mean[j]) * (float64(v) - mean[j]) / float64(max(1, x.Rows-1))
		}
	}
	return mean, variance
}

// median returns the middle of v, which it sorts; NaN if it is empty.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
