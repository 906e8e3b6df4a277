package decide

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// Drift compares photos without labels with the photos of the calibration: how far they are from the photos of other
// classes, which false matches and strangers depend on.
type Drift struct {
	Photos int `json:"photos"`
	// Classes is the number of classes that a random set is drawn of: two thirds of those that the photos have if these
	// have as many photos each as in the calibration, and at most half of Known. With all of them P would be too small,
	// because the distances of new classes are to the same other classes.
	Classes int `json:"classes"`
	// Known is the number of classes of the calibration, and Reference the number of those that the distances of a
	// photo are measured to: all but its own, or all but one for the new photos.
	ReferencePhotos int `json:"reference"`
	KnownClasses    int `json:"known"`
	// Statistic is that of Kolmogorov and Smirnov: the largest difference, over all distances,
	// between the shares of both sets of photos whose nearest photo of another class is within the distance.
	// MeanStatistic is the same for the mean distance to all photos of other classes.
	Statistic     float64 `json:"statistic"`
	MeanStatistic float64 `json:"mean_statistic"`
	// P is how often as many classes of the calibration, drawn at random, differ as much from the
	// others by the statistic that is rarer, times two.
	P float64 `json:"p"`
	// DetectableStatistic is the least Statistic that has a P of 0.05 or less by itself: smaller ones are not found.
	DetectableStatistic float64 `json:"found"`
	// MedianNearest is the median distance of the photos to the nearest photo of another class. KnownMedianNearest is
	// the same for the photos of the calibration.
	MedianNearest      float64 `json:"nearest"`
	KnownMedianNearest float64 `json:"known_nearest"`
	// Matches are false matches between photos of different classes.
	Matches []DriftMatch `json:"matches"`
}

// DriftMatch is a promised rate, with the rates that pairs with other classes show for the new photos
// and for the known classes.
type DriftMatch struct {
	Threshold
	NewRate       float64 `json:"new"`
	KnownRate     float64 `json:"known"`
	RefusalReason string  `json:"refused,omitempty"`
}

// driftDraws is the number of random sets of classes for P.
const driftDraws = 999

// Drift compares the photos fresh, which have unknown labels of other classes, with the photos x of the
// calibration and their labels.
//
// A two-sample test compares the distances of both sets to the photos of other classes of the calibration. One class,
// drawn at random, is left out for each new photo, so that both sets have as many others. The unit of the test is the
// class, because a test of single photos would find every set of new classes different. If fresh has fewer classes
// than Drift.Classes, P is too small; with more, it is too large.
func (c *Calibration) Drift(ctx context.Context, x *matrix.Dense, labels []int64, fresh *matrix.Dense,
	rates []float64) (*Drift, error) {
	if err := c.CheckNetwork(embedding.Network{}, "", x.Cols); err != nil {
		return nil, err
	}
	if err := c.CheckNetwork(embedding.Network{}, "", fresh.Cols); err != nil {
		return nil, err
	}
	if err := exact.CheckFinite(fresh, "embeddings to compare"); err != nil {
		return nil, err
	}
	s, _, err := newSet(x, labels, &Options{Distance: c.Distance, Seed: c.Seed})
	if err != nil {
		return nil, err
	}
	if s.numIdentities() < 2*minClasses || fresh.Rows == 0 {
		return nil, fmt.Errorf("%d photos are compared with %d classes: must be at least 1 photo and %d "+
			"classes", fresh.Rows,
			s.numIdentities(), 2*minClasses)
	}
	rng, n := rand.New(rand.NewPCG(c.Seed, 5)), s.numIdentities()
	if c.Distance == eval.Cosine {
		fresh = eval.NormalizeRows(fresh)
	}
	out := &Drift{Photos: fresh.Rows, ReferencePhotos: n - 1, KnownClasses: n}
	out.Classes = min(max(1, int(math.Round(float64(fresh.Rows)/(float64(s.x.Rows)/float64(n))*2/3))), n/2)
	var within []float64
	for _, rate := range rates {
		m := DriftMatch{}
		if m.Threshold, err = c.Threshold(rate); err != nil {
			m.RefusalReason = err.Error()
		}
		m.Rate = rate
		within = append(within, m.Distance)
		out.Matches = append(out.Matches, m)
	}
	class, without := make([]int, s.x.Rows), make([]int, fresh.Rows)
	for i := range n {
		for q := s.first[i]; q < s.first[i+1]; q++ {
			class[q] = i
		}
	}
	for q := range without {
		without[q] = rng.IntN(n)
	}
	known, err := s.distancesToOthers(ctx, s.x, class, within)
	if err != nil {
		return nil, err
	}
	others, err := s.distancesToOthers(ctx, fresh, without, within)
	if err != nil {
		return nil, err
	}
	for r := range out.Matches {
		out.Matches[r].NewRate, out.Matches[r].KnownRate = others.share[r], known.share[r]
	}
	var by [2]sortedValues
	var seen [2]float64
	for k := range by {
		by[k] = newSortedValues(known.nearestAndMean[k], class)
		slices.Sort(others.nearestAndMean[k])
		seen[k] = ksStatistic(others.nearestAndMean[k], by[k].value)
	}
	out.MedianNearest, out.KnownMedianNearest = others.nearestAndMean[0][fresh.Rows/2], by[0].value[s.x.Rows/2]
	out.Statistic, out.MeanStatistic = seen[0], seen[1]
	out.P, out.DetectableStatistic = driftPValue(rng, n, out.Classes, by, seen)
	return out, nil
}

// driftPValue returns how often random classes of n differ as much from the others as was seen: twice the
// smaller share of both statistics, as either may be the rarer one. found is the least first statistic for
// which that is 0.05.
func driftPValue(rng *rand.Rand, n, classes int, by [2]sortedValues, seen [2]float64) (p, found float64) {
	all := [2][]float64{{seen[0]}, {seen[1]}}
	for range driftDraws {
		in := make([]bool, n)
		for _, i := range rng.Perm(n)[:classes] {
			in[i] = true
		}
		for k := range all {
			all[k] = append(all[k], by[k].separation(in))
		}
	}
	p = 1
	for k := range all {
		slices.Sort(all[k])
		at, _ := slices.BinarySearch(all[k], seen[k])
		p = min(p, 2*float64(len(all[k])-at)/(driftDraws+1))
	}
	return p, all[0][len(all[0])-(driftDraws+1)/40]
}

// sortedValues has a value of each photo in order, with its class.
type sortedValues struct {
	value []float64
	class []int
}

func newSortedValues(values []float64, class []int) sortedValues {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := sortedValues{make([]float64, len(values)), make([]int, len(values))}
	for at, i := range order {
		out.value[at], out.class[at] = values[i], class[i]
	}
	return out
}

// separation returns the statistic of Kolmogorov and Smirnov for the photos of the classes in, and those of the others.
func (s *sortedValues) separation(in []bool) float64 {
	var count, upTo [2]int
	side := func(c int) int {
		if in[c] {
			return 1
		}
		return 0
	}
	for _, c := range s.class {
		count[side(c)]++
	}
	most := 0.0
	for i, c := range s.class {
		if upTo[side(c)]++; i+1 == len(s.value) || s.value[i+1] > s.value[i] {
			most = max(most, math.Abs(float64(upTo[0])/float64(count[0])-float64(upTo[1])/float64(count[1])))
		}
	}
	return most
}

// ksStatistic returns the statistic of Kolmogorov and Smirnov for two sorted lists.
func ksStatistic(a, b []float64) float64 {
	i, j, most := 0, 0, 0.0
	for i < len(a) && j < len(b) {
		v := min(a[i], b[j])
		for i < len(a) && a[i] == v {
			i++
		}
		for j < len(b) && b[j] == v {
			j++
		}
		most = max(most, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return most
}

// otherDistances are those of photos to the photos of other classes.
type otherDistances struct {
	nearestAndMean [2][]float64 // of each photo: the nearest, and the mean
	share          []float64    // of all pairs, within each of some distances
}

// distancesToOthers compares every row of x with the rows of all classes but without[row].
func (s *set) distancesToOthers(ctx context.Context, x *matrix.Dense, without []int,
	within []float64) (*otherDistances, error) {
	d := &otherDistances{share: make([]float64, len(within))}
	values, pairs := matrix.New(min(tileRows, x.Rows), s.x.Rows), 0.0
	for lo := 0; lo < x.Rows; lo += tileRows {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("comparing rows: %w", err)
		}
		hi := min(lo+tileRows, x.Rows)
		out := values.RowRange(0, hi-lo)
		if s.distance == eval.Dot {
			matrix.Gemm(false, true, -1, x.RowRange(lo, hi), s.x, 0, out)
		} else {
			matrix.SquaredDistances(x.RowRange(lo, hi), s.x, out)
		}
		for q := range hi - lo {
			skip := without[lo+q]
			least, sum, n := math.Inf(1), 0.0, 0
			for j, v := range out.Row(q) {
				if s.first[skip] <= j && j < s.first[skip+1] {
					continue
				}
				v := toDistance(s.distance, float64(v))
				least, sum, n = min(least, v), sum+v, n+1
				for r, w := range within {
					if v <= w {
						d.share[r]++
					}
				}
			}
			pairs += float64(n)
			d.nearestAndMean[0], d.nearestAndMean[1] = append(d.nearestAndMean[0], least),
				append(d.nearestAndMean[1], sum/float64(n))
		}
	}
	for r := range d.share {
		d.share[r] /= pairs
	}
	return d, nil
}
