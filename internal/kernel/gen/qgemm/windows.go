package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// Byte offsets of the fields of qgemm.Windows.
const (
	wN = 8 * iota
	wRows
	wCols
	wStep
	wLine
	wChannels
)

const (
	windowParams = "dst, src, w *byte, channels int"
	windowDoc    = "computes the largest bytes of windows for the first channels, a multiple of the vectors' length."
)

// largest emits the largest bytes of windows, a vector of channels at a time.
func largest(name, doc string, length int) {
	x86.Begin(name, "func("+windowParams+")", name+" "+doc)
	dst, src, w, count := reg.RDI, reg.RSI, reg.RAX, reg.RDX
	at, row, tap, rows, cols := reg.RBX, reg.R8, reg.R9, reg.R10, reg.R11
	n, line, channels, mask := reg.R12, reg.R13, reg.R14, reg.RCX
	x86.LoadArgs("dst src w channels", dst, src, w, count)
	of := func(off int) Mem { return Mem{Base: w, Disp: off} }
	MOVQ(of(wN), n)
	MOVQ(of(wLine), line)
	MOVQ(of(wChannels), channels)
	Label("position")
	XORQ(at, at)
	Label("vector")
	if length == 64 {
		MOVQ(count, mask)
		SUBQ(at, mask)
		MOVQ(I64(-1), row)
		CMPQ(mask, U8(64))
		JGE(LabelRef("whole"))
		BZHIQ(mask, row, row)
		Label("whole")
		KMOVQ(row, reg.K1)
		VPXORD(reg.Z0, reg.Z0, reg.Z0)
	} else {
		VPXOR(reg.Y0, reg.Y0, reg.Y0)
	}
	LEAQ(Mem{Base: src, Index: at, Scale: 1}, row)
	MOVQ(of(wRows), rows)
	Label("row")
	MOVQ(row, tap)
	MOVQ(of(wCols), cols)
	Label("tap")
	if length == 64 {
		VMOVDQU8_Z(Mem{Base: tap}, reg.K1, reg.Z1)
		VPMAXUB(reg.Z1, reg.Z0, reg.Z0)
	} else {
		VPMAXUB(Mem{Base: tap}, reg.Y0, reg.Y0)
	}
	ADDQ(channels, tap)
	x86.Loop(cols, "tap")
	ADDQ(line, row)
	x86.Loop(rows, "row")
	if m := (Mem{Base: dst, Index: at, Scale: 1}); length == 64 {
		VMOVDQU8(reg.Z0, reg.K1, m)
	} else {
		VMOVDQU(reg.Y0, m)
	}
	ADDQ(U8(length), at)
	CMPQ(at, count)
	JLT(LabelRef("vector"))
	ADDQ(channels, dst)
	ADDQ(of(wStep), src)
	x86.Loop(n, "position")
	x86.Return()
}

// armLargest emits the same for arm64.
func armLargest(f *neon.File) {
	k := f.Func("largestNEON", windowDoc, windowParams, "")
	dst, src, w, count := k.Arg("dst"), k.Arg("src"), k.Arg("w"), k.Arg("channels")
	l := fields(k, w, wN, wStep, wLine, wChannels)
	n, step, line, channels := l[0], l[1], l[2], l[3]
	at, row, tap, rows, cols := k.R(), k.R(), k.R(), k.R(), k.R()
	most, v := k.V(), k.V()
	k.Label("position")
	k.Go("MOVD $0, %v", at)
	k.Label("vector")
	k.Zero(most)
	k.Go("ADD %v, %v, %v", at, src, row)
	k.Go("MOVD %d(%v), %v", wRows, w, rows)
	k.Label("row")
	k.Go("MOVD %v, %v", row, tap)
	k.Go("MOVD %d(%v), %v", wCols, w, cols)
	k.Label("tap")
	k.Op("ldr", v.Q(), neon.At(tap, 0))
	k.Op("umax", most.B16(), most.B16(), v.B16())
	k.Go("ADD %v, %v", channels, tap)
	k.Loop(cols, "tap")
	k.Go("ADD %v, %v", line, row)
	k.Loop(rows, "row")
	k.Op("str", most.Q(), neon.Indexed(dst, at))
	k.Go("ADD $16, %v", at)
	k.Go("CMP %v, %v", count, at)
	k.Go("BLT vector")
	k.Go("ADD %v, %v", channels, dst)
	k.Go("ADD %v, %v", step, src)
	k.Loop(n, "position")
	k.Go("RET")
}
