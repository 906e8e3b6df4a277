package simd

import "math"

// Gate computes y = x s(a*x + b*x^3) with s(z) = 1 / (1 + exp(-z)): SiLU (1, 0),
// quick GELU (1.702, 0) and GELU by tanh (2 sqrt(2/pi), 0.044715 times that).
func Gate(y, x []float32, a, b float32) {
	if rowsOf(len(y), len(y), []int{len(x)}) == 0 || gate(1, len(y), &y[0], &x[0], a, b) {
		return
	}
	for i, v := range x {
		u := bounded(v)
		y[i] = v * sigmoid(u*(a+b*u*u))
	}
}

// GateGrad computes dx = dy times the derivative of Gate at x. dx may be dy.
func GateGrad(dx, dy, x []float32, a, b float32) {
	if rowsOf(len(dx), len(dx), []int{len(dy), len(x)}) == 0 ||
		gateGrad(1, len(dx), &dx[0], &dy[0], &x[0], a, b) {
		return
	}
	for i, v := range x {
		v = bounded(v)
		s := sigmoid(v * (a + b*v*v))
		dx[i] = dy[i] * (s + v*(a+3*b*v*v)*s*(1-s))
	}
}

// bounded keeps the third power a float32.
func bounded(x float32) float32 { return min(max(x, -1e10), 1e10) }

func sigmoid(z float32) float32 { return float32(1 / (1 + math.Exp(-float64(z)))) }

// GELU computes y = x times the normal distribution function of x, within 2e-7
// of |x|.
func GELU(y, x []float32) {
	if rowsOf(len(y), len(y), []int{len(x)}) == 0 || gelu(1, len(y), &y[0], &x[0]) {
		return
	}
	for i, v := range x {
		y[i] = float32(float64(v) * normal(float64(v)))
	}
}

// GELUGrad computes dx = dy times the derivative of GELU at x. dx may be dy.
func GELUGrad(dx, dy, x []float32) {
	if rowsOf(len(dx), len(dx), []int{len(dy), len(x)}) == 0 || geluGrad(1, len(dx), &dx[0], &dy[0], &x[0]) {
		return
	}
	for i, f := range x {
		v := float64(f)
		dx[i] = float32(float64(dy[i]) * (normal(v) + v*math.Exp(-v*v/2)/math.Sqrt(2*math.Pi)))
	}
}

func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// HardSwish computes y = x min(max(x + 3, 0), 6) / 6.
func HardSwish(y, x []float32) {
	if rowsOf(len(y), len(y), []int{len(x)}) == 0 || hardSwish(1, len(y), &y[0], &x[0]) {
		return
	}
	for i, v := range x {
		y[i] = v * min(max(v/6+0.5, 0), 1)
	}
}

// HardSwishGrad computes dx = dy times the derivative of HardSwish at x, which is
// 0 from -3 down and 1 from 3 up. dx may be dy.
func HardSwishGrad(dx, dy, x []float32) {
	if rowsOf(len(dx), len(dx), []int{len(dy), len(x)}) == 0 ||
		hardSwishGrad(1, len(dx), &dx[0], &dy[0], &x[0]) {
		return
	}
	for i, v := range x {
		d := v/3 + 0.5
		switch {
		case v <= -3:
			d = 0
		case v >= 3:
			d = 1
		}
		dx[i] = dy[i] * d
	}
}
