//go:build !noasm

package simd

import "unsafe"

func (d *DepthwiseBand) run() bool {
	if !HasDepthwiseBand() {
		return false
	}
	p := (*byte)(unsafe.Pointer(d))
	if d.Stride == 1 {
		depthwiseBand1AVX512(p)
	} else {
		depthwiseBand2AVX512(p)
	}
	return true
}
