package simd

import "math"

// Bounds is a piecewise linear activation: values below Lo become Lo, those
// above Hi become Hi. A NaN bound does nothing, and a NaN value stays NaN.
type Bounds struct{ Lo, Hi float32 }

// Linear is the activation that changes nothing.
func Linear() Bounds { return Bounds{float32(math.NaN()), float32(math.NaN())} }

// ReLU is max(v, 0).
func ReLU() Bounds { return Bounds{0, float32(math.NaN())} }

// ReLU6 is min(max(v, 0), 6).
func ReLU6() Bounds { return Bounds{0, 6} }

func (b Bounds) apply(v float32) float32 {
	if v < b.Lo {
		v = b.Lo
	}
	if v > b.Hi {
		v = b.Hi
	}
	return v
}

// isFlat reports whether the activation has derivative 0 where its result is y.
func (b Bounds) isFlat(y float32) bool { return y <= b.Lo || y >= b.Hi }
