package simd

import "unsafe"

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
