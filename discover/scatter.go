package discover

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/mat"
)

// reference is the fewest classes that what one kind looks like is learned from: a
// chance of one in twenty shows in no fewer.
const reference = 24

// usual is how much classes of one kind scatter in a set: the logarithm of the sum of
// squared distances from the class's mean. Most of the classes being of one kind, their
// middle is the median; and as those of several kinds are above it, the deviation is
// that of the lower half.
type usual struct {
	middle, deviation float64
	free              float64 // degrees of freedom
}

// newUsual learns from the scatters of classes, of which zeros say nothing. It is nil if
// there are too few.
func newUsual(scatter []float64) *usual {
	var logs []float64
	for _, s := range scatter {
		if s > 0 {
			logs = append(logs, math.Log(s))
		}
	}
	if len(logs) < reference {
		return nil
	}
	middle := median(logs)
	// One standard deviation below the middle of a normal distribution are 15.87 %.
	low := logs[int(0.1587*float64(len(logs)))]
	return &usual{middle: middle, deviation: max(middle-low, 0.01), free: float64(len(logs))/2 - 1}
}

// p is the probability that a class of one kind scatters as much.
func (u *usual) p(scatter float64) float64 {
	if scatter <= 0 {
		return 1
	}
	t := (math.Log(scatter) - u.middle) / u.deviation
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: u.free}.Survival(t)
}

// count is the number of groups to cut an agglomeration into so that they scatter as
// much as classes of one kind do in the middle; at least 2. scale is how many rows each
// of those joined stands for.
func (u *usual) count(merges []merge, most int, scale float64) int {
	var within float64
	for _, m := range merges {
		within += m.height / 2 * scale
	}
	one := math.Exp(u.middle)
	for k := 1; k < most && k <= len(merges); k++ {
		if k > 1 && within <= float64(k)*one {
			return k
		}
		within -= merges[len(merges)-k].height / 2 * scale
	}
	return max(2, most)
}

// joined is how much two classes would scatter as one, by their sizes and means.
func joined(a, b *judged) float64 {
	var d float64
	for j, v := range a.mean {
		d += (v - b.mean[j]) * (v - b.mean[j])
	}
	n, m := float64(len(a.rows)), float64(len(b.rows))
	return a.scatter + b.scatter + d*n*m/(n+m)
}

// told is the share of the classes that would be found to scatter too much together with
// the class whose mean is nearest.
func (u *usual) told(classes []*judged, level float64) float64 {
	const asked = 200 // of thousands, a few tell
	var found, n float64
	for k := 0; k < len(classes); k += (len(classes) + asked - 1) / asked {
		a := classes[k]
		least, with := math.Inf(1), (*judged)(nil)
		for _, b := range classes {
			var d float64
			for j, v := range a.mean {
				d += (v - b.mean[j]) * (v - b.mean[j])
			}
			if a != b && d < least {
				least, with = d, b
			}
		}
		if with == nil {
			continue
		}
		n++
		if u.p(joined(a, with)) <= level {
			found++
		}
	}
	return found / max(n, 1)
}

// scattered is the mean of rows and the sum of their squared distances from it.
func scattered(x *mat.Dense) (mean []float64, sum float64) {
	mean = make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			mean[j] += float64(v) / float64(x.Rows)
		}
	}
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			sum += (float64(v) - mean[j]) * (float64(v) - mean[j])
		}
	}
	return mean, sum
}

// median returns the middle of v, which it sorts; NaN if it is empty.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
