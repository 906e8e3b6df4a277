//go:build !noasm

package simd

import "unsafe"

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
