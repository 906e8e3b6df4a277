package decide

import (
	"fmt"
	"math"
	"sort"

	"github.com/kindred-ml/kindred/eval/rank"
)

// Source is what made embeddings. Calibrations hold for embeddings of one source.
type Source struct {
	// Network is the digest of the network, Name what it is called.
	Network string `json:"network"`
	Name    string `json:"name"`
	// Preparation is how photos become the network's input.
	Preparation string `json:"preparation"`
}

// Calibration is what distances mean. It is made by Calibrate and read by Read; its
// methods change nothing, and may be called by several goroutines.
type Calibration struct {
	Format   int           `json:"format"`
	Source   Source        `json:"source"`
	Distance rank.Distance `json:"distance"`
	Dim      int           `json:"dim"`
	Seed     uint64        `json:"seed"`
	// Classes and Photos were compared. Given is the number of photos before Copies were
	// left out as copies within their class.
	Classes int `json:"classes"`
	Photos  int `json:"photos"`
	Given   int `json:"given"`
	Copies  int `json:"copies"`
	// Groups is in how many groups of look-alikes classes lie, 0 if in none: bounds then take
	// groups for what is drawn.
	Groups int `json:"groups,omitzero"`
	// Pairs is the effective number of pairs of classes: n (n - 1) / 2 of classes of
	// equal sizes, fewer of others. PerClass is the mean number of photos of a class.
	Pairs    float64 `json:"pairs"`
	PerClass float64 `json:"per_class"`
	// By Distances, in ascending order: the share of pairs of different classes within,
	// and its bound; the share of pairs of the same class; and the share of photos with
	// another one of their class within.
	Distances  []float64 `json:"distances"`
	FalseMatch []float64 `json:"false_match"`
	Bound      []float64 `json:"bound"`
	TrueMatch  []float64 `json:"true_match"`
	Near       []float64 `json:"near"`
	// Curve is the probability that a pair is of the same class, and Reliability how
	// true it is of other classes.
	Curve       Curve       `json:"curve"`
	Reliability Reliability `json:"reliability"`
	Vote        Vote        `json:"vote"`
	// Strangers has the share of photos whose class is not in a gallery of so many other
	// classes, but that have one of its photos within.
	Strangers []Strangers `json:"strangers"`
	// Tail is how distances shrink as galleries grow, the Weibull tail index: D times as
	// many classes bring the nearest by D^(-1/Tail); 0 if it is not known.
	Tail float64 `json:"tail"`
	// Own has the weights by which sets cover: of photos whose nearest of some of their
	// own class are within.
	Own []Own `json:"own"`
	// From says which classes this was learned from; "": it is not known. Closed, if set, answers "which of
	// the classes that training saw"; see IsClosed.
	From   string  `json:"from,omitempty"`
	Closed *Closed `json:"closed,omitempty"`
}

// Strangers is a line by gallery size: by Distances, the rate and its bound.
type Strangers struct {
	Classes int       `json:"classes"`
	Rate    []float64 `json:"rate"`
	Bound   []float64 `json:"bound"`
}

// Own is how near the nearest of a number of a class's photos is to another one of it.
type Own struct {
	Photos  int       `json:"photos"`
	Classes int       `json:"classes"` // that had as many
	Cover   []float64 `json:"cover"`   // by Distances
}

// finish computes the calibration from what was measured.
func (m *measure) finish(c *Calibration) {
	n := float64(m.s.identities())
	levels := len(m.l.keys)
	c.Distances = m.l.end
	c.Pairs, c.Groups = m.pairs, m.units.groups
	same, different := make([]float64, levels), make([]float64, levels)
	for a := range foldCount {
		for b := range foldCount {
			for k := range levels {
				same[k] += m.same[a][b][k]
				different[k] += m.different[a][b][k]
			}
		}
	}
	c.Curve = fitSame(m.l.end, same, different, n, c.Pairs)
	c.Reliability = m.crossFitted()
	c.Vote = fittedVote(m.probes, m.probeFold)
	c.TrueMatch = cumulative(same, sum(same))
	c.FalseMatch = cumulative(different, m.w)
	c.Near = cumulative(m.near, sum(m.near))
	for k := range c.FalseMatch {
		// Pairs with others grow with the square of what new classes have more of what confuses.
		between := m.between.bound(k)
		seen := (m.within.sum[k]*m.within.bound(k) + m.between.sum[k]*between*between) / m.w
		c.Bound = append(c.Bound, min(1, seen+upperUnseen(c.TrueMatch[k]/m.events)))
	}
	rising(c.Bound)
	if m.tails > 0 && m.tail > 0 {
		c.Tail = float64(m.tails) / m.tail
	}
	m.strangersOf(c)
	for i, count := range ownCounts {
		if m.many[i] >= fewestClasses {
			c.Own = append(c.Own, Own{Photos: count, Classes: m.many[i], Cover: cumulative(m.own[i], 1)})
		}
	}
	c.round()
}

// round keeps seven digits of what is kept by distance: distances differ by more.
func (c *Calibration) round() {
	all := [][]float64{c.Distances, c.FalseMatch, c.Bound, c.TrueMatch, c.Near}
	for _, s := range c.Strangers {
		all = append(all, s.Rate, s.Bound)
	}
	for _, o := range c.Own {
		all = append(all, o.Cover)
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

func cumulative(v []float64, total float64) []float64 {
	out := make([]float64, len(v))
	var s float64
	for i, x := range v {
		s += x
		out[i] = min(1, s/total)
	}
	return out
}

// rising makes a bound one that never falls: what is promised at a distance holds at
// all smaller ones.
func rising(v []float64) {
	for i := 1; i < len(v); i++ {
		v[i] = max(v[i], v[i-1])
	}
}

// strangersOf computes rates and bounds by the size of the gallery.
func (m *measure) strangersOf(c *Calibration) {
	for i, g := range m.sizes {
		s := Strangers{Classes: g}
		for k := range c.Distances {
			rate, bound := m.let(c, i, g, k, k)
			s.Rate, s.Bound = append(s.Rate, rate), append(s.Bound, bound)
		}
		rising(s.Bound)
		c.Strangers = append(c.Strangers, s)
	}
	if c.Tail == 0 || c.Distance == rank.Dot {
		return // nothing to go beyond by
	}
	last := len(m.sizes) - 1
	others := m.sizes[last]
	all, within := gallerySizes(others)
	for _, g := range all[within:] {
		s := Strangers{Classes: g}
		grow := math.Pow(float64(g)/float64(others), 1/c.Tail)
		for at, d := range c.Distances {
			k := min(sort.SearchFloat64s(c.Distances, d*grow), len(c.Distances)-1)
			rate, bound := m.let(c, last, g, k, at)
			s.Rate, s.Bound = append(s.Rate, rate), append(s.Bound, bound)
		}
		rising(s.Bound)
		c.Strangers = append(c.Strangers, s)
	}
}

// let is the share of strangers that galleries of g classes let in, measured in those of
// m.sizes[i], and the bound for one gallery. Level k is where strangers are counted, and at where
// photos of a class find another one, which differ beyond the sizes that could be measured.
//
// The variance of the rate R has two parts. Strangers are probes of new units. The gallery is
// one: its classes let in r(j) each, by themselves; a share f of these is not let in by another
// class too. With n classes to measure r, m drawn in measuring and g in the gallery,
//
//	f^2 m^2 var(r) (1 / g + 1 / n)
//
// What was not seen is a unit of probes like the one that is let in most, a class of the gallery
// like the one that lets in most, and a pair, or group, of classes that are the same thing.
func (m *measure) let(c *Calibration, i, g, k, at int) (rate, bound float64) {
	of, n, drawn := &m.strangers[i], float64(c.Classes), float64(m.sizes[i])
	photos := float64(m.s.x.Rows)
	rate = of.in.sum[k] / photos
	variance, most := of.in.relative(k)
	probe := most * rate
	var gallery, worst float64
	if hits := m.column.hits[k]; hits > 0 {
		f := of.lone[k] / hits
		mean := m.column.sum[k] / n
		gallery = f * f * drawn * drawn * max(0, m.column.square[k]/n-mean*mean) * (1/float64(g) + 1/n)
		worst = f * m.column.most[k] * drawn / float64(g)
	}
	alike := min(1, float64(g)/m.events) * c.Near[at]
	bound = upperBound(rate+probe+worst+alike,
		newClasses*(variance*rate*rate+probe*probe+alike*alike)+gallery+worst*worst)
	return rate, min(1, bound)
}

// Threshold is a distance with what it promises.
type Threshold struct {
	Rate     float64 `json:"rate"` // that was asked for
	Distance float64 `json:"distance"`
	// Measured is the rate of the calibration, Bound the one at 95 % over classes, at
	// most Rate.
	Measured float64 `json:"measured"`
	Bound    float64 `json:"bound"`
	// TrueMatch is the share of pairs of the same class that match, or of photos that
	// have one of their class within.
	TrueMatch float64 `json:"true_match"`
	// Drift, if above 0, says that the gallery is not like the calibration's photos: this share of its
	// items has one of another class within the distance that the calibration promises Rate for.
	// Distance, Measured and Bound are then by the gallery's own classes (Apart), and Bound may be
	// above Rate.
	Drift float64 `json:"drift,omitzero"`
}

// Condition says in a sentence what a threshold of a drifted gallery rests on and promises; "" without Drift.
func (t Threshold) Condition() string {
	if t.Drift == 0 {
		return ""
	}
	return fmt.Sprintf("the gallery is not like the photos of the calibration: of its own items %.3g %% have one of "+
		"another class within the distance that was promised, so that the distance is what its classes allow, and at "+
		"most %.3g %% of strangers may have an item within; calibrate on photos like these", 100*t.Drift, 100*t.Bound)
}

// Threshold returns the largest distance at which the false-match rate of new classes,
// as many as the calibration had and drawn like them, is at most fmr in 95 of 100 cases:
// the share of pairs of photos of different classes at that distance or less. The error
// is a *RateError if the classes do not carry the rate.
func (c *Calibration) Threshold(fmr float64) (Threshold, error) {
	if !(fmr > 0 && fmr < 1) {
		return Threshold{}, fmt.Errorf("a false-match rate of %v: it lies between 0 and 1", fmr)
	}
	if err := c.open("a false-match rate"); err != nil {
		return Threshold{}, err
	}
	fail := &RateError{What: "a false-match rate", Rate: fmr, Classes: c.Classes, Least: leastOf(c.Pairs)}
	if fail.Least > fmr {
		fail.Needed = Needed(fmr)
		return Threshold{}, fail
	}
	return c.threshold(fmr, c.FalseMatch, c.Bound, c.TrueMatch, fail)
}

// threshold is the last distance whose bound is at most rate.
func (c *Calibration) threshold(rate float64, measured, bound, match []float64, fail *RateError) (Threshold, error) {
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

// Same returns the probability that two photos at a distance are of the same class,
// where the share prior of all pairs in question is: 1/2 for pairs about which nothing is
// known, and about one in the number of classes of a photo and an item of a gallery (see
// Gallery.Prior), which is how it falls as galleries grow.
func (c *Calibration) Same(distance, prior float64) float64 {
	if prior <= 0 {
		return 0
	}
	if prior >= 1 {
		return 1
	}
	return logistic(c.Curve.At(distance) + math.Log(prior/(1-prior)))
}

// Unknown returns the distance beyond which the nearest item of a gallery tells nothing:
// of photos whose class is not among the gallery's, at most the share fpir has an item
// that near, in 95 of 100 cases. Classes with more photos than those of the calibration
// count as so many more classes, which is more than they can do. TrueMatch is the share
// of photos with one of their own class that near.
func (c *Calibration) Unknown(fpir float64, g Gallery) (Threshold, error) {
	if !(fpir > 0 && fpir < 1) {
		return Threshold{}, fmt.Errorf("a false-positive rate of %v: it lies between 0 and 1", fpir)
	}
	if err := c.open("an unknown"); err != nil {
		return Threshold{}, err
	}
	if g.Classes < 1 || g.Items < g.Classes {
		return Threshold{}, fmt.Errorf("a gallery of %d items in %d classes: nobody can be known from it", g.Items,
			g.Classes)
	}
	size := float64(g.Classes) * max(1, float64(g.Items)/float64(g.Classes)/c.PerClass)
	last := c.Strangers[len(c.Strangers)-1].Classes
	if size > float64(last) {
		return Threshold{}, fmt.Errorf("a gallery of %d items in %d classes is larger than the calibration reaches, "+
			"which is %d classes of %.3g photos", g.Items, g.Classes, last, c.PerClass)
	}
	k := sort.Search(len(c.Strangers), func(k int) bool { return float64(c.Strangers[k].Classes) >= size })
	rate, bound := c.Strangers[k].Rate, c.Strangers[k].Bound
	if k > 0 { // between sizes, straight in logarithms
		a, b := &c.Strangers[k-1], &c.Strangers[k]
		f := math.Log(size/float64(a.Classes)) / math.Log(float64(b.Classes)/float64(a.Classes))
		rate, bound = between(a.Rate, b.Rate, f), between(a.Bound, b.Bound, f)
	}
	fail := &RateError{What: fmt.Sprintf("a false-positive rate among %d classes", g.Classes), Rate: fpir,
		Classes: c.Classes, Least: min(1, leastOf(c.Pairs)*size)}
	if fail.Least > fpir {
		return Threshold{}, fail
	}
	return c.threshold(fpir, rate, bound, c.Near, fail)
}

func between(a, b []float64, f float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + f*(b[i]-a[i])
	}
	return out
}

// NearestQuantiles returns the distances within which shares of the calibration's photos,
// in ascending order, have another one of their class; equal ones once.
func (c *Calibration) NearestQuantiles(shares []float64) []float64 {
	var out []float64
	if c.IsClosed() {
		return c.Closed.quantiles(shares)
	}
	for _, p := range shares {
		k := min(sort.SearchFloat64s(c.Near, p), len(c.Distances)-1)
		if d := c.Distances[k]; len(out) == 0 || d > out[len(out)-1] {
			out = append(out, d)
		}
	}
	return out
}

// Cover returns the distance within which, with at least the given probability, a photo
// of a new class has the nearest of photos photos of its class: the unit is the class,
// weighted as in Lee, Barber and Willett (2023, Distribution-free inference with
// hierarchical data), so that the probability is exact whatever the distances are. The
// error says how many classes it takes.
func (c *Calibration) Cover(coverage float64, photos int) (float64, error) {
	if !(coverage > 0 && coverage < 1) {
		return 0, fmt.Errorf("a coverage of %v: it lies between 0 and 1", coverage)
	}
	if c.IsClosed() {
		return c.Closed.within(coverage)
	}
	if len(c.Own) == 0 {
		return 0, fmt.Errorf("no coverage can be promised: less than %d classes had two photos", fewestClasses)
	}
	// Of as many photos as enough classes had: more photos only bring the nearest nearer.
	needed := int(math.Ceil(coverage/(1-coverage) - 1e-9))
	k := len(c.Distances)
	for i := range c.Own {
		if o := &c.Own[i]; i == 0 || o.Photos <= photos && o.Classes >= needed {
			k = sort.SearchFloat64s(o.Cover, coverage-1e-9)
		}
	}
	if k == len(c.Distances) {
		return 0, fmt.Errorf("a coverage of %v takes %d classes with two photos or more, and the calibration had %d",
			coverage, needed, c.Own[0].Classes)
	}
	return c.Distances[k], nil
}
