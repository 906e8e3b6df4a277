package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// transpose emits the transposition of a strip of eight rows, eight columns at
// a time.
func transpose() {
	x86.Begin("transposeAVX2", "func(dst *float32, dstStep int, src *float32, srcStep int, n int)",
		"transposeAVX2 writes eight rows of 8*n values as 8*n rows of eight; steps are in bytes.")
	dst, dstStep, src, srcStep := x86.Arg("dst"), x86.Arg("dstStep"), x86.Arg("src"), x86.Arg("srcStep")
	n := x86.Arg("n")
	three, far := GP64(), GP64()
	rows := func(base, step, three, far reg.Register) [8]Mem {
		return [8]Mem{
			{Base: base}, {Base: base, Index: step, Scale: 1}, {Base: base, Index: step, Scale: 2},
			{Base: base, Index: three, Scale: 1},
			{Base: far}, {Base: far, Index: step, Scale: 1}, {Base: far, Index: step, Scale: 2},
			{Base: far, Index: three, Scale: 1},
		}
	}
	Label("loop")
	LEAQ(Mem{Base: srcStep, Index: srcStep, Scale: 2}, three)
	LEAQ(Mem{Base: src, Index: srcStep, Scale: 4}, far)
	var r, t, u [8]reg.VecVirtual
	for i, m := range rows(src, srcStep, three, far) {
		r[i] = YMM()
		VMOVUPS(m, r[i])
	}
	for i := range 4 {
		t[2*i], t[2*i+1] = YMM(), YMM()
		VUNPCKLPS(r[2*i+1], r[2*i], t[2*i])
		VUNPCKHPS(r[2*i+1], r[2*i], t[2*i+1])
	}
	for i := range 2 {
		a := t[4*i:]
		for j := range 4 {
			u[4*i+j] = YMM()
		}
		VSHUFPS(U8(0x44), a[2], a[0], u[4*i])
		VSHUFPS(U8(0xEE), a[2], a[0], u[4*i+1])
		VSHUFPS(U8(0x44), a[3], a[1], u[4*i+2])
		VSHUFPS(U8(0xEE), a[3], a[1], u[4*i+3])
	}
	LEAQ(Mem{Base: dstStep, Index: dstStep, Scale: 2}, three)
	LEAQ(Mem{Base: dst, Index: dstStep, Scale: 4}, far)
	out := rows(dst, dstStep, three, far)
	for i := range 4 {
		lo, hi := YMM(), YMM()
		VPERM2F128(U8(0x20), u[4+i], u[i], lo)
		VPERM2F128(U8(0x31), u[4+i], u[i], hi)
		r[i], r[4+i] = lo, hi
	}
	// In order, as a narrow destination has later rows overwrite the excess of
	// earlier ones.
	for i := range 8 {
		VMOVUPS(r[i], out[i])
	}
	ADDQ(U8(32), src)
	LEAQ(Mem{Base: dst, Index: dstStep, Scale: 8}, dst)
	x86.Loop(n, "loop")
	x86.Return()
}
