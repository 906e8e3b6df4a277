// Command pix writes the assembly of internal/kernel/pix. Run it by `make gen`.
package main

import (
	"log"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
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
	widen()
	rgb()
	Generate()
	if err := armKernels().Write("../pix"); err != nil {
		log.Fatal(err)
	}
}

// gather emits the horizontal pass over pixels of three bytes. A pixel is loaded
// with the byte after it and stored with a fourth value, which the next store
// covers.
func gather() {
	x86.Begin("gatherVector", "func(dst *float32, src *uint8, first *int32, weights *float32, n, taps int)",
		"gatherVector computes n pixels, each the weighted sum of taps consecutive ones.")
	dst, src, first, weights, n := x86.Arg("dst"), x86.Arg("src"), x86.Arg("first"), x86.Arg("weights"), x86.Arg("n")
	taps := x86.Arg("taps")
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
	x86.Loop(k, "tap")
	VMOVUPS(sum, Mem{Base: dst})
	ADDQ(U8(12), dst)
	ADDQ(U8(4), first)
	x86.Loop(n, "pixel")
	RET()
}

// blend emits the vertical pass and the normalization, 16 columns at a time.
func blend() {
	x86.Begin("blendVector", "func(dst, src *float32, stride int, weights *float32, taps int, a, b *float32, "+
		"blocks int, high float32)",
		"blendVector computes 16*blocks values, each the weighted sum of taps rows, clamped, scaled and shifted.")
	dst, src, stride, a, b := x86.Arg("dst"), x86.Arg("src"), x86.Arg("stride"), x86.Arg("a"), x86.Arg("b")
	blocks, weights, taps := x86.Arg("blocks"), x86.Arg("weights"), x86.Arg("taps")
	SHLQ(U8(2), stride)
	high, zero, w := YMM(), YMM(), YMM()
	x86.Broadcast("high", high)
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
	x86.Loop(k, "tap")
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
	x86.Loop(blocks, "block")
	x86.Return()
}

// affine emits the conversion of bytes, 16 at a time.
func affine() {
	x86.Begin("affineVector", "func(dst *float32, src *uint8, a, b *float32, blocks int)",
		"affineVector converts 16*blocks bytes, scaled and shifted.")
	dst, src, a, b, blocks := x86.Arg("dst"), x86.Arg("src"), x86.Arg("a"), x86.Arg("b"), x86.Arg("blocks")
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
	x86.Loop(blocks, "block")
	x86.Return()
}

// colors emits the linear map of three-channel pixels. A pixel is stored with a
// fourth value, which the next store covers.
func colors() {
	x86.Begin("colorsVector", "func(dst, src, m *float32, n int, high float32)",
		"colorsVector maps n pixels; m has the columns of the matrix, the offset, scale and shift, four values each.")
	dst, src, m, n := x86.Arg("dst"), x86.Arg("src"), x86.Arg("m"), x86.Arg("n")
	high, zero := XMM(), XMM()
	x86.Broadcast("high", high)
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
	x86.Loop(n, "pixel")
	RET()
}

// half is a half in fixed point, which rounds when it is added before the shift by precision.
func half() reg.VecVirtual {
	return broadcast(1 << (precision - 1))
}

// gatherFixed emits gather with weights in fixed point. A pixel is loaded and stored with a fourth
// byte.
func gatherFixed() {
	x86.Begin("gatherFixedVector", "func(dst, src *uint8, first, weights *int32, n, taps int)",
		"gatherFixedVector computes n pixels, each the weighted sum of taps consecutive ones.")
	dst, src, first, weights, n := x86.Arg("dst"), x86.Arg("src"), x86.Arg("first"), x86.Arg("weights"), x86.Arg("n")
	taps := x86.Arg("taps")
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
	x86.Loop(k, "tap")
	VPSRAD(U8(precision), sum, sum)
	VPACKSSDW(sum, sum, sum)
	VPACKUSWB(sum, sum, sum)
	VMOVD(sum, Mem{Base: dst})
	ADDQ(U8(3), dst)
	ADDQ(U8(4), first)
	x86.Loop(n, "pixel")
	x86.Return()
}

// blendFixed emits the vertical pass with weights in fixed point, 16 columns at a time.
func blendFixed() {
	x86.Begin("blendFixedVector", "func(dst, src *uint8, stride int, weights *int32, taps, blocks int)",
		"blendFixedVector computes 16*blocks bytes, each the weighted sum of taps rows.")
	dst, src, stride, weights := x86.Arg("dst"), x86.Arg("src"), x86.Arg("stride"), x86.Arg("weights")
	taps, blocks := x86.Arg("taps"), x86.Arg("blocks")
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
	x86.Loop(k, "tap")
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
	x86.Loop(blocks, "block")
	x86.Return()
}

// broadcast returns a register with a number in all 32-bit lanes.
func broadcast(v int32) reg.VecVirtual {
	bits, all := GP32(), YMM()
	MOVL(U32(uint32(v)), bits)
	VMOVD(bits, all.AsX())
	VPBROADCASTD(all.AsX(), all)
	return all
}

// widen emits the interpolation of chroma: 16 values of two rows become 32. The values before and
// behind them are read too.
func widen() {
	x86.Begin("widenVector", "func(dst, near, far *uint8, blocks int)",
		"widenVector makes 32*blocks values of 16*blocks values of two rows, reading one more at both ends.")
	dst, near, far, blocks := x86.Arg("dst"), x86.Arg("near"), x86.Arg("far"), x86.Arg("blocks")
	even, odd := broadcast(8<<16|8), broadcast(7<<16|7)
	// sum is three times the near row and the far one, from a column on.
	sum := func(disp int) reg.VecVirtual {
		n, s := YMM(), YMM()
		VPMOVZXBW(Mem{Base: near, Disp: disp}, n)
		VPMOVZXBW(Mem{Base: far, Disp: disp}, s)
		VPADDW(n, s, s)
		VPADDW(n, s, s)
		VPADDW(n, s, s)
		return s
	}
	Label("block")
	middle, left, right := sum(0), sum(-1), sum(1)
	thrice := YMM()
	VPADDW(middle, middle, thrice)
	VPADDW(middle, thrice, thrice)
	VPADDW(thrice, left, left)
	VPADDW(even, left, left)
	VPSRLW(U8(4), left, left)
	VPADDW(thrice, right, right)
	VPADDW(odd, right, right)
	VPSRLW(U8(4), right, right)
	VPSLLW(U8(8), right, right)
	VPOR(left, right, right)
	VMOVDQU(right, Mem{Base: dst})
	ADDQ(U8(32), dst)
	ADDQ(U8(16), near)
	ADDQ(U8(16), far)
	x86.Loop(blocks, "block")
	x86.Return()
}

// rgb emits the conversion of YCbCr to interleaved RGB, 8 pixels at a time. Four pixels are stored
// with four bytes behind them.
func rgb() {
	x86.Begin("rgbVector", "func(dst, y, cb, cr *uint8, blocks int)",
		"rgbVector converts 8*blocks pixels, and touches four bytes behind them.")
	dst, luma, cb, cr, blocks := x86.Arg("dst"), x86.Arg("y"), x86.Arg("cb"), x86.Arg("cr"), x86.Arg("blocks")
	mask := GLOBL("rgbOrder", RODATA|NOPTR)
	for lane := range 2 {
		for i, v := range []uint8{0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 128, 128, 128, 128} {
			DATA(16*lane+i, U8(v))
		}
	}
	order := YMM()
	VMOVDQU(mask, order)
	middle, half, high, zero := broadcast(128), broadcast(1<<15), broadcast(255), YMM()
	VPXOR(zero, zero, zero)
	crRed, cbBlue, cbGreen, crGreen := broadcast(91881), broadcast(116130), broadcast(-22554), broadcast(-46802)
	Label("block")
	y, b, r := YMM(), YMM(), YMM()
	VPMOVZXBD(Mem{Base: luma}, y)
	VPMOVZXBD(Mem{Base: cb}, b)
	VPMOVZXBD(Mem{Base: cr}, r)
	VPSUBD(middle, b, b)
	VPSUBD(middle, r, r)
	red, green, blue, t := YMM(), YMM(), YMM(), YMM()
	VPMULLD(crRed, r, red)
	VPMULLD(cbBlue, b, blue)
	VPMULLD(cbGreen, b, green)
	VPMULLD(crGreen, r, t)
	VPADDD(t, green, green)
	for _, c := range []reg.VecVirtual{red, green, blue} {
		VPADDD(half, c, c)
		VPSRAD(U8(16), c, c)
		VPADDD(y, c, c)
		VPMAXSD(zero, c, c)
		VPMINSD(high, c, c)
	}
	VPSLLD(U8(8), green, green)
	VPSLLD(U8(16), blue, blue)
	VPOR(green, red, red)
	VPOR(blue, red, red)
	VPSHUFB(order, red, red)
	VMOVDQU(red.AsX(), Mem{Base: dst})
	VEXTRACTI128(U8(1), red, t.AsX())
	VMOVDQU(t.AsX(), Mem{Base: dst, Disp: 12})
	ADDQ(U8(24), dst)
	for _, p := range []reg.Register{luma, cb, cr} {
		ADDQ(U8(8), p)
	}
	x86.Loop(blocks, "block")
	x86.Return()
}
