package simd

import "math"

// Dot returns the sum of x[i]*y[i], 0 for empty vectors.
func Dot(x, y []float32) float32 {
	if rowsOf(len(x), len(x), []int{len(y)}) == 0 {
		return 0
	}
	if v, ok := dot(len(x), &x[0], &y[0]); ok {
		return v
	}
	var s float32
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// Max returns the largest of x, -Inf for an empty vector. NaN values do not
// count.
func Max(x []float32) float32 {
	best := float32(math.Inf(-1))
	if len(x) == 0 {
		return best
	}
	if v, ok := largest(len(x), &x[0]); ok {
		return v
	}
	for _, v := range x {
		if v > best {
			best = v
		}
	}
	return best
}

// Axpy computes y += a*x.
func Axpy(a float32, x, y []float32) {
	if rowsOf(len(y), len(y), []int{len(x)}) == 0 || axpy(1, len(y), &y[0], &x[0], a) {
		return
	}
	for i, v := range x {
		y[i] += a * v
	}
}

// Scale computes y = a*x.
func Scale(y []float32, a float32, x []float32) {
	if rowsOf(len(y), len(y), []int{len(x)}) == 0 || scale(1, len(y), &y[0], &x[0], a) {
		return
	}
	for i, v := range x {
		y[i] = a * v
	}
}

// Adam holds the coefficients of one step of Adam or AdamW.
type Adam struct {
	Decay  float32 // of weights, added to the gradient (Adam's L2 penalty)
	Shrink float32 // factor on weights (AdamW's decoupled decay); 1 for none
	B1, B2 float32 // 1 - beta1 and 1 - beta2
	Root   float32 // 1 / sqrt(1 - beta2^t)
	Eps    float32
	Step   float32 // learning rate / (1 - beta1^t)
}

// AdamStep updates weights p and the moments m and v by gradient g (Kingma and
// Ba 2015; Loshchilov and Hutter 2019):
//
//	g' = g + Decay*p
//	m += B1*(g' - m),  v += B2*(g'*g' - v)
//	p = Shrink*p - Step*m / (Root*sqrt(v) + Eps)
func AdamStep(p, g, m, v []float32, a Adam) {
	if rowsOf(len(p), len(p), []int{len(g), len(m), len(v)}) == 0 ||
		adam(1, len(p), &p[0], &g[0], &m[0], &v[0], a.Decay, a.Shrink, a.B1, a.B2, a.Root, a.Eps, a.Step) {
		return
	}
	for i := range p {
		gi := g[i] + a.Decay*p[i]
		m[i] += a.B1 * (gi - m[i])
		v[i] += a.B2 * (gi*gi - v[i])
		p[i] = a.Shrink*p[i] - a.Step*m[i]/(a.Root*float32(math.Sqrt(float64(v[i])))+a.Eps)
	}
}
