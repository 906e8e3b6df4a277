package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// addRows emits the sum of rows at given places, in vecs registers throughout.
func addRows(v isa, vecs int) {
	name := fmt.Sprintf("addRows%d%s", vecs, v.suffix)
	x86.Begin(name, "func(y, x *float32, stride int, idx *int32, c *float32, n int)",
		fmt.Sprintf("%s adds c[k] times row idx[k] of x, k below n, to the %d values of y;", name, vecs*v.lanes),
		"stride is in bytes, n is positive.")
	y, x, stride := x86.Arg("y"), x86.Arg("x"), x86.Arg("stride")
	idx, c, n := x86.Arg("idx"), x86.Arg("c"), x86.Arg("n")
	at, k := GP64(), GP64()
	sum := make([]reg.VecVirtual, vecs)
	for i := range sum {
		sum[i] = v.vec()
		VMOVUPS(Mem{Base: y, Disp: i * v.bytes()}, sum[i])
	}
	XORQ(k, k)
	Label("row")
	MOVLQSX(Mem{Base: idx, Index: k, Scale: 4}, at)
	IMULQ(stride, at)
	f := v.vec()
	VBROADCASTSS(Mem{Base: c, Index: k, Scale: 4}, f)
	for i := range sum {
		VFMADD231PS(Mem{Base: x, Index: at, Scale: 1, Disp: i * v.bytes()}, f, sum[i])
	}
	INCQ(k)
	CMPQ(k, n)
	JLT(LabelRef("row"))
	for i := range sum {
		VMOVUPS(sum[i], Mem{Base: y, Disp: i * v.bytes()})
	}
	x86.Return()
}
