//go:build !noasm

package simd

import "unsafe"

// kernels holds the kernels of Depthwise: one for each width of filters and step that has
// its own, and one for all others.

func (d *Depthwise) run() bool {
	if active == Generic {
		return false
	}
	p := (*byte)(unsafe.Pointer(d))
	switch d.shape() {
	case 11:
		depthwise1by1NEON(p)
	case 21:
		depthwise2by1NEON(p)
	case 31:
		depthwise3by1NEON(p)
	case 41:
		depthwise4by1NEON(p)
	case 51:
		depthwise5by1NEON(p)
	case 71:
		depthwise7by1NEON(p)
	case 32:
		depthwise3by2NEON(p)
	case 52:
		depthwise5by2NEON(p)
	case 72:
		depthwise7by2NEON(p)
	default:
		depthwiseNEON(p)
		d.finish()
	}
	return true
}

func (d *Depthwise) runWeights() bool {
	if active == Generic {
		return false
	}
	p := (*byte)(unsafe.Pointer(d))
	switch {
	case d.TapsW == 3 && d.Taps == 3:
		depthwiseWeights3NEON(p)
	case d.TapsW == 5:
		depthwiseWeights5NEON(p)
	case d.TapsW == 7:
		depthwiseWeights7NEON(p)
	default:
		depthwiseWeightsNEON(p)
	}
	return true
}
