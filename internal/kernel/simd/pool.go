package simd

import "fmt"

// Pool describes 2 x 2 windows, two pixels apart, over two rows of pixels of C
// channels: N windows, so 2N pixels in each of X0 and X1 (which may be longer),
// and N pixels in matrices of windows. Index holds a byte for each channel of
// each window: where its largest value is, 0 and 1 in X0, 2 and 3 in X1. The
// first of equals counts, and NaN is larger than any number.
type Pool struct {
	X0, X1 []float32
	Index  []uint8
	C      int
}

func (p *Pool) windows(y []float32) int {
	n := rowsOf(len(y), p.C, nil)
	if len(p.Index) != len(y) || len(p.X0) < 2*len(y) || len(p.X1) < 2*len(y) {
		panic(fmt.Sprintf("simd: rows of %d and %d values and %d indices for %d windows of %d channels", len(p.X0),
			len(p.X1), len(p.Index), n, p.C))
	}
	return n
}

// fillsVectors reports whether the channels fill vector registers.
func (p *Pool) fillsVectors() bool { return p.C%(TileCols()/2) == 0 }

// positionOf returns the position of the value that Index names for element i of a
// matrix of windows.
func (p *Pool) positionOf(i, which int) *float32 {
	j := i/p.C*2*p.C + which&1*p.C + i%p.C
	if which < 2 {
		return &p.X0[j]
	}
	return &p.X1[j]
}

func (p *Pool) largest(i int, value func(x float32) float32) float32 {
	best := value(*p.positionOf(i, 0))
	p.Index[i] = 0
	for k := 1; k < 4; k++ {
		if v := value(*p.positionOf(i, k)); v > best || v != v {
			best, p.Index[i] = v, uint8(k)
		}
	}
	return best
}

// Max sets y to the largest of each window.
func (p *Pool) Max(y []float32) {
	n := p.windows(y)
	if n == 0 || p.fillsVectors() && maxPool(n, p.C, &p.Index[0], &p.X0[0], &p.X1[0], &y[0]) {
		return
	}
	for i := range y {
		y[i] = p.largest(i, func(x float32) float32 { return x })
	}
}

// MaxGrad is the gradient of Max: it sets each window to zeros except for its
// largest, which becomes dy.
func (p *Pool) MaxGrad(dy []float32) {
	n := p.windows(dy)
	if n == 0 || p.fillsVectors() && maxPoolGrad(n, p.C, &p.Index[0], &p.X0[0], &p.X1[0], &dy[0]) {
		return
	}
	for i, g := range dy {
		for k := range 4 {
			*p.positionOf(i, k) = 0
		}
		*p.positionOf(i, int(p.Index[i])) = g
	}
}

// NormMax sets y to the largest of each window's act(a*x + b): batch norm,
// activation and pool in one pass. Index is the index of the largest a*x + b.
func (p *Pool) NormMax(y, a, b []float32, act Bounds) {
	n := p.windows(y)
	rowsOf(p.C, p.C, nil, len(a), len(b))
	if n == 0 || p.fillsVectors() &&
		normMaxPool(n, p.C, &p.Index[0], &p.X0[0], &p.X1[0], &y[0], &a[0], &b[0], act.Lo, act.Hi) {
		return
	}
	for i := range y {
		c := i % p.C
		y[i] = act.apply(p.largest(i, func(x float32) float32 { return a[c]*x + b[c] }))
	}
}

// NormMaxSums adds to sum and dot the column sums of g and g*(x - mean), where g
// is dy, or 0 where act is flat at y, and x each window's largest.
func (p *Pool) NormMaxSums(sum, dot, dy, y, mean []float32, act Bounds) {
	n := p.windows(dy)
	rowsOf(len(dy), p.C, []int{len(y)}, len(sum), len(dot), len(mean))
	if n == 0 || p.fillsVectors() && normMaxPoolSums(n, p.C, &p.Index[0], &p.X0[0], &p.X1[0], &dy[0], &y[0],
		&mean[0], &sum[0],
		&dot[0], act.Lo, act.Hi) {
		return
	}
	for i, g := range dy {
		if !act.isFlat(y[i]) {
			sum[i%p.C] += g
			dot[i%p.C] += g * (*p.positionOf(i, int(p.Index[i])) - mean[i%p.C])
		}
	}
}

// NormMaxGrad is the gradient of NormMax and of the activation in before it,
// whose result X0 and X1 hold, in their place:
//
//	x = 0 where in is flat at x, else scale*u*g + q*(x - mean) + r
//
// with g as in NormMaxSums and u 1 at each window's largest, 0 elsewhere.
func (p *Pool) NormMaxGrad(dy, y, scale, q, r, mean []float32, act, in Bounds) {
	n := p.windows(dy)
	rowsOf(len(dy), p.C, []int{len(y)}, len(scale), len(q), len(r), len(mean))
	if n == 0 || p.fillsVectors() && normMaxPoolGrad(n, p.C, &p.Index[0], &p.X0[0], &p.X1[0], &dy[0], &y[0],
		&scale[0], &q[0],
		&r[0], &mean[0], act.Lo, act.Hi, in.Lo, in.Hi) {
		return
	}
	for i, g := range dy {
		c := i % p.C
		if act.isFlat(y[i]) {
			g = 0
		}
		for k := range 4 {
			x := p.positionOf(i, k)
			v := q[c]*(*x-mean[c]) + r[c]
			if k == int(p.Index[i]) {
				v += scale[c] * g
			}
			if in.isFlat(*x) {
				v = 0
			}
			*x = v
		}
	}
}

// MaxTap takes one tap of a max pool of any size over a row of windows: y and idx
// hold c channels a window, and window i meets the pixel at x[i*step:]. Where
// that is larger than y, or NaN, it replaces it and tap replaces idx. It panics
// if x is too short.
func MaxTap(y []float32, idx []uint8, x []float32, c, step int, tap uint8) {
	n := rowsOf(len(y), c, []int{len(idx)})
	if n == 0 {
		return
	}
	_ = x[(n-1)*step+c-1]
	if c%(TileCols()/2) == 0 && maxTap(n, c, step, &x[0], &y[0], &idx[0], int(tap)) {
		return
	}
	for i := range n {
		y, idx := y[i*c:(i+1)*c], idx[i*c:(i+1)*c]
		for j, v := range x[i*step : i*step+c] {
			if v > y[j] || v != v {
				y[j], idx[j] = v, tap
			}
		}
	}
}
