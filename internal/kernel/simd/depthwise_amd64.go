//go:build !noasm

package simd

import "unsafe"

// run computes the product with the processor's instructions, if it has any here. Widths of filters
// with steps of their own have kernels of their own, the others share one.
func (d *Depthwise) run() bool {
	p := (*byte)(unsafe.Pointer(d))
	switch active {
	case AVX512:
		d.forwardAVX512(p)
	case AVX2:
		d.forwardAVX2(p)
	default:
		return false
	}
	return true
}

func (d *Depthwise) forwardAVX512(p *byte) {
	switch d.shape() {
	case 11:
		depthwise1by1AVX512(p)
	case 21:
		depthwise2by1AVX512(p)
	case 31:
		depthwise3by1AVX512(p)
	case 41:
		depthwise4by1AVX512(p)
	case 51:
		depthwise5by1AVX512(p)
	case 71:
		depthwise7by1AVX512(p)
	case 32:
		depthwise3by2AVX512(p)
	case 52:
		depthwise5by2AVX512(p)
	case 72:
		depthwise7by2AVX512(p)
	default:
		depthwiseAVX512(p)
		d.finish()
	}
}

func (d *Depthwise) forwardAVX2(p *byte) {
	switch d.shape() {
	case 11:
		depthwise1by1AVX2(p)
	case 21:
		depthwise2by1AVX2(p)
	case 31:
		depthwise3by1AVX2(p)
	case 41:
		depthwise4by1AVX2(p)
	case 51:
		depthwise5by1AVX2(p)
	case 71:
		depthwise7by1AVX2(p)
	case 32:
		depthwise3by2AVX2(p)
	case 52:
		depthwise5by2AVX2(p)
	case 72:
		depthwise7by2AVX2(p)
	default:
		depthwiseAVX2(p)
		d.finish()
	}
}

func (d *Depthwise) runWeights() bool {
	p := (*byte)(unsafe.Pointer(d))
	switch {
	case active == AVX512 && d.TapsW == 3 && d.Taps == 3:
		depthwiseWeights3AVX512(p)
	case active == AVX512 && d.TapsW == 5:
		depthwiseWeights5AVX512(p)
	case active == AVX512 && d.TapsW == 7:
		depthwiseWeights7AVX512(p)
	case active == AVX512:
		depthwiseWeightsAVX512(p)
	case active == AVX2 && d.TapsW == 3 && d.Taps == 3:
		depthwiseWeights3AVX2(p)
	case active == AVX2 && d.TapsW == 5:
		depthwiseWeights5AVX2(p)
	case active == AVX2 && d.TapsW == 7:
		depthwiseWeights7AVX2(p)
	case active == AVX2:
		depthwiseWeightsAVX2(p)
	default:
		return false
	}
	return true
}
