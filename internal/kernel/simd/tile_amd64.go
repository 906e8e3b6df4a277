//go:build !noasm

package simd

import "unsafe"

// edge holds the lane masks of AVX2: the first n of 16 lanes are on from
// element 16-n.
var edge = [32]int32{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

func (t *Tile) run() {
	switch active {
	case AVX512:
		t.maskBits = 1<<t.Cols - 1
		if rest := t.Rows % wideRows; rest == 0 || rest > 8 {
			t.wide()
		} else {
			t.wideAndShort(rest)
		}
	case AVX2:
		p := (*byte)(unsafe.Pointer(t))
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

// wideRows are the rows of a tile of AVX-512.
const wideRows = 14

// wide runs tiles of 14 rows.
func (t *Tile) wide() {
	p := (*byte)(unsafe.Pointer(t))
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
}

// wideAndShort runs tiles of 14 rows, and one of four or eight for the rest, at most eight
// rows.
func (t *Tile) wideAndShort(rest int) {
	full := t.Rows - rest
	if full == 0 {
		t.short()
		return
	}
	t.Rows = full
	t.wide()
	last, n := *t, full/wideRows
	last.Rows = rest
	last.A, last.C = unsafe.Add(t.A, n*t.ATile), unsafe.Add(t.C, n*t.CTile)
	if t.Add != nil {
		last.Add = unsafe.Add(t.Add, n*t.CTile)
	}
	last.AOff, last.COff = addOffset(t.AOff, n*t.AOffTile), addOffset(t.COff, n*t.COffTile)
	last.short()
	t.Rows, t.Next = full+rest, last.Next
}

// short runs one tile of four or eight rows.
func (t *Tile) short() {
	p := (*byte)(unsafe.Pointer(t))
	switch few := t.Rows <= 4; {
	case few && t.Cols > 16:
		tile4x2AVX512(p)
	case few:
		tile4x1AVX512(p)
	case t.Cols > 16:
		tile8x2AVX512(p)
	default:
		tile8x1AVX512(p)
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
