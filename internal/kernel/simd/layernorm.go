package simd

import "math"

// LayerNorm normalises every row of x over its columns:
//
//	y = (x - mean) / sqrt(variance + eps) * gamma + beta
//
// with the variance over all columns (Ba et al. 2016). stats receives two values
// a row: the mean and 1 / sqrt(variance + eps).
func LayerNorm(y, x, gamma, beta, stats []float32, eps float32) {
	cols := len(gamma)
	rows := rowsOf(len(y), cols, []int{len(x)}, len(beta))
	if rows == 0 {
		return
	}
	_ = stats[2*rows-1]
	if layerNorm(rows, cols, &y[0], &x[0], &gamma[0], &beta[0], &stats[0], eps, 1/float32(cols)) {
		return
	}
	for i := range rows {
		x, y := x[i*cols:(i+1)*cols], y[i*cols:(i+1)*cols]
		var sum, squares float64
		for _, v := range x {
			sum += float64(v)
		}
		mean := sum / float64(cols)
		for _, v := range x {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		stats[2*i] = float32(mean)
		stats[2*i+1] = float32(1 / math.Sqrt(squares/float64(cols)+float64(eps)))
		for j, v := range x {
			y[j] = (v-stats[2*i])*stats[2*i+1]*gamma[j] + beta[j]
		}
	}
}

// LayerNormGrad sets dx to the gradient of LayerNorm's x, or adds it, and adds
// to dgamma and dbeta those of gamma and beta. dx may be dy unless it is added
// to.
func LayerNormGrad(dx, dy, x, gamma, stats, dgamma, dbeta []float32, add bool) {
	cols := len(gamma)
	rows := rowsOf(len(dx), cols, []int{len(dy), len(x)}, len(dgamma), len(dbeta))
	if rows == 0 {
		return
	}
	_ = stats[2*rows-1]
	var keep uint32
	if add {
		keep = math.MaxUint32
	}
	if layerNormGrad(rows, cols, &dx[0], &dy[0], &x[0], &gamma[0], &stats[0], &dgamma[0], &dbeta[0],
		1/float32(cols), math.Float32frombits(keep)) {
		return
	}
	for i := range rows {
		x, dy, dx := x[i*cols:(i+1)*cols], dy[i*cols:(i+1)*cols], dx[i*cols:(i+1)*cols]
		mean, scale := stats[2*i], stats[2*i+1]
		var sum, dot float64
		for j, v := range x {
			unit, g := (v-mean)*scale, dy[j]*gamma[j]
			dgamma[j] += dy[j] * unit
			dbeta[j] += dy[j]
			sum += float64(g)
			dot += float64(g) * float64(unit)
		}
		s, t := float32(sum/float64(cols)), float32(dot/float64(cols))
		for j, v := range x {
			g := (dy[j]*gamma[j] - s - (v-mean)*scale*t) * scale
			if add {
				g += dx[j]
			}
			dx[j] = g
		}
	}
}

// ExpSum computes y = exp(x - less) and returns the sum. Terms below exp(-86) may
// be that. y may be x.
func ExpSum(y, x []float32, less float32) float32 {
	if rowsOf(len(y), len(y), []int{len(x)}) == 0 {
		return 0
	}
	if sum, ok := expSum(len(x), &y[0], &x[0], less); ok {
		return sum
	}
	var sum float32
	for i, v := range x {
		y[i] = float32(math.Exp(float64(v - less)))
		sum += y[i]
	}
	return sum
}

// SoftmaxGrad turns scores s of a row into probabilities p = exp(s - less), and
// dp, the gradient of p, into that of the scores: p (dp - dot), where dot is the
// sum of p dp.
func SoftmaxGrad(s, dp []float32, less, dot float32) {
	if rowsOf(len(s), len(s), []int{len(dp)}) == 0 || softmaxGrad(1, len(s), &s[0], &dp[0], less, dot) {
		return
	}
	for i, v := range s {
		s[i] = float32(math.Exp(float64(v - less)))
		dp[i] = s[i] * (dp[i] - dot)
	}
}
