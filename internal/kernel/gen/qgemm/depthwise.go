package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// Byte offsets of the fields of qgemm.Depthwise.
const (
	dX = 8 * iota
	dY
	dW
	dOff
	dScale
	dShift
	dN
	dXStep
	dYStep
	dGroups
	dBlocks
	dMask
	dLo // two float32
	dLift
)

// depthwise emits the product of each of 64 channels with its own filter. The bytes of
// four taps are interleaved, so that VPDPBUSD meets four products of a channel; the
// packing of results undoes the order in which that leaves the channels.
func depthwise() {
	x86.Begin("depthwiseVNNI", "func(d *byte)", "depthwiseVNNI computes a row of positions with AVX512_VNNI.")
	d, x, y, w, off := reg.RAX, reg.RDI, reg.RSI, reg.RBX, reg.RDX
	n, groups, blocks, weights := reg.RCX, reg.R8, reg.R9, reg.R10
	scale, shift, at := reg.R11, reg.R12, reg.R13
	firstX, firstY := reg.R14, reg.R15
	Load(Param("d"), d)
	of := func(off int) Mem { return Mem{Base: d, Disp: off} }
	for _, l := range []struct {
		off int
		to  reg.GPPhysical
	}{{dX, firstX}, {dY, firstY}, {dW, weights}, {dScale, scale}, {dShift, shift}, {dBlocks, blocks}} {
		MOVQ(of(l.off), l.to)
	}
	VBROADCASTSS(of(dLo), reg.Z30)
	VBROADCASTSS(of(dLo+4), reg.Z31)
	Label("block")
	MOVQ(I64(-1), at)
	CMPQ(blocks, U8(1))
	JNE(LabelRef("whole"))
	MOVQ(of(dMask), at)
	Label("whole")
	KMOVQ(at, reg.K1)
	for i := range 4 {
		VMOVUPS(Mem{Base: scale, Disp: 64 * i}, zmm(20+i))
		VMOVUPS(Mem{Base: shift, Disp: 64 * i}, zmm(24+i))
	}
	MOVQ(firstX, x)
	MOVQ(firstY, y)
	MOVQ(of(dN), n)
	Label("position")
	for i := range 4 {
		VPXORD(zmm(i), zmm(i), zmm(i))
	}
	MOVQ(weights, w)
	MOVQ(of(dOff), off)
	MOVQ(of(dGroups), groups)
	Label("group")
	interleaved(x, w, off, at)
	ADDQ(U8(32), off)
	ADDQ(U32(256), w)
	x86.Loop(groups, "group")
	for i := range 4 {
		VCVTDQ2PS(zmm(i), zmm(i))
		VMULPS(zmm(20+i), zmm(i), zmm(i))
		VADDPS(zmm(24+i), zmm(i), zmm(i))
		VMAXPS(zmm(i), reg.Z30, zmm(i))
		VMINPS(zmm(i), reg.Z31, zmm(i))
		VCVTPS2DQ(zmm(i), zmm(i))
	}
	VPACKUSDW(reg.Z1, reg.Z0, reg.Z0)
	VPACKUSDW(reg.Z3, reg.Z2, reg.Z2)
	VPACKUSWB(reg.Z2, reg.Z0, reg.Z0)
	VMOVDQU8(reg.Z0, reg.K1, Mem{Base: y})
	ADDQ(of(dXStep), x)
	ADDQ(of(dYStep), y)
	x86.Loop(n, "position")
	for _, r := range []reg.GPPhysical{firstX, firstY} {
		ADDQ(U8(64), r)
	}
	for _, r := range []reg.GPPhysical{scale, shift} {
		ADDQ(U32(256), r)
	}
	MOVQ(w, weights)
	x86.Loop(blocks, "block")
	x86.Return()
}

// interleaved emits the products of a group of four taps.
func interleaved(x, w, off, at reg.GPPhysical) {
	for i := range 4 {
		MOVQ(Mem{Base: off, Disp: 8 * i}, at)
		VMOVDQU8_Z(Mem{Base: x, Index: at, Scale: 1}, reg.K1, zmm(4+i))
	}
	for i := range 2 {
		VPUNPCKLBW(zmm(5+2*i), zmm(4+2*i), zmm(8+2*i))
		VPUNPCKHBW(zmm(5+2*i), zmm(4+2*i), zmm(9+2*i))
	}
	for i := range 2 {
		VPUNPCKLWD(zmm(10+i), zmm(8+i), zmm(12+2*i))
		VPUNPCKHWD(zmm(10+i), zmm(8+i), zmm(13+2*i))
	}
	for i := range 4 {
		VPDPBUSD(Mem{Base: w, Disp: 64 * i}, zmm(12+i), zmm(i))
	}
}
