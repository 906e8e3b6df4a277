package decide

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// gateVarianceFactor is the factor of the variance in the bound of a gate. The bound is for as many new
// classes of strangers as the gate was learned from, whose mean varies as much as the gate's. The bound was
// broken in 0.3 to 5.5 of 100 draws of species (docs/decisions.md).
const gateVarianceFactor = 2

// MinStrangerClasses is the least number of classes of strangers for a gate.
const MinStrangerClasses = 10

// StrangerGate separates strangers from photos of the known classes of a closed set by the distance of the
// nearest item. Strangers are photos of other classes, which were searched among the items of all known
// classes. The promise is about one gallery, that of the known classes, so the only unit is the class of strangers.
//
// Let u be the share of strangers within a distance, the mean over n classes of their own shares, V its
// variance (that of the classes' shares, divided by n), m the largest share of a class, and k the share of
// photos of known classes that have an item within it. The bound is upperBound of u + w and
// gateVarianceFactor (V + w^2), with w = max(m, k / 2) / n for a class that may have been missed by chance:
// one like the most confusable class, or one so like a known class that half as many of its photos are
// accepted as of that class. docs/decisions.md has tests of the promise.
type StrangerGate struct {
	// Classes is the number of classes of strangers, Photos the number of their photos, and Items the number of items
	// of known classes. Known is the number of photos of known classes from which Named is computed.
	Classes     int `json:"classes"`
	Photos      int `json:"photos"`
	Items       int `json:"items"`
	KnownPhotos int `json:"known"`
	// Distances are in ascending order. Rate is the share of strangers that have an item within each distance, Bound
	// its bound, and Named the share of photos of known classes that have an item within it.
	Distances []float64 `json:"distances"`
	Rate      []float64 `json:"rate"`
	Bound     []float64 `json:"bound"`
	KnownRate []float64 `json:"named"`
}

// Stranger is a photo of a class that is not known, with the distance to the nearest item of the known classes.
type Stranger struct {
	Class    int64
	Distance float64
}

// gateDistances is the largest number of distances of a gate.
const gateDistances = 400

// NewStrangerGate learns a gate from strangers that were searched among items items of the known classes of
// a closed set. It is an error if there are fewer than ten classes of strangers.
func NewStrangerGate(closed *Closed, strangers []Stranger, items int) (*StrangerGate, error) {
	of := make(map[int64]int)
	var each [][]float64 // distances of each class, ascending
	for _, s := range strangers {
		if math.IsNaN(s.Distance) || math.IsInf(s.Distance, 0) {
			return nil, fmt.Errorf("a stranger has the distance %v: must be finite", s.Distance)
		}
		k, ok := of[s.Class]
		if !ok {
			k = len(each)
			of[s.Class] = k
			each = append(each, nil)
		}
		each[k] = append(each[k], s.Distance)
	}
	n := float64(len(each))
	if len(each) < MinStrangerClasses {
		return nil, fmt.Errorf("%d classes of strangers are too few to recognise strangers: at least %d are needed",
			len(each),
			MinStrangerClasses)
	}
	g := &StrangerGate{Classes: len(each), Photos: len(strangers), Items: items, KnownPhotos: closed.Photos,
		Distances: gateLevels(closed.NearestDistances, strangers)}
	for k := range each {
		slices.Sort(each[k])
	}
	for _, d := range g.Distances {
		var sum, squares, most float64
		for _, v := range each {
			s := shareWithin(v, d)
			sum += s
			squares += s * s
			most = max(most, s)
		}
		u, named := sum/n, closed.KnownRate(d)
		variance := max(0, squares/n-u*u) / (n - 1)
		g.Rate, g.KnownRate = append(g.Rate, u), append(g.KnownRate, named)
		w := max(most, named/2) / n
		g.Bound = append(g.Bound, min(1, upperBound(u+w, gateVarianceFactor*(variance+w*w))))
	}
	makeMonotonic(g.Bound)
	return g, nil
}

// gateLevels returns the distances of all photos, or an evenly spread selection.
func gateLevels(known []float64, strangers []Stranger) []float64 {
	all := slices.Clone(known)
	for _, s := range strangers {
		all = append(all, s.Distance)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) <= gateDistances {
		return all
	}
	out := make([]float64, gateDistances)
	for i := range out {
		out[i] = all[(i+1)*len(all)/gateDistances-1]
	}
	return out
}

// shareWithin returns the share of ascending distances that are at most d.
func shareWithin(v []float64, d float64) float64 {
	return float64(sort.Search(len(v), func(i int) bool { return v[i] > d })) / float64(len(v))
}

// thresholdAt returns the gate's threshold for a rate in a gallery. In a larger gallery the nearest item is
// nearer: with m times as many items, at most m times as many strangers have an item within a distance.
func (g *StrangerGate) thresholdAt(fpir float64, items int, bound []float64) (Threshold, bool) {
	more := max(1, float64(items)/float64(g.Items))
	k := sort.Search(len(bound), func(k int) bool { return more*bound[k] > fpir }) - 1
	if k < 0 {
		return Threshold{Rate: fpir}, false
	}
	return Threshold{Rate: fpir, Distance: g.Distances[k], Measured: min(1, more*g.Rate[k]),
		Bound: min(1, more*g.Bound[k]), TrueMatch: g.KnownRate[k]}, true
}

// UnknownThreshold is Calibration.UnknownThreshold for a gallery of the known classes with the given number
// of items. TrueMatch is the share of photos of known classes that have an item within the distance.
func (g *StrangerGate) UnknownThreshold(fpir float64, items int) (Threshold, error) {
	if !(fpir > 0 && fpir < 1) {
		return Threshold{}, fmt.Errorf("the false-positive rate is %v: must be above 0 and below 1", fpir)
	}
	t, ok := g.thresholdAt(fpir, items, g.Bound)
	if !ok {
		return Threshold{}, &RateError{What: "a false-positive rate", Rate: fpir, Classes: g.Classes, Overlapped: true}
	}
	return t, nil
}

// EstimatedThreshold returns the threshold at which the measured rate, without a bound, is fpir. It is not a
// promise, but the limit that more classes of strangers would approach. It returns false if the rate is
// higher at every distance.
func (g *StrangerGate) EstimatedThreshold(fpir float64, items int) (Threshold, bool) {
	return g.thresholdAt(fpir, items, g.Rate)
}
