package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// laneMask sets K1 to the lanes that are left of n values, n below 64.
func laneMask(n reg.GPPhysical) {
	MOVQ(I64(-1), reg.RAX)
	BZHIQ(n, reg.RAX, reg.RAX)
	KMOVQ(reg.RAX, reg.K1)
}

// along emits a loop over n elements, so many at a time; the last ones, fewer, come
// with K1 as their mask.
func along(n reg.GPPhysical, count int, body func(masked bool)) {
	Label("loop")
	CMPQ(n, U8(count))
	JLT(LabelRef("tail"))
	body(false)
	SUBQ(U8(count), n)
	JMP(LabelRef("loop"))
	Label("tail")
	TESTQ(n, n)
	JEQ(LabelRef("end"))
	laneMask(n)
	body(true)
	Label("end")
	x86.Return()
}

func quantize() {
	x86.Begin("quantizeAVX512", "func(dst *byte, src *float32, n int, scale, shift float32)",
		"quantizeAVX512 turns n values into bytes.")
	dst, src, n := reg.RDI, reg.RSI, reg.RCX
	x86.LoadArgs("dst src n", dst, src, n)
	for i, name := range []string{"scale", "shift"} {
		Load(Param(name), []reg.VecPhysical{reg.X1, reg.X2}[i])
		VBROADCASTSS([]reg.VecPhysical{reg.X1, reg.X2}[i], zmm(1+i))
	}
	VPXORD(reg.Z3, reg.Z3, reg.Z3)
	MOVL(U32(0x437f0000), reg.EAX) // 255
	VPBROADCASTD(reg.EAX, reg.Z4)
	along(n, 16, func(masked bool) {
		if masked {
			VMOVUPS_Z(Mem{Base: src}, reg.K1, reg.Z0)
		} else {
			VMOVUPS(Mem{Base: src}, reg.Z0)
		}
		VMULPS(reg.Z1, reg.Z0, reg.Z0)
		VADDPS(reg.Z2, reg.Z0, reg.Z0)
		VMAXPS(reg.Z0, reg.Z3, reg.Z0)
		VMINPS(reg.Z0, reg.Z4, reg.Z0)
		VCVTPS2DQ(reg.Z0, reg.Z0)
		VPMOVDB(reg.Z0, reg.X0)
		if masked {
			VMOVDQU8(reg.X0, reg.K1, Mem{Base: dst})
			return
		}
		VMOVDQU8(reg.X0, Mem{Base: dst})
		ADDQ(U8(64), src)
		ADDQ(U8(16), dst)
	})
}

func dequantize() {
	x86.Begin("dequantizeAVX512", "func(dst *float32, src *byte, n int, zero int32, scale float32)",
		"dequantizeAVX512 turns n bytes into values.")
	dst, src, n := reg.RDI, reg.RSI, reg.RCX
	x86.LoadArgs("dst src n zero", dst, src, n, reg.EAX)
	VPBROADCASTD(reg.EAX, reg.Z1)
	Load(Param("scale"), reg.X2)
	VBROADCASTSS(reg.X2, reg.Z2)
	along(n, 16, func(masked bool) {
		if masked {
			VPMOVZXBD_Z(Mem{Base: src}, reg.K1, reg.Z0)
		} else {
			VPMOVZXBD(Mem{Base: src}, reg.Z0)
		}
		VPSUBD(reg.Z1, reg.Z0, reg.Z0)
		VCVTDQ2PS(reg.Z0, reg.Z0)
		VMULPS(reg.Z2, reg.Z0, reg.Z0)
		if masked {
			VMOVUPS(reg.Z0, reg.K1, Mem{Base: dst})
			return
		}
		VMOVUPS(reg.Z0, Mem{Base: dst})
		ADDQ(U8(16), src)
		ADDQ(U8(64), dst)
	})
}

func columnSums() {
	x86.Begin("columnSumsAVX512", "func(dst *int32, src *byte, rows, n int)",
		"columnSumsAVX512 sums the columns of rows of n bytes.")
	dst, src, rows, n, stride := reg.RDI, reg.RSI, reg.RDX, reg.RCX, reg.R9
	row, left := reg.R8, reg.R10
	x86.LoadArgs("dst src rows n", dst, src, rows, n)
	MOVQ(n, stride)
	along(n, 16, func(masked bool) {
		name := "row"
		if masked {
			name = "last"
		}
		VPXORD(reg.Z0, reg.Z0, reg.Z0)
		MOVQ(src, row)
		MOVQ(rows, left)
		Label(name)
		if masked {
			VPMOVZXBD_Z(Mem{Base: row}, reg.K1, reg.Z1)
		} else {
			VPMOVZXBD(Mem{Base: row}, reg.Z1)
		}
		VPADDD(reg.Z1, reg.Z0, reg.Z0)
		ADDQ(stride, row)
		x86.Loop(left, name)
		if masked {
			VMOVDQU32(reg.Z0, reg.K1, Mem{Base: dst})
			return
		}
		VMOVDQU32(reg.Z0, Mem{Base: dst})
		ADDQ(U8(16), src)
		ADDQ(U8(64), dst)
	})
}
