// Package ttest compares two methods over the same seeds by Student's paired t-test.
package ttest

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A difference is judged at this level, over at least this many pairs.
const (
	Level    = 0.05
	MinPairs = 3
)

// Result is the result of a paired test.
type Result struct {
	// Mean and Std are the mean and the standard deviation (n - 1) of the differences. Mean is NaN without pairs, Std
	// for fewer than two.
	Mean, Std float64
	N         int
	// P is the two-sided probability of a mean at least this far from 0 if there were no difference. It is NaN for
	// fewer than two pairs, and for differences that are all equal.
	P float64
}

// Paired tests the differences a[i] - b[i]. If the numbers of values differ, there are no pairs.
func Paired(a, b []float64) Result {
	if len(a) != len(b) {
		a, b = nil, nil
	}
	r := Result{Mean: math.NaN(), Std: math.NaN(), N: len(a), P: math.NaN()}
	diff, size := make([]float64, len(a)), 0.0
	for i := range a {
		diff[i] = a[i] - b[i]
		size = max(size, math.Abs(a[i]), math.Abs(b[i]))
	}
	if r.N > 0 {
		r.Mean = stat.Mean(diff, nil)
	}
	if r.N > 1 {
		r.Std = stat.StdDev(diff, nil)
	}
	// A spread from rounding alone would make any difference certain, so it counts as none.
	if math.IsNaN(r.Std) || r.Std <= 1e-12*size {
		return r
	}
	r.P = twoSided(r.Mean, r.Std, r.N)
	return r
}

// twoSided returns p of n differences with this mean and standard deviation.
func twoSided(mean, std float64, n int) float64 {
	t := math.Abs(mean) / (std / math.Sqrt(float64(n)))
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n) - 1}.Survival(t)
}

// maxPairs is the largest number of pairs that PairsNeeded returns.
const maxPairs = 1000

// PairsNeeded returns the smallest number of pairs, more than r has, with which a result of the same mean and standard
// deviation has p < Level in each of a number of comparisons (Bonferroni); 0 if more than a thousand are needed, or
// none suffice.
func (r Result) PairsNeeded(comparisons int) int {
	for n := max(r.N+1, MinPairs); !math.IsNaN(r.P) && n <= maxPairs; n++ {
		if twoSided(r.Mean, r.Std, n)*float64(comparisons) < Level {
			return n
		}
	}
	return 0
}
