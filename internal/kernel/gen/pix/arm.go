package main

import "github.com/kindred-ml/kindred/internal/kernel/gen/neon"

// armKernels writes the kernels for arm64.
func armKernels() *neon.File {
	f := neon.New("pix")
	armGather(f)
	armBlend(f)
	armAffine(f)
	armColors(f)
	armGatherFixed(f)
	armBlendFixed(f)
	return f
}

// armGather emits the horizontal pass over pixels of three bytes. A pixel is loaded with
// the byte after it and stored with a fourth value, which the next store covers.
func armGather(f *neon.File) {
	k := f.Func("gatherVector", "computes n pixels, each the weighted sum of taps consecutive ones.",
		"dst *float32, src *uint8, first *int32, weights *float32, n, taps int", "")
	dst, src, first, weights := k.Arg("dst"), k.Arg("src"), k.Arg("first"), k.Arg("weights")
	n, taps, at, left := k.Arg("n"), k.Arg("taps"), k.R(), k.R()
	sum, v, w := k.V(), k.V(), k.V()
	k.Label("pixel")
	k.Go("MOVW.P 4(%v), %v", first, at)
	k.Go("ADD %v, %v", src, at)
	k.Zero(sum)
	k.Go("MOVD %v, %v", taps, left)
	k.Label("tap")
	k.Op("ldr", v.S(), neon.Post(at, 3))
	k.Op("ldr", w.S(), neon.Post(weights, 4))
	k.Op("ushll", v.H8(), v.B8(), neon.Imm(0))
	k.Op("ushll", v.S4(), v.H4(), neon.Imm(0))
	k.Op("ucvtf", v.S4(), v.S4())
	k.Op("fmla", sum.S4(), v.S4(), w.SLane(0))
	k.Loop(left, "tap")
	k.Op("str", sum.Q(), neon.Post(dst, 12))
	k.Loop(n, "pixel")
	k.Go("RET")
}

// limits returns registers with 0 and the parameter high, for clamp.
func limits(k *neon.Func) (zero, high neon.V) {
	zero, high = k.V(), k.Broadcast("high")
	k.Zero(zero)
	return zero, high
}

func clamp(k *neon.Func, v, zero, high neon.V) {
	k.Op("fmax", v.S4(), v.S4(), zero.S4())
	k.Op("fmin", v.S4(), v.S4(), high.S4())
}

// armBlend emits the vertical pass and the normalization, 16 columns at a time.
func armBlend(f *neon.File) {
	k := f.Func("blendVector",
		"computes 16*blocks values, each the weighted sum of taps rows, clamped, scaled and shifted.",
		"dst, src *float32, stride int, weights *float32, taps int, a, b *float32, blocks int, high float32", "")
	dst, src, stride, weights := k.Arg("dst"), k.Arg("src"), k.Arg("stride"), k.Arg("weights")
	taps, a, b, n := k.Arg("taps"), k.Arg("a"), k.Arg("b"), k.Arg("blocks")
	row, at, left := k.R(), k.R(), k.R()
	zero, high := limits(k)
	w, sums, v, shift := k.V(), k.Vs(4), k.Vs(4), k.Vs(4)
	k.Go("LSL $2, %v", stride)
	k.Label("block")
	k.Go("MOVD %v, %v", src, row)
	k.Go("MOVD %v, %v", weights, at)
	k.Go("MOVD %v, %v", taps, left)
	for _, s := range sums {
		k.Zero(s)
	}
	k.Label("tap")
	k.Op("ldr", w.S(), neon.Post(at, 4))
	k.Op("ldp", v[0].Q(), v[1].Q(), neon.At(row, 0))
	k.Op("ldp", v[2].Q(), v[3].Q(), neon.At(row, 32))
	k.Go("ADD %v, %v", stride, row)
	for i, s := range sums {
		k.Op("fmla", s.S4(), v[i].S4(), w.SLane(0))
	}
	k.Loop(left, "tap")
	k.Load(a, v...)
	k.Load(b, shift...)
	for i, s := range sums {
		clamp(k, s, zero, high)
		k.Op("fmla", shift[i].S4(), s.S4(), v[i].S4())
	}
	k.Store(dst, shift...)
	k.Go("ADD $64, %v", src)
	k.Loop(n, "block")
	k.Go("RET")
}

// armAffine emits the conversion of bytes, 16 at a time.
func armAffine(f *neon.File) {
	k := f.Func("affineVector", "converts 16*blocks bytes, scaled and shifted.",
		"dst *float32, src *uint8, a, b *float32, blocks int", "")
	dst, src, a, b, n := k.Arg("dst"), k.Arg("src"), k.Arg("a"), k.Arg("b"), k.Arg("blocks")
	x, half, v, scale, shift := k.V(), k.Vs(2), k.Vs(4), k.Vs(4), k.Vs(4)
	k.Label("block")
	k.Op("ldr", x.Q(), neon.Post(src, 16))
	k.Load(a, scale...)
	k.Load(b, shift...)
	k.Op("ushll", half[0].H8(), x.B8(), neon.Imm(0))
	k.Op("ushll2", half[1].H8(), x.B16(), neon.Imm(0))
	for i, h := range half {
		k.Op("ushll", v[2*i].S4(), h.H4(), neon.Imm(0))
		k.Op("ushll2", v[2*i+1].S4(), h.H8(), neon.Imm(0))
	}
	for i := range v {
		k.Op("ucvtf", v[i].S4(), v[i].S4())
		k.Op("fmla", shift[i].S4(), v[i].S4(), scale[i].S4())
	}
	k.Store(dst, shift...)
	k.Loop(n, "block")
	k.Go("RET")
}

// armColors emits the linear map of three-channel pixels. A pixel is loaded and stored with
// a fourth value, which the next store covers.
func armColors(f *neon.File) {
	k := f.Func("colorsVector",
		"maps n pixels; m has the columns of the matrix, the offset, scale and shift, four values each.",
		"dst, src, m *float32, n int, high float32", "")
	dst, src, m, n := k.Arg("dst"), k.Arg("src"), k.Arg("m"), k.Arg("n")
	zero, high := limits(k)
	constants, v, x, sum := k.Vs(6), k.V(), k.V(), k.V()
	columns, offset, scale, shift := constants[:3], constants[3], constants[4], constants[5]
	k.Load(m, constants...)
	k.Label("pixel")
	k.Op("ldr", x.Q(), neon.Post(src, 12))
	k.Copy(v, offset)
	k.Copy(sum, shift)
	for i, c := range columns {
		k.Op("fmla", v.S4(), c.S4(), x.SLane(i))
	}
	clamp(k, v, zero, high)
	k.Op("fmla", sum.S4(), v.S4(), scale.S4())
	k.Op("str", sum.Q(), neon.Post(dst, 12))
	k.Loop(n, "pixel")
	k.Go("RET")
}

// armHalf returns a register with a half in fixed point, which rounds when it is added before the
// shift by precision.
func armHalf(k *neon.Func) neon.V {
	half := k.V()
	k.Op("movi", half.S4(), neon.Imm(1))
	k.Op("shl", half.S4(), half.S4(), neon.Imm(precision-1))
	return half
}

// armGatherFixed emits gatherFixed. A pixel is loaded and stored with a fourth byte.
func armGatherFixed(f *neon.File) {
	k := f.Func("gatherFixedVector", "computes n pixels, each the weighted sum of taps consecutive ones.",
		"dst, src *uint8, first, weights *int32, n, taps int", "")
	dst, src, first, weights := k.Arg("dst"), k.Arg("src"), k.Arg("first"), k.Arg("weights")
	n, taps, at, left := k.Arg("n"), k.Arg("taps"), k.R(), k.R()
	half := armHalf(k)
	sum, v, w := k.V(), k.V(), k.V()
	k.Label("pixel")
	k.Go("MOVW.P 4(%v), %v", first, at)
	k.Go("ADD %v, %v", src, at)
	k.Copy(sum, half)
	k.Go("MOVD %v, %v", taps, left)
	k.Label("tap")
	k.Op("ldr", v.S(), neon.Post(at, 3))
	k.Op("ldr", w.S(), neon.Post(weights, 4))
	k.Op("ushll", v.H8(), v.B8(), neon.Imm(0))
	k.Op("ushll", v.S4(), v.H4(), neon.Imm(0))
	k.Op("mla", sum.S4(), v.S4(), w.SLane(0))
	k.Loop(left, "tap")
	k.Op("sshr", sum.S4(), sum.S4(), neon.Imm(precision))
	k.Op("sqxtn", sum.H4(), sum.S4())
	k.Op("sqxtun", sum.B8(), sum.H8())
	k.Op("str", sum.S(), neon.Post(dst, 3))
	k.Loop(n, "pixel")
	k.Go("RET")
}

// armBlendFixed emits blendFixed, 16 columns at a time.
func armBlendFixed(f *neon.File) {
	k := f.Func("blendFixedVector", "computes 16*blocks bytes, each the weighted sum of taps rows.",
		"dst, src *uint8, stride int, weights *int32, taps, blocks int", "")
	dst, src, stride, weights := k.Arg("dst"), k.Arg("src"), k.Arg("stride"), k.Arg("weights")
	taps, n, row, at, left := k.Arg("taps"), k.Arg("blocks"), k.R(), k.R(), k.R()
	round := armHalf(k)
	x, w, words, v, sums := k.V(), k.V(), k.Vs(2), k.Vs(4), k.Vs(4)
	k.Label("block")
	k.Go("MOVD %v, %v", src, row)
	k.Go("MOVD %v, %v", weights, at)
	k.Go("MOVD %v, %v", taps, left)
	for _, s := range sums {
		k.Copy(s, round)
	}
	k.Label("tap")
	k.Op("ldr", w.S(), neon.Post(at, 4))
	k.Op("ldr", x.Q(), neon.At(row, 0))
	k.Go("ADD %v, %v", stride, row)
	k.Op("ushll", words[0].H8(), x.B8(), neon.Imm(0))
	k.Op("ushll2", words[1].H8(), x.B16(), neon.Imm(0))
	for i, h := range words {
		k.Op("ushll", v[2*i].S4(), h.H4(), neon.Imm(0))
		k.Op("ushll2", v[2*i+1].S4(), h.H8(), neon.Imm(0))
	}
	for i, s := range sums {
		k.Op("mla", s.S4(), v[i].S4(), w.SLane(0))
	}
	k.Loop(left, "tap")
	for _, s := range sums {
		k.Op("sshr", s.S4(), s.S4(), neon.Imm(precision))
	}
	for i, h := range words {
		k.Op("sqxtn", h.H4(), sums[2*i].S4())
		k.Op("sqxtn2", h.H8(), sums[2*i+1].S4())
	}
	k.Op("sqxtun", x.B8(), words[0].H8())
	k.Op("sqxtun2", x.B16(), words[1].H8())
	k.Op("str", x.Q(), neon.Post(dst, 16))
	k.Go("ADD $16, %v", src)
	k.Loop(n, "block")
	k.Go("RET")
}
