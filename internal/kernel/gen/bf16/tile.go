package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/amx"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// Byte offsets of the fields of bf16.Tile; its test compares them with the
// compiler's.
const (
	tA = 8 * iota
	tB
	tC
	tAdd
	tKOff
	tCOff
	tScale
	tShift
	tSum
	tSteps
	tAStep
	tATile
	tRows
	tMaskBits
	tHalfC
	tHalfAdd
	tClamp // two float32
	tBTile
	tNext
	tNextStep
	tRowsAt
)

// The registers of the tile kernels.
var (
	tile     = reg.RAX // the Tile
	tileA    = reg.RCX // A of this block of rows
	tileKOff = reg.RDX // KOff of this step
	tileB    = reg.RBX // B of this step
	tileRows = reg.RSI // rows left
	tileStep = reg.RDI // AStep
	line     = reg.R8  // bytes from one row of a tile of B to the next; of sums afterwards
	steps    = reg.R9  // left; afterwards Add
	row      = reg.R10 // A of this step; afterwards C
	row2     = reg.R11 // the same, further down; afterwards whether C is bfloat16
	tileNext = reg.R12 // the line to ask for, while a block is summed
	tileCOff = reg.R12 // COff of this row, while it is stored
	second   = reg.R13 // from the first columns of B to the others
	sum      = reg.R13 // after the product, the block's sums
	off      = reg.R14 // of a row of C
	left     = reg.R15 // rows of the block
)

func field(off int) Mem { return Mem{Base: tile, Disp: off} }

// emitTile emits a kernel: product leaves a block's sums in memory, and what
// follows stores them. With a config the matrix unit is made ready and left again.
func emitTile(name, doc string, product func(), config func()) {
	x86.Begin(name, "func(t *byte)", doc)
	Load(Param("t"), tile)
	if config != nil {
		config()
	}
	for _, l := range []struct {
		off int
		to  reg.GPPhysical
	}{{tA, tileA}, {tRows, tileRows}, {tAStep, tileStep}, {tCOff, off}} {
		MOVQ(field(l.off), l.to)
	}
	MOVQ(off, field(tRowsAt))
	MOVQ(field(tMaskBits), off)
	KMOVW(off.As32(), reg.K1)
	SHRQ(U8(16), off)
	KMOVW(off.As32(), reg.K2)
	vectors()
	Label("block")
	MOVQ(field(tKOff), tileKOff)
	MOVQ(field(tB), tileB)
	MOVQ(field(tSteps), steps)
	MOVQ(field(tBTile), second)
	product()
	store()
	MOVQ(field(tATile), off)
	LEAQ(Mem{Base: tileA, Index: off, Scale: 2}, tileA)
	SUBQ(U8(32), tileRows)
	JG(LabelRef("block"))
	if config != nil {
		amx.Release()
	}
	x86.Return()
}

// vectors loads what all rows are scaled, shifted and clamped by.
func vectors() {
	one := off
	MOVL(U32(0x3f800000), one.As32())
	VPBROADCASTD(one.As32(), reg.Z16)
	VMOVAPS(reg.Z16, reg.Z17)
	VPXORD(reg.Z18, reg.Z18, reg.Z18)
	VPXORD(reg.Z19, reg.Z19, reg.Z19)
	for i, f := range []int{tScale, tShift} {
		name := []string{"scaled", "shifted"}[i]
		v := []reg.VecPhysical{reg.Z16, reg.Z17, reg.Z18, reg.Z19}[2*i:]
		MOVQ(field(f), off)
		TESTQ(off, off)
		JEQ(LabelRef(name))
		VMOVUPS_Z(Mem{Base: off}, reg.K1, v[0])
		VMOVUPS_Z(Mem{Base: off, Disp: 64}, reg.K2, v[1])
		Label(name)
	}
	VBROADCASTSS(field(tClamp), reg.Z20)
	VBROADCASTSS(field(tClamp+4), reg.Z21)
}

// store emits the way of a block's sums to C.
func store() {
	MOVQ(U32(32), left)
	CMPQ(tileRows, left)
	CMOVQLT(tileRows, left)
	MOVQ(field(tC), row)
	MOVQ(field(tAdd), steps)
	MOVQ(field(tHalfC), row2)
	MOVQ(field(tRowsAt), tileCOff)
	v := []reg.VecPhysical{reg.Z0, reg.Z1}
	half := []reg.VecPhysical{reg.Y0, reg.Y1}
	masks := []reg.OpmaskPhysical{reg.K1, reg.K2}
	Label("row")
	MOVQ(Mem{Base: tileCOff}, off)
	ADDQ(U8(8), tileCOff)
	TESTQ(off, off)
	JLT(LabelRef("next"))
	for j := range v {
		VMOVUPS(Mem{Base: sum, Disp: 64 * j}, v[j])
		VFMADD213PS([]reg.VecPhysical{reg.Z18, reg.Z19}[j], []reg.VecPhysical{reg.Z16, reg.Z17}[j], v[j])
	}
	TESTQ(steps, steps)
	JEQ(LabelRef("added"))
	CMPQ(field(tHalfAdd), U8(0))
	JNE(LabelRef("addHalf"))
	for j := range v {
		VADDPS_Z(Mem{Base: steps, Index: off, Scale: 4, Disp: 64 * j}, v[j], masks[j], v[j])
	}
	JMP(LabelRef("added"))
	Label("addHalf")
	for j := range v {
		VPMOVZXWD_Z(Mem{Base: steps, Index: off, Scale: 2, Disp: 32 * j}, masks[j], reg.Z2)
		VPSLLD(U8(16), reg.Z2, reg.Z2)
		VADDPS(reg.Z2, v[j], v[j])
	}
	Label("added")
	for j := range v {
		// The second source is what NaN comes from.
		VMAXPS(v[j], reg.Z20, v[j])
		VMINPS(v[j], reg.Z21, v[j])
	}
	TESTQ(row2, row2)
	JNE(LabelRef("half"))
	for j := range v {
		VMOVUPS(v[j], masks[j], Mem{Base: row, Index: off, Scale: 4, Disp: 64 * j})
	}
	JMP(LabelRef("next"))
	Label("half")
	for j := range v {
		toHalf(j, j)
		VMOVDQU16(half[j], masks[j], Mem{Base: row, Index: off, Scale: 2, Disp: 32 * j})
	}
	Label("next")
	ADDQ(U32(128), sum)
	x86.Loop(left, "row")
	MOVQ(tileCOff, field(tRowsAt))
}

// matrixUnit returns what makes the unit ready: eight tiles of 16 rows of 64 bytes.
func matrixUnit() func() {
	config := GLOBL("tileConfig", 8|16) // RODATA|NOPTR
	DATA(0, U64(1))                     // palette 1
	DATA(8, U64(0))
	DATA(16, U64(0x0040004000400040)) // bytes of a row
	DATA(24, U64(0x0040004000400040))
	DATA(32, U64(0))
	DATA(40, U64(0))
	DATA(48, U64(0x1010101010101010)) // rows
	DATA(56, U64(0))
	return func() {
		LEAQ(config, row)
		amx.Configure(row)
	}
}

// matrixProduct emits the sums of a block on the matrix unit: two or one tiles of
// rows by two or one of columns.
func matrixProduct() {
	MOVQ(U32(64), line)
	KTESTW(reg.K2, reg.K2)
	JEQ(LabelRef("narrow"))
	for _, cols := range []int{2, 1} {
		if cols == 1 {
			Label("narrow")
		}
		CMPQ(tileRows, U8(16))
		JLE(LabelRef(fmt.Sprintf("low%d", cols)))
		matrixLoop(2, cols)
		JMP(LabelRef("product"))
		Label(fmt.Sprintf("low%d", cols))
		matrixLoop(1, cols)
		if cols == 2 {
			JMP(LabelRef("product"))
		}
	}
	Label("product")
}

// matrixLoop keeps sums in tiles 0 to 3, A in 4 and 5, B in 6 and 7.
func matrixLoop(rows, cols int) {
	for i := range rows {
		for j := range cols {
			amx.Zero(2*i + j)
		}
	}
	loop := fmt.Sprintf("loop%d%d", rows, cols)
	Label(loop)
	MOVQ(Mem{Base: tileKOff}, row)
	ADDQ(tileA, row)
	if cols == 2 {
		LEAQ(Mem{Base: tileB, Index: second, Scale: 1}, off)
	}
	amx.Load(4, row, tileStep, 0)
	amx.Load(6, tileB, line, 0)
	amx.DotBFloat16(0, 4, 6)
	if cols == 2 {
		amx.Load(7, off, line, 0)
		amx.DotBFloat16(1, 4, 7)
	}
	if rows == 2 {
		MOVQ(field(tATile), row2)
		ADDQ(row, row2)
		amx.Load(5, row2, tileStep, 0)
		amx.DotBFloat16(2, 5, 6)
		if cols == 2 {
			amx.DotBFloat16(3, 5, 7)
		}
	}
	ADDQ(U8(8), tileKOff)
	ADDQ(U32(1024), tileB)
	x86.Loop(steps, loop)
	MOVQ(field(tSum), sum)
	MOVQ(U32(128), row)
	for i := range rows {
		for j := range cols {
			amx.Store(2*i+j, sum, row, 2048*i+64*j)
		}
	}
}

// vectorProduct emits the sums of a block with VDPBF16PS, eight rows at a time.
func vectorProduct() {
	// The end of the block's rows: rows of A are counted in off.
	XORQ(off, off)
	MOVQ(field(tNext), tileNext)
	Label("eight")
	KTESTW(reg.K2, reg.K2)
	JEQ(LabelRef("narrow"))
	vectorLoop(2)
	JMP(LabelRef("summed"))
	Label("narrow")
	vectorLoop(1)
	Label("summed")
	ADDQ(U8(8), off)
	CMPQ(off, tileRows)
	JGE(LabelRef("product"))
	CMPQ(off, U8(32))
	JLT(LabelRef("eight"))
	Label("product")
	MOVQ(tileNext, field(tNext))
	MOVQ(field(tSum), sum)
}

// vectorLoop sums eight rows from the block's off-th on. Sums are in Z0 to Z15, of
// which a row has two; B is in Z22 and Z23, a pair of A in Z24.
func vectorLoop(cols int) {
	name := func(s string) string { return fmt.Sprintf("%s%d", s, cols) }
	for i := range 8 * cols {
		VPXORD(zmm(i), zmm(i), zmm(i))
	}
	MOVQ(field(tKOff), tileKOff)
	MOVQ(field(tB), tileB)
	MOVQ(field(tSteps), steps)
	Label(name("step"))
	// row = A + the step's + off rows of it, in whole tiles of 16.
	MOVQ(Mem{Base: tileKOff}, row)
	ADDQ(tileA, row)
	MOVQ(off, left)
	CMPQ(left, U8(16))
	JLT(LabelRef(name("first")))
	ADDQ(field(tATile), row)
	SUBQ(U8(16), left)
	Label(name("first"))
	IMULQ(tileStep, left)
	ADDQ(left, row)
	LEAQ(Mem{Base: tileStep, Index: tileStep, Scale: 2}, row2) // three rows
	LEAQ(Mem{Base: row, Index: row2, Scale: 2}, line)
	ADDQ(row, row2)
	MOVQ(U32(16), left)
	Label(name("pair"))
	VMOVUPS(Mem{Base: tileB}, zmm(22))
	if cols == 2 {
		VMOVUPS(Mem{Base: tileB, Index: second, Scale: 1}, zmm(23))
	}
	for i := range 8 {
		base := []reg.GPPhysical{row, row2, line}[i/3]
		m := Mem{Base: base}
		if i%3 > 0 {
			m.Index, m.Scale = tileStep, uint8(i%3)
		}
		VPBROADCASTD(m, reg.Z24)
		for j := range cols {
			dotPairs(cols*i+j, 22+j, 24)
		}
	}
	PREFETCHT0(Mem{Base: tileNext})
	ADDQ(field(tNextStep), tileNext)
	ADDQ(U8(64), tileB)
	for _, r := range []reg.GPPhysical{row, row2, line} {
		ADDQ(U8(4), r)
	}
	x86.Loop(left, name("pair"))
	ADDQ(U8(8), tileKOff)
	x86.Loop(steps, name("step"))
	MOVQ(off, row)
	SHLQ(U8(7), row)
	ADDQ(field(tSum), row)
	for i := range 8 {
		for j := range cols {
			VMOVUPS(zmm(cols*i+j), Mem{Base: row, Disp: 128*i + 64*j})
		}
	}
}

func zmm(i int) reg.VecPhysical {
	return []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10,
		reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22,
		reg.Z23, reg.Z24}[i]
}
