package discover

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// reference is the least number of classes from which the scatter of one sub-class is learned. A probability of
// one in twenty does not show in fewer.
const reference = 24

// usual is the scatter of a class without sub-classes: the mean squared distance of a row from its class's mean,
// with one degree of freedom less. It is the median over the classes, because most have no sub-classes. It does
// not depend on the number of rows.
type usual float64

// newUsual computes usual from the scatters of classes, without zeros. It returns nil if there are too few.
func newUsual(classes []*judged) *usual {
	var scatter []float64
	for _, c := range classes {
		if c.scatter > 0 {
			scatter = append(scatter, c.scatter)
		}
	}
	if len(scatter) < reference {
		return nil
	}
	u := usual(median(scatter))
	return &u
}

// count returns the least number of groups, at least 2, at which the groups of an agglomeration of n rows scatter
// no more than a class without sub-classes.
func (u *usual) count(merges []ward.Merge, n, most int) int {
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

// asked is the number of merged pairs of classes, from which a share is known to 8 %.
const asked = 40

// told returns the share of classes in which several sub-classes would be found if each class were merged with
// the class whose mean is nearest.
func (s *set) told(ctx context.Context, x *matrix.Dense, classes []*judged, opt *Options) (float64, error) {
	var pairs []*judged
	for k := 0; k < len(classes) && len(classes) > 1; k += (len(classes) + asked - 1) / asked {
		a := classes[k]
		b := nearest(a, classes)
		pairs = append(pairs, &judged{label: a.label, sample: slices.Concat(a.sample, b.sample)})
	}
	if err := s.each(ctx, pairs, func(c *judged, rng *rand.Rand) error {
		if err := c.seek(ctx, x, opt, rng); err != nil {
			return err
		}
		return c.follow(ctx, s.even, opt, rng)
	}, opt.Seed); err != nil {
		return 0, err
	}
	found := 0.0
	for _, c := range pairs {
		if beyond(c.p, s.common) <= opt.Level {
			found++
		}
	}
	return found / max(float64(len(pairs)), 1), nil
}

// nearest returns the other class whose mean is nearest to that of a.
func nearest(a *judged, classes []*judged) (with *judged) {
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

// scattered returns the mean of rows and their variance, summed over the coordinates; 0 for one row.
func scattered(x *matrix.Dense) (mean []float64, variance float64) {
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
