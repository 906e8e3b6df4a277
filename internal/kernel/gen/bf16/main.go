// Command bf16 writes the assembly of internal/kernel/bf16. Run it by `make gen`.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

func main() {
	ConstraintExpr("!noasm")
	round()
	widen()
	steps32(false)
	steps32(true)
	pairs(false)
	pairs(true)
	emitTile("tileAVX512", "tileAVX512 computes tiles with VDPBF16PS.", vectorProduct, nil)
	emitTile("tileAMX", "tileAMX computes tiles on the matrix unit.", matrixProduct, matrixUnit())
	Generate()
}

// laneMask sets K1 to the lanes that are left of n values, n below 16.
func laneMask(n reg.GPPhysical, bits reg.GPPhysical) {
	MOVQ(U32(0xffff), bits)
	BZHIQ(n, bits, bits)
	KMOVW(bits.As32(), reg.K1)
}

func round() {
	x86.Begin("roundAVX512", "func(dst *uint16, src *float32, n int)", "roundAVX512 rounds n values.")
	dst, src, n := reg.RDI, reg.RSI, reg.RCX
	x86.LoadArgs("dst src n", dst, src, n)
	Label("loop")
	CMPQ(n, U8(16))
	JLT(LabelRef("tail"))
	VMOVUPS(Mem{Base: src}, reg.Z0)
	toHalf(0, 0)
	VMOVDQU(reg.Y0, Mem{Base: dst})
	ADDQ(U8(64), src)
	ADDQ(U8(32), dst)
	SUBQ(U8(16), n)
	JMP(LabelRef("loop"))
	Label("tail")
	TESTQ(n, n)
	JEQ(LabelRef("end"))
	laneMask(n, reg.RAX)
	VMOVUPS_Z(Mem{Base: src}, reg.K1, reg.Z0)
	toHalf(0, 0)
	VMOVDQU16(reg.Y0, reg.K1, Mem{Base: dst})
	Label("end")
	x86.Return()
}

func widen() {
	x86.Begin("widenAVX512", "func(dst *float32, src *uint16, n int)", "widenAVX512 turns n values into float32.")
	dst, src, n := reg.RDI, reg.RSI, reg.RCX
	x86.LoadArgs("dst src n", dst, src, n)
	Label("loop")
	CMPQ(n, U8(16))
	JLT(LabelRef("tail"))
	VPMOVZXWD(Mem{Base: src}, reg.Z0)
	VPSLLD(U8(16), reg.Z0, reg.Z0)
	VMOVUPS(reg.Z0, Mem{Base: dst})
	ADDQ(U8(32), src)
	ADDQ(U8(64), dst)
	SUBQ(U8(16), n)
	JMP(LabelRef("loop"))
	Label("tail")
	TESTQ(n, n)
	JEQ(LabelRef("end"))
	laneMask(n, reg.RAX)
	VPMOVZXWD_Z(Mem{Base: src}, reg.K1, reg.Z0)
	VPSLLD(U8(16), reg.Z0, reg.Z0)
	VMOVUPS(reg.Z0, reg.K1, Mem{Base: dst})
	Label("end")
	x86.Return()
}

// steps32 emits the kernel that lays rows of values out as steps of 32; half: of
// values that are bfloat16 already.
func steps32(half bool) {
	name, from, doc := "roundStepsAVX512", "float32", "roundStepsAVX512 rounds rows"
	if half {
		name, from, doc = "copyStepsAVX512", "uint16", "copyStepsAVX512 copies rows"
	}
	x86.Begin(name, "func(dst *uint16, step int, src *"+from+", srcStep, rows, n int)",
		doc+" of n values, srcStep bytes apart: each 32 of a row, the last filled up",
		"with zeros, step bytes behind those before, each row 64 bytes behind the last.")
	dst, step, src, srcStep, rows := reg.RDI, reg.RDX, reg.RSI, reg.R8, reg.R9
	n, at, to := reg.RCX, reg.R10, reg.R11
	x86.LoadArgs("dst step src srcStep rows n", dst, step, src, srcStep, rows, reg.R12)
	put := func(masked bool) {
		switch {
		case half && masked:
			VMOVDQU16_Z(Mem{Base: at}, reg.K1, reg.Z0)
		case half:
			VMOVDQU16(Mem{Base: at}, reg.Z0)
		case masked:
			VMOVUPS_Z(Mem{Base: at}, reg.K1, reg.Z0)
			VMOVUPS_Z(Mem{Base: at, Disp: 64}, reg.K2, reg.Z1)
		default:
			VMOVUPS(Mem{Base: at}, reg.Z0)
			VMOVUPS(Mem{Base: at, Disp: 64}, reg.Z1)
		}
		if half {
			VMOVDQU16(reg.Z0, Mem{Base: to})
			return
		}
		toHalf(0, 0)
		toHalf(1, 1)
		VMOVDQU(reg.Y0, Mem{Base: to})
		VMOVDQU(reg.Y1, Mem{Base: to, Disp: 32})
	}
	Label("row")
	MOVQ(src, at)
	MOVQ(dst, to)
	MOVQ(reg.R12, n)
	Label("loop")
	CMPQ(n, U8(32))
	JLT(LabelRef("tail"))
	put(false)
	ADDQ(U8(64), at)
	if !half {
		ADDQ(U8(64), at)
	}
	ADDQ(step, to)
	SUBQ(U8(32), n)
	JMP(LabelRef("loop"))
	Label("tail")
	TESTQ(n, n)
	JEQ(LabelRef("next"))
	MOVQ(U64(0xffffffff), reg.RAX)
	BZHIQ(n, reg.RAX, reg.RAX)
	if half {
		KMOVD(reg.EAX, reg.K1)
	} else {
		KMOVW(reg.EAX, reg.K1)
		SHRQ(U8(16), reg.RAX)
		KMOVW(reg.EAX, reg.K2)
	}
	put(true)
	Label("next")
	ADDQ(srcStep, src)
	ADDQ(U8(64), dst)
	x86.Loop(rows, "row")
	x86.Return()
}

// pairs emits the kernel that lays two rows of values side by side; isHalf: of values
// that are bfloat16 already.
func pairs(isHalf bool) {
	name, from, verb := "pairsAVX512", "float32", "rounds"
	if isHalf {
		name, from, verb = "pairHalvesAVX512", "uint16", "lays"
	}
	x86.Begin(name, "func(dst *uint32, step int, a, b *"+from+", n int)",
		name+" "+verb+" n values each of a and b (nil stands for zeros)",
		"to pairs; each 16 of them lie step bytes behind the last, the last ones with zeros.")
	dst, step, n := reg.RDI, reg.RDX, reg.RCX
	rows := []reg.GPPhysical{reg.RSI, reg.RBX}
	x86.LoadArgs("dst step", dst, step)
	Load(Param("a"), rows[0])
	Load(Param("b"), rows[1])
	Load(Param("n"), n)
	v := []reg.VecPhysical{reg.Z0, reg.Z1}
	half := []reg.VecPhysical{reg.Y0, reg.Y1}
	body := func(prefix string, masked bool) {
		for i, row := range rows {
			name := prefix + []string{"first", "second"}[i]
			VPXORD(v[i], v[i], v[i])
			TESTQ(row, row)
			JEQ(LabelRef(name))
			switch {
			case isHalf && masked:
				VPMOVZXWD_Z(Mem{Base: row}, reg.K1, v[i])
			case isHalf:
				VPMOVZXWD(Mem{Base: row}, v[i])
				ADDQ(U8(32), row)
			case masked:
				VMOVUPS_Z(Mem{Base: row}, reg.K1, v[i])
			default:
				VMOVUPS(Mem{Base: row}, v[i])
				ADDQ(U8(64), row)
			}
			if !isHalf {
				toHalf(i, i)
				VPMOVZXWD(half[i], v[i])
			}
			Label(name)
		}
		VPSLLD(U8(16), v[1], v[1])
		VPORD(v[0], v[1], v[0])
		VMOVDQU32(v[0], Mem{Base: dst})
	}
	Label("loop")
	CMPQ(n, U8(16))
	JLT(LabelRef("tail"))
	body("whole", false)
	ADDQ(step, dst)
	SUBQ(U8(16), n)
	JMP(LabelRef("loop"))
	Label("tail")
	TESTQ(n, n)
	JEQ(LabelRef("end"))
	laneMask(n, reg.RAX)
	body("part", true)
	Label("end")
	x86.Return()
}
