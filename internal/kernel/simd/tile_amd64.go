//go:build !noasm

package simd

import "unsafe"

// edge holds the lane masks of AVX2: the first n of 16 lanes are on from
// element 16-n.
var edge = [32]int32{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

func (t *Tile) run() {
	p := (*byte)(unsafe.Pointer(t))
	switch active {
	case AVX512:
		t.maskBits = 1<<t.Cols - 1
		switch fetch := processor == Sapphire; {
		case fetch && t.Cols > 16:
			tile2FetchAVX512(p)
		case fetch:
			tile1FetchAVX512(p)
		case t.Cols > 16:
			tile2AVX512(p)
		default:
			tile1AVX512(p)
		}
	case AVX2:
		t.maskVec = &edge[16-t.Cols]
		if t.Cols > 8 {
			tile2AVX2(p)
		} else {
			tile1AVX2(p)
		}
	default:
		t.runGeneric()
	}
}

// FMAPeak runs about n multiply-adds on registers alone, on the calling
// goroutine, and returns how many it ran: the machine's ceiling to compare
// products with. It returns 0 where there is no vector unit to measure.
func FMAPeak(n int) int {
	switch active {
	case AVX512:
		peakAVX512(n/384 + 1)
		return (n/384 + 1) * 384
	case AVX2:
		peakAVX2(n/192 + 1)
		return (n/192 + 1) * 192
	}
	return 0
}

func transpose8(dst *float32, dstStep int, src *float32, srcStep, n int) {
	transposeAVX2(dst, dstStep, src, srcStep, n)
}
