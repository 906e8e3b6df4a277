package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// The registers of the tile kernels; the comment of simd.Tile has the same table.
var (
	tile      = reg.RAX // the Tile
	tileA     = reg.RCX // A, C and Add of this row of tiles
	tileC     = reg.RDX
	tileAdd   = reg.RDI
	tileAOff  = reg.RBX // AOff and COff of it
	tileCOff  = reg.R8
	tileRows  = reg.RSI // rows left
	tileSumA  = reg.R9  // where the sum is in A; after it what Scale, Shift, RowAdd or the lane masks point to
	tileSumB  = reg.R10 // where the sum is in B
	tileRuns  = reg.R11 // runs left of the block
	tileAStep = reg.R12
	tileNext  = reg.R13 // the line to ask for
	tileSteps = reg.R14 // steps left of the run
	tileRow   = reg.R15 // offset of a row, from AOff or COff
)

// tileMasks are the lanes that are columns of C, of the first and of the second
// vector.
func tileMasks() []reg.OpmaskPhysical { return []reg.OpmaskPhysical{reg.K1, reg.K2} }

// tileKernel emits the matrix-product kernel for a tile of v.rows x (vecs
// registers): one function for full and partial tiles, for packed and for gathered
// left operands.
type tileKernel struct {
	v    isa
	vecs int
	// fetch has the kernel ask for B's lines ahead of the sum.
	fetch bool
	b     []reg.VecPhysical // a row of B; after the sum other operands
	bc    reg.VecPhysical   // a value of A in every lane; then one of RowAdd, or zeros
	sum   reg.VecPhysical   // Shift and RowAdd of a row
}

// ahead is how many rows of B lie between the one in use and the one that fetch asks
// for: what takes the third-level cache's latency to multiply.
const ahead = 24

// shortTiles are the rows of further tiles with AVX-512, for the last rows of a product.
var shortTiles = []int{4, 8}

// emitShortTiles emits their kernels.
func emitShortTiles(v isa) {
	for _, rows := range shortTiles {
		v.rows = rows
		emitTile(v, 1, false)
		emitTile(v, 2, false)
	}
}

// emitTile emits the kernel.
func emitTile(v isa, vecs int, fetch bool) {
	k := tileKernel{v: v, vecs: vecs, fetch: fetch, b: make([]reg.VecPhysical, vecs)}
	first := v.rows * vecs // behind the sums
	for j := range k.b {
		k.b[j] = v.phys(first + j)
	}
	k.bc, k.sum = v.phys(first+vecs), v.phys(first+vecs+1)
	name, how := fmt.Sprintf("tile%d%s", vecs, v.suffix), ""
	switch {
	case v.rows < avx512.rows && v.wide():
		name = fmt.Sprintf("tile%dx%d%s", v.rows, vecs, v.suffix)
	case fetch:
		name, how = fmt.Sprintf("tile%dFetch%s", vecs, v.suffix), ", asking for what it needs ahead"
	}
	x86.Begin(name, "func(t *byte)", fmt.Sprintf("%s computes tiles of %d x %d%s.", name, v.rows, vecs*v.lanes, how))
	k.begin()
	Label("tile")
	k.product()
	k.scale()
	k.shift()
	k.store()
	Label("done")
	SUBQ(U8(v.rows), tileRows)
	JLE(LabelRef("end"))
	ADDQ(field(layout.TileATile), tileA)
	ADDQ(field(layout.TileCTile), tileC)
	TESTQ(tileAdd, tileAdd)
	JEQ(LabelRef("next"))
	ADDQ(field(layout.TileCTile), tileAdd)
	Label("next")
	ADDQ(field(layout.TileAOffTile), tileAOff)
	ADDQ(field(layout.TileCOffTile), tileCOff)
	JMP(LabelRef("tile"))
	Label("end")
	MOVQ(tileNext, field(layout.TileNext))
	x86.Return()
}

// field is a field of the Tile.
func field(off int) Mem { return Mem{Base: tile, Disp: off} }

// acc is the j-th vector of row i of the sums.
func (k *tileKernel) acc(i, j int) reg.VecPhysical { return k.v.phys(i*k.vecs + j) }

// begin loads what does not change within a row of tiles.
func (k *tileKernel) begin() {
	Load(Param("t"), tile)
	for _, l := range []struct {
		off int
		to  reg.GPPhysical
	}{
		{layout.TileA, tileA}, {layout.TileC, tileC}, {layout.TileAOff, tileAOff}, {layout.TileRows, tileRows},
		{layout.TileAdd, tileAdd}, {layout.TileCOff, tileCOff}, {layout.TileNext, tileNext},
	} {
		MOVQ(field(l.off), l.to)
	}
	if !k.v.wide() {
		return
	}
	bits := tileSumA // not in use yet
	MOVQ(field(layout.TileMaskBits), bits)
	for j, mask := range tileMasks()[:k.vecs] {
		KMOVW(bits.As32(), mask)
		if j+1 < k.vecs {
			SHRQ(U8(16), bits)
		}
	}
}

// ask has the lines of the result, and of what is added to it, come while the sum is
// computed.
func (k *tileKernel) ask() {
	lines := func(base reg.Register) {
		for i := range k.v.rows {
			MOVQ(Mem{Base: tileCOff, Disp: 8 * i}, tileRow)
			for j := range k.vecs {
				PREFETCHT0(Mem{Base: base, Index: tileRow, Scale: 1, Disp: j * k.v.bytes()})
			}
		}
	}
	lines(tileC)
	TESTQ(tileAdd, tileAdd)
	JEQ(LabelRef("asked"))
	lines(tileAdd)
	Label("asked")
}

// product sums A's rows times B over all blocks.
func (k *tileKernel) product() {
	for i := range k.v.rows {
		for j := range k.vecs {
			k.v.zero(k.acc(i, j))
		}
	}
	if k.v.wide() {
		k.ask()
	}
	MOVQ(tileA, tileSumA)
	MOVQ(field(layout.TileBlocks), tileSumB)
	MOVQ(tileSumB, field(layout.TileBlocksLeft))
	MOVQ(field(layout.TileB), tileSumB)
	Label("block")
	MOVQ(field(layout.TileOuter), tileRuns)
	MOVQ(field(layout.TileAStep), tileAStep)

	Label("outer")
	MOVQ(field(layout.TileInner), tileSteps)
	Label("inner")
	for j := range k.b {
		VMOVUPS(Mem{Base: tileSumB, Disp: j * k.v.bytes()}, k.b[j])
	}
	for i := range k.v.rows {
		if j := i/4 - 1; k.fetch && i%4 == 0 && j >= 0 && j < k.vecs { // between others, one at a time
			PREFETCHT0(Mem{Base: tileSumB, Disp: (ahead*k.vecs + j) * k.v.bytes()})
		}
		MOVQ(Mem{Base: tileAOff, Disp: 8 * i}, tileRow)
		VBROADCASTSS(Mem{Base: tileSumA, Index: tileRow, Scale: 1}, k.bc)
		for j := range k.b {
			VFMADD231PS(k.b[j], k.bc, k.acc(i, j))
		}
	}
	ADDQ(tileAStep, tileSumA)
	ADDQ(field(layout.TileBStep), tileSumB)
	PREFETCHT0(Mem{Base: tileNext})
	ADDQ(field(layout.TileNextStep), tileNext)
	x86.Loop(tileSteps, "inner")
	ADDQ(field(layout.TileARun), tileSumA)
	ADDQ(field(layout.TileBRun), tileSumB)
	x86.Loop(tileRuns, "outer")
	ADDQ(field(layout.TileABlock), tileSumA)
	ADDQ(field(layout.TileBBlock), tileSumB)
	DECQ(field(layout.TileBlocksLeft))
	JNE(LabelRef("block"))
}

// unlessNil emits f, which finds what the field points to in tileSumA, if it is not
// nil.
func unlessNil(name string, off int, f func()) {
	MOVQ(field(off), tileSumA)
	TESTQ(tileSumA, tileSumA)
	JEQ(LabelRef(name))
	f()
	Label(name)
}

// columns loads a value for each column and calls f with the vector it is in.
func (k *tileKernel) columns(f func(j int)) {
	for j := range k.vecs {
		VMOVUPS(Mem{Base: tileSumA, Disp: j * k.v.bytes()}, k.b[j])
		f(j)
	}
}

// scale multiplies columns.
func (k *tileKernel) scale() {
	unlessNil("unscaled", layout.TileScale, func() {
		k.columns(func(j int) {
			for i := range k.v.rows {
				VMULPS(k.b[j], k.acc(i, j), k.acc(i, j))
			}
		})
	})
}

// shift adds the terms of columns and rows. They are added up first, so that equal
// norms make the result symmetric.
func (k *tileKernel) shift() {
	for j := range k.b {
		k.v.zero(k.b[j])
	}
	unlessNil("unshifted", layout.TileShift, func() { k.columns(func(int) {}) })
	MOVQ(field(layout.TileRowAdd), tileSumA)
	TESTQ(tileSumA, tileSumA)
	JNE(LabelRef("rowterm"))
	for i := range k.v.rows {
		for j := range k.b {
			VADDPS(k.b[j], k.acc(i, j), k.acc(i, j))
		}
	}
	JMP(LabelRef("added"))
	Label("rowterm")
	ADDQ(field(layout.TileRowDone), tileSumA)
	for i := range k.v.rows {
		VBROADCASTSS(Mem{Base: tileSumA, Disp: 4 * i}, k.bc)
		for j := range k.b {
			VADDPS(k.b[j], k.bc, k.sum)
			VADDPS(k.sum, k.acc(i, j), k.acc(i, j))
		}
	}
	ADDQ(U8(4*k.v.rows), field(layout.TileRowDone))
	Label("added")
}

// store adds what is added element by element, applies the rectifier and stores:
// row by row, so that a partial tile stops at its last row.
func (k *tileKernel) store() {
	if !k.v.wide() {
		MOVQ(field(layout.TileMaskVec), tileSumA)
	}
	at := func(base reg.Register, j int) Mem {
		return Mem{Base: base, Index: tileRow, Scale: 1, Disp: j * k.v.bytes()}
	}
	for i := range k.v.rows {
		CMPQ(tileRows, U8(i))
		JLE(LabelRef("done"))
		MOVQ(Mem{Base: tileCOff, Disp: 8 * i}, tileRow)
		skip := fmt.Sprintf("noadd%d", i)
		TESTQ(tileAdd, tileAdd)
		JEQ(LabelRef(skip))
		for j := range k.b {
			if k.v.wide() {
				VMOVUPS_Z(at(tileAdd, j), tileMasks()[j], k.b[j])
			} else {
				VMOVUPS(Mem{Base: tileSumA, Disp: j * k.v.bytes()}, k.b[j])
				VMASKMOVPS(at(tileAdd, j), k.b[j], k.b[j])
			}
			VADDPS(k.b[j], k.acc(i, j), k.acc(i, j))
		}
		Label(skip)
		skip = fmt.Sprintf("linear%d", i)
		CMPQ(field(layout.TileReLU), U8(0))
		JEQ(LabelRef(skip))
		k.v.zero(k.bc)
		for j := range k.b {
			// The second operand is returned if one is NaN: keep NaN.
			VMAXPS(k.acc(i, j), k.bc, k.acc(i, j))
		}
		CMPQ(field(layout.TileReLU), U8(6))
		JNE(LabelRef(skip))
		VBROADCASTSS(numberData(6), k.bc)
		for j := range k.b {
			VMINPS(k.acc(i, j), k.bc, k.acc(i, j))
		}
		Label(skip)
		for j := range k.b {
			if k.v.wide() {
				VMOVUPS(k.acc(i, j), tileMasks()[j], at(tileC, j))
			} else {
				VMOVUPS(Mem{Base: tileSumA, Disp: j * k.v.bytes()}, k.b[j])
				VMASKMOVPS(k.acc(i, j), k.b[j], at(tileC, j))
			}
		}
	}
}

// peak emits a loop of independent multiply-adds on registers only.
func peak(v isa) {
	TEXT("peak"+v.suffix, NOSPLIT, "func(n int)")
	Doc("peak" + v.suffix + " runs n rounds of 24 independent vector multiply-adds.")
	n := x86.Arg("n")
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
	x86.Loop(n, "loop")
	x86.Return()
}
