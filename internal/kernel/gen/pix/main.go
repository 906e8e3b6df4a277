// Command pix writes the assembly of internal/kernel/pix. Run it by `make gen`.
package main

import (
	"log"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/scalar"
)

// precision is the number of bits after the point of a weight in fixed point: pix.Precision.
const precision = 22

func main() {
	ConstraintExpr("!noasm")
	gather()
	blend()
	affine()
	colors()
	gatherFixed()
	blendFixed()
	Generate()
	if err := armKernels().Write("../pix"); err != nil {
		log.Fatal(err)
	}
}

// gather emits the horizontal pass over pixels of three bytes. A pixel is loaded
// with the byte after it and stored with a fourth value, which the next store
// covers.
func gather() {
	TEXT("gatherVector", NOSPLIT, "func(dst *float32, src *uint8, first *int32, weights *float32, n, taps int)")
	Pragma("noescape")
	Doc("gatherVector computes n pixels, each the weighted sum of taps consecutive ones.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	first := Load(Param("first"), GP64())
	weights := Load(Param("weights"), GP64())
	n := Load(Param("n"), GP64())
	taps := Load(Param("taps"), GP64())
	at, k := GP64(), GP64()
	sum, v, w := XMM(), XMM(), XMM()
	Label("pixel")
	MOVLQSX(Mem{Base: first}, at)
	ADDQ(src, at)
	VXORPS(sum, sum, sum)
	MOVQ(taps, k)
	Label("tap")
	VPMOVZXBD(Mem{Base: at}, v)
	VCVTDQ2PS(v, v)
	VBROADCASTSS(Mem{Base: weights}, w)
	VFMADD231PS(v, w, sum)
	ADDQ(U8(3), at)
	ADDQ(U8(4), weights)
	DECQ(k)
	JNE(LabelRef("tap"))
	VMOVUPS(sum, Mem{Base: dst})
	ADDQ(U8(12), dst)
	ADDQ(U8(4), first)
	DECQ(n)
	JNE(LabelRef("pixel"))
	RET()
}

// blend emits the vertical pass and the normalization, 16 columns at a time.
func blend() {
	TEXT("blendVector", NOSPLIT,
		"func(dst, src *float32, stride int, weights *float32, taps int, a, b *float32, blocks int, high float32)")
	Pragma("noescape")
	Doc("blendVector computes 16*blocks values, each the weighted sum of taps rows, clamped, scaled and shifted.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	stride := Load(Param("stride"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	blocks := Load(Param("blocks"), GP64())
	weights := Load(Param("weights"), GP64())
	taps := Load(Param("taps"), GP64())
	SHLQ(U8(2), stride)
	high, zero, w := YMM(), YMM(), YMM()
	scalar.Broadcast("high", high)
	VXORPS(zero, zero, zero)
	row, at, k := GP64(), GP64(), GP64()
	sums := []reg.VecVirtual{YMM(), YMM()}
	Label("block")
	MOVQ(src, row)
	MOVQ(weights, at)
	MOVQ(taps, k)
	for _, s := range sums {
		VXORPS(s, s, s)
	}
	Label("tap")
	VBROADCASTSS(Mem{Base: at}, w)
	for i, s := range sums {
		VFMADD231PS(Mem{Base: row, Disp: 32 * i}, w, s)
	}
	ADDQ(stride, row)
	ADDQ(U8(4), at)
	DECQ(k)
	JNE(LabelRef("tap"))
	for i, s := range sums {
		VMAXPS(zero, s, s)
		VMINPS(high, s, s)
		scale := YMM()
		VMOVUPS(Mem{Base: a, Disp: 32 * i}, scale)
		VFMADD213PS(Mem{Base: b, Disp: 32 * i}, scale, s)
		VMOVUPS(s, Mem{Base: dst, Disp: 32 * i})
	}
	for _, p := range []reg.Register{dst, src, a, b} {
		ADDQ(U8(64), p)
	}
	DECQ(blocks)
	JNE(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// affine emits the conversion of bytes, 16 at a time.
func affine() {
	TEXT("affineVector", NOSPLIT, "func(dst *float32, src *uint8, a, b *float32, blocks int)")
	Pragma("noescape")
	Doc("affineVector converts 16*blocks bytes, scaled and shifted.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	blocks := Load(Param("blocks"), GP64())
	Label("block")
	for i := range 2 {
		v, scale := YMM(), YMM()
		VPMOVZXBD(Mem{Base: src, Disp: 8 * i}, v)
		VCVTDQ2PS(v, v)
		VMOVUPS(Mem{Base: a, Disp: 32 * i}, scale)
		VFMADD213PS(Mem{Base: b, Disp: 32 * i}, scale, v)
		VMOVUPS(v, Mem{Base: dst, Disp: 32 * i})
	}
	ADDQ(U8(16), src)
	for _, p := range []reg.Register{dst, a, b} {
		ADDQ(U8(64), p)
	}
	DECQ(blocks)
	JNE(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// colors emits the linear map of three-channel pixels. A pixel is stored with a
// fourth value, which the next store covers.
func colors() {
	TEXT("colorsVector", NOSPLIT, "func(dst, src, m *float32, n int, high float32)")
	Pragma("noescape")
	Doc("colorsVector maps n pixels; m has the columns of the matrix, the offset, scale and shift, four values each.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	m := Load(Param("m"), GP64())
	n := Load(Param("n"), GP64())
	high, zero := XMM(), XMM()
	scalar.Broadcast("high", high)
	VXORPS(zero, zero, zero)
	var k [6]reg.VecVirtual
	for i := range k {
		k[i] = XMM()
		VMOVUPS(Mem{Base: m, Disp: 16 * i}, k[i])
	}
	v, x := XMM(), XMM()
	Label("pixel")
	VMOVAPS(k[3], v)
	for i := range 3 {
		VBROADCASTSS(Mem{Base: src, Disp: 4 * i}, x)
		VFMADD231PS(x, k[i], v)
	}
	VMAXPS(zero, v, v)
	VMINPS(high, v, v)
	VFMADD213PS(k[5], k[4], v)
	VMOVUPS(v, Mem{Base: dst})
	ADDQ(U8(12), src)
	ADDQ(U8(12), dst)
	DECQ(n)
	JNE(LabelRef("pixel"))
	RET()
}

// half is a half in fixed point, which rounds when it is added before the shift by precision.
func half() reg.VecVirtual {
	bits, half := GP32(), YMM()
	MOVL(U32(1<<(precision-1)), bits)
	VMOVD(bits, half.AsX())
	VPBROADCASTD(half.AsX(), half)
	return half
}

// gatherFixed emits gather with weights in fixed point. A pixel is loaded and stored with a fourth
// byte.
func gatherFixed() {
	TEXT("gatherFixedVector", NOSPLIT, "func(dst, src *uint8, first, weights *int32, n, taps int)")
	Pragma("noescape")
	Doc("gatherFixedVector computes n pixels, each the weighted sum of taps consecutive ones.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	first := Load(Param("first"), GP64())
	weights := Load(Param("weights"), GP64())
	n := Load(Param("n"), GP64())
	taps := Load(Param("taps"), GP64())
	at, k := GP64(), GP64()
	round := half().AsX()
	sum, v, w := XMM(), XMM(), XMM()
	Label("pixel")
	MOVLQSX(Mem{Base: first}, at)
	ADDQ(src, at)
	VMOVDQA(round, sum)
	MOVQ(taps, k)
	Label("tap")
	VPMOVZXBD(Mem{Base: at}, v)
	VPBROADCASTD(Mem{Base: weights}, w)
	VPMULLD(v, w, v)
	VPADDD(v, sum, sum)
	ADDQ(U8(3), at)
	ADDQ(U8(4), weights)
	DECQ(k)
	JNE(LabelRef("tap"))
	VPSRAD(U8(precision), sum, sum)
	VPACKSSDW(sum, sum, sum)
	VPACKUSWB(sum, sum, sum)
	VMOVD(sum, Mem{Base: dst})
	ADDQ(U8(3), dst)
	ADDQ(U8(4), first)
	DECQ(n)
	JNE(LabelRef("pixel"))
	VZEROUPPER()
	RET()
}

// blendFixed emits the vertical pass with weights in fixed point, 16 columns at a time.
func blendFixed() {
	TEXT("blendFixedVector", NOSPLIT, "func(dst, src *uint8, stride int, weights *int32, taps, blocks int)")
	Pragma("noescape")
	Doc("blendFixedVector computes 16*blocks bytes, each the weighted sum of taps rows.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	stride := Load(Param("stride"), GP64())
	weights := Load(Param("weights"), GP64())
	taps := Load(Param("taps"), GP64())
	blocks := Load(Param("blocks"), GP64())
	row, at, k := GP64(), GP64(), GP64()
	round, w := half(), YMM()
	sums := []reg.VecVirtual{YMM(), YMM()}
	Label("block")
	MOVQ(src, row)
	MOVQ(weights, at)
	MOVQ(taps, k)
	for _, s := range sums {
		VMOVDQA(round, s)
	}
	Label("tap")
	VPBROADCASTD(Mem{Base: at}, w)
	for i, s := range sums {
		v := YMM()
		VPMOVZXBD(Mem{Base: row, Disp: 8 * i}, v)
		VPMULLD(v, w, v)
		VPADDD(v, s, s)
	}
	ADDQ(stride, row)
	ADDQ(U8(4), at)
	DECQ(k)
	JNE(LabelRef("tap"))
	for _, s := range sums {
		VPSRAD(U8(precision), s, s)
	}
	words, upper := sums[0], XMM()
	VPACKSSDW(sums[1], sums[0], words)
	VPERMQ(U8(0xd8), words, words) // packing works within halves of the register
	VEXTRACTI128(U8(1), words, upper)
	VPACKUSWB(upper, words.AsX(), upper)
	VMOVDQU(upper, Mem{Base: dst})
	ADDQ(U8(16), dst)
	ADDQ(U8(16), src)
	DECQ(blocks)
	JNE(LabelRef("block"))
	VZEROUPPER()
	RET()
}
