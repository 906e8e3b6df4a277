package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets of the fields of simd.Tile; its test compares them with the
// compiler's.
const (
	tA = 8 * iota
	tB
	tC
	tAdd
	tAOff
	tCOff
	tAStep
	tBStep
	tARun
	tBRun
	tInner
	tOuter
	tATile
	tCTile
	tAOffTile
	tCOffTile
	tRows
	tScale
	tShift
	tRowAdd
	tReLU
	tMaskBits
	tMaskVec
	tRowDone
	tBlocks
	tABlock
	tBBlock
	tBlocksLeft
)

// tile emits the matrix-product kernel for a tile of v.rows x (vecs registers):
// one function for full and partial tiles, for packed and for gathered left
// operands.
func tile(v isa, vecs int) {
	TEXT(fmt.Sprintf("tile%d%s", vecs, v.suffix), NOSPLIT, "func(t *byte)")
	Pragma("noescape")
	Doc(fmt.Sprintf("tile%d%s computes tiles of %d x %d.", vecs, v.suffix, v.rows, vecs*v.lanes))
	t := Load(Param("t"), GP64())
	at := func(off int) Mem { return Mem{Base: t, Disp: off} }
	load := func(off int) reg.GPVirtual {
		r := GP64()
		MOVQ(at(off), r)
		return r
	}
	acc := func(i, j int) reg.VecPhysical { return v.phys(i*vecs + j) }
	b := make([]reg.VecPhysical, vecs)
	for j := range b {
		b[j] = v.phys(v.rows*vecs + j)
	}
	bc := v.phys(v.rows*vecs + vecs)

	a, c, aoff, rows := load(tA), load(tC), load(tAOff), load(tRows)
	add := load(tAdd)
	coff := load(tCOff)
	masks := make([]reg.OpmaskPhysical, 0)
	if v.wide() {
		m := GP64()
		MOVQ(at(tMaskBits), m)
		for j := range vecs {
			k := []reg.OpmaskPhysical{reg.K1, reg.K2, reg.K3}[j]
			KMOVW(m.As32(), k)
			if j+1 < vecs {
				SHRQ(U8(16), m)
			}
			masks = append(masks, k)
		}
	}

	Label("tile")
	for i := range v.rows {
		for j := range vecs {
			v.zero(acc(i, j))
		}
	}
	pa, pb, outer := GP64(), GP64(), GP64()
	MOVQ(a, pa)
	MOVQ(at(tBlocks), pb)
	MOVQ(pb, at(tBlocksLeft))
	MOVQ(at(tB), pb)
	Label("block")
	MOVQ(at(tOuter), outer)
	astep, bstep := load(tAStep), load(tBStep)

	Label("outer")
	inner := GP64()
	MOVQ(at(tInner), inner)
	Label("inner")
	for j := range b {
		VMOVUPS(Mem{Base: pb, Disp: j * v.bytes()}, b[j])
	}
	for i := range v.rows {
		off := GP64()
		MOVQ(Mem{Base: aoff, Disp: 8 * i}, off)
		VBROADCASTSS(Mem{Base: pa, Index: off, Scale: 1}, bc)
		for j := range b {
			VFMADD231PS(b[j], bc, acc(i, j))
		}
	}
	ADDQ(astep, pa)
	ADDQ(bstep, pb)
	DECQ(inner)
	JNE(LabelRef("inner"))
	ADDQ(at(tARun), pa)
	ADDQ(at(tBRun), pb)
	DECQ(outer)
	JNE(LabelRef("outer"))
	ADDQ(at(tABlock), pa)
	ADDQ(at(tBBlock), pb)
	DECQ(at(tBlocksLeft))
	JNE(LabelRef("block"))

	// acc = acc * scale + shift, column by column.
	p := GP64()
	step := func(name string, off int, f func()) {
		MOVQ(at(off), p)
		TESTQ(p, p)
		JEQ(LabelRef(name))
		f()
		Label(name)
	}
	cols := func(f func(j int)) {
		for j := range vecs {
			VMOVUPS(Mem{Base: p, Disp: j * v.bytes()}, b[j])
			f(j)
		}
	}
	step("unscaled", tScale, func() {
		cols(func(j int) {
			for i := range v.rows {
				VMULPS(b[j], acc(i, j), acc(i, j))
			}
		})
	})
	// Shift and row term are added up first, so that equal norms make the result
	// symmetric.
	for j := range b {
		v.zero(b[j])
	}
	step("unshifted", tShift, func() { cols(func(int) {}) })
	sum := v.phys(v.rows*vecs + vecs + 1)
	MOVQ(at(tRowAdd), p)
	TESTQ(p, p)
	JNE(LabelRef("rowterm"))
	for i := range v.rows {
		for j := range b {
			VADDPS(b[j], acc(i, j), acc(i, j))
		}
	}
	JMP(LabelRef("added"))
	Label("rowterm")
	ADDQ(at(tRowDone), p)
	for i := range v.rows {
		VBROADCASTSS(Mem{Base: p, Disp: 4 * i}, bc)
		for j := range b {
			VADDPS(b[j], bc, sum)
			VADDPS(sum, acc(i, j), acc(i, j))
		}
	}
	ADDQ(U8(4*v.rows), at(tRowDone))
	Label("added")

	// What is added element by element, then the rectifier, then the store:
	// row by row, so that a partial tile stops at its last row.
	if !v.wide() {
		MOVQ(at(tMaskVec), p)
	}
	access := func(base reg.Register, off reg.Register, j int) Mem {
		return Mem{Base: base, Index: off, Scale: 1, Disp: j * v.bytes()}
	}
	for i := range v.rows {
		CMPQ(rows, U8(i))
		JLE(LabelRef("done"))
		off := GP64()
		MOVQ(Mem{Base: coff, Disp: 8 * i}, off)
		skip := fmt.Sprintf("noadd%d", i)
		TESTQ(add, add)
		JEQ(LabelRef(skip))
		for j := range b {
			if v.wide() {
				VMOVUPS_Z(access(add, off, j), masks[j], b[j])
			} else {
				VMOVUPS(Mem{Base: p, Disp: j * v.bytes()}, b[j])
				VMASKMOVPS(access(add, off, j), b[j], b[j])
			}
			VADDPS(b[j], acc(i, j), acc(i, j))
		}
		Label(skip)
		skip = fmt.Sprintf("linear%d", i)
		CMPQ(at(tReLU), U8(0))
		JEQ(LabelRef(skip))
		v.zero(bc)
		for j := range b {
			// The second operand is returned if one is NaN: keep NaN.
			VMAXPS(acc(i, j), bc, acc(i, j))
		}
		Label(skip)
		for j := range b {
			if v.wide() {
				VMOVUPS(acc(i, j), masks[j], access(c, off, j))
			} else {
				VMOVUPS(Mem{Base: p, Disp: j * v.bytes()}, b[j])
				VMASKMOVPS(acc(i, j), b[j], access(c, off, j))
			}
		}
	}
	Label("done")
	SUBQ(U8(v.rows), rows)
	JLE(LabelRef("end"))
	ADDQ(at(tATile), a)
	ADDQ(at(tCTile), c)
	TESTQ(add, add)
	JEQ(LabelRef("next"))
	ADDQ(at(tCTile), add)
	Label("next")
	ADDQ(at(tAOffTile), aoff)
	ADDQ(at(tCOffTile), coff)
	JMP(LabelRef("tile"))
	Label("end")
	VZEROUPPER()
	RET()
}

// peak emits a loop of independent multiply-adds on registers only.
func peak(v isa) {
	TEXT("peak"+v.suffix, NOSPLIT, "func(n int)")
	Doc("peak" + v.suffix + " runs n rounds of 24 independent vector multiply-adds.")
	n := Load(Param("n"), GP64())
	top := 24
	if !v.wide() {
		top = 12
	}
	for i := range top + 2 {
		v.zero(v.phys(i))
	}
	Label("loop")
	for range 24 / top {
		for i := range top {
			VFMADD231PS(v.phys(top), v.phys(top+1), v.phys(i))
		}
	}
	DECQ(n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
