package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// depthRow is a kernel of depthwise convolution for filters of a known width: a
// row of weights is in registers, and each pixel is read once for all positions
// of a group that it meets.
type depthRow struct {
	lanes
	label         string
	tapsW, stride int
	d, c, j       reg.Register // Depthwise; bytes of a pixel; of them, where the channels at work begin
}

func (k *depthRow) field(off int) Mem { return Mem{Base: k.d, Disp: off} }

func (k *depthRow) pointer(off int) reg.GPVirtual {
	r := GP64()
	MOVQ(k.field(off), r)
	ADDQ(k.j, r)
	return r
}

func depthwiseRow(v isa, tapsW, stride int) {
	name := fmt.Sprintf("depthwise%dby%d", tapsW, stride)
	channelLoop(v, name, "is Depthwise's kernel for filters of that width and step.", layout.DepthC,
		func(l lanes, label string, d, c, j reg.Register) {
			k := &depthRow{l, label, tapsW, stride, d, c, j}
			k.positions()
		})
}

// channelLoop emits a kernel that goes through the channels, a register of them at a
// time. Their bytes are at offset chans of its parameter.
func channelLoop(v isa, name, doc string, chans int, body func(l lanes, label string, d, c, j reg.Register)) {
	x86.Begin(name+v.suffix, depthwiseParams, name+v.suffix+" "+doc)
	d, j, rest, c := x86.Arg("d"), GP64(), GP64(), GP64()
	MOVQ(Mem{Base: d, Disp: chans}, c)
	XORQ(j, j)
	Label("full")
	MOVQ(c, rest)
	SUBQ(j, rest)
	CMPQ(rest, U8(v.bytes()))
	JLT(LabelRef("tail"))
	body(lanes{isa: v}, "full_", d, c, j)
	ADDQ(U8(v.bytes()), j)
	JMP(LabelRef("full"))
	Label("tail")
	TESTQ(rest, rest)
	JEQ(LabelRef("done"))
	SHRQ(U8(2), rest)
	body(lanes{isa: v, masked: true, k: v.partial(rest)}, "tail_", d, c, j)
	Label("done")
	x86.Return()
}

// positions goes along the row, in groups and then one by one.
func (k *depthRow) positions() {
	x, y, n := k.pointer(layout.DepthX), k.pointer(layout.DepthY), GP64()
	MOVQ(k.field(layout.DepthN), n)
	Label(k.label + "group")
	CMPQ(n, U8(layout.DepthGroup))
	JLT(LabelRef(k.label + "single"))
	k.sums("g", x, y, layout.DepthGroup)
	SUBQ(U8(layout.DepthGroup), n)
	JMP(LabelRef(k.label + "group"))
	Label(k.label + "single")
	TESTQ(n, n)
	JEQ(LabelRef(k.label + "end"))
	k.sums("s", x, y, 1)
	DECQ(n)
	JMP(LabelRef(k.label + "single"))
	Label(k.label + "end")
}

// sums computes some positions, in the order of the taps, and moves x and y past
// them.
func (k *depthRow) sums(label string, x, y reg.Register, n int) {
	label = k.label + label
	acc := k.zeros(n)
	row, w, r := GP64(), k.pointer(layout.DepthW), GP64()
	MOVQ(x, row)
	MOVQ(k.field(layout.DepthTaps), r)
	Label(label + "row")
	weights := make([]reg.VecVirtual, k.tapsW)
	for t := range weights {
		weights[t] = k.load(w)
		ADDQ(k.c, w)
	}
	px := GP64()
	MOVQ(row, px)
	for col := range (n-1)*k.stride + k.tapsW {
		var v reg.VecVirtual
		for i := range n {
			if t := col - i*k.stride; t >= 0 && t < k.tapsW {
				if v == nil {
					v = k.load(px)
				}
				VFMADD231PS(v, weights[t], acc[i])
			}
		}
		ADDQ(k.c, px)
	}
	ADDQ(k.field(layout.DepthXRow), row)
	x86.Loop(r, label+"row")
	k.finish(label, acc)
	for i := range n {
		k.store(acc[i], y)
		ADDQ(k.field(layout.DepthYStep), y)
		ADDQ(k.field(layout.DepthXStep), x)
	}
}

// finish applies scale, shift and bounds, if there is a scale.
func (k *depthRow) finish(label string, acc []reg.VecVirtual) {
	p := GP64()
	MOVQ(k.field(layout.DepthScale), p)
	TESTQ(p, p)
	JEQ(LabelRef(label + "plain"))
	ADDQ(k.j, p)
	scale, shift, lo, hi := k.load(p), k.load(k.pointer(layout.DepthShift)), k.vec(), k.vec()
	VBROADCASTSS(k.field(layout.DepthLo), lo)
	VBROADCASTSS(k.field(layout.DepthHi), hi)
	for _, a := range acc {
		VFMADD213PS(shift, scale, a)
		k.clamp(a, lo, hi)
	}
	Label(label + "plain")
}

// depthwiseWeightsRow emits the way back to the weights of filters of a known
// width: all taps of a row, or of all three of 3 x 3, in registers while the
// positions go by.
func depthwiseWeightsRow(v isa, tapsW, rows int) {
	name := fmt.Sprintf("depthwiseWeights%d", tapsW)
	channelLoop(v, name, "is Depthwise's kernel back to the weights for filters of that width.", layout.DepthC,
		func(l lanes, label string, d, c, j reg.Register) {
			k := &depthRow{l, label, tapsW, 1, d, c, j}
			k.weights(rows)
		})
}

// weights handles so many rows of taps at a time.
func (k *depthRow) weights(rows int) {
	first, w, r := k.pointer(layout.DepthX), k.pointer(layout.DepthW), GP64()
	MOVQ(k.field(layout.DepthTaps), r)
	Label(k.label + "row")
	acc := make([]reg.VecVirtual, rows*k.tapsW)
	to := GP64()
	MOVQ(w, to)
	for t := range acc {
		acc[t] = k.load(to)
		ADDQ(k.c, to)
	}
	x, y, n := GP64(), k.pointer(layout.DepthY), GP64()
	MOVQ(first, x)
	MOVQ(k.field(layout.DepthN), n)
	Label(k.label + "position")
	dy, line := k.load(y), GP64()
	MOVQ(x, line)
	for i := range rows {
		px := GP64()
		MOVQ(line, px)
		for t := range k.tapsW {
			VFMADD231PS(k.load(px), dy, acc[i*k.tapsW+t])
			if t+1 < k.tapsW {
				ADDQ(k.c, px)
			}
		}
		if i+1 < rows {
			ADDQ(k.field(layout.DepthXRow), line)
		}
	}
	ADDQ(k.field(layout.DepthXStep), x)
	ADDQ(k.field(layout.DepthYStep), y)
	x86.Loop(n, k.label+"position")
	for t := range acc {
		k.store(acc[t], w)
		ADDQ(k.c, w)
	}
	for range rows {
		ADDQ(k.field(layout.DepthXRow), first)
	}
	SUBQ(U8(rows), r)
	JNE(LabelRef(k.label + "row"))
}
