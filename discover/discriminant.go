package discover

import "github.com/kindred-ml/kindred/matrix"

const (
	// shrinkageFactor is the factor of the estimated shrinkage that is added to the covariance.
	shrinkageFactor = 4
	// maxSteps is the largest number of steps of the conjugate gradients.
	maxSteps = 25
	// probeRows is the approximate number of rows from which the squares of the covariance are estimated.
	probeRows = 16
)

// residuals returns the rows of two groups, each less its group's mean.
func residuals(x *matrix.Dense, group []int, means *matrix.Dense, a, b int) (out [][]float64) {
	for i, g := range group {
		if g != a && g != b {
			continue
		}
		r := make([]float64, x.Cols)
		for j, v := range x.Row(i) {
			r[j] = float64(v) - float64(means.Row(g)[j])
		}
		out = append(out, r)
	}
	return out
}

// turnToDiscriminant turns the line to the direction of a discriminant analysis, (S/s + I)^-1 (b - a), so
// that directions along which both parts scatter count less. S is the covariance of the residuals, and s =
// ridge r/(1 - r) tr S/d with r from shrinkage. If r is nearly 1, as with few rows or a spherical cloud, the
// line does not change. The ends stay at 0 and 1.
func (l *line) turnToDiscriminant(residuals [][]float64) {
	r, mean := shrinkage(residuals)
	if r >= 0.95 || mean == 0 {
		return
	}
	between := make([]float64, len(l.direction))
	for j, v := range l.direction {
		between[j] = float64(v)
	}
	w := solveRegularised(residuals, shrinkageFactor*r/(1-r)*mean, between)
	square := dot64(w, between)
	if !(square > 0) {
		return
	}
	for j, v := range w {
		l.direction[j] = float32(v)
	}
	l.square = square
}

// shrinkage returns the share, between 0 and 1, of the mean variance in the shrunk covariance of n residuals by
// the oracle approximating shrinkage (Chen et al. 2010), and the mean variance. With s = tr(S)^2 and q = tr(S^2)
// the share is
//
//	((1 - 2/d) q + s) / ((n + 1 - 2/d) (q - s/d))
//
// q is estimated from some of the residuals.
func shrinkage(residuals [][]float64) (share, mean float64) {
	n := float64(len(residuals))
	if n == 0 {
		return 1, 0
	}
	d := float64(len(residuals[0]))
	var trace, square, asked float64
	for i, r := range residuals {
		trace += dot64(r, r) / n
		if i%max(1, len(residuals)/probeRows) == 0 {
			asked++
			for _, other := range residuals {
				v := dot64(r, other)
				square += v * v / n
			}
		}
	}
	square /= asked
	over := (n + 1 - 2/d) * (square - trace*trace/d)
	share = ((1-2/d)*square + trace*trace) / over
	if !(over > 0) || share > 1 {
		share = 1
	}
	return share, trace / d
}

// solveRegularised returns (S/s + I)^-1 b by conjugate gradients. S is the covariance of the residuals.
func solveRegularised(residuals [][]float64, s float64, b []float64) []float64 {
	w, rest := make([]float64, len(b)), append([]float64(nil), b...)
	way := append([]float64(nil), b...)
	left := dot64(rest, rest)
	end := 1e-8 * left
	for range maxSteps {
		if left <= end {
			break
		}
		to := append([]float64(nil), way...)
		for _, r := range residuals {
			v := dot64(r, way) / float64(len(residuals)) / s
			for j, u := range r {
				to[j] += v * u
			}
		}
		step := left / dot64(way, to)
		for j := range w {
			w[j] += step * way[j]
			rest[j] -= step * to[j]
		}
		was := left
		left = dot64(rest, rest)
		for j := range way {
			way[j] = rest[j] + left/was*way[j]
		}
	}
	return w
}

func dot64(a, b []float64) (sum float64) {
	for j, v := range a {
		sum += v * b[j]
	}
	return sum
}
