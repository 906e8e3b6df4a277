// Command dot16 writes the assembly of internal/kernel/dot16. Run it by `make gen`.
package main

import (
	"log"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

const (
	rows  = 14 // of a tile
	vecs  = 2  // registers of 16 columns in a tile
	lanes = 16
)

var zs = []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

func main() {
	ConstraintExpr("!noasm")
	strip()
	filter()
	best()
	exact("squaredDistanceVector", "squaredDistanceVector sums the squares of 16*blocks differences.",
		func(x, y, acc reg.VecVirtual) {
			VSUBPD(y, x, x)
			VMULPD(x, x, x)
			VADDPD(x, acc, acc)
		})
	exact("dotVector", "dotVector sums 16*blocks products.", func(x, y, acc reg.VecVirtual) {
		VMULPD(x, y, x) // exact: 24-bit factors
		VADDPD(x, acc, acc)
	})
	accumulate()
	countRow()
	countColumns()
	keys()
	shift()
	squareAbout()
	Generate()
	if err := armKernels().Write("../dot16"); err != nil {
		log.Fatal(err)
	}
}

// accumulate emits the sum of float32 values onto float64 ones.
func accumulate() {
	x86.Begin("accumulateVector", "func(sum *float64, x *float32, blocks int)",
		"accumulateVector adds 16*blocks values of x to those of sum.")
	sum, x, n := x86.Arg("sum"), x86.Arg("x"), x86.Arg("blocks")
	Label("block")
	for i := range 2 {
		v := ZMM()
		VCVTPS2PD(Mem{Base: x, Disp: 32 * i}, v)
		VADDPD(Mem{Base: sum, Disp: 64 * i}, v, v)
		VMOVUPD(v, Mem{Base: sum, Disp: 64 * i})
	}
	ADDQ(Imm(64), x)
	SUBQ(I8(-128), sum)
	x86.Loop(n, "block")
	x86.Return()
}

// strip emits the product of one panel of 14 rows with any number of panels of
// 32 columns. 28 of the 32 registers accumulate, two hold a step of the column
// panel and two broadcast pairs of the row panel.
func strip() {
	x86.Begin("stripVector", "func(c *int32, a, b *int16, pairs, panels int)",
		"stripVector computes a strip of 14 rows by 32*panels columns of dot products.")
	c, a, b, pairs, panels := x86.Arg("c"), x86.Arg("a"), x86.Arg("b"), x86.Arg("pairs"), x86.Arg("panels")
	step := GP64() // bytes from one row of c to the next
	MOVQ(panels, step)
	SHLQ(U8(7), step)
	acc := func(i, j int) reg.VecPhysical { return zs[i*vecs+j] }

	Label("panel")
	for i := range rows * vecs {
		VPXORD(zs[i], zs[i], zs[i])
	}
	pa, n := GP64(), GP64()
	MOVQ(a, pa)
	MOVQ(pairs, n)
	Label("pair")
	VMOVDQU32(Mem{Base: b}, zs[28])
	VMOVDQU32(Mem{Base: b, Disp: 64}, zs[29])
	for i := range rows {
		bc := zs[30+i%2]
		VPBROADCASTD(Mem{Base: pa, Disp: 4 * i}, bc)
		VPDPWSSD(zs[28], bc, acc(i, 0))
		VPDPWSSD(zs[29], bc, acc(i, 1))
	}
	ADDQ(Imm(4*rows), pa)
	ADDQ(Imm(64*vecs), b)
	x86.Loop(n, "pair")
	pc := GP64()
	MOVQ(c, pc)
	for i := range rows {
		VMOVDQU32(acc(i, 0), Mem{Base: pc})
		VMOVDQU32(acc(i, 1), Mem{Base: pc, Disp: 64})
		if i+1 < rows {
			ADDQ(step, pc)
		}
	}
	ADDQ(Imm(64*vecs), c)
	x86.Loop(panels, "panel")
	x86.Return()
}

// filter emits the comparison of one row of scores with its own threshold and
// with those of the columns.
func filter() {
	x86.Begin("filterVector", "func(v *float32, c *int32, scale, half, colLo *float32, rowScale, rowHalf, rowLo "+
		"float32, mask *uint32, blocks int)",
		"filterVector scores and compares 16*blocks columns of one row.")
	v, c, scale, half, colLo := x86.Arg("v"), x86.Arg("c"), x86.Arg("scale"), x86.Arg("half"), x86.Arg("colLo")
	mask, n := x86.Arg("mask"), x86.Arg("blocks")
	rowScale, rowHalf := x86.Broadcast("rowScale", ZMM()), x86.Broadcast("rowHalf", ZMM())
	rowLo := x86.Broadcast("rowLo", ZMM())
	x := ZMM()
	off := GP64()
	XORQ(off, off)
	at := func(base reg.Register) Mem { return Mem{Base: base, Index: off, Scale: 1} }
	Label("block")
	VCVTDQ2PS(at(c), x)
	VMULPS(at(scale), x, x)
	VFMSUB213PS(at(half), rowScale, x)
	VMOVUPS(x, at(v))
	k1, k2 := K(), K()
	const atLeast = 13 // GE, ordered, signalling
	VCMPPS(U8(atLeast), rowLo, x, k1)
	VSUBPS(rowHalf, x, x)
	VCMPPS(U8(atLeast), at(colLo), x, k2)
	m := K()
	KUNPCKWD(k1, k2, m)
	KMOVD(m, Mem{Base: mask})
	ADDQ(Imm(4), mask)
	ADDQ(Imm(4*lanes), off)
	x86.Loop(n, "block")
	x86.Return()
}

// exact emits a sum over 16*blocks pairs of float32 in 16 float64 accumulators.
func exact(name, doc string, add func(x, y, acc reg.VecVirtual)) {
	x86.Begin(name, "func(x, y *float32, blocks int, sum *[16]float64)", doc)
	x, y, n, sum := x86.Arg("x"), x86.Arg("y"), x86.Arg("blocks"), x86.Arg("sum")
	acc := []reg.VecVirtual{ZMM(), ZMM()}
	for _, a := range acc {
		VXORPD(a, a, a)
	}
	Label("block")
	for i, a := range acc {
		u, v := ZMM(), ZMM()
		VCVTPS2PD(Mem{Base: x, Disp: 32 * i}, u)
		VCVTPS2PD(Mem{Base: y, Disp: 32 * i}, v)
		add(u, v, a)
	}
	ADDQ(Imm(64), x)
	ADDQ(Imm(64), y)
	x86.Loop(n, "block")
	for i, a := range acc {
		VMOVUPD(a, Mem{Base: sum, Disp: 64 * i})
	}
	x86.Return()
}

// best emits the scoring of one row and the running best two scores of each lane.
func best() {
	x86.Begin("bestVector", "func(v *float32, c *int32, scale, half *float32, rowScale float32, base int32, "+
		"top *byte, blocks int)",
		"bestVector scores 16*blocks columns of one row and updates its best two.")
	v, c, scale, half, top := x86.Arg("v"), x86.Arg("c"), x86.Arg("scale"), x86.Arg("half"), x86.Arg("top")
	n := x86.Arg("blocks")
	rowScale, index, step := ZMM(), ZMM(), ZMM()
	x86.Broadcast("rowScale", rowScale)
	VPBROADCASTD(Load(Param("base"), GP32()), index)
	lanesOff := GLOBL("lanes", RODATA|NOPTR)
	for i := range lanes {
		DATA(4*i, U32(i))
	}
	VPADDD(lanesOff, index, index)
	sixteen := GP32()
	MOVL(U32(lanes), sixteen)
	VPBROADCASTD(sixteen, step)
	first, at, second := ZMM(), ZMM(), ZMM()
	VMOVUPS(Mem{Base: top}, first)
	VMOVDQU32(Mem{Base: top, Disp: 64}, at)
	VMOVUPS(Mem{Base: top, Disp: 128}, second)
	off := GP64()
	XORQ(off, off)
	mem := func(base reg.Register) Mem { return Mem{Base: base, Index: off, Scale: 1} }
	x, y, k := ZMM(), ZMM(), K()
	Label("block")
	VCVTDQ2PS(mem(c), x)
	VMULPS(mem(scale), x, x)
	VFMSUB213PS(mem(half), rowScale, x)
	VMOVUPS(x, mem(v))
	const greater = 14
	VCMPPS(U8(greater), first, x, k)
	VMINPS(x, first, y)
	VMAXPS(y, second, second)
	VMAXPS(x, first, first)
	VMOVDQA32(index, k, at)
	VPADDD(step, index, index)
	ADDQ(Imm(4*lanes), off)
	x86.Loop(n, "block")
	VMOVUPS(first, Mem{Base: top})
	VMOVDQU32(at, Mem{Base: top, Disp: 64})
	VMOVUPS(second, Mem{Base: top, Disp: 128})
	x86.Return()
}
