package decide

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/eval/rank"
)

// Limits of the numbers of a calibration. A count is below 2^40, so that products of counts are exact.
// Rounding may put a probability a little above 1, and a cosine distance a little outside 0 to 2, because
// keys of distances are exact to one part in 2,000.
const (
	mostCount     = 1 << 40
	nearOne       = 1 + 1e-9
	aroundACosine = 1e-2
	mostOdds      = 700  // a larger exponent overflows float64
	mostFit       = 1000 // a fit: each of 50 steps changes a number by at most 4
	mostScore     = 1e6  // log-odds by fitted weights
	mostTail      = 1e12
	leastTail     = 1e-3
)

// check returns an error for a calibration that Calibrate and CalibrateClosed cannot have made. It names the
// field and its value.
func (c *Calibration) check() error {
	err := c.Distance.Check()
	if err == nil {
		err = cmp.Or(c.checkCounts(), c.Curve.check("curve", c.Distance),
			c.Reliability.check("reliability"))
	}
	if err == nil && c.Closed != nil {
		err = c.Closed.check(c.Distance)
	}
	switch {
	case err != nil:
	case c.IsClosed():
		err = c.checkClosed()
	default:
		err = c.checkOpen()
	}
	if err != nil {
		return fmt.Errorf("%w: make it again with kindred calibrate", err)
	}
	return nil
}

// checkCounts checks the numbers of classes and photos.
func (c *Calibration) checkCounts() error {
	n := float64(c.Classes)
	return cmp.Or(
		count("dim", c.Dim, 1, 1<<24),
		count("classes", c.Classes, 2, mostCount),
		count("photos", c.Photos, 1, mostCount),
		count("given", c.Given, c.Photos, mostCount),
		count("copies", c.Copies, 0, c.Given-c.Photos),
		count("groups", c.Groups, 0, c.Classes),
		number("pairs", c.Pairs, 0, n*(n-1)/2*nearOne),
		number("per_class", c.PerClass, 1, mostCount),
		number("tail", c.Tail, 0, mostTail))
}

// checkClosed checks the fields of a closed calibration other than Closed.
func (c *Calibration) checkClosed() error {
	z := c.Closed
	return cmp.Or(
		count("classes", c.Classes, z.Classes, z.Classes),
		count("photos", c.Photos, z.Photos, z.Photos),
		follows("per_class", c.PerClass, float64(z.Items)/float64(z.Classes)))
}

// checkOpen checks everything that is kept by distance, and its counts.
func (c *Calibration) checkOpen() error {
	err := cmp.Or(
		count("classes", c.Classes, fewestClasses, mostCount),
		count("photos", c.Photos, c.Classes, mostCount),
		number("pairs", c.Pairs, 1, math.Inf(1)),
		c.checkPerClass(),
		count("the number of distances", len(c.Distances), 1, mostCount),
		count("the number of strangers", len(c.Strangers), 1, mostCount),
		rises("distances", c.Distances, ranges(c.Distance), true),
		c.shares("false_match", c.FalseMatch), c.shares("bound", c.Bound), c.shares("true_match", c.TrueMatch),
		c.shares("near", c.Near))
	if err == nil && c.Score != nil { // the first calibrations have none
		err = c.Score.check(c.Dim)
	}
	if err == nil && c.Tail > 0 {
		err = number("tail", c.Tail, leastTail, mostTail)
	}
	for i, before := 0, 0; err == nil && i < len(c.Strangers); i++ {
		s, name := &c.Strangers[i], fmt.Sprintf("strangers[%d]", i)
		err = cmp.Or(count(name+".classes", s.Classes, before+1, mostCount), c.shares(name+".rate", s.Rate),
			c.shares(name+".bound", s.Bound))
		before = s.Classes
	}
	for i, before := 0, 0; err == nil && i < len(c.Own); i++ {
		o, name := &c.Own[i], fmt.Sprintf("own[%d]", i)
		err = cmp.Or(count(name+".photos", o.Photos, before+1, mostCount),
			count(name+".classes", o.Classes, fewestClasses, c.Classes), c.shares(name+".cover", o.Cover))
		before = o.Photos
	}
	return err
}

// checkPerClass returns an error if classes count for more photos than there are.
func (c *Calibration) checkPerClass() error {
	if each := float64(c.Photos) / float64(c.Classes); c.PerClass > each*(1+1e-6) {
		return fmt.Errorf("per_class is %v: want %.10g or less, the mean number of photos of a class", c.PerClass, each)
	}
	return nil
}

// shares checks shares that are kept by distance.
func (c *Calibration) shares(name string, v []float64) error {
	return shares(name, v, len(c.Distances))
}

// check returns an error for a curve without points, and for one that rises.
func (c Curve) check(name string, by rank.Distance) error {
	n := len(c.Distance)
	err := cmp.Or(
		count("the number of "+name+".distance", n, 1, mostCount),
		count("the number of "+name+".log_odds", len(c.LogOdds), n, n),
		rises(name+".distance", c.Distance, ranges(by), true))
	for i := 0; err == nil && i < n; i++ {
		most := float64(mostOdds)
		if i > 0 {
			most = c.LogOdds[i-1]
		}
		err = number(fmt.Sprintf("%s.log_odds[%d]", name, i), c.LogOdds[i], -mostOdds, most)
	}
	return err
}

// check returns an error for a vote by which a larger share means a smaller probability.
func (v Vote) check(name string) error {
	return cmp.Or(
		number(name+".a", v.A, -mostFit, mostFit),
		number(name+".b", v.B, math.SmallestNonzeroFloat64, mostFit),
		v.Reliability.check(name+".reliability"))
}

// check returns an error for impossible values.
func (r Reliability) check(name string) error {
	err := cmp.Or(
		number(name+".ece", r.ECE, 0, nearOne),
		number(name+".chance", r.Chance, 0, nearOne),
		number(name+".debiased", r.Debiased, -nearOne, nearOne),
		count("the number of "+name+".bins", len(r.Bins), 0, reliabilityBins))
	for i := 0; err == nil && i < len(r.Bins); i++ {
		b, name := r.Bins[i], fmt.Sprintf("%s.bins[%d]", name, i)
		err = cmp.Or(number(name+".probability", b.Probability, 0, nearOne), number(name+".share", b.Share, 0, nearOne),
			number(name+".weight", b.Weight, 0, nearOne))
	}
	return err
}

// check returns an error for a Closed that CalibrateClosed cannot have made.
func (c *Closed) check(by rank.Distance) error {
	err := cmp.Or(
		count("closed.photos", c.Photos, FewestKnown, mostCount),
		count("closed.classes", c.Classes, 2, mostCount),
		count("closed.items", c.Items, c.Classes, mostCount),
		number("closed.right", c.Right, 0, nearOne),
		count("the number of closed.own", len(c.Own), c.Photos, c.Photos),
		count("the number of closed.nearest", len(c.Nearest), c.Photos, c.Photos),
		rises("closed.own", c.Own, ranges(by), false),
		rises("closed.nearest", c.Nearest, ranges(by), false),
		c.Curve.check("closed.curve", by), c.Vote.check("closed.vote"))
	if err == nil && c.Gate != nil {
		err = c.Gate.check(by)
	}
	return err
}

// check returns an error for a gate that NewGate cannot have made.
func (g *Gate) check(by rank.Distance) error {
	n := len(g.Distances)
	return cmp.Or(
		count("closed.gate.classes", g.Classes, FewestStrangers, mostCount),
		count("closed.gate.photos", g.Photos, g.Classes, mostCount),
		count("closed.gate.items", g.Items, 1, mostCount),
		count("closed.gate.known", g.Known, 1, mostCount),
		count("the number of closed.gate.distances", n, 1, mostCount),
		rises("closed.gate.distances", g.Distances, ranges(by), true),
		shares("closed.gate.rate", g.Rate, n), shares("closed.gate.bound", g.Bound, n),
		shares("closed.gate.named", g.Named, n))
}

// interval is a range of numbers.
type interval struct{ least, most float64 }

// anyDistance holds every distance of any kind: a float32, with room for rounding.
var anyDistance = interval{-3.5e38, 3.5e38}

// ranges returns the range of distances. Euclidean distances are roots of float32 numbers.
func ranges(by rank.Distance) interval {
	switch by {
	case rank.Euclidean:
		return interval{0, 1.9e19}
	case rank.Cosine:
		return interval{-aroundACosine, 2 + aroundACosine}
	}
	return anyDistance
}

// number returns an error unless v is from least to most.
func number(name string, v, least, most float64) error {
	if v >= least && v <= most {
		return nil
	}
	return fmt.Errorf("%s is %v: want a number from %.10g to %.10g", name, v, least, most)
}

// follows returns an error unless v is the number that follows from others of the file.
func follows(name string, v, want float64) error {
	if math.Abs(v-want) <= 1e-6*want {
		return nil
	}
	return fmt.Errorf("%s is %v: want %.10g, which follows from other numbers of the file", name, v, want)
}

func count(name string, v, least, most int) error {
	if v >= least && v <= most {
		return nil
	}
	if least == most {
		return fmt.Errorf("%s is %d: want %d", name, v, least)
	}
	return fmt.Errorf("%s is %d: want a whole number from %d to %d", name, v, least, most)
}

// shares returns an error unless there are n shares, from 0 to 1, that do not fall.
func shares(name string, v []float64, n int) error {
	return cmp.Or(count("the number of "+name, len(v), n, n), rises(name, v, interval{0, 1}, false))
}

// rises returns an error for numbers outside an interval, and for numbers that fall or, if strictly is
// set, do not rise.
func rises(name string, v []float64, in interval, strictly bool) error {
	for i, x := range v {
		if !(x >= in.least && x <= in.most) {
			return number(fmt.Sprintf("%s[%d]", name, i), x, in.least, in.most)
		}
		if i > 0 && (x < v[i-1] || strictly && x == v[i-1]) {
			return fmt.Errorf("%s[%d] is %v, but the number before it is %v: want rising numbers", name, i, x, v[i-1])
		}
	}
	return nil
}
