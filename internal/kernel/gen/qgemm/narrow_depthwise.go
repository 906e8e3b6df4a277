package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// narrow is a depthwise kernel for processors without AVX-512: 32 channels at a time, or the 8
// that a block of 64 has from a multiple of 8 on. It reads the filters as the kernel of 64
// channels does, of which it takes a part of each vector.
type narrow struct {
	channels int
	vnni     bool
}

func (k narrow) emit() {
	isa := "AVX2"
	if k.vnni {
		isa = "AVXVNNI"
	}
	name := fmt.Sprintf("depthwise%d%s", k.channels, isa)
	x86.Begin(name, "func(d *byte)", fmt.Sprintf("%s computes %d channels of a row of positions.", name, k.channels))
	d, x, y, w, off := reg.RAX, reg.RDI, reg.RSI, reg.RBX, reg.RDX
	n, groups, weights, scale, shift, at := reg.RCX, reg.R8, reg.R10, reg.R11, reg.R12, reg.R13
	Load(Param("d"), d)
	of := func(off int) Mem { return Mem{Base: d, Disp: off} }
	for _, l := range []struct {
		off int
		to  reg.GPPhysical
	}{{dX, x}, {dY, y}, {dW, weights}, {dScale, scale}, {dShift, shift}, {dN, n}} {
		MOVQ(of(l.off), l.to)
	}
	VBROADCASTSS(of(dLo), reg.Y12)
	VBROADCASTSS(of(dLo+4), reg.Y13)
	if !k.vnni {
		loadConstants()
	}
	sums := map[int]int{32: 4, 8: 2}[k.channels]
	Label("position")
	for i := range sums {
		VPXOR(ymm(i), ymm(i), ymm(i))
	}
	MOVQ(weights, w)
	MOVQ(of(dOff), off)
	MOVQ(of(dGroups), groups)
	Label("group")
	for i := range 4 {
		MOVQ(Mem{Base: off, Disp: 8 * i}, at)
		if m := (Mem{Base: x, Index: at, Scale: 1}); k.channels == 8 {
			VMOVQ(m, xmm(4+i))
		} else {
			VMOVDQU(m, ymm(4+i))
		}
	}
	for i, a := range k.interleave() {
		k.dot(Mem{Base: w, Disp: 64 * i}, a, i)
	}
	ADDQ(U8(32), off)
	ADDQ(U32(256), w)
	x86.Loop(groups, "group")
	k.store(y, scale, shift, sums)
	ADDQ(of(dXStep), x)
	ADDQ(of(dYStep), y)
	x86.Loop(n, "position")
	x86.Return()
}

// interleave leaves four taps, which are in registers 4 to 7, as the four products of each
// channel, in the registers that it returns.
func (k narrow) interleave() []int {
	if k.channels == 8 {
		VPUNPCKLBW(xmm(5), xmm(4), xmm(8))
		VPUNPCKLBW(xmm(7), xmm(6), xmm(5))
		VPUNPCKLWD(xmm(5), xmm(8), xmm(7))
		VPUNPCKHWD(xmm(5), xmm(8), xmm(8))
		return []int{7, 8}
	}
	VPUNPCKLBW(ymm(5), ymm(4), ymm(8))
	VPUNPCKHBW(ymm(5), ymm(4), ymm(4))
	VPUNPCKLBW(ymm(7), ymm(6), ymm(5))
	VPUNPCKHBW(ymm(7), ymm(6), ymm(6))
	VPUNPCKLWD(ymm(5), ymm(8), ymm(7))
	VPUNPCKHWD(ymm(5), ymm(8), ymm(8))
	VPUNPCKLWD(ymm(6), ymm(4), ymm(5))
	VPUNPCKHWD(ymm(6), ymm(4), ymm(4))
	return []int{7, 8, 5, 4}
}

// dot adds the products of register a with filters. Eight channels fill half of a register, and
// the other half of the filters, which may not be there, is 0.
func (k narrow) dot(w Mem, a, acc int) {
	if k.channels == 8 {
		VMOVDQU(w, reg.X9)
	} else {
		VMOVDQU(w, reg.Y9)
	}
	if k.vnni {
		dotVNNI(9, a, acc)
		return
	}
	alternate(ymm(a), ymm(a), reg.Y10)
	dotAVX2(reg.Y9, ymm(a), reg.Y10, ymm(acc), reg.Y11)
}

// store emits what follows the sums.
func (k narrow) store(y, scale, shift reg.GPPhysical, sums int) {
	view := ymm
	if k.channels == 8 {
		view = xmm
	}
	for i := range sums {
		VCVTDQ2PS(view(i), view(i))
		VMULPS(Mem{Base: scale, Disp: 64 * i}, view(i), view(i))
		VADDPS(Mem{Base: shift, Disp: 64 * i}, view(i), view(i))
		bound(ymm(i), reg.Y12, reg.Y13)
		VCVTPS2DQ(view(i), view(i))
	}
	VPACKUSDW(view(1), view(0), view(0))
	if k.channels == 8 {
		VPACKUSWB(reg.X0, reg.X0, reg.X0)
		VMOVQ(reg.X0, Mem{Base: y})
		return
	}
	VPACKUSDW(reg.Y3, reg.Y2, reg.Y2)
	VPACKUSWB(reg.Y2, reg.Y0, reg.Y0)
	VMOVDQU(reg.Y0, Mem{Base: y})
}

func xmm(i int) reg.VecPhysical {
	return []reg.VecPhysical{reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7, reg.X8}[i]
}
