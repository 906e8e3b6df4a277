package decide

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is that of all bounds, one-sided.
const Confidence = 0.95

// Bounds hold for a rate measured on half as many new classes as the calibration had, or on
// more: their mean varies by 2 / n, in units of the variance of one class, beside the 1 / n of the
// calibration's n classes.
const newClasses = 3

// leastMatch is the share of same pairs that a useful threshold matches at least.
const leastMatch = 0.1

// upperBound is a one-sided bound on a rate with the given mean and variance, both with what
// may just not have been seen: the gamma quantile at 95 %.
//
// It is Fay and Feuer's interval for weighted sums of Poisson counts (Statistics in
// Medicine 16, 1997), which is Clopper and Pearson's for rare events of one weight: these add
// the largest weight to the mean and its square to the variance.
func upperBound(mean, variance float64) float64 {
	if mean <= 0 || variance <= 0 {
		return max(0, mean)
	}
	// A shape below this has a quantile that falls again: so heavy a tail has no bound
	// but what the heaviest admissible one gives.
	shape := max(mean*mean/variance, 0.1)
	return mean / shape * distuv.Gamma{Alpha: shape, Beta: 1}.Quantile(Confidence)
}

// upperUnseen is upperBound for events that never occurred, where one event has the weight.
func upperUnseen(weight float64) float64 { return upperBound(weight, newClasses*weight*weight) }

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
