package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// Byte offsets of the fields of qgemm.Tile; its test compares them with the
// compiler's.
const (
	tA = 8 * iota
	tB
	tC
	tAdd
	tAOff
	tCOff
	tKOff
	tScale
	tShift
	tRuns
	tQuads
	tBlocks
	tVectors
	tMask
	tAddKind
	tFloatC
	tSum
	tLo // four float32: lo, hi, AddScale, unused
	_
	tRows
	tCols
)

const (
	blockRows  = 6
	maxVectors = 4
)

// The registers of the tile kernel.
var (
	tile    = reg.RAX
	bytesB  = reg.RBX // B of this quad
	at      = reg.RCX // of this quad in the rows of A
	koff    = reg.RDX // KOff of the next run
	runs    = reg.RSI // left
	last    = reg.RDI // of this run; afterwards C
	rows    = []reg.GPPhysical{reg.R8, reg.R9, reg.R10, reg.R11, reg.R12, reg.R13}
	blocks  = reg.R14 // left
	rowOff  = reg.R15 // AOff of this block; its COff lies equally far from the first
	add     = reg.R8  // after the product
	off     = reg.R9
	float   = reg.R10
	kind    = reg.R11
	colOff  = reg.R12 // COff of this block
	scaling = reg.R13
	shift   = reg.RSI
	low32   = reg.EBX // the lower bound
)

// order is the order of a row's bytes.
var order Mem

func field(off int) Mem { return Mem{Base: tile, Disp: off} }

// emitTile emits the product with VPDPBUSD, six rows by one to four vectors of columns.
func emitTile() {
	x86.Begin("tileVNNI", "func(t *byte)", "tileVNNI computes a tile with AVX512_VNNI.")
	order = GLOBL("order", RODATA|NOPTR)
	for quarter := range 4 { // of each of four vectors, packed within quarters
		for vector := range 4 {
			DATA(4*(4*quarter+vector), U32(4*vector+quarter))
		}
	}
	Load(Param("t"), tile)
	MOVQ(field(tMask), off)
	KMOVW(off.As32(), reg.K1)
	MOVQ(field(tCols), at)
	MOVQ(I64(-1), off)
	BZHIQ(at, off, off)
	KMOVQ(off, reg.K2)
	MOVQ(field(tVectors), off)
	for v := 1; v < maxVectors; v++ {
		CMPQ(off, U8(v))
		JEQ(LabelRef(fmt.Sprintf("vectors%d", v)))
	}
	for v := maxVectors; v > 0; v-- {
		Label(fmt.Sprintf("vectors%d", v))
		emitVectors(v)
	}
}

// emitVectors emits the blocks of v vectors of columns. Sums are in Z0 to Z23, and
// a row has v of them; B is in Z28 to Z31, a quad of A in Z24 or Z25.
func emitVectors(v int) {
	name := func(s string) string { return fmt.Sprintf("%s%d", s, v) }
	sum := func(i, j int) reg.VecPhysical { return zmm(v*i + j) }
	MOVQ(field(tAOff), rowOff)
	MOVQ(field(tBlocks), blocks)
	Label(name("block"))
	for i, r := range rows {
		MOVQ(Mem{Base: rowOff, Disp: 8 * i}, r)
		ADDQ(field(tA), r)
	}
	for i := range blockRows * v {
		VPXORD(zmm(i), zmm(i), zmm(i))
	}
	MOVQ(field(tKOff), koff)
	MOVQ(field(tB), bytesB)
	MOVQ(field(tRuns), runs)
	Label(name("run"))
	MOVQ(Mem{Base: koff}, at)
	ADDQ(U8(8), koff)
	MOVQ(field(tQuads), last)
	LEAQ(Mem{Base: at, Index: last, Scale: 4}, last)
	Label(name("quad"))
	for j := range v {
		VMOVDQU32(Mem{Base: bytesB, Disp: 64 * j}, zmm(28+j))
	}
	for i, r := range rows {
		VPBROADCASTD(Mem{Base: r, Index: at, Scale: 1}, zmm(24+i%2))
		for j := range v {
			VPDPBUSD(zmm(28+j), zmm(24+i%2), sum(i, j))
		}
	}
	ADDQ(U32(64*v), bytesB)
	ADDQ(U8(4), at)
	CMPQ(at, last)
	JLT(LabelRef(name("quad")))
	x86.Loop(runs, name("run"))
	store(v, name, sum)
	ADDQ(U8(8*blockRows), rowOff)
	x86.Loop(blocks, name("block"))
	x86.Return()
}

// store emits the way of a block's sums to C. Z26 and Z27 are the bounds, Z28 what
// Add is multiplied by, Z29 the order of a row's bytes.
func store(v int, name func(string) string, sum func(i, j int) reg.VecPhysical) {
	MOVQ(rowOff, colOff)
	SUBQ(field(tAOff), colOff)
	ADDQ(field(tCOff), colOff)
	MOVQ(field(tC), last)
	MOVQ(field(tAdd), add)
	MOVQ(field(tAddKind), kind)
	MOVQ(field(tFloatC), float)
	MOVQ(field(tScale), scaling)
	MOVQ(field(tShift), shift)
	MOVL(field(tLo), low32)
	VMOVDQU32(order, reg.Z29)
	VBROADCASTSS(field(tLo), reg.Z26)
	VBROADCASTSS(field(tLo+4), reg.Z27)
	VBROADCASTSS(field(tLo+8), reg.Z28)
	for i := range blockRows {
		row := func(s string) string { return name(fmt.Sprintf("%s%d_", s, i)) }
		MOVQ(Mem{Base: colOff, Disp: 8 * i}, off)
		TESTQ(off, off)
		JLT(LabelRef(row("next")))
		for j := range v {
			VCVTDQ2PS(sum(i, j), sum(i, j))
			VMULPS(Mem{Base: scaling, Disp: 64 * j}, sum(i, j), sum(i, j))
			VADDPS(Mem{Base: shift, Disp: 64 * j}, sum(i, j), sum(i, j))
		}
		CMPQ(kind, U8(1))
		JLT(LabelRef(row("added")))
		JEQ(LabelRef(row("bytes")))
		for j := range v {
			m := Mem{Base: add, Index: off, Scale: 4, Disp: 64 * j}
			if j == v-1 {
				VMOVUPS_Z(m, reg.K1, reg.Z24)
			} else {
				VMOVUPS(m, reg.Z24)
			}
			addScaled(sum(i, j))
		}
		JMP(LabelRef(row("added")))
		Label(row("bytes"))
		for j := range v {
			m := Mem{Base: add, Index: off, Scale: 1, Disp: 16 * j}
			if j == v-1 {
				VPMOVZXBD_Z(m, reg.K1, reg.Z24)
			} else {
				VPMOVZXBD(m, reg.Z24)
			}
			VCVTDQ2PS(reg.Z24, reg.Z24)
			addScaled(sum(i, j))
		}
		Label(row("added"))
		TESTQ(float, float)
		JNE(LabelRef(row("float")))
		storeBytes(v, row, func(j int) reg.VecPhysical { return sum(i, j) })
		JMP(LabelRef(row("next")))
		Label(row("float"))
		for j := range v {
			// The second source is what NaN comes from.
			VMAXPS(sum(i, j), reg.Z26, sum(i, j))
			VMINPS(sum(i, j), reg.Z27, sum(i, j))
			m := Mem{Base: last, Index: off, Scale: 4, Disp: 64 * j}
			if j == v-1 {
				VMOVUPS(sum(i, j), reg.K1, m)
			} else {
				VMOVUPS(sum(i, j), m)
			}
		}
		Label(row("next"))
	}
}

// storeBytes emits the store of a row of bytes. What is below 0, and NaN, which becomes the
// lowest integer, saturates to 0; only another lower bound is applied before.
func storeBytes(v int, row func(string) string, sum func(j int) reg.VecPhysical) {
	TESTL(low32, low32)
	JEQ(LabelRef(row("saturate")))
	for j := range v {
		VMAXPS(sum(j), reg.Z26, sum(j))
	}
	Label(row("saturate"))
	for j := range v {
		VMINPS(sum(j), reg.Z27, sum(j))
		VCVTPS2DQ(sum(j), sum(j))
	}
	VPACKSSDW(sum(min(1, v-1)), sum(0), sum(0))
	upper := sum(0)
	if v > 2 {
		upper = sum(2)
		VPACKSSDW(sum(v-1), upper, upper)
	}
	VPACKUSWB(upper, sum(0), sum(0))
	VPERMD(sum(0), reg.Z29, sum(0))
	m := Mem{Base: last, Index: off, Scale: 1}
	if v == maxVectors {
		CMPQ(field(tCols), U8(16*maxVectors))
		JNE(LabelRef(row("masked")))
		VMOVDQU8(sum(0), m)
		JMP(LabelRef(row("next")))
		Label(row("masked"))
	}
	VMOVDQU8(sum(0), reg.K2, m)
}

// addScaled adds Z24 times what Add is multiplied by; both results are rounded.
func addScaled(to reg.VecPhysical) {
	VMULPS(reg.Z28, reg.Z24, reg.Z24)
	VADDPS(reg.Z24, to, to)
}

func zmm(i int) reg.VecPhysical {
	return []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10,
		reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22,
		reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31}[i]
}

func ymm(i int) reg.VecPhysical {
	return []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10,
		reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}[i]
}
