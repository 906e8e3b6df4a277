package decide

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// gateClasses makes the bound of a gate one for as many new classes of strangers as it was learned from: their
// mean varies as much as its own. With what may not have been seen it was broken in 0.3 to 5.5 of 100 draws of
// species (docs/decisions.md).
const gateClasses = 2

// FewestStrangers is the fewest classes of strangers that a gate is learned from.
const FewestStrangers = 10

// Gate tells strangers from photos of the known classes of a closed set, by the distance of the nearest item: strangers
// are photos of other classes, which were looked up among the items of all known ones. What it promises is about one
// gallery, that of the known classes, so that the unit is the class of strangers alone.
//
// Let u be the share of strangers within a distance, the mean over n classes of their own shares, V its
// variance (that of the classes' shares, divided by n), m the largest share of a class, and k the share of
// photos of known classes that have an item within it. The bound is upperBound of u + w and
// gateClasses (V + w^2), with w = max(m, k / 2) / n for what may just not have been seen: one more class
// like the most confusable one, or one that is so like a known class that half of what is named there is
// named here. docs/decisions.md has what it kept.
type Gate struct {
	// Classes of strangers, with Photos in all, were looked up among Items items of known classes. Known is how many
	// photos of known classes the shares in Named are of.
	Classes int `json:"classes"`
	Photos  int `json:"photos"`
	Items   int `json:"items"`
	Known   int `json:"known"`
	// By Distances, in ascending order: the share of strangers within, its bound, and the share of photos of known
	// classes that have an item within.
	Distances []float64 `json:"distances"`
	Rate      []float64 `json:"rate"`
	Bound     []float64 `json:"bound"`
	Named     []float64 `json:"named"`
}

// Stranger is a photo of a class that is not among the known ones, with the distance of the nearest item of these.
type Stranger struct {
	Class    int64
	Distance float64
}

// gateDistances is the most distances that a gate has.
const gateDistances = 400

// NewGate learns from strangers that were looked up among items items of the known classes of a closed set. Fewer
// than ten classes of strangers are an error.
func NewGate(closed *Closed, strangers []Stranger, items int) (*Gate, error) {
	of := make(map[int64]int)
	var each [][]float64 // distances of a class, ascending
	for _, s := range strangers {
		if math.IsNaN(s.Distance) || math.IsInf(s.Distance, 0) {
			return nil, fmt.Errorf("a stranger at distance %v", s.Distance)
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
	if len(each) < FewestStrangers {
		return nil, fmt.Errorf("%d classes of strangers are too few to tell strangers by: it takes %d", len(each),
			FewestStrangers)
	}
	g := &Gate{Classes: len(each), Photos: len(strangers), Items: items, Known: closed.Photos,
		Distances: gateLevels(closed.Nearest, strangers)}
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
		u, named := sum/n, closed.Named(d)
		variance := max(0, squares/n-u*u) / (n - 1)
		g.Rate, g.Named = append(g.Rate, u), append(g.Named, named)
		w := max(most, named/2) / n
		g.Bound = append(g.Bound, min(1, upperBound(u+w, gateClasses*(variance+w*w))))
	}
	rising(g.Bound)
	return g, nil
}

// gateLevels are the distances of all photos, or evenly spread ones of them.
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

// shareWithin is the share of ascending distances that are at most d.
func shareWithin(v []float64, d float64) float64 {
	return float64(sort.Search(len(v), func(i int) bool { return v[i] > d })) / float64(len(v))
}

// at is the gate's threshold for a rate in a gallery. A gallery of more items brings the nearest nearer: of m times as
// many, at most m times as many strangers have one within.
func (g *Gate) at(fpir float64, items int, bound []float64) (Threshold, bool) {
	more := max(1, float64(items)/float64(g.Items))
	k := sort.Search(len(bound), func(k int) bool { return more*bound[k] > fpir }) - 1
	if k < 0 {
		return Threshold{Rate: fpir}, false
	}
	return Threshold{Rate: fpir, Distance: g.Distances[k], Measured: min(1, more*g.Rate[k]),
		Bound: min(1, more*g.Bound[k]), TrueMatch: g.Named[k]}, true
}

// Unknown is Calibration.Unknown for a gallery of the known classes with so many items. TrueMatch is the share of
// photos of known classes that have an item within.
func (g *Gate) Unknown(fpir float64, items int) (Threshold, error) {
	if !(fpir > 0 && fpir < 1) {
		return Threshold{}, fmt.Errorf("a false-positive rate of %v: it lies between 0 and 1", fpir)
	}
	t, ok := g.at(fpir, items, g.Bound)
	if !ok {
		return Threshold{}, &RateError{What: "a false-positive rate", Rate: fpir, Classes: g.Classes, Overlapped: true}
	}
	return t, nil
}

// Allows is what the distances allow: the threshold at which the measured rate, without a bound, is fpir. It is what
// more classes of strangers would come near to, and no promise. False: no distance measures so little.
func (g *Gate) Allows(fpir float64, items int) (Threshold, bool) { return g.at(fpir, items, g.Rate) }
