package simd

import (
	"unsafe"
)

// Depthwise describes a row of N positions of a depthwise convolution: each
// channel has its own filter of Taps x TapsW weights. Channel c of position i
// meets, under tap (r, t), the value
//
//	X + i*XStep + r*XRow + (t*C + c)
//
// Positions are a whole number of pixels apart. Its result lies at Y + i*YStep + c, and the tap's weight at
// W + (r*TapsW + t)*C + c. C and the steps are in bytes; a value has four.
type Depthwise struct {
	X, W, Y     unsafe.Pointer
	N, C        int
	Taps, TapsW int
	XStep, XRow int
	YStep       int
	// Forward's results are multiplied by Scale, Shift is added and Act applied,
	// unless Scale is nil. Each has a value a channel.
	Scale, Shift *float32
	Act          Bounds
}

// Forward sets Y to the sums over taps of X times W.
func (d *Depthwise) Forward() {
	if d.N <= 0 || d.C <= 0 || d.run() {
		return
	}
	for i := range d.N {
		for c := 0; c < d.C; c += 4 {
			var s float32
			for r := range d.Taps {
				for t := range d.TapsW {
					s += *valueAt(d.X, i*d.XStep+r*d.XRow+t*d.C+c) * *valueAt(d.W, (r*d.TapsW+t)*d.C+c)
				}
			}
			if d.Scale != nil {
				s = d.Act.apply(float32(s**addOffset(d.Scale, c)) + *addOffset(d.Shift, c))
			}
			*valueAt(d.Y, i*d.YStep+c) = s
		}
	}
}

// Weights adds to W the sums over positions of X times Y.
func (d *Depthwise) Weights() {
	if d.N <= 0 || d.C <= 0 || d.runWeights() {
		return
	}
	for r := range d.Taps {
		for t := range d.TapsW {
			for c := 0; c < d.C; c += 4 {
				w := valueAt(d.W, (r*d.TapsW+t)*d.C+c)
				for i := range d.N {
					*w += *valueAt(d.X, i*d.XStep+r*d.XRow+t*d.C+c) * *valueAt(d.Y, i*d.YStep+c)
				}
			}
		}
	}
}

// DepthwiseBand describes some rows of positions of a depthwise convolution with filters
// of 3 x 3, each followed by scale, shift and bounds. Rows of the input are read where
// they lie, and padding is not in memory: X is a table of the rows that the taps meet,
// Stride of them further for each row of positions, and a row outside the image is a row
// of zeros. Where Left says so, the first tap of the first position lies outside, a pixel
// before the rows' first; where Right says so, the last tap of the last position does.
// Channel c of position i of row p meets, under tap (r, t), the value
//
//	X[p*Stride+r] + (i*Stride+t)*C + c, less C if Left is Outside
//
// The result lies at Y + p*YRow + i*YStep + c, and the tap's weight at W + (r*3 + t)*C + c.
// C and the steps of Y are in bytes. Stride is 1 or 2. There is a kernel for AVX-512 only;
// HasDepthwiseBand says whether it is there.
type DepthwiseBand struct {
	X            *unsafe.Pointer
	W, Y         unsafe.Pointer
	N, C, Rows   int
	YStep, YRow  int
	Scale, Shift *float32
	Act          Bounds
	Left, Right  Edge
	xNow, yNow   uintptr // where the kernel is
	rowsLeft     int
	before       int // bytes from a row's first pixel to the first tap's
	Stride       int
}

// Edge says whether a pixel at the edge of a row lies within the image: as a mask of
// lanes.
type Edge int

const (
	Outside Edge = 0
	Inside  Edge = 1<<16 - 1
)

// HasDepthwiseBand reports whether DepthwiseBand has a kernel at the active level.
func HasDepthwiseBand() bool { return active == AVX512 }

// Forward computes the rows.
func (d *DepthwiseBand) Forward() {
	d.before = 0
	if d.Left == Outside {
		d.before = -d.C
	}
	if d.N <= 0 || d.C <= 0 || d.Rows <= 0 || d.run() {
		return
	}
	for p := range d.Rows {
		for i := range d.N {
			for c := 0; c < d.C; c += 4 {
				s := d.Act.apply(float32(d.sum(p, i, c)**addOffset(d.Scale, c)) + *addOffset(d.Shift, c))
				*valueAt(d.Y, p*d.YRow+i*d.YStep+c) = s
			}
		}
	}
}

// sum is what channel c of a position meets, times the weights.
func (d *DepthwiseBand) sum(p, i, c int) float32 {
	var s float32
	for r := range 3 {
		row := *addOffset(d.X, 8*(p*d.Stride+r))
		for t := range 3 {
			if i+t == 0 && d.Left == Outside || i == d.N-1 && t == 2 && d.Right == Outside {
				continue
			}
			s += *valueAt(row, d.before+(i*d.Stride+t)*d.C+c) * *valueAt(d.W, (r*3+t)*d.C+c)
		}
	}
	return s
}
