//go:build !noasm

package simd

import (
	"unsafe"
)

// detect goes without asking: Go itself needs these instructions.
func detect() Level { return NEON }

func detectFamily() Family { return Common }

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

func (t *Tile) run() {
	p := (*byte)(unsafe.Pointer(t))
	switch {
	case active == Generic:
		t.runGeneric()
	case t.Cols > 8:
		tile4NEON(p)
	default:
		tile2NEON(p)
	}
}

// FMAPeak runs about n multiply-adds on registers alone, on the calling
// goroutine, and returns how many it ran: the machine's ceiling to compare
// products with. It returns 0 where there is no vector unit to measure.
func FMAPeak(n int) int {
	if active == Generic {
		return 0
	}
	peakNEON(n/96 + 1)
	return (n/96 + 1) * 96
}

func transpose8(dst *float32, dstStep int, src *float32, srcStep, n int) {
	transposeNEON(dst, dstStep, src, srcStep, n)
}

// winoFilter goes by 16 filters, the kernel by four.
func winoFilter(n, tap, to int, src, dst *float32) { winoFilterNEON(4*n, tap, to, src, dst) }

func winoInput(n, c, row, pad, to int, src, dst *float32) {
	winoInputNEON(n, c, row, pad, to, src, dst)
}

func winoGradient(n, c, row, pad, to int, src, dst *float32) {
	winoGradientNEON(n, c, row, pad, to, src, dst)
}

func winoOutput(n, c, from, row int, src, dst *float32) {
	winoOutputNEON(n, c, from, row, src, dst)
}
