package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// The transforms of Winograd's F(2x2, 3x3), for AVX-512 only as they need its
// many registers. Each goes over n pixels of c channels.

type vecs []reg.VecVirtual

func sub(v isa, a, b reg.Register) reg.VecVirtual { // a - b
	r := v.vec()
	VSUBPS(b, a, r)
	return r
}

func plus(v isa, a, b reg.Register) reg.VecVirtual {
	r := v.vec()
	VADDPS(b, a, r)
	return r
}

// winoFilter is G g G' of n*16 filters side by side: taps are tap bytes apart,
// the 16 results to bytes.
func winoFilter(v isa) {
	x86.Begin("winoFilter"+v.suffix, "func("+layout.WinoFilterParams+")",
		"winoFilter"+v.suffix+" transforms filters.")
	n, tap, to, src, dst := x86.Arg("n"), x86.Arg("tap"), x86.Arg("to"), x86.Arg("src"), x86.Arg("dst")
	half := v.vec()
	v.fill(half, 0.5)
	// expand makes (a, (a+b+c)/2, (a-b+c)/2, c).
	expand := func(a, b, c reg.VecVirtual) vecs {
		e := plus(v, a, c)
		p, m := plus(v, e, b), sub(v, e, b)
		VMULPS(half, p, p)
		VMULPS(half, m, m)
		return vecs{a, p, m, c}
	}
	Label("loop")
	p := GP64()
	MOVQ(src, p)
	var g [3]vecs
	for r := range 3 {
		for range 3 {
			x := v.vec()
			VMOVUPS(Mem{Base: p}, x)
			ADDQ(tap, p)
			g[r] = append(g[r], x)
		}
	}
	var cols [4]vecs // cols[i][s]: row i of G g
	for s := range 3 {
		for i, x := range expand(g[0][s], g[1][s], g[2][s]) {
			cols[i] = append(cols[i], x)
		}
	}
	MOVQ(dst, p)
	for i := range 4 {
		for _, x := range expand(cols[i][0], cols[i][1], cols[i][2]) {
			VMOVUPS(x, Mem{Base: p})
			ADDQ(to, p)
		}
	}
	ADDQ(U8(v.bytes()), src)
	ADDQ(U8(v.bytes()), dst)
	x86.Loop(n, "loop")
	x86.Return()
}

// winoInput is B' d B of n patches of 4 x 4 pixels, two apart; rows of pixels
// are row bytes apart, the 16 results to bytes; pad bytes are left out after each
// patch's channels.
func winoInput(v isa) {
	x86.Begin("winoInput"+v.suffix, "func("+layout.WinoInputParams+")",
		"winoInput"+v.suffix+" transforms patches of the input.")
	n, c, row, to := x86.Arg("n"), x86.Arg("c"), x86.Arg("row"),
		x86.Arg("to")
	src, dst, left := x86.Arg("src"), x86.Arg("dst"), GP64()
	combine := func(d vecs) vecs {
		return vecs{sub(v, d[0], d[2]), plus(v, d[1], d[2]), sub(v, d[2], d[1]), sub(v, d[1], d[3])}
	}
	Label("patch")
	MOVQ(c, left)
	three := GP64()
	LEAQ(Mem{Base: c, Index: c, Scale: 2}, three)
	Label("channels")
	p := GP64()
	MOVQ(src, p)
	var d [4]vecs // d[i][j]: row i of the patch transformed along the row
	for i := range 4 {
		var line vecs
		for _, m := range []Mem{{Base: p}, {Base: p, Index: c, Scale: 1}, {Base: p, Index: c, Scale: 2},
			{Base: p, Index: three, Scale: 1}} {
			x := v.vec()
			VMOVUPS(m, x)
			line = append(line, x)
		}
		ADDQ(row, p)
		d[i] = combine(line)
	}
	q := GP64()
	var out [4]vecs
	for j := range 4 {
		out[j] = combine(vecs{d[0][j], d[1][j], d[2][j], d[3][j]})
	}
	MOVQ(dst, q)
	for i := range 4 {
		for j := range 4 {
			VMOVUPS(out[j][i], Mem{Base: q})
			ADDQ(to, q)
		}
	}
	ADDQ(U8(v.bytes()), src)
	ADDQ(U8(v.bytes()), dst)
	SUBQ(U8(v.bytes()), left)
	JNE(LabelRef("channels"))
	ADDQ(c, src)
	ADDQ(x86.Arg("pad"), dst)
	x86.Loop(n, "patch")
	x86.Return()
}

// winoGradient is A y A' of n patches of 2 x 2 pixels, with parameters as winoInput's.
func winoGradient(v isa) {
	x86.Begin("winoGradient"+v.suffix, "func("+layout.WinoInputParams+")",
		"winoGradient"+v.suffix+" transforms patches of the output's gradient.")
	n, c, row, to := x86.Arg("n"), x86.Arg("c"), x86.Arg("row"),
		x86.Arg("to")
	src, dst, left := x86.Arg("src"), x86.Arg("dst"), GP64()
	zero := v.vec()
	v.zero(zero)
	expand := func(a, b reg.VecVirtual) vecs {
		return vecs{a, plus(v, a, b), sub(v, a, b), sub(v, zero, b)}
	}
	Label("patch")
	MOVQ(c, left)
	Label("channels")
	low := GP64()
	LEAQ(Mem{Base: src, Index: row, Scale: 1}, low)
	var lines [2]vecs // lines[i]: row i of the patch transformed along the row
	for i, base := range []reg.Register{src, low} {
		a, b := v.vec(), v.vec()
		VMOVUPS(Mem{Base: base}, a)
		VMOVUPS(Mem{Base: base, Index: c, Scale: 1}, b)
		lines[i] = expand(a, b)
	}
	var out [4]vecs
	for j := range 4 {
		out[j] = expand(lines[0][j], lines[1][j])
	}
	q := GP64()
	MOVQ(dst, q)
	for i := range 4 {
		for j := range 4 {
			VMOVUPS(out[j][i], Mem{Base: q})
			ADDQ(to, q)
		}
	}
	ADDQ(U8(v.bytes()), src)
	ADDQ(U8(v.bytes()), dst)
	SUBQ(U8(v.bytes()), left)
	JNE(LabelRef("channels"))
	ADDQ(c, src)
	ADDQ(x86.Arg("pad"), dst)
	x86.Loop(n, "patch")
	x86.Return()
}

// winoOutput is A' m A of n patches: the 16 values are from bytes apart, the
// two rows of results row bytes.
func winoOutput(v isa) {
	x86.Begin("winoOutput"+v.suffix, "func("+layout.WinoOutputParams+")",
		"winoOutput"+v.suffix+" transforms products to patches of the output.")
	n, c, from, row := x86.Arg("n"), x86.Arg("c"), x86.Arg("from"),
		x86.Arg("row")
	src, dst, left := x86.Arg("src"), x86.Arg("dst"), GP64()
	combine := func(m vecs) vecs {
		a, b := plus(v, m[0], m[1]), sub(v, m[1], m[2])
		return vecs{plus(v, a, m[2]), sub(v, b, m[3])}
	}
	Label("patch")
	MOVQ(c, left)
	Label("channels")
	p := GP64()
	MOVQ(src, p)
	var s [2]vecs
	for range 4 {
		var line vecs
		for range 4 {
			x := v.vec()
			VMOVUPS(Mem{Base: p}, x)
			ADDQ(from, p)
			line = append(line, x)
		}
		for j, x := range combine(line) {
			s[j] = append(s[j], x)
		}
	}
	low := GP64()
	LEAQ(Mem{Base: dst, Index: row, Scale: 1}, low)
	for j := range 2 {
		y := combine(s[j])
		for i, base := range []reg.Register{dst, low} {
			m := Mem{Base: base}
			if j == 1 {
				m.Index, m.Scale = c, 1
			}
			VMOVUPS(y[i], m)
		}
	}
	ADDQ(U8(v.bytes()), src)
	ADDQ(U8(v.bytes()), dst)
	SUBQ(U8(v.bytes()), left)
	JNE(LabelRef("channels"))
	ADDQ(c, dst)
	x86.Loop(n, "patch")
	x86.Return()
}
