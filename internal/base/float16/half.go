// Package float16 widens 16-bit floating-point numbers.
package float16

import "math"

// Float32 widens an IEEE 754 half. Every half is a float32: nothing is rounded.
func Float32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch {
	case exp == 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	}
	v := float32(frac) * 0x1p-24
	if sign != 0 {
		v = -v
	}
	return v
}
