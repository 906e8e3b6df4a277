package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/raw"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// The kernels for processors without AVX-512. Sums come from AVX2 or from AVX-VNNI; what
// follows them is AVX2 in either case.

// dotVNNI is the VEX form of VPDPBUSD on 256 bits: it adds to the sums of register acc the
// products of a's bytes without sign and b's with one. Go's assembler has the EVEX form
// alone, which needs AVX-512.
func dotVNNI(b, a, acc int) {
	raw.Code(0xc4, byte(^acc>>3&1)<<7|0x40|byte(^b>>3&1)<<5|2, byte(^a&15)<<3|5, 0x50, 0xc0|byte(acc&7)<<3|byte(b&7))
}

// The constants of dotAVX2.
var low, ones = reg.Y14, reg.Y15

// loadConstants sets low to 0x00ff and ones to 1 in each word.
func loadConstants() {
	VPCMPEQW(ones, ones, ones)
	VPSRLW(U8(8), ones, low)
	VPSRLW(U8(15), ones, ones)
}

// dotAVX2 adds the same products with AVX2. VPMADDUBSW adds two products in 16 bits, which
// could saturate. even and odd are therefore bytes without a sign of which each second
// one is zero, so that a sum is one product.
func dotAVX2(b Op, even, odd, acc, room reg.VecPhysical) {
	for _, a := range []reg.VecPhysical{even, odd} {
		VPMADDUBSW(b, a, room)
		VPMADDWD(ones, room, room)
		VPADDD(room, acc, acc)
	}
}

// alternate splits bytes for dotAVX2.
func alternate(a, even, odd reg.VecPhysical) {
	VPANDN(a, low, odd)
	VPAND(a, low, even)
}

// overQuads emits the sums of 16 columns by so many rows, from the first on: begin clears the
// sums, quad adds products, and end stores them where sums points. The columns' B begins at
// bytesB, and one quad follows the other after step bytes.
func overQuads(name string, first, count int, vector, step, sums reg.GPPhysical, begin, quad, end func()) {
	label := func(s string) string { return fmt.Sprintf("%s%s%d", name, s, first) }
	MOVQ(field(tVectors), step)
	SHLQ(U8(6), step)
	MOVQ(field(tAOff), at)
	for i := range count {
		MOVQ(Mem{Base: at, Disp: 8 * (first + i)}, rows[i])
		ADDQ(field(tA), rows[i])
	}
	XORQ(vector, vector)
	Label(label("vector"))
	begin()
	MOVQ(field(tKOff), koff)
	MOVQ(vector, bytesB)
	SHLQ(U8(6), bytesB)
	ADDQ(field(tB), bytesB)
	MOVQ(field(tRuns), runs)
	Label(label("run"))
	MOVQ(Mem{Base: koff}, at)
	ADDQ(U8(8), koff)
	MOVQ(field(tQuads), last)
	LEAQ(Mem{Base: at, Index: last, Scale: 4}, last)
	Label(label("quad"))
	quad()
	ADDQ(step, bytesB)
	ADDQ(U8(4), at)
	CMPQ(at, last)
	JLT(LabelRef(label("quad")))
	x86.Loop(runs, label("run"))
	MOVQ(vector, sums)
	SHLQ(U8(6), sums)
	ADDQ(field(tSum), sums)
	end()
	INCQ(vector)
	CMPQ(vector, field(tVectors))
	JLT(LabelRef(label("vector")))
}

// emitSums emits the sums of one block with AVX2, three rows at a time.
func emitSums() {
	x86.Begin("sumsAVX2", "func(t *byte)", "sumsAVX2 computes the sums of the first block of rows.")
	Load(Param("t"), tile)
	loadConstants()
	vector, step, sums := reg.R11, reg.R12, reg.R13
	for first := 0; first < blockRows; first += 3 {
		overQuads("", first, 3, vector, step, sums, func() {
			for i := range 6 {
				VPXOR(ymm(i), ymm(i), ymm(i))
			}
		}, func() {
			VMOVDQU(Mem{Base: bytesB}, reg.Y6)
			VMOVDQU(Mem{Base: bytesB, Disp: 32}, reg.Y7)
			for i := range 3 {
				VPBROADCASTD(Mem{Base: rows[i], Index: at, Scale: 1}, reg.Y8)
				alternate(reg.Y8, reg.Y8, reg.Y9)
				for j := range 2 {
					dotAVX2(ymm(6+j), reg.Y8, reg.Y9, ymm(2*i+j), reg.Y10)
				}
			}
		}, func() { storeSums(sums, first, 3) })
	}
	x86.Return()
}

// storeSums stores the sums of so many rows by 16 columns.
func storeSums(sums reg.GPPhysical, first, count int) {
	for i := range count {
		for j := range 2 {
			VMOVDQU(ymm(2*i+j), Mem{Base: sums, Disp: 256*(first+i) + 32*j})
		}
	}
}

// emitSumsVNNI emits the same with AVX-VNNI, all six rows at a time: 12 sums, two vectors of
// B and two of A.
func emitSumsVNNI() {
	x86.Begin("sumsAVXVNNI", "func(t *byte)", "sumsAVXVNNI computes the same with AVX-VNNI.")
	Load(Param("t"), tile)
	vector, step, sums := reg.R14, reg.R15, at
	overQuads("", 0, blockRows, vector, step, sums, func() {
		for i := range 2 * blockRows {
			VPXOR(ymm(i), ymm(i), ymm(i))
		}
	}, func() {
		VMOVDQU(Mem{Base: bytesB}, reg.Y12)
		VMOVDQU(Mem{Base: bytesB, Disp: 32}, reg.Y13)
		for i := range blockRows {
			a := 14 + i%2
			VPBROADCASTD(Mem{Base: rows[i], Index: at, Scale: 1}, ymm(a))
			for j := range 2 {
				dotVNNI(12+j, a, 2*i+j)
			}
		}
	}, func() { storeSums(sums, 0, blockRows) })
	x86.Return()
}

// toBytes rounds eight values and packs them into the lowest eight bytes of v. NaN becomes
// the lowest integer, and so 0.
func toBytes(v, room reg.VecPhysical) {
	VCVTPS2DQ(v, v)
	VEXTRACTI128(U8(1), v, room.(reg.Vec).AsX())
	VPACKUSDW(room.(reg.Vec).AsX(), v.(reg.Vec).AsX(), v.(reg.Vec).AsX())
	VPACKUSWB(v.(reg.Vec).AsX(), v.(reg.Vec).AsX(), v.(reg.Vec).AsX())
}

// bound keeps v within lo and hi, and NaN: the second source is what NaN comes from.
func bound(v, lo, hi reg.VecPhysical) {
	VMAXPS(v, lo, v)
	VMINPS(v, hi, v)
}

// emitStore emits the way of a block's sums to C, eight columns at a time.
func emitStore() {
	x86.Begin("storeAVX2", "func(t *byte)",
		"storeAVX2 stores whole eights of columns of the sums of the first block of rows.")
	Load(Param("t"), tile)
	sums, column, columns, to := reg.RBX, reg.RCX, reg.RDX, reg.R15
	c, left := last, reg.R14
	for _, l := range []struct {
		off int
		to  reg.GPPhysical
	}{{tSum, sums}, {tCOff, colOff}, {tC, c}, {tAdd, add}, {tAddKind, kind}, {tFloatC, float}, {tScale, scaling},
		{tShift, shift}, {tCols, columns}} {
		MOVQ(field(l.off), l.to)
	}
	ANDQ(I8(-8), columns)
	VBROADCASTSS(field(tLo), reg.Y4)
	VBROADCASTSS(field(tLo+4), reg.Y5)
	VBROADCASTSS(field(tLo+8), reg.Y6)
	MOVQ(U32(blockRows), left)
	Label("row")
	MOVQ(Mem{Base: colOff}, to)
	TESTQ(to, to)
	JLT(LabelRef("next"))
	XORQ(column, column)
	Label("eight")
	CMPQ(column, columns)
	JGE(LabelRef("next"))
	VCVTDQ2PS(Mem{Base: sums, Index: column, Scale: 4}, reg.Y0)
	VMULPS(Mem{Base: scaling, Index: column, Scale: 4}, reg.Y0, reg.Y0)
	VADDPS(Mem{Base: shift, Index: column, Scale: 4}, reg.Y0, reg.Y0)
	CMPQ(kind, U8(1))
	JLT(LabelRef("added"))
	JEQ(LabelRef("bytes"))
	VMULPS(Mem{Base: add, Index: to, Scale: 4}, reg.Y6, reg.Y1)
	VADDPS(reg.Y1, reg.Y0, reg.Y0)
	JMP(LabelRef("added"))
	Label("bytes")
	VPMOVZXBD(Mem{Base: add, Index: to, Scale: 1}, reg.Y1)
	VCVTDQ2PS(reg.Y1, reg.Y1)
	VMULPS(reg.Y6, reg.Y1, reg.Y1)
	VADDPS(reg.Y1, reg.Y0, reg.Y0)
	Label("added")
	bound(reg.Y0, reg.Y4, reg.Y5)
	TESTQ(float, float)
	JNE(LabelRef("float"))
	toBytes(reg.Y0, reg.Y1)
	VMOVQ(reg.X0, Mem{Base: c, Index: to, Scale: 1})
	JMP(LabelRef("stored"))
	Label("float")
	VMOVUPS(reg.Y0, Mem{Base: c, Index: to, Scale: 4})
	Label("stored")
	ADDQ(U8(8), column)
	ADDQ(U8(8), to)
	JMP(LabelRef("eight"))
	Label("next")
	ADDQ(U32(4*16*maxVectors), sums)
	ADDQ(U8(8), colOff)
	x86.Loop(left, "row")
	x86.Return()
}

// rowsAVX2 emits the loops over rows, for whole blocks of eight values.
func rowsAVX2() {
	dst, src, n := reg.RDI, reg.RSI, reg.RCX
	begin := func(name, params, doc string) {
		x86.Begin(name, "func("+params+")", name+" "+doc)
		x86.LoadArgs("dst src n", dst, src, n)
	}
	each := func(count, from, to int, body func()) {
		Label("loop")
		body()
		ADDQ(U8(from), src)
		ADDQ(U8(to), dst)
		SUBQ(U8(count), n)
		JNE(LabelRef("loop"))
		x86.Return()
	}

	begin("quantizeAVX2", "dst *byte, src *float32, n int, scale, shift float32", "turns n values into bytes.")
	for i, name := range []string{"scale", "shift"} {
		Load(Param(name), []reg.VecPhysical{reg.X1, reg.X2}[i])
		VBROADCASTSS([]reg.VecPhysical{reg.X1, reg.X2}[i], ymm(1+i))
	}
	VPXOR(reg.Y3, reg.Y3, reg.Y3)
	MOVL(U32(0x437f0000), reg.EAX) // 255
	VMOVD(reg.EAX, reg.X4)
	VBROADCASTSS(reg.X4, reg.Y4)
	each(8, 32, 8, func() {
		VMULPS(Mem{Base: src}, reg.Y1, reg.Y0)
		VADDPS(reg.Y2, reg.Y0, reg.Y0)
		bound(reg.Y0, reg.Y3, reg.Y4)
		toBytes(reg.Y0, reg.Y5)
		VMOVQ(reg.X0, Mem{Base: dst})
	})

	begin("dequantizeAVX2", "dst *float32, src *byte, n int, zero int32, scale float32", "turns n bytes into values.")
	Load(Param("zero"), reg.EAX)
	VMOVD(reg.EAX, reg.X1)
	VPBROADCASTD(reg.X1, reg.Y1)
	Load(Param("scale"), reg.X2)
	VBROADCASTSS(reg.X2, reg.Y2)
	each(8, 8, 32, func() {
		VPMOVZXBD(Mem{Base: src}, reg.Y0)
		VPSUBD(reg.Y1, reg.Y0, reg.Y0)
		VCVTDQ2PS(reg.Y0, reg.Y0)
		VMULPS(reg.Y2, reg.Y0, reg.Y0)
		VMOVUPS(reg.Y0, Mem{Base: dst})
	})

	begin("columnSumsAVX2", "dst *int32, src *byte, rows, stride, n int",
		"sums n columns of rows that lie stride bytes apart.")
	count, stride, row, left := reg.RDX, reg.R9, reg.R8, reg.R10
	x86.LoadArgs("rows stride", count, stride)
	each(8, 8, 32, func() {
		VPXOR(reg.Y0, reg.Y0, reg.Y0)
		MOVQ(src, row)
		MOVQ(count, left)
		Label("row")
		VPMOVZXBD(Mem{Base: row}, reg.Y1)
		VPADDD(reg.Y1, reg.Y0, reg.Y0)
		ADDQ(stride, row)
		x86.Loop(left, "row")
		VMOVDQU(reg.Y0, Mem{Base: dst})
	})
}
