package loss

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/scan"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// softmax replaces z by exp(z - L) and returns L = log(sum of exp(z)), or
// L = log(1 + sum of exp(z)) if one is set, whatever the size of z. An empty z
// gives L = -Inf, or 0 if one is set.
func softmax(z []float64, one bool) float64 {
	top := math.Inf(-1)
	if one {
		top = 0
	}
	for _, x := range z {
		top = max(top, x)
	}
	if math.IsInf(top, -1) {
		return top
	}
	var sum float64
	if one {
		sum = math.Exp(-top)
	}
	for k, x := range z {
		// Below this a term is lost in the sum's rounding.
		if x -= top; x < -60 {
			z[k] = 0
			continue
		}
		z[k] = math.Exp(x)
		sum += z[k]
	}
	inv := 1 / sum
	for k := range z {
		z[k] *= inv
	}
	return top + math.Log(sum)
}

// softplus returns log(1 + exp(x)) and its derivative without overflow.
func softplus(x float64) (value, slope float64) {
	if x > 0 {
		e := math.Exp(-x)
		return x + math.Log1p(e), 1 / (1 + e)
	}
	e := math.Exp(x)
	return math.Log1p(e), e / (1 + e)
}

// scaleShifted sets z[k] = a (x[k] - b).
func scaleShifted(z []float64, x []float32, a, b float64) {
	for k, v := range x {
		z[k] = a * (float64(v) - b)
	}
}

// linearSoftmax sets w[k] to exp(z - L), z = a (x[k] - b), and returns
// L = log(sum of exp(z)), or log(1 + sum of exp(z)) if one is set: softmax for
// exponents linear in x, a not 0, in single precision with the largest exponent
// taken out.
func linearSoftmax(w, x []float32, a, b float64, one bool) float64 {
	if len(x) == 0 {
		if one {
			return 0
		}
		return math.Inf(-1)
	}
	extreme := x[0]
	if a > 0 {
		extreme = scan.Largest(x)
	} else {
		for _, v := range x[1:] {
			extreme = min(extreme, v)
		}
	}
	top := a * (float64(extreme) - b)
	if one {
		top = max(top, 0)
	}
	var sum float64
	if slope, shift := float32(a), float32(-a*b-top); math.Abs(float64(shift)) < 1024 {
		// The logarithm takes out the shift as the kernel sees it.
		top = -a*b - float64(shift)
		sum = float64(scan.ExpSum(w, x, slope, shift))
	} else {
		// Single precision would round the exponents too coarsely.
		for k, v := range x {
			e := math.Exp(a*(float64(v)-b) - top)
			w[k] = float32(e)
			sum += e
		}
	}
	if one {
		sum += math.Exp(-top)
	}
	simd.Scale(w, float32(1/sum), w)
	return top + math.Log(sum)
}
