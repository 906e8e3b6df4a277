package decide

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the confidence of all bounds, which are one-sided.
const Confidence = 0.95

// boundVarianceFactor is the factor of the variance in bounds. Bounds hold for a rate measured on at least half
// as many new classes as the calibration had. In units of the variance of one class, the mean of these
// varies by 2 / n, in addition to the 1 / n of the calibration's n classes.
const boundVarianceFactor = 3

// minMatchShare is the least share of same pairs that a useful threshold matches.
const minMatchShare = 0.1

// upperBound returns a one-sided bound on a rate: the gamma quantile at 95 % for the given mean and
// variance, which both include an event that may have been missed by chance.
//
// It is Fay and Feuer's interval for weighted sums of Poisson counts (Statistics in Medicine 16, 1997),
// which is Clopper and Pearson's for rare events of equal weight. They add the largest weight to the
// mean and its square to the variance.
func upperBound(mean, variance float64) float64 {
	if mean <= 0 || variance <= 0 {
		return max(0, mean)
	}
	// The quantile falls again for smaller shapes, so the heaviest admissible tail is used.
	shape := max(mean*mean/variance, 0.1)
	return mean / shape * distuv.Gamma{Alpha: shape, Beta: 1}.Quantile(Confidence)
}

// upperBoundUnseen is upperBound for events that never occurred. weight is the weight of one event.
func upperBoundUnseen(weight float64) float64 {
	return upperBound(weight, boundVarianceFactor*weight*weight)
}

// MinimumFMR returns the least false-match rate that classes of equal sizes can promise, if no pair of
// classes was seen to be alike and a threshold matches a tenth of the same pairs:
//
//	3 x 0.1 / (n (n - 1) / 2)
//
// It falls with the square of the number of classes: 1e-3 needs 25 classes, 1e-4 needs 78, 1e-5 needs
// 246 and 1e-6 needs 776.
func MinimumFMR(classes int) float64 {
	if classes < 2 {
		return 1
	}
	return min(1, minimumRate(float64(classes)*float64(classes-1)/2))
}

func minimumRate(pairs float64) float64 { return 3 * minMatchShare / pairs }

// SampleSize returns the number of classes of equal sizes that a false-match rate needs.
func SampleSize(rate float64) int {
	n := int(math.Ceil((1 + math.Sqrt(1+8*3*minMatchShare/rate)) / 2))
	return max(n, minClasses)
}

// RateError is the error of a rate that a calibration's classes cannot promise.
type RateError struct {
	What          string // name of the rate
	Rate          float64
	Classes       int
	Minimum       float64 // least rate that the classes can promise
	ClassesNeeded int     // number of classes for Rate; 0 if more classes alone do not help
	Identical     float64 // share of pairs of different classes at distance 0
	Overlapped    bool    // the classes overlap at every distance
}

func (e *RateError) Error() string {
	text := fmt.Sprintf("%s of %s cannot be promised from %d classes", e.What, formatRate(e.Rate), e.Classes)
	switch {
	case e.Overlapped && e.Identical > e.Rate:
		return fmt.Sprintf("%s: %.3g of the pairs of different classes are at distance 0: photos may be in several "+
			"classes; kindred clean finds copies", text, e.Identical)
	case e.Overlapped:
		return text + ": at every distance that matches photos of a class, too many pairs of different classes " +
			"match too, or there are too few classes to exclude it: set a larger rate, or calibrate on more classes"
	case e.ClassesNeeded > 0:
		return fmt.Sprintf("%s: %d are needed; %d can promise %s at best", text, e.ClassesNeeded, e.Classes,
			formatRate(e.Minimum))
	}
	return fmt.Sprintf("%s: they can promise %s at best", text, formatRate(e.Minimum))
}

// formatRate formats a rate with two digits. It rounds up, so that the promise holds.
func formatRate(v float64) string {
	if v <= 0 {
		return fmt.Sprint(v)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.2g", math.Ceil(v/unit-1e-9)*unit)
}
