package decide

import (
	"fmt"
	"math"
	"sort"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
)

// Calibration holds what distances mean. Calibrate makes it and Read reads it. Its methods change
// nothing, so it is safe for concurrent use.
type Calibration struct {
	Format int `json:"format"`
	// Source is the network that made the embeddings. A calibration holds for embeddings of one network.
	Source embedding.Network `json:"-"` // see calibrationFile
	// Content is the SHA-256 of the file of embeddings that the calibration was learned from; "" for photos.
	Content  string        `json:"content,omitempty"`
	Distance eval.Distance `json:"distance"`
	Dim      int           `json:"dim"`
	Seed     uint64        `json:"seed"`
	// Classes and Photos are the numbers of compared classes and photos. Given is the number of
	// photos before Copies photos were left out as copies within their class.
	Classes     int `json:"classes"`
	Photos      int `json:"photos"`
	InputPhotos int `json:"given"`
	Copies      int `json:"copies"`
	// Groups is the number of groups of look-alike classes, 0 if there are none. With groups, bounds
	// take a group for what is drawn.
	Groups int `json:"groups,omitzero"`
	// Pairs is the effective number of pairs of classes: n (n - 1) / 2 for classes of equal sizes,
	// fewer for others. PerClass is the mean number of photos that a class counts for, which is at
	// most that of the median class.
	Pairs    float64 `json:"pairs"`
	PerClass float64 `json:"per_class"`
	// Distances are in ascending order. FalseMatch is the share of pairs of different classes
	// within each distance, and Bound its bound. TrueMatch is the share of pairs of the same class
	// within each distance, and Near the share of photos with another photo of their class within
	// it. In these and in Curve, Strangers and Tail a class counts for at most as many photos as the
	// median class has (or two): each photo of a larger class has a smaller weight, and a pair has
	// the product of two weights.
	Distances    []float64 `json:"distances"`
	FalseMatch   []float64 `json:"false_match"`
	Bound        []float64 `json:"bound"`
	TrueMatch    []float64 `json:"true_match"`
	NearestMatch []float64 `json:"near"`
	// Curve is the probability that a pair is of the same class, and Reliability its accuracy on
	// other classes.
	Curve       Curve       `json:"curve"`
	Reliability Reliability `json:"reliability"`
	// Score, of an open calibration, is the probability of labels in galleries of other classes.
	Score *Score `json:"score,omitempty"`
	// Strangers has, for galleries of several sizes, the share of strangers that have an item
	// within each distance.
	Strangers []Strangers `json:"strangers"`
	// TailIndex is the Weibull tail index, which describes how distances shrink as galleries grow: with
	// D times as many classes the nearest distance is D^(-1/Tail) times as large. 0 means unknown.
	TailIndex float64 `json:"tail"`
	// ClassRates has, for several numbers of photos of a class, the weights for the coverage of sets.
	ClassRates []ClassRates `json:"own"`
	// ClassSource names the classes that the calibration was learned from; "" if unknown. Closed, if set,
	// answers which of the classes of training a photo shows; see IsClosed.
	ClassSource string  `json:"from,omitempty"`
	Closed      *Closed `json:"closed,omitempty"`
}

// Strangers holds the rate of strangers and its bound, by Distances, for galleries of Classes classes.
type Strangers struct {
	Classes int       `json:"classes"`
	Rate    []float64 `json:"rate"`
	Bound   []float64 `json:"bound"`
}

// ClassRates holds how near the nearest of Photos photos of a class is to another photo of the class.
type ClassRates struct {
	Photos  int       `json:"photos"`
	Classes int       `json:"classes"` // number of classes with more photos than that
	Weights []float64 `json:"cover"`   // weights by Distances
}

// fillCalibration computes the calibration from the measurements.
func (m *measurement) fillCalibration(c *Calibration) {
	n := float64(m.s.numIdentities())
	levels := len(m.l.keys)
	c.Distances = m.l.end
	c.Pairs, c.Groups = m.pairs, m.units.numGroups
	same, different := make([]float64, levels), make([]float64, levels)
	for a := range foldCount {
		for b := range foldCount {
			for k := range levels {
				same[k] += m.same[a][b][k]
				different[k] += m.different[a][b][k]
			}
		}
	}
	c.Curve = fitCurve(m.l.end, same, different, n, c.Pairs)
	c.Reliability = m.crossValidateCurve()
	c.TrueMatch = cumulativeShares(same, sum(same))
	c.FalseMatch = cumulativeShares(different, m.w)
	c.NearestMatch = cumulativeShares(m.near, sum(m.near))
	for k := range c.FalseMatch {
		// Pairs with other classes grow with the square of what makes new classes confusable.
		between := m.between.boundFactor(k)
		seen := (m.within.sum[k]*m.within.boundFactor(k) + m.between.sum[k]*between*between) / m.w
		c.Bound = append(c.Bound, min(1, seen+upperBoundUnseen(c.TrueMatch[k]/m.events)))
	}
	makeMonotonic(c.Bound)
	if m.tails > 0 && m.tail > 0 {
		c.TailIndex = m.tails / m.tail
	}
	m.computeStrangers(c)
	for i, count := range classPhotoCounts {
		if m.numLarger[i] >= minClasses {
			c.ClassRates = append(c.ClassRates, ClassRates{Photos: count, Classes: m.numLarger[i],
				Weights: cumulativeShares(m.sameClass[i], 1)})
		}
	}
	c.roundValues()
}

// roundValues keeps seven digits of values by distance, because distances differ by more.
func (c *Calibration) roundValues() {
	all := [][]float64{c.Distances, c.FalseMatch, c.Bound, c.TrueMatch, c.NearestMatch}
	for _, s := range c.Strangers {
		all = append(all, s.Rate, s.Bound)
	}
	for _, o := range c.ClassRates {
		all = append(all, o.Weights)
	}
	for _, v := range all {
		for i, x := range v {
			if x != 0 {
				unit := math.Pow(10, 6-math.Floor(math.Log10(math.Abs(x))))
				v[i] = math.Round(x*unit) / unit
			}
		}
	}
}

func cumulativeShares(v []float64, total float64) []float64 {
	out := make([]float64, len(v))
	var s float64
	for i, x := range v {
		s += x
		out[i] = min(1, s/total)
	}
	return out
}

// makeMonotonic makes a bound monotonic, because a promise at a distance holds at all smaller distances.
func makeMonotonic(v []float64) {
	for i := 1; i < len(v); i++ {
		v[i] = max(v[i], v[i-1])
	}
}

// computeStrangers computes rates and bounds by the size of the gallery.
func (m *measurement) computeStrangers(c *Calibration) {
	for i, g := range m.sizes {
		s := Strangers{Classes: g}
		for k := range c.Distances {
			rate, bound := m.admittedRate(c, i, g, k, k)
			s.Rate, s.Bound = append(s.Rate, rate), append(s.Bound, bound)
		}
		makeMonotonic(s.Bound)
		c.Strangers = append(c.Strangers, s)
	}
	if c.TailIndex == 0 || c.Distance == eval.Dot {
		return // larger galleries cannot be extrapolated
	}
	last := len(m.sizes) - 1
	others := m.sizes[last]
	all, within := gallerySizes(others)
	for _, g := range all[within:] {
		s := Strangers{Classes: g}
		grow := math.Pow(float64(g)/float64(others), 1/c.TailIndex)
		for at, d := range c.Distances {
			k := min(sort.SearchFloat64s(c.Distances, d*grow), len(c.Distances)-1)
			rate, bound := m.admittedRate(c, last, g, k, at)
			s.Rate, s.Bound = append(s.Rate, rate), append(s.Bound, bound)
		}
		makeMonotonic(s.Bound)
		c.Strangers = append(c.Strangers, s)
	}
}

// admittedRate returns the share of strangers that have an item within in galleries of g classes, measured in
// galleries of m.sizes[i] classes, and the bound for one gallery. Level k is where strangers are
// counted, and at is where photos of a class find another one. The two differ beyond the measured sizes.
//
// The variance of the rate R has two parts: the strangers, which are probes of new units, and the
// gallery. Class j of the gallery lets in the share r(j) of strangers, and a share f of these is not
// let in by another class too. With n classes to measure r, m drawn in measuring and g in the gallery,
// the gallery's part is
//
//	f^2 m^2 var(r) (1 / g + 1 / n)
//
// The bound allows for three things that may have been missed by chance: a unit of probes like the one
// that is let in most, a class of the gallery like the one that lets in most, and a pair or group of
// classes that are the same thing.
func (m *measurement) admittedRate(c *Calibration, i, g, k, at int) (rate, bound float64) {
	of, n, drawn := &m.strangers[i], float64(c.Classes), float64(m.sizes[i])
	rate = of.in.sum[k] / m.photos
	variance, most := of.in.relativeVariance(k)
	probe := most * rate
	var gallery, worst float64
	if hits := m.column.hits[k]; hits > 0 {
		f := of.lone[k] / hits
		mean := m.column.sum[k] / n
		gallery = f * f * drawn * drawn * max(0, m.column.square[k]/n-mean*mean) * (1/float64(g) + 1/n)
		worst = f * m.column.most[k] * drawn / float64(g)
	}
	alike := min(1, float64(g)/m.events) * c.NearestMatch[at]
	bound = upperBound(rate+probe+worst+alike,
		boundVarianceFactor*(variance*rate*rate+probe*probe+alike*alike)+gallery+worst*worst)
	return rate, min(1, bound)
}

// Threshold is a distance with its promised rate.
type Threshold struct {
	Rate     float64 `json:"rate"` // the requested rate
	Distance float64 `json:"distance"`
	// Measured is the rate on the calibration's classes. Bound is its bound at 95 % over classes,
	// which is at most Rate.
	Measured float64 `json:"measured"`
	Bound    float64 `json:"bound"`
	// TrueMatch is the share of pairs of the same class that match, or of photos that have another
	// photo of their class within the distance.
	TrueMatch float64 `json:"true_match"`
	// Score, if the threshold is about a gallery that strangers were tried in, is the least log-odds of a label.
	// Distance is then 0.
	Score float64 `json:"-"`
	// Drift, if above 0, means that the gallery differs from the calibration's photos. It is the share of the gallery's
	// items that would get a label among the other classes. Score, Measured and Bound are then computed from the
	// gallery's own classes, and Bound may be above Rate.
	Drift float64 `json:"drift,omitzero"`
}

// NeededProbability returns the probability that a label needs, at the default share of strangers; 0 for a distance.
func (t Threshold) NeededProbability() float64 {
	if t.Distance != 0 || t.Score == 0 {
		return 0
	}
	return logistic(t.Score)
}

// Condition explains in a sentence the threshold of a drifted gallery and what it promises; "" without Drift.
func (t Threshold) Condition() string {
	if t.Drift == 0 {
		return ""
	}
	return fmt.Sprintf("the gallery is not like the photos of the calibration: of its own items %.3g %% would get the "+
		"label of another class. The threshold is raised to what the gallery's classes allow, and at most %.3g %% of "+
		"unknown photos may get a label; calibrate on photos like these", 100*t.Drift, 100*t.Bound)
}

// Threshold returns the largest distance at which the false-match rate of new classes is at most fmr in
// 95 of 100 cases. New classes are as many as the calibration had and drawn like them. The false-match
// rate is the share of pairs of photos of different classes within the distance, in which a class
// counts for at most as many photos as the median class has. The error is a *RateError if there are
// too few classes for the rate.
func (c *Calibration) Threshold(fmr float64) (Threshold, error) {
	if !(fmr > 0 && fmr < 1) {
		return Threshold{}, fmt.Errorf("the false-match rate is %v: must be above 0 and below 1", fmr)
	}
	if err := c.requireOpen("a false-match rate"); err != nil {
		return Threshold{}, err
	}
	fail := &RateError{What: "a false-match rate", Rate: fmr, Classes: c.Classes, Minimum: minimumRate(c.Pairs)}
	if fail.Minimum > fmr {
		fail.ClassesNeeded = SampleSize(fmr)
		return Threshold{}, fail
	}
	return c.largestThreshold(fmr, c.FalseMatch, c.Bound, c.TrueMatch, fail)
}

// largestThreshold returns the largest distance whose bound is at most rate.
func (c *Calibration) largestThreshold(rate float64, measured, bound, match []float64, fail *RateError) (Threshold,
	error) {
	k := sort.Search(len(bound), func(k int) bool { return bound[k] > rate }) - 1
	if k < 0 || match[k] == 0 {
		fail.Overlapped = true
		if c.Distances[0] == 0 {
			fail.Identical = measured[0]
		}
		return Threshold{}, fail
	}
	return Threshold{Rate: rate, Distance: c.Distances[k], Measured: measured[k], Bound: bound[k],
		TrueMatch: match[k]}, nil
}

// MatchProbability returns the probability that two photos at a distance are of the same class. prior is the share
// of pairs of the same class among all pairs in question. It is 1/2 if nothing is known about the pairs.
// For a photo and an item of a gallery it is about one over the number of classes (see Gallery.Prior),
// so it falls as galleries grow.
func (c *Calibration) MatchProbability(distance, prior float64) float64 {
	if prior <= 0 {
		return 0
	}
	if prior >= 1 {
		return 1
	}
	return logistic(c.Curve.LogOddsAt(distance) + math.Log(prior/(1-prior)))
}

// UnknownThreshold returns the distance beyond which a photo counts as unknown. Of photos whose class is not in
// the gallery, at most the share fpir has an item within the distance, in 95 of 100 cases. A class with
// more photos than those of the calibration counts as several classes, which overestimates its effect.
// TrueMatch is the share of photos with a photo of their own class within the distance.
func (c *Calibration) UnknownThreshold(fpir float64, g Gallery) (Threshold, error) {
	if !(fpir > 0 && fpir < 1) {
		return Threshold{}, fmt.Errorf("the false-positive rate is %v: must be above 0 and below 1", fpir)
	}
	if err := c.requireOpen("an unknown"); err != nil {
		return Threshold{}, err
	}
	if g.Classes < 1 || g.Items < g.Classes {
		return Threshold{}, fmt.Errorf("the gallery has %d items in %d classes: identification needs items with labels",
			g.Items,
			g.Classes)
	}
	size := float64(g.Classes) * max(1, float64(g.Items)/float64(g.Classes)/c.PerClass)
	last := c.Strangers[len(c.Strangers)-1].Classes
	if size > float64(last) {
		return Threshold{}, fmt.Errorf("a gallery of %d items in %d classes is larger than the calibration allows: "+
			"at most %d classes of %.3g photos", g.Items, g.Classes, last, c.PerClass)
	}
	k := sort.Search(len(c.Strangers), func(k int) bool { return float64(c.Strangers[k].Classes) >= size })
	rate, bound := c.Strangers[k].Rate, c.Strangers[k].Bound
	if k > 0 { // interpolate between sizes, linearly in logarithms
		a, b := &c.Strangers[k-1], &c.Strangers[k]
		f := math.Log(size/float64(a.Classes)) / math.Log(float64(b.Classes)/float64(a.Classes))
		rate, bound = interpolate(a.Rate, b.Rate, f), interpolate(a.Bound, b.Bound, f)
	}
	fail := &RateError{What: fmt.Sprintf("a false-positive rate among %d classes", g.Classes), Rate: fpir,
		Classes: c.Classes, Minimum: min(1, minimumRate(c.Pairs)*size)}
	if fail.Minimum > fpir {
		return Threshold{}, fail
	}
	return c.largestThreshold(fpir, rate, bound, c.NearestMatch, fail)
}

func interpolate(a, b []float64, f float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + f*(b[i]-a[i])
	}
	return out
}

// NearestQuantiles returns the distances within which the given shares of the calibration's photos have
// another photo of their class, in ascending order and without repetitions.
func (c *Calibration) NearestQuantiles(shares []float64) []float64 {
	var out []float64
	if c.IsClosed() {
		return c.Closed.sameClassQuantiles(shares)
	}
	for _, p := range shares {
		k := min(sort.SearchFloat64s(c.NearestMatch, p), len(c.Distances)-1)
		if d := c.Distances[k]; len(out) == 0 || d > out[len(out)-1] {
			out = append(out, d)
		}
	}
	return out
}

// CoverageDistance returns the distance within which a photo of a new class has the nearest of photos photos of
// its class, with at least the probability coverage. The unit is the class, weighted as in Lee, Barber
// and Willett (2023, Distribution-free inference with hierarchical data), so that the probability holds
// for any distances. The error says how many classes are needed.
func (c *Calibration) CoverageDistance(coverage float64, photos int) (float64, error) {
	if !(coverage > 0 && coverage < 1) {
		return 0, fmt.Errorf("the coverage is %v: must be above 0 and below 1", coverage)
	}
	if c.IsClosed() {
		return c.Closed.coverageDistance(coverage)
	}
	if len(c.ClassRates) == 0 {
		return 0, fmt.Errorf("no coverage can be promised: fewer than %d classes of the calibration have two photos",
			minClasses)
	}
	// Use a number of photos that enough classes had. More photos only bring the nearest nearer.
	needed := int(math.Ceil(coverage/(1-coverage) - 1e-9))
	k := len(c.Distances)
	for i := range c.ClassRates {
		if o := &c.ClassRates[i]; i == 0 || o.Photos <= photos && o.Classes >= needed {
			k = sort.SearchFloat64s(o.Weights, coverage-1e-9)
		}
	}
	if k == len(c.Distances) {
		return 0, fmt.Errorf("a coverage of %v needs %d classes with two photos or more, but the calibration has %d",
			coverage, needed, c.ClassRates[0].Classes)
	}
	return c.Distances[k], nil
}
