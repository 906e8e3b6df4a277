//go:build !noasm

package simd

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

func detect() Level {
	switch {
	case !cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3):
		return Generic
	case !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL):
		return AVX2
	}
	return AVX512
}

// detectFamily uses the maker and the support for half precision arithmetic, which came with
// those cores.
func detectFamily() Family {
	if cpuid.CPU.IsVendor(cpuid.Intel) && cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512FP16) {
		return Sapphire
	}
	return Common
}

// addRowsLanes returns the width of addRows's registers, or 0 without such an instruction set.
func addRowsLanes() int {
	switch active {
	case AVX512:
		return 16
	case AVX2:
		return 8
	}
	return 0
}

// addRows is AddRows for one or eight registers of y.
func addRows(vecs int, y, x *float32, stride int, idx *int32, c *float32, n int) {
	switch {
	case active == AVX512 && vecs == 8:
		addRows8AVX512(y, x, stride, idx, c, n)
	case active == AVX512:
		addRows1AVX512(y, x, stride, idx, c, n)
	case vecs == 8:
		addRows8AVX2(y, x, stride, idx, c, n)
	default:
		addRows1AVX2(y, x, stride, idx, c, n)
	}
}

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

func winoFilter(n, tap, to int, src, dst *float32) {
	winoFilterAVX512(n, tap, to, src, dst)
}

func winoInput(n, c, row, pad, to int, src, dst *float32) {
	winoInputAVX512(n, c, row, pad, to, src, dst)
}

func winoGradient(n, c, row, pad, to int, src, dst *float32) {
	winoGradientAVX512(n, c, row, pad, to, src, dst)
}

func winoOutput(n, c, from, row int, src, dst *float32) {
	winoOutputAVX512(n, c, from, row, src, dst)
}

func wino4Filter(n, tap, to int, src, dst, tmp *float32) {
	wino4FilterAVX512(n, tap, to, src, dst, tmp)
}

func wino4Input(n, c, row, pad, to int, src, dst, tmp *float32) {
	wino4InputAVX512(n, c, row, pad, to, src, dst, tmp)
}

func wino4Output(n, c, from, row int, src, dst, tmp *float32) {
	wino4OutputAVX512(n, c, from, row, src, dst, tmp)
}
