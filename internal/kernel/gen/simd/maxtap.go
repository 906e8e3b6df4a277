package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// maxTap emits one tap of a max pool of any size: pixels of whole registers.
func maxTap(v isa) {
	x86.Begin("maxTap"+v.suffix, "func("+layout.MaxTapParams+")", "maxTap"+v.suffix+" is MaxTap's kernel.")
	n, c, step, x, y, idx := x86.Arg("n"), x86.Arg("c"), x86.Arg("step"), x86.Arg("x"), x86.Arg("y"), x86.Arg("idx")
	tap, t, j := v.vec(), XMM(), GP64()
	VMOVD(x86.Arg("tap").As32(), t)
	VPBROADCASTD(t, tap)
	SHLQ(U8(2), c)
	SHLQ(U8(2), step)
	Label("pixel")
	XORQ(j, j)
	Label("channels")
	w := &window{lanes: lanes{isa: v, index: j}, idx: Mem{Base: idx}}
	a, best, where := w.load(x), w.load(y), w.loadIndex()
	w.take(a, tap, best, where)
	w.store(best, y)
	w.storeIndex(where)
	ADDQ(U8(v.lanes), idx)
	ADDQ(U8(v.bytes()), j)
	CMPQ(j, c)
	JLT(LabelRef("channels"))
	ADDQ(step, x)
	ADDQ(c, y)
	x86.Loop(n, "pixel")
	x86.Return()
}
