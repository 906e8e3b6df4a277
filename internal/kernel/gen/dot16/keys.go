package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

const keyRows = 8 // of float64 products at a time

// keys emits the products in float64 of 8 rows with panels of 16 columns, and turns them into keys. 16 registers
// accumulate, and two hold a step of the columns.
func keys() {
	x86.Begin("keysAVX512", "func(dst *float32, stride int, rows *float64, cols *float32, d int, factor, less, "+
		"lo, scale *float64, panels int)",
		"keysAVX512 writes the keys of 8 rows, stride bytes apart, and 16*panels columns.")
	dst, stride, rows, cols := x86.Arg("dst"), x86.Arg("stride"), x86.Arg("rows"), x86.Arg("cols")
	factor, less, lo, scale := x86.Arg("factor"), x86.Arg("less"), x86.Arg("lo"), x86.Arg("scale")
	panels := x86.Arg("panels")
	acc := func(i, j int) reg.VecPhysical { return zs[2*i+j] }
	zero, most := zs[20], zs[21]
	VPXORD(zero, zero, zero)
	bits := GP64()
	MOVQ(U64(mostKeyBits), bits)
	VPBROADCASTQ(bits, most)
	pa, n, out := GP64(), GP64(), GP64()
	Label("panel")
	for i := range 2 * keyRows {
		VPXORD(zs[i], zs[i], zs[i])
	}
	MOVQ(rows, pa)
	Load(Param("d"), n)
	Label("step")
	VCVTPS2PD(Mem{Base: cols}, zs[16])
	VCVTPS2PD(Mem{Base: cols, Disp: 32}, zs[17])
	for i := range keyRows {
		bc := zs[18+i%2]
		VBROADCASTSD(Mem{Base: pa, Disp: 8 * i}, bc)
		VFMADD231PD(zs[16], bc, acc(i, 0))
		VFMADD231PD(zs[17], bc, acc(i, 1))
	}
	ADDQ(Imm(8*keyRows), pa)
	ADDQ(Imm(64), cols)
	x86.Loop(n, "step")
	MOVQ(dst, out)
	for j := range 2 {
		VMOVUPD(Mem{Base: factor, Disp: 64 * j}, zs[16+j])
		VMOVUPD(Mem{Base: less, Disp: 64 * j}, zs[18+j])
	}
	for i := range keyRows {
		for j := range 2 {
			x := acc(i, j)
			VFMSUB213PD(zs[18+j], zs[16+j], x)
			VSUBPD_BCST(Mem{Base: lo, Disp: 8 * i}, x, x)
			VMULPD_BCST(Mem{Base: scale, Disp: 8 * i}, x, x)
			VMAXPD(zero, x, x)
			VMINPD(most, x, x)
			VCVTTPD2UDQ(x, x.AsY())
			VMOVDQU32(x.AsY(), Mem{Base: out, Disp: 32 * j})
		}
		if i+1 < keyRows {
			ADDQ(stride, out)
		}
	}
	ADDQ(Imm(64), dst)
	SUBQ(I8(-128), factor)
	SUBQ(I8(-128), less)
	x86.Loop(panels, "panel")
	x86.Return()
}

// mostKeyBits is dot16.MostKey as a float64.
const mostKeyBits = 0x41dfc00000000000
