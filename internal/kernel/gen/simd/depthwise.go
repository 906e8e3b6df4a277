package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

const depthwiseParams = "func(d *byte)"

// depthwise emits the two kernels of depthwise convolution: forward, and back to
// the weights.
func depthwise(v isa, back bool) {
	name := "depthwise"
	if back {
		name = "depthwiseWeights"
	}
	x86.Begin(name+v.suffix, depthwiseParams, name+v.suffix+" is Depthwise's kernel.")
	d := x86.Arg("d")
	at := func(off int) Mem { return Mem{Base: d, Disp: off} }
	load := func(off int) reg.GPVirtual {
		r := GP64()
		MOVQ(at(off), r)
		return r
	}
	j, rest, c := GP64(), GP64(), load(layout.DepthC)
	XORQ(j, j)
	MOVQ(c, rest)
	inner := forwardChannels
	if back {
		inner = backChannels
	}
	Label("full")
	CMPQ(rest, U8(v.bytes()))
	JLT(LabelRef("tail"))
	inner(lanes{isa: v}, "full_", at, load, c, j)
	ADDQ(U8(v.bytes()), j)
	SUBQ(U8(v.bytes()), rest)
	JMP(LabelRef("full"))
	Label("tail")
	TESTQ(rest, rest)
	JEQ(LabelRef("done"))
	SHRQ(U8(2), rest)
	inner(lanes{isa: v, masked: true, k: v.partial(rest)}, "tail_", at, load, c, j)
	Label("done")
	x86.Return()
}

// forwardChannels goes through the positions for one register of channels.
func forwardChannels(l lanes, p string, at func(int) Mem, load func(int) reg.GPVirtual, c, j reg.Register) {
	x, y, n := load(layout.DepthX), load(layout.DepthY), load(layout.DepthN)
	ADDQ(j, x)
	ADDQ(j, y)
	acc := l.vec()
	Label(p + "position")
	l.zero(acc)
	row, w, r := GP64(), load(layout.DepthW), load(layout.DepthTaps)
	ADDQ(j, w)
	MOVQ(x, row)
	Label(p + "row")
	px, t := GP64(), load(layout.DepthTapsW)
	MOVQ(row, px)
	Label(p + "tap")
	VFMADD231PS(l.load(px), l.load(w), acc)
	ADDQ(c, px)
	ADDQ(c, w)
	x86.Loop(t, p+"tap")
	ADDQ(at(layout.DepthXRow), row)
	x86.Loop(r, p+"row")
	l.store(acc, y)
	ADDQ(at(layout.DepthXStep), x)
	ADDQ(at(layout.DepthYStep), y)
	x86.Loop(n, p+"position")
}

// backChannels adds to each tap's weights the products of its positions.
func backChannels(l lanes, p string, at func(int) Mem, load func(int) reg.GPVirtual, c, j reg.Register) {
	row, w, r := load(layout.DepthX), load(layout.DepthW), load(layout.DepthTaps)
	ADDQ(j, row)
	ADDQ(j, w)
	Label(p + "row")
	tap, t := GP64(), load(layout.DepthTapsW)
	MOVQ(row, tap)
	Label(p + "tap")
	acc := l.load(w)
	x, y, n := GP64(), load(layout.DepthY), load(layout.DepthN)
	MOVQ(tap, x)
	ADDQ(j, y)
	Label(p + "position")
	VFMADD231PS(l.load(x), l.load(y), acc)
	ADDQ(at(layout.DepthXStep), x)
	ADDQ(at(layout.DepthYStep), y)
	x86.Loop(n, p+"position")
	l.store(acc, w)
	ADDQ(c, tap)
	ADDQ(c, w)
	x86.Loop(t, p+"tap")
	ADDQ(at(layout.DepthXRow), row)
	x86.Loop(r, p+"row")
}
