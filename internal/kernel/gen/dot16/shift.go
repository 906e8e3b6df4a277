package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// differences emits a loop over blocks of 16: body gets two registers of x - m in
// float64.
func differences(x, m, n reg.Register, body func(i int, d reg.VecVirtual)) {
	Label("block")
	for i := range 2 {
		d := ZMM()
		VCVTPS2PD(Mem{Base: x, Disp: 32 * i}, d)
		VSUBPD(Mem{Base: m, Disp: 64 * i}, d, d)
		body(i, d)
	}
	ADDQ(Imm(64), x)
	SUBQ(I8(-128), m)
	x86.Loop(n, "block")
}

// shift emits dst = (x - m) f.
func shift() {
	x86.Begin("shiftAVX512", "func(dst, x *float32, m *float64, f float64, blocks int)",
		"shiftAVX512 sets 16*blocks values of dst to (x - m) f, rounded to float32 at the end.")
	dst, x, m := x86.Arg("dst"), x86.Arg("x"), x86.Arg("m")
	n, f := x86.Arg("blocks"), ZMM()
	p, err := Param("f").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(p.Addr, f)
	differences(x, m, n, func(i int, d reg.VecVirtual) {
		half := YMM()
		VMULPD(f, d, d)
		VCVTPD2PS(d, half)
		VMOVUPS(half, Mem{Base: dst, Disp: 32 * i})
		if i == 1 {
			ADDQ(Imm(64), dst)
		}
	})
	x86.Return()
}

// squareAbout emits the sum of the squares of x - m.
func squareAbout() {
	x86.Begin("squareAboutAVX512", "func(x *float32, m *float64, blocks int, sum *[16]float64)",
		"squareAboutAVX512 sums the squares of 16*blocks differences.")
	x, m, n, sum := x86.Arg("x"), x86.Arg("m"), x86.Arg("blocks"), x86.Arg("sum")
	acc := []reg.VecVirtual{ZMM(), ZMM()}
	for _, a := range acc {
		VXORPD(a, a, a)
	}
	differences(x, m, n, func(i int, d reg.VecVirtual) {
		VMULPD(d, d, d)
		VADDPD(d, acc[i], acc[i])
	})
	for i, a := range acc {
		VMOVUPD(a, Mem{Base: sum, Disp: 64 * i})
	}
	x86.Return()
}
