package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// layerNormDefinition is LayerNorm and its gradients in float64.
func layerNormDefinition(x, dy, gamma, beta []float32, eps float64) (y, dx, dgamma, dbeta []float64) {
	cols := len(gamma)
	y, dx = make([]float64, len(x)), make([]float64, len(x))
	dgamma, dbeta = make([]float64, cols), make([]float64, cols)
	n := float64(cols)
	for i := 0; i < len(x); i += cols {
		var mean, variance, sum, dot float64
		for _, v := range x[i : i+cols] {
			mean += float64(v) / n
		}
		for _, v := range x[i : i+cols] {
			variance += (float64(v) - mean) * (float64(v) - mean) / n
		}
		scale := 1 / math.Sqrt(variance+eps)
		for j, v := range x[i : i+cols] {
			unit, g := (float64(v)-mean)*scale, float64(dy[i+j])
			y[i+j] = unit*float64(gamma[j]) + float64(beta[j])
			dgamma[j] += g * unit
			dbeta[j] += g
			sum += g * float64(gamma[j]) / n
			dot += g * float64(gamma[j]) * unit / n
		}
		for j, v := range x[i : i+cols] {
			unit := (float64(v) - mean) * scale
			dx[i+j] = scale * (float64(dy[i+j])*float64(gamma[j]) - sum - unit*dot)
		}
	}
	return y, dx, dgamma, dbeta
}

func close32(t *testing.T, what string, got []float32, want []float64, tol float64) {
	t.Helper()
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= tol*(1+math.Abs(w))) {
			t.Fatalf("%s: element %d is %g, want %g", what, i, got[i], w)
		}
	}
}

func TestLayerNorm(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(21, 21))
		for cols := 1; cols < 300; cols += 1 + cols/60 {
			for _, rows := range []int{1, 3} {
				checkLayerNorm(t, rnd, rows, cols, 0)
			}
		}
		checkLayerNorm(t, rnd, 2, 999, 0)
		checkLayerNorm(t, rnd, 5, 64, 1000) // a mean far from zero
		LayerNorm(nil, nil, nil, nil, nil, 1)
	})
}

func checkLayerNorm(t *testing.T, rnd *rand.Rand, rows, cols int, offset float32) {
	t.Helper()
	const eps = 0.01
	var intact []func() bool
	make1 := func(n int) []float32 {
		v, ok := guardedCopy(rnd, n)
		intact = append(intact, ok)
		return v
	}
	x, dy, y, dx := make1(rows*cols), make1(rows*cols), make1(rows*cols), make1(rows*cols)
	gamma, beta, dgamma, dbeta, stats := make1(cols), make1(cols), make1(cols), make1(cols), make1(2*rows)
	for i := range x {
		x[i] += offset
	}
	wantY, wantX, wantGamma, wantBeta := layerNormDefinition(x, dy, gamma, beta, eps)
	for j := range dgamma {
		wantGamma[j] += float64(dgamma[j])
		wantBeta[j] += float64(dbeta[j])
	}
	tol := 5e-6 * float64(1+offset/10)
	LayerNorm(y, x, gamma, beta, stats, eps)
	close32(t, "y", y, wantY, tol)
	before := append([]float32(nil), dx...)
	LayerNormGrad(dx, dy, x, gamma, stats, dgamma, dbeta, true)
	for i := range wantX {
		wantX[i] += float64(before[i])
	}
	// Two rows' worth of terms of a few units each.
	close32(t, "dgamma", dgamma, wantGamma, 4*tol)
	close32(t, "dbeta", dbeta, wantBeta, 4*tol)
	close32(t, "dx, added", dx, wantX, 10*tol)
	for i := range dx {
		dx[i] = float32(math.NaN()) // must not matter
		wantX[i] -= float64(before[i])
	}
	LayerNormGrad(dx, dy, x, gamma, stats, dgamma, dbeta, false)
	close32(t, "dx", dx, wantX, 10*tol)
	LayerNormGrad(dy, dy, x, gamma, stats, dgamma, dbeta, false)
	close32(t, "dx in place", dy, wantX, 10*tol)
	for _, ok := range intact {
		if !ok() {
			t.Fatalf("%d x %d: wrote outside", rows, cols)
		}
	}
}

func TestSoftmaxKernels(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(22, 22))
		for n := range 600 {
			x, okX := guardedCopy(rnd, n)
			y, okY := guardedCopy(rnd, n)
			dp, okP := guardedCopy(rnd, n)
			if n > 5 {
				x[n/2] = -300
			}
			less := Max(x)
			var want float64
			for _, v := range x {
				want += math.Exp(float64(v - less))
			}
			got := ExpSum(y, x, less)
			if n > 0 && math.Abs(float64(got)-want) > 1e-6*want || n == 0 && got != 0 {
				t.Fatalf("%d values: sum %g, want %g", n, got, want)
			}
			probs, grads := make([]float64, n), make([]float64, n)
			for i, v := range x {
				probs[i] = math.Exp(float64(v) - float64(less) - 0.5)
				grads[i] = probs[i] * (float64(dp[i]) - 0.25)
				if d := math.Abs(float64(y[i]) - probs[i]*math.Exp(0.5)); !(d <= 1e-6) {
					t.Fatalf("%d values: term %d is %g, want %g", n, i, y[i], probs[i]*math.Exp(0.5))
				}
			}
			SoftmaxGrad(x, dp, less+0.5, 0.25)
			close32(t, "probability", x, probs, 1e-6)
			close32(t, "gradient", dp, grads, 1e-6)
			if !okX() || !okY() || !okP() {
				t.Fatalf("%d values: wrote outside", n)
			}
		}
	})
}
