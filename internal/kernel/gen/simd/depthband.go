package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// Byte offsets of the fields of simd.DepthwiseBand; its test compares them with the
// compiler's.
const (
	bX = 8 * iota
	bW
	bY
	bN
	bC
	bRows
	bYStep
	bYRow
	bScale
	bShift
	bBounds
	bLeft
	bRight
	bXNow
	bYNow
	bRowsLeft
	bBefore
)

// bandTaps is the width and height of the filters of simd.DepthwiseBand.
const bandTaps = 3

// depthBand is the kernel of simd.DepthwiseBand for one step between positions: all
// weights of a channel are in registers for all rows.
type depthBand struct {
	lanes
	stride, rows int // rows of positions that share what they read
	label        string
	d, c, j      reg.Register
	c3, c5, c7   reg.GPVirtual // bytes of so many pixels
	weights      [bandTaps * bandTaps]reg.VecVirtual
	affine       [4]reg.VecVirtual // scale, shift and bounds
	first, last  reg.Register      // lanes of the first and the last pixel of a row of the input
	whole        reg.Register      // lanes of the others
	left, right  reg.Register      // lanes of the first and the last pixel of these positions
	acc          []reg.VecVirtual
	n            reg.GPVirtual   // positions left
	x            []reg.GPVirtual // rows of the input
	y            []reg.GPVirtual // rows of the output
}

func depthwiseBand(v isa, stride int) {
	name := fmt.Sprintf("depthwiseBand%d", stride)
	channelLoop(v, name, fmt.Sprintf("is DepthwiseBand's kernel for positions %d pixels apart.", stride), bC,
		func(l lanes, label string, d, c, j reg.Register) {
			k := &depthBand{lanes: l, stride: stride, rows: 3 - stride, label: label, d: d, c: c, j: j}
			k.band()
		})
}

func (k *depthBand) field(off int) Mem { return Mem{Base: k.d, Disp: off} }

func (k *depthBand) pointer(off int) reg.GPVirtual {
	r := GP64()
	MOVQ(k.field(off), r)
	ADDQ(k.j, r)
	return r
}

// band goes through the rows.
func (k *depthBand) band() {
	k.begin()
	k.acc = k.zeros(layout.DepthGroup * k.rows)
	k.move(k.field(bX), k.field(bXNow))
	k.move(k.field(bRows), k.field(bRowsLeft))
	y := k.pointer(bY)
	MOVQ(y, k.field(bYNow))
	Label(k.label + "rows")
	CMPQ(k.field(bRowsLeft), U8(k.rows))
	JLT(LabelRef(k.label + "rest"))
	k.positions("many", k.rows)
	SUBQ(U8(k.rows), k.field(bRowsLeft))
	JMP(LabelRef(k.label + "rows"))
	Label(k.label + "rest")
	if k.rows > 1 {
		CMPQ(k.field(bRowsLeft), U8(0))
		JEQ(LabelRef(k.label + "end"))
		k.positions("one", 1)
	}
	Label(k.label + "end")
}

func (k *depthBand) move(from, to Mem) {
	r := GP64()
	MOVQ(from, r)
	MOVQ(r, to)
}

// begin loads what does not change for these channels.
func (k *depthBand) begin() {
	w := k.pointer(bW)
	for t := range k.weights {
		k.weights[t] = k.load(w)
		ADDQ(k.c, w)
	}
	k.affine = [4]reg.VecVirtual{k.load(k.pointer(bScale)), k.load(k.pointer(bShift)), k.vec(), k.vec()}
	VBROADCASTSS(k.field(bBounds), k.affine[2])
	VBROADCASTSS(k.field(bBounds+4), k.affine[3])
	k.c3, k.c5 = GP64(), GP64()
	LEAQ(Mem{Base: k.c, Index: k.c, Scale: 2}, k.c3)
	LEAQ(Mem{Base: k.c, Index: k.c, Scale: 4}, k.c5)
	if k.stride == 2 {
		k.c7 = GP64()
		LEAQ(Mem{Base: k.c3, Index: k.c, Scale: 4}, k.c7)
	}
	k.first, k.last, k.left, k.right = K(), K(), K(), K()
	KMOVW(k.field(bLeft), k.first)
	KMOVW(k.field(bRight), k.last)
	if k.masked {
		k.whole = k.k
		KANDW(k.whole, k.first, k.first)
		KANDW(k.whole, k.last, k.last)
		return
	}
	k.whole = K()
	KXNORW(k.first, k.first, k.whole)
}

// positions goes along so many rows of the output, four positions at a time. Where fewer
// are left, it steps back to the last four.
func (k *depthBand) positions(name string, rows int) {
	name = k.label + name
	table := GP64()
	MOVQ(k.field(bXNow), table)
	k.x = make([]reg.GPVirtual, (rows-1)*k.stride+bandTaps)
	for i := range k.x {
		k.x[i] = GP64()
		MOVQ(Mem{Base: table, Disp: 8 * i}, k.x[i])
		ADDQ(k.j, k.x[i])
		ADDQ(k.field(bBefore), k.x[i])
	}
	ADDQ(U8(8*rows*k.stride), table)
	MOVQ(table, k.field(bXNow))
	k.y = make([]reg.GPVirtual, rows)
	y := GP64()
	MOVQ(k.field(bYNow), y)
	for i := range k.y {
		k.y[i] = GP64()
		MOVQ(y, k.y[i])
		ADDQ(k.field(bYRow), y)
	}
	MOVQ(y, k.field(bYNow))
	k.n = GP64()
	MOVQ(k.field(bN), k.n)
	KMOVW(k.first, k.left)
	KMOVW(k.whole, k.right)
	CMPQ(k.n, U8(layout.DepthGroup))
	JLT(LabelRef(name + "single"))
	Label(name + "group")
	CMPQ(k.n, U8(layout.DepthGroup))
	JGT(LabelRef(name + "sums"))
	KMOVW(k.last, k.right)
	JEQ(LabelRef(name + "sums"))
	k.back()
	Label(name + "sums")
	k.sums(layout.DepthGroup)
	KMOVW(k.whole, k.left)
	SUBQ(U8(layout.DepthGroup), k.n)
	JGT(LabelRef(name + "group"))
	JMP(LabelRef(name + "end"))
	Label(name + "single")
	CMPQ(k.n, U8(1))
	JNE(LabelRef(name + "position"))
	KMOVW(k.last, k.right)
	Label(name + "position")
	k.sums(1)
	KMOVW(k.whole, k.left)
	x86.Loop(k.n, name+"single")
	Label(name + "end")
}

// back steps to the last four positions.
func (k *depthBand) back() {
	step := GP64()
	SUBQ(U8(layout.DepthGroup), k.n)
	MOVQ(k.n, step)
	IMULQ(k.field(bYStep), step)
	for _, y := range k.y {
		ADDQ(step, y)
	}
	MOVQ(k.c, step)
	IMULQ(k.n, step)
	for _, x := range k.x {
		for range k.stride {
			ADDQ(step, x)
		}
	}
	MOVQ(U32(layout.DepthGroup), k.n)
}

// pixel is pixel col of the row at x.
func (k *depthBand) pixel(x reg.GPVirtual, col int) Mem {
	m := Mem{Base: x, Index: k.c, Scale: 1}
	switch col {
	case 0:
		return Mem{Base: x}
	case 2, 4, 8:
		m.Scale = uint8(col)
	case 3:
		m.Index = k.c3
	case 5:
		m.Index = k.c5
	case 6:
		m.Index, m.Scale = k.c3, 2
	case 7:
		m.Index = k.c7
	}
	return m
}

// sums computes n positions of each row, in the order of the taps, and moves past them.
func (k *depthBand) sums(n int) {
	acc := make([][]reg.VecVirtual, len(k.y))
	for o := range acc {
		acc[o] = k.acc[layout.DepthGroup*o:][:n]
		for _, a := range acc[o] {
			k.zero(a)
		}
	}
	cols := (n-1)*k.stride + bandTaps
	for i, x := range k.x {
		for col := range cols {
			v := k.vec()
			switch {
			case col == 0:
				VMOVUPS_Z(k.pixel(x, col), k.left, v)
			case col == cols-1:
				VMOVUPS_Z(k.pixel(x, col), k.right, v)
			case k.masked:
				VMOVUPS_Z(k.pixel(x, col), k.k, v)
			default:
				VMOVUPS(k.pixel(x, col), v)
			}
			for o := range acc {
				for q, a := range acc[o] {
					if r, t := i-o*k.stride, col-q*k.stride; r >= 0 && r < bandTaps && t >= 0 && t < bandTaps {
						VFMADD231PS(v, k.weights[r*bandTaps+t], a)
					}
				}
			}
		}
		next := k.pixel(x, n*k.stride)
		LEAQ(next, x)
	}
	for o, y := range k.y {
		for _, a := range acc[o] {
			VFMADD213PS(k.affine[1], k.affine[0], a)
			k.clamp(a, k.affine[2], k.affine[3])
			k.store(a, y)
			ADDQ(k.field(bYStep), y)
		}
	}
}
