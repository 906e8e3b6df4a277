// Command scan writes the assembly of internal/kernel/scan. Run it by `make gen`.
package main

import (
	"log"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

func main() {
	ConstraintExpr("!noasm")
	maxBelow512()
	maxBelow2()
	compress("between", "lo, hi float32", func(x reg.VecVirtual, k reg.Register, lim []reg.VecVirtual) {
		// lo < x, then x < hi among those.
		k1 := K()
		VCMPPS(U8(gt), lim[0], x, k1)
		VCMPPS(U8(lt), lim[1], x, k1, k)
	})
	compress("absAbove", "lo, abs float32", func(x reg.VecVirtual, k reg.Register, lim []reg.VecVirtual) {
		a := ZMM()
		VPANDD(lim[1], x, a)
		VCMPPS(U8(gt), lim[0], a, k)
	})
	expSum512()
	expSum2()
	absMax512()
	absBelowSum512()
	Generate()
	if err := armKernels().Write("../scan"); err != nil {
		log.Fatal(err)
	}
}

// Predicates of VCMPPS, ordered and quiet.
const (
	lt = 0x11
	gt = 0x1E
)

// iota16 is the constant 0, 1, ..., 15.
func iota16() Mem {
	m := GLOBL("lanes16", 8|16) // RODATA|NOPTR
	for i := range 16 {
		DATA(4*i, U32(i))
	}
	return m
}

var lanes Mem

func word(x uint32) reg.GPVirtual {
	r := GP32()
	MOVL(U32(x), r)
	return r
}

func broadcast(dst reg.VecVirtual, bits uint32) {
	if dst.Size() == 64 {
		VPBROADCASTD(word(bits), dst)
		return
	}
	x := XMM()
	VMOVD(word(bits), x)
	VPBROADCASTD(x, dst)
}

func constant(dst reg.VecVirtual, x float32) { broadcast(dst, math.Float32bits(x)) }

func maxBelow512() {
	x86.Begin("maxBelowAVX512", "func(x *float32, n int, limit float32, val *float32, idx *int32)",
		"maxBelowAVX512 leaves in each of 16 lanes the greatest of every 16th value below",
		"limit and its first index. n is a positive multiple of 16.")
	lanes = iota16()
	x, n := x86.Arg("x"), x86.Arg("n")
	limit, best, at, now, step := ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	x86.Broadcast("limit", limit)
	constant(best, float32(math.Inf(-1)))
	broadcast(at, 0xffffffff)
	VMOVDQU32(lanes, now)
	broadcast(step, 16)
	v, k1, k2 := ZMM(), K(), K()
	Label("loop")
	VMOVUPS(Mem{Base: x}, v)
	VCMPPS(U8(lt), limit, v, k1)
	VCMPPS(U8(gt), best, v, k1, k2)
	VMOVAPS(v, k2, best)
	VMOVDQA32(now, k2, at)
	VPADDD(step, now, now)
	ADDQ(U8(64), x)
	SUBQ(U8(16), n)
	JNE(LabelRef("loop"))
	VMOVUPS(best, Mem{Base: x86.Arg("val")})
	VMOVDQU32(at, Mem{Base: x86.Arg("idx")})
	x86.Return()
}

func maxBelow2() {
	x86.Begin("maxBelowAVX2", "func(x *float32, n int, limit float32, val *float32, idx *int32)",
		"maxBelowAVX2 is maxBelowAVX512 with 8 lanes. n is a positive multiple of 8.")
	x, n := x86.Arg("x"), x86.Arg("n")
	limit, best, at, now, step := YMM(), YMM(), YMM(), YMM(), YMM()
	x86.Broadcast("limit", limit)
	constant(best, float32(math.Inf(-1)))
	broadcast(at, 0xffffffff)
	VMOVDQU(lanes, now)
	broadcast(step, 8)
	v, m1, m2 := YMM(), YMM(), YMM()
	Label("loop")
	VMOVUPS(Mem{Base: x}, v)
	VCMPPS(U8(lt), limit, v, m1)
	VCMPPS(U8(gt), best, v, m2)
	VPAND(m1, m2, m2)
	VBLENDVPS(m2, v, best, best)
	VBLENDVPS(m2, now, at, at)
	VPADDD(step, now, now)
	ADDQ(U8(32), x)
	SUBQ(U8(8), n)
	JNE(LabelRef("loop"))
	VMOVUPS(best, Mem{Base: x86.Arg("val")})
	VMOVDQU(at, Mem{Base: x86.Arg("idx")})
	x86.Return()
}

func compress(name, params string, test func(x reg.VecVirtual, k reg.Register, lim []reg.VecVirtual)) {
	x86.Begin(name+"AVX512", "func(x *float32, n int, "+params+", idx *int32) int",
		name+"AVX512 writes the indices that pass, ascending, and returns how many.",
		"n is a positive multiple of 16; idx has room for 16 more than pass.")
	x, n, out := x86.Arg("x"), x86.Arg("n"), x86.Arg("idx")
	first := GP64()
	MOVQ(out, first)
	a, b, now, step := ZMM(), ZMM(), ZMM(), ZMM()
	x86.Broadcast("lo", a)
	if name == "between" {
		x86.Broadcast("hi", b)
	} else {
		broadcast(b, 0x7fffffff)
	}
	VMOVDQU32(lanes, now)
	broadcast(step, 16)
	v, packed, k := ZMM(), ZMM(), K()
	count := GP32()
	Label("loop")
	VMOVUPS(Mem{Base: x}, v)
	test(v, k, []reg.VecVirtual{a, b})
	KMOVW(k, count) // no branch: where some pass, it is hard to predict
	VPCOMPRESSD(now, k, packed)
	VMOVDQU32(packed, Mem{Base: out})
	POPCNTL(count, count)
	LEAQ(Mem{Base: out, Index: count.As64(), Scale: 4}, out)
	VPADDD(step, now, now)
	ADDQ(U8(64), x)
	SUBQ(U8(16), n)
	JNE(LabelRef("loop"))
	SUBQ(first, out)
	SHRQ(U8(2), out)
	Store(out, ReturnIndex(0))
	x86.Return()
}

// Coefficients of exp on [-ln 2 / 2, ln 2 / 2] (Moshier, Cephes) and the split
// of ln 2 that keeps the reduction exact.
const (
	lowest = -87.33654
	log2e  = 1.44269504088896341
	ln2hi  = 0.693359375
	ln2lo  = -2.12194440e-4
)

var poly = []float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
	5.0000001201e-1}

func expSum512() {
	x86.Begin("expSumAVX512", "func(dst, x *float32, n int, a, b float32, sum *float32)",
		"expSumAVX512 sets dst to exp(a x + b) and adds 16 partial sums to sum. n is a", "positive multiple of 16.")
	dst, x, n := x86.Arg("dst"), x86.Arg("x"), x86.Arg("n")
	a, b, low, l2e, hi, lo, one, total := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	x86.Broadcast("a", a)
	x86.Broadcast("b", b)
	constant(low, lowest)
	constant(l2e, log2e)
	constant(hi, -ln2hi)
	constant(lo, -ln2lo)
	constant(one, 1)
	c := make([]reg.VecVirtual, len(poly))
	for i, p := range poly {
		c[i] = ZMM()
		constant(c[i], p)
	}
	sum := x86.Arg("sum")
	VMOVUPS(Mem{Base: sum}, total)
	t, m, r, p, k := ZMM(), ZMM(), ZMM(), ZMM(), K()
	Label("loop")
	VMOVUPS(Mem{Base: x}, t)
	VFMADD213PS(b, a, t)        // t = a*t + b
	VCMPPS(U8(0x1D), low, t, k) // t >= low
	VMAXPS(low, t, t)
	VMULPS(l2e, t, m)
	VRNDSCALEPS(U8(8), m, m)
	VFMADD231PS(hi, m, t)
	VFMADD231PS(lo, m, t)
	VMOVAPS(c[0], p)
	for _, q := range c[1:] {
		VFMADD213PS(q, t, p)
	}
	VADDPS(one, t, r)
	VMULPS(t, t, t)
	VFMADD231PS(t, p, r)
	VSCALEFPS_Z(m, r, k, r)
	VMOVUPS(r, Mem{Base: dst})
	VADDPS(r, total, total)
	ADDQ(U8(64), x)
	ADDQ(U8(64), dst)
	SUBQ(U8(16), n)
	JNE(LabelRef("loop"))
	VMOVUPS(total, Mem{Base: sum})
	x86.Return()
}

func expSum2() {
	x86.Begin("expSumAVX2", "func(dst, x *float32, n int, a, b float32, sum *float32)",
		"expSumAVX2 is expSumAVX512 with 8 partial sums. n is a positive multiple of 8.")
	dst, x, n := x86.Arg("dst"), x86.Arg("x"), x86.Arg("n")
	a, b, low, l2e, total := YMM(), YMM(), YMM(), YMM(), YMM()
	x86.Broadcast("a", a)
	x86.Broadcast("b", b)
	constant(low, lowest)
	constant(l2e, log2e)
	sum := x86.Arg("sum")
	VMOVUPS(Mem{Base: sum}, total)
	t, m, r, p, tmp, keep := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	Label("loop")
	VMOVUPS(Mem{Base: x}, t)
	VFMADD213PS(b, a, t)
	VCMPPS(U8(0x1D), low, t, keep)
	VMAXPS(low, t, t)
	VMULPS(l2e, t, m)
	VROUNDPS(U8(8), m, m)
	constant(tmp, -ln2hi)
	VFMADD231PS(tmp, m, t)
	constant(tmp, -ln2lo)
	VFMADD231PS(tmp, m, t)
	constant(p, poly[0])
	for _, q := range poly[1:] {
		constant(tmp, q)
		VFMADD213PS(tmp, t, p)
	}
	constant(tmp, 1)
	VADDPS(tmp, t, r)
	VMULPS(t, t, t)
	VFMADD231PS(t, p, r)
	VCVTPS2DQ(m, m)
	broadcast(tmp, 127)
	VPADDD(tmp, m, m)
	VPSLLD(U8(23), m, m)
	VMULPS(m, r, r)
	VANDPS(keep, r, r)
	VMOVUPS(r, Mem{Base: dst})
	VADDPS(r, total, total)
	ADDQ(U8(32), x)
	ADDQ(U8(32), dst)
	SUBQ(U8(8), n)
	JNE(LabelRef("loop"))
	VMOVUPS(total, Mem{Base: sum})
	x86.Return()
}

func absMax512() {
	x86.Begin("absMaxAVX512", "func(x *float32, n int, val *float32)",
		"absMaxAVX512 leaves in each of 16 lanes the greatest of every 16th absolute value.",
		"n is a positive multiple of 16.")
	x, n := x86.Arg("x"), x86.Arg("n")
	best, abs, v := ZMM(), ZMM(), ZMM()
	VPXORD(best, best, best)
	broadcast(abs, 0x7fffffff)
	Label("loop")
	VPANDD(Mem{Base: x}, abs, v)
	VMAXPS(v, best, best)
	ADDQ(U8(64), x)
	SUBQ(U8(16), n)
	JNE(LabelRef("loop"))
	VMOVUPS(best, Mem{Base: x86.Arg("val")})
	x86.Return()
}

func absBelowSum512() {
	x86.Begin("absBelowSumAVX512", "func(x *float32, n int, most float32, sum *float32)",
		"absBelowSumAVX512 leaves in each of 16 lanes the sum of every 16th absolute value",
		"that does not exceed most. n is a positive multiple of 16.")
	x, n := x86.Arg("x"), x86.Arg("n")
	total, abs, v, most, k := ZMM(), ZMM(), ZMM(), ZMM(), K()
	VPXORD(total, total, total)
	broadcast(abs, 0x7fffffff)
	x86.Broadcast("most", most)
	Label("loop")
	VPANDD(Mem{Base: x}, abs, v)
	VCMPPS(U8(0x12), most, v, k) // v <= most
	VADDPS(v, total, k, total)
	ADDQ(U8(64), x)
	SUBQ(U8(16), n)
	JNE(LabelRef("loop"))
	VMOVUPS(total, Mem{Base: x86.Arg("sum")})
	x86.Return()
}
