package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// Ordered comparisons of VCMPPS: of the second source with the first.
const (
	cmpAtLeast = 13
	cmpAbove   = 14
)

// compare leaves in the two masks which lanes of x are above hi, and which others are
// at least lo, writes the latter to open and gathers them in any.
func compare(lo, hi Op, x reg.VecVirtual, open reg.Register, any reg.GPVirtual) (above reg.OpmaskVirtual) {
	above = K()
	left, bits := K(), GP32()
	VCMPPS(U8(cmpAbove), hi, x, above)
	VCMPPS(U8(cmpAtLeast), lo, x, left)
	KANDNW(left, above, left)
	KMOVW(left, bits)
	MOVL(bits, Mem{Base: open})
	ORL(bits, any.As32())
	return above
}

// countRow emits the comparison of a row of scores with one mark.
func countRow() {
	x86.Begin("countRowAVX512", "func(v *float32, lo, hi float32, open *uint32, blocks int) (above, any int)",
		"countRowAVX512 counts those of 16*blocks scores that are above hi, and marks those from lo on that are not.")
	v, open := x86.Arg("v"), x86.Arg("open")
	lo, hi := x86.Broadcast("lo", ZMM()), x86.Broadcast("hi", ZMM())
	n := x86.Arg("blocks")
	any, count, bits := GP64(), GP64(), GP64()
	XORQ(any, any)
	XORQ(count, count)
	Label("block")
	x := ZMM()
	VMOVUPS(Mem{Base: v}, x)
	KMOVW(compare(lo, hi, x, open, any), bits.As32())
	POPCNTQ(bits, bits)
	ADDQ(bits, count)
	ADDQ(U8(4), open)
	ADDQ(U8(4*lanes), v)
	x86.Loop(n, "block")
	Store(count, ReturnIndex(0))
	Store(any, ReturnIndex(1))
	x86.Return()
}

// countColumns emits the comparison of a row of scores with a mark of each column.
func countColumns() {
	x86.Begin("countColumnsAVX512", "func(above *int32, v *float32, less float32, lo, hi *float32, open *uint32, "+
		"blocks int) (any int)",
		"countColumnsAVX512 adds 1 to above where v - less, of 16*blocks columns, is above hi, and marks where it is",
		"not, but at least lo.")
	above, v := x86.Arg("above"), x86.Arg("v")
	less := x86.Broadcast("less", ZMM())
	lo, hi, open, n := x86.Arg("lo"), x86.Arg("hi"), x86.Arg("open"), x86.Arg("blocks")
	any, off, minus := GP64(), GP64(), ZMM()
	VPTERNLOGD(U8(0xff), minus, minus, minus)
	XORQ(any, any)
	XORQ(off, off)
	at := func(base reg.Register) Mem { return Mem{Base: base, Index: off, Scale: 1} }
	Label("block")
	x, sum := ZMM(), ZMM()
	VMOVUPS(at(v), x)
	VSUBPS(less, x, x)
	k := compare(at(lo), at(hi), x, open, any)
	VMOVDQU32(at(above), sum)
	VPSUBD(minus, sum, k, sum)
	VMOVDQU32(sum, at(above))
	ADDQ(U8(4), open)
	ADDQ(U8(4*lanes), off)
	x86.Loop(n, "block")
	Store(any, ReturnIndex(0))
	x86.Return()
}
