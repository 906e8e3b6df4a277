package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
)

// maxTap emits one tap of a max pool of any size: pixels of whole registers.
func maxTap(v isa) {
	TEXT("maxTap"+v.suffix, NOSPLIT, "func("+layout.MaxTapParams+")")
	Pragma("noescape")
	Doc("maxTap" + v.suffix + " is MaxTap's kernel.")
	n, c, step := Load(Param("n"), GP64()), Load(Param("c"), GP64()), Load(Param("step"), GP64())
	x, y, idx := Load(Param("x"), GP64()), Load(Param("y"), GP64()), Load(Param("idx"), GP64())
	tap, t, j := v.vec(), XMM(), GP64()
	VMOVD(Load(Param("tap"), GP64()).(reg.GPVirtual).As32(), t)
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
	DECQ(n)
	JNE(LabelRef("pixel"))
	VZEROUPPER()
	RET()
}
