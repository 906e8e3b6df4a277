package decide

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/eval"
)

// Limits of the numbers of a calibration. A count is below 2^40, so that products of counts are exact.
// Rounding may put a probability a little above 1, and a cosine distance a little outside 0 to 2, because
// keys of distances are exact to one part in 2,000.
const (
	maxCount       = 1 << 40
	roundingFactor = 1 + 1e-9
	cosineSlack    = 1e-2
	maxLogOdds     = 700  // a larger exponent overflows float64
	maxFitted      = 1000 // a fit: each of 50 steps changes a number by at most 4
	maxScore       = 1e6  // log-odds by fitted weights
	maxTailIndex   = 1e12
	minTailIndex   = 1e-3
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
		checkCount("dim", c.Dim, 1, 1<<24),
		checkCount("classes", c.Classes, 2, maxCount),
		checkCount("photos", c.Photos, 1, maxCount),
		checkCount("given", c.InputPhotos, c.Photos, maxCount),
		checkCount("copies", c.Copies, 0, c.InputPhotos-c.Photos),
		checkCount("groups", c.Groups, 0, c.Classes),
		checkNumber("pairs", c.Pairs, 0, n*(n-1)/2*roundingFactor),
		checkNumber("per_class", c.PerClass, 1, maxCount),
		checkNumber("tail", c.TailIndex, 0, maxTailIndex))
}

// checkClosed checks the fields of a closed calibration other than Closed.
func (c *Calibration) checkClosed() error {
	z := c.Closed
	return cmp.Or(
		checkCount("classes", c.Classes, z.Classes, z.Classes),
		checkCount("photos", c.Photos, z.Photos, z.Photos),
		checkDerived("per_class", c.PerClass, float64(z.Items)/float64(z.Classes)))
}

// checkOpen checks everything that is kept by distance, and its counts.
func (c *Calibration) checkOpen() error {
	err := cmp.Or(
		checkCount("classes", c.Classes, minClasses, maxCount),
		checkCount("photos", c.Photos, c.Classes, maxCount),
		checkNumber("pairs", c.Pairs, 1, math.Inf(1)),
		c.checkPerClass(),
		checkCount("the number of distances", len(c.Distances), 1, maxCount),
		checkCount("the number of strangers", len(c.Strangers), 1, maxCount),
		checkAscending("distances", c.Distances, distanceRange(c.Distance), true),
		c.checkShares("false_match", c.FalseMatch), c.checkShares("bound", c.Bound),
		c.checkShares("true_match", c.TrueMatch),
		c.checkShares("near", c.NearestMatch))
	if err == nil && c.Score != nil { // the first calibrations have none
		err = c.Score.check(c.Dim)
	}
	if err == nil && c.TailIndex > 0 {
		err = checkNumber("tail", c.TailIndex, minTailIndex, maxTailIndex)
	}
	for i, before := 0, 0; err == nil && i < len(c.Strangers); i++ {
		s, name := &c.Strangers[i], fmt.Sprintf("strangers[%d]", i)
		err = cmp.Or(checkCount(name+".classes", s.Classes, before+1, maxCount), c.checkShares(name+".rate", s.Rate),
			c.checkShares(name+".bound", s.Bound))
		before = s.Classes
	}
	for i, before := 0, 0; err == nil && i < len(c.ClassRates); i++ {
		o, name := &c.ClassRates[i], fmt.Sprintf("own[%d]", i)
		err = cmp.Or(checkCount(name+".photos", o.Photos, before+1, maxCount),
			checkCount(name+".classes", o.Classes, minClasses, c.Classes), c.checkShares(name+".cover", o.Weights))
		before = o.Photos
	}
	return err
}

// checkPerClass returns an error if classes count for more photos than there are.
func (c *Calibration) checkPerClass() error {
	if each := float64(c.Photos) / float64(c.Classes); c.PerClass > each*(1+1e-6) {
		return fmt.Errorf("per_class is %v: must be at most %.10g, the mean number of photos of a class", c.PerClass,
			each)
	}
	return nil
}

// checkShares checks shares that are kept by distance.
func (c *Calibration) checkShares(name string, v []float64) error {
	return checkShares(name, v, len(c.Distances))
}

// check returns an error for a curve without points, and for one that rises.
func (c Curve) check(name string, by eval.Distance) error {
	n := len(c.Distance)
	err := cmp.Or(
		checkCount("the number of "+name+".distance", n, 1, maxCount),
		checkCount("the number of "+name+".log_odds", len(c.LogOdds), n, n),
		checkAscending(name+".distance", c.Distance, distanceRange(by), true))
	for i := 0; err == nil && i < n; i++ {
		most := float64(maxLogOdds)
		if i > 0 {
			most = c.LogOdds[i-1]
		}
		err = checkNumber(fmt.Sprintf("%s.log_odds[%d]", name, i), c.LogOdds[i], -maxLogOdds, most)
	}
	return err
}

// check returns an error for a vote by which a larger share means a smaller probability.
func (v Vote) check(name string) error {
	return cmp.Or(
		checkNumber(name+".a", v.A, -maxFitted, maxFitted),
		checkNumber(name+".b", v.B, math.SmallestNonzeroFloat64, maxFitted),
		v.Reliability.check(name+".reliability"))
}

// check returns an error for impossible values.
func (r Reliability) check(name string) error {
	err := cmp.Or(
		checkNumber(name+".ece", r.ECE, 0, roundingFactor),
		checkNumber(name+".chance", r.Chance, 0, roundingFactor),
		checkNumber(name+".debiased", r.Debiased, -roundingFactor, roundingFactor),
		checkCount("the number of "+name+".bins", len(r.Bins), 0, reliabilityBins))
	for i := 0; err == nil && i < len(r.Bins); i++ {
		b, name := r.Bins[i], fmt.Sprintf("%s.bins[%d]", name, i)
		err = cmp.Or(checkNumber(name+".probability", b.Probability, 0, roundingFactor),
			checkNumber(name+".share", b.Share, 0, roundingFactor),
			checkNumber(name+".weight", b.Weight, 0, roundingFactor))
	}
	return err
}

// check returns an error for a Closed that CalibrateClosed cannot have made.
func (c *Closed) check(by eval.Distance) error {
	err := cmp.Or(
		checkCount("closed.photos", c.Photos, MinKnownPhotos, maxCount),
		checkCount("closed.classes", c.Classes, 2, maxCount),
		checkCount("closed.items", c.Items, c.Classes, maxCount),
		checkNumber("closed.right", c.Right, 0, roundingFactor),
		checkCount("the number of closed.own", len(c.ClassDistances), c.Photos, c.Photos),
		checkCount("the number of closed.nearest", len(c.NearestDistances), c.Photos, c.Photos),
		checkAscending("closed.own", c.ClassDistances, distanceRange(by), false),
		checkAscending("closed.nearest", c.NearestDistances, distanceRange(by), false),
		c.Curve.check("closed.curve", by), c.Vote.check("closed.vote"))
	if err == nil && c.Gate != nil {
		err = c.Gate.check(by)
	}
	return err
}

// check returns an error for a gate that NewStrangerGate cannot have made.
func (g *StrangerGate) check(by eval.Distance) error {
	n := len(g.Distances)
	return cmp.Or(
		checkCount("closed.gate.classes", g.Classes, MinStrangerClasses, maxCount),
		checkCount("closed.gate.photos", g.Photos, g.Classes, maxCount),
		checkCount("closed.gate.items", g.Items, 1, maxCount),
		checkCount("closed.gate.known", g.KnownPhotos, 1, maxCount),
		checkCount("the number of closed.gate.distances", n, 1, maxCount),
		checkAscending("closed.gate.distances", g.Distances, distanceRange(by), true),
		checkShares("closed.gate.rate", g.Rate, n), checkShares("closed.gate.bound", g.Bound, n),
		checkShares("closed.gate.named", g.KnownRate, n))
}

// interval is a range of numbers.
type interval struct{ low, high float64 }

// anyDistance holds every distance of any kind: a float32, with room for rounding.
var anyDistance = interval{-3.5e38, 3.5e38}

// distanceRange returns the range of distances. Euclidean distances are roots of float32 numbers.
func distanceRange(by eval.Distance) interval {
	switch by {
	case eval.Euclidean:
		return interval{0, 1.9e19}
	case eval.Cosine:
		return interval{-cosineSlack, 2 + cosineSlack}
	}
	return anyDistance
}

// checkNumber returns an error unless v is from least to most.
func checkNumber(name string, v, least, most float64) error {
	if v >= least && v <= most {
		return nil
	}
	return fmt.Errorf("%s is %v: must be from %.10g to %.10g", name, v, least, most)
}

// checkDerived returns an error unless v is the number that follows from others of the file.
func checkDerived(name string, v, want float64) error {
	if math.Abs(v-want) <= 1e-6*want {
		return nil
	}
	return fmt.Errorf("%s is %v: must be %.10g, which follows from other numbers of the file", name, v, want)
}

func checkCount(name string, v, least, most int) error {
	if v >= least && v <= most {
		return nil
	}
	if least == most {
		return fmt.Errorf("%s is %d: must be %d", name, v, least)
	}
	return fmt.Errorf("%s is %d: must be a whole number from %d to %d", name, v, least, most)
}

// checkShares returns an error unless there are n shares, from 0 to 1, that do not fall.
func checkShares(name string, v []float64, n int) error {
	return cmp.Or(checkCount("the number of "+name, len(v), n, n), checkAscending(name, v, interval{0, 1}, false))
}

// checkAscending returns an error for numbers outside an interval, and for numbers that fall or, if strictly is
// set, do not rise.
func checkAscending(name string, v []float64, in interval, strictly bool) error {
	for i, x := range v {
		if !(x >= in.low && x <= in.high) {
			return checkNumber(fmt.Sprintf("%s[%d]", name, i), x, in.low, in.high)
		}
		if i > 0 && (x < v[i-1] || strictly && x == v[i-1]) {
			return fmt.Errorf("%s[%d] is %v, but the number before it is %v: must be rising", name, i, x, v[i-1])
		}
	}
	return nil
}
