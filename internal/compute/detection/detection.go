// Package detection measures how well scores separate wanted items from the others,
// and names the look-alike classes whose labels are easily confused.
package detection

import (
	"cmp"
	"math"
	"slices"
)

// PrecisionAndArea returns the precision among the highest scores, as many as there are wrong items, and the
// area under the ROC curve. Equal scores get their mean rank in the area, and keep their order in the precision.
func PrecisionAndArea(score []float64, wrong []bool) (precision, area float64) {
	at := make([]int, len(score))
	n := 0
	for i := range at {
		if at[i] = i; wrong[i] {
			n++
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	for _, i := range at[:n] {
		if wrong[i] {
			precision += 1 / float64(n)
		}
	}
	var ranks float64
	for k := 0; k < len(at); {
		end := k
		for end < len(at) && score[at[end]] == score[at[k]] {
			end++
		}
		middle := float64(len(at)) - float64(k+end-1)/2
		for ; k < end; k++ {
			if wrong[at[k]] {
				ranks += middle
			}
		}
	}
	m := float64(n)
	return precision, (ranks - m*(m+1)/2) / m / (float64(len(at)) - m)
}

// CalibrationError is the mean squared error of probabilities (Brier 1950), and their
// expected calibration error: the mean over ten bins, weighted by their items, of the difference between the
// mean probability and the share that came true.
func CalibrationError(p []float64, came []bool) (brier, ece float64) {
	const bins = 10
	var mean, share [bins]float64
	n := float64(len(p))
	for i, v := range p {
		b, c := min(int(v*bins), bins-1), 0.0
		if came[i] {
			c = 1
		}
		brier += (v - c) * (v - c) / n
		mean[b] += v / n
		share[b] += c / n
	}
	for b := range mean {
		ece += math.Abs(mean[b] - share[b])
	}
	return brier, ece
}
