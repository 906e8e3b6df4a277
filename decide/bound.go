package decide

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is that of all bounds, one-sided.
const Confidence = 0.95

// Bounds hold for a rate measured on as many new classes as the calibration had, which
// varies as much as the calibration's: their variance is doubled.
const asManyNew = 2

// unseen is how many more classes like the most confusable one may just not be among those of
// the calibration. Classes that resemble each other come in groups, products of one maker or
// letters of one script. New classes may hold most of a group of which the calibration had
// one or none, and false matches grow with the square of what there is of it. On drawn classes
// in groups of heavy-tailed sizes (TestPromiseOfGroups) the bound held 92 times of 100 with 0,
// 94 with 1 and 96 with 2; docs/decisions.md has photographs.
const unseen = 2

// leastMatch is the share of same pairs that a useful threshold matches at least.
const leastMatch = 0.1

// upperBound is a one-sided bound on a rate that is measured as rate with the given
// variance over identities, where what may just not have been seen weighs weight:
//
//	gamma quantile at 95 % with mean rate + weight and variance k (variance + weight^2)
//
// It is Fay and Feuer's interval for weighted sums of Poisson counts (Statistics in
// Medicine 16, 1997), which is Clopper and Pearson's for rare events of one weight,
// widened by k = asManyNew from the mean of the population to what new classes
// measure. With rate 0 it is 3.8 weight.
func upperBound(rate, variance, weight float64) float64 {
	mean := rate + weight
	if mean <= 0 {
		return 0
	}
	v := asManyNew * (variance + weight*weight)
	if v <= 0 {
		return min(1, mean)
	}
	// A shape below this has a quantile that falls again: so heavy a tail has no bound
	// but what the heaviest admissible one gives.
	shape := max(mean*mean/v, 0.1)
	return min(1, mean/shape*distuv.Gamma{Alpha: shape, Beta: 1}.Quantile(Confidence))
}

// Least is the least false-match rate that classes of equal sizes can promise: where
// every pair of classes that was not seen to be alike could be, with probability 5 %,
// and a threshold matches a tenth of the same pairs,
//
//	3 x 0.1 / (n (n - 1) / 2)
//
// of all pairs match falsely. It grows with the square of the classes: 1e-3 takes 25
// classes, 1e-4 takes 78, 1e-5 takes 246 and 1e-6 takes 776.
func Least(classes int) float64 {
	if classes < 2 {
		return 1
	}
	return min(1, leastOf(float64(classes)*float64(classes-1)/2))
}

func leastOf(pairs float64) float64 { return 3 * leastMatch / pairs }

// Needed is how many classes of equal sizes a false-match rate takes.
func Needed(rate float64) int {
	n := int(math.Ceil((1 + math.Sqrt(1+8*3*leastMatch/rate)) / 2))
	return max(n, fewestClasses)
}

// RateError says that a rate cannot be promised from a calibration's classes.
type RateError struct {
	What       string // which rate
	Rate       float64
	Classes    int
	Least      float64 // what they carry
	Needed     int     // classes for Rate; 0 if more classes alone do not help
	Identical  float64 // share of pairs of different classes at the least distance there is
	Overlapped bool    // the classes lie in each other, at any distance
}

func (e *RateError) Error() string {
	text := fmt.Sprintf("%s of %s cannot be promised from %d classes", e.What, short(e.Rate), e.Classes)
	switch {
	case e.Overlapped && e.Identical > e.Rate:
		return fmt.Sprintf("%s: %.3g of the pairs of different classes are at distance 0; are photos in several "+
			"classes? kindred clean finds copies", text, e.Identical)
	case e.Overlapped:
		return text + ": at every distance that matches photos of a class, too many pairs of different classes " +
			"match too, or too few classes show that they do not; ask for a larger rate, or calibrate on more classes"
	case e.Needed > 0:
		return fmt.Sprintf("%s: it takes %d, and %d carry %s", text, e.Needed, e.Classes, short(e.Least))
	}
	return fmt.Sprintf("%s: they carry %s", text, short(e.Least))
}

// short writes a rate with two digits, rounded up so that what is promised holds.
func short(v float64) string {
	if v <= 0 {
		return fmt.Sprint(v)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.2g", math.Ceil(v/unit-1e-9)*unit)
}
