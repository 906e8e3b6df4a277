package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// along emits a loop over a row of n bytes: four registers at a time, then one,
// then what is left. body's i numbers an accumulator.
func (v isa) along(label string, n reg.GPVirtual, body func(l lanes, i int)) {
	j, rest := GP64(), GP64()
	XORQ(j, j)
	MOVQ(n, rest)
	wide := 4 * v.bytes()
	Label(label + "wide")
	CMPQ(rest, U32(wide))
	JLT(LabelRef(label + "narrow"))
	for i := range 4 {
		body(lanes{isa: v, index: j, disp: i * v.bytes()}, i)
	}
	ADDQ(U32(wide), j)
	SUBQ(U32(wide), rest)
	JMP(LabelRef(label + "wide"))
	Label(label + "narrow")
	CMPQ(rest, U8(v.bytes()))
	JLT(LabelRef(label + "tail"))
	body(lanes{isa: v, index: j}, 0)
	ADDQ(U8(v.bytes()), j)
	SUBQ(U8(v.bytes()), rest)
	JMP(LabelRef(label + "narrow"))
	Label(label + "tail")
	TESTQ(rest, rest)
	JEQ(LabelRef(label + "end"))
	SHRQ(U8(2), rest)
	body(lanes{isa: v, index: j, masked: true, k: v.partial(rest)}, 1)
	Label(label + "end")
}

// zeros returns n registers of zeros.
func (v isa) zeros(n int) []reg.VecVirtual {
	r := make([]reg.VecVirtual, n)
	for i := range r {
		r[i] = v.vec()
		v.zero(r[i])
	}
	return r
}

// total adds up all lanes of four accumulators, in a fixed order, into the
// lowest lane of a register.
func (v isa) total(acc []reg.VecVirtual) reg.VecVirtual {
	for n := len(acc) / 2; n > 0; n /= 2 {
		for i := range n {
			VADDPS(acc[i+n], acc[i], acc[i])
		}
	}
	sum, low := acc[0].AsY(), acc[0].AsX()
	if v.wide() {
		hi := YMM()
		VEXTRACTF32X8(U8(1), acc[0], hi)
		VADDPS(hi, sum, sum)
	}
	hi, t := XMM(), XMM()
	VEXTRACTF128(U8(1), sum, hi)
	VADDPS(hi, low, low)
	VMOVHLPS(low, low, t)
	VADDPS(t, low, low)
	VMOVSHDUP(low, t)
	VADDSS(t, low, low)
	return acc[0]
}

// spread copies the lowest lane of r to all.
func (v isa) spread(r reg.VecVirtual) reg.VecVirtual {
	all := v.vec()
	VBROADCASTSS(r.AsX(), all)
	return all
}

// only clears the lanes of r that are not in play.
func (l lanes) only(r reg.Register) {
	if l.masked {
		l.keep(l.k, r)
	}
}

// layerNorm emits the normalisation of rows.
func layerNorm(v isa) {
	x86.Begin("layerNorm"+v.suffix, "func("+layout.LayerNormParams+")",
		"layerNorm"+v.suffix+" is LayerNorm's kernel.")
	rows, cols := x86.Arg("rows"), x86.Arg("cols")
	SHLQ(U8(2), cols)
	y, x, gamma, beta, stats := x86.Arg("y"), x86.Arg("x"), x86.Arg("gamma"), x86.Arg("beta"), x86.Arg("stats")
	share := v.broadcast("share")
	Label("row")
	acc := v.zeros(4)
	v.along("sum", cols, func(l lanes, i int) { VADDPS(l.load(x), acc[i], acc[i]) })
	mean := v.total(acc)
	VMULSS(share.AsX(), mean.AsX(), mean.AsX())
	VMOVSS(mean.AsX(), Mem{Base: stats})
	mean = v.spread(mean)
	acc = v.zeros(4)
	v.along("squares", cols, func(l lanes, i int) {
		d := l.load(x)
		VSUBPS(mean, d, d)
		l.only(d)
		VFMADD231PS(d, d, acc[i])
	})
	inverse, one := v.total(acc).AsX(), v.number(1).AsX()
	VMULSS(share.AsX(), inverse, inverse)
	VADDSS(x86.At("eps"), inverse, inverse)
	VSQRTSS(inverse, inverse, inverse)
	VDIVSS(inverse, one, one)
	VMOVSS(one, Mem{Base: stats, Disp: 4})
	scale := v.vec()
	VBROADCASTSS(one, scale)
	v.along("write", cols, func(l lanes, _ int) {
		d := l.load(x)
		VSUBPS(mean, d, d)
		VMULPS(scale, d, d)
		VMULPS(l.load(gamma), d, d)
		VADDPS(l.load(beta), d, d)
		l.store(d, y)
	})
	ADDQ(cols, x)
	ADDQ(cols, y)
	ADDQ(U8(8), stats)
	x86.Loop(rows, "row")
	x86.Return()
}

// layerNormGrad emits its way back.
func layerNormGrad(v isa) {
	x86.Begin("layerNormGrad"+v.suffix, "func("+layout.LayerNormGradParams+")",
		"layerNormGrad"+v.suffix+" is LayerNormGrad's kernel.")
	rows, cols := x86.Arg("rows"), x86.Arg("cols")
	SHLQ(U8(2), cols)
	dx, dy, x, gamma, stats := x86.Arg("dx"), x86.Arg("dy"), x86.Arg("x"), x86.Arg("gamma"), x86.Arg("stats")
	dgamma, dbeta := x86.Arg("dgamma"), x86.Arg("dbeta")
	Label("row")
	mean, scale := v.vec(), v.vec()
	VBROADCASTSS(Mem{Base: stats}, mean)
	VBROADCASTSS(Mem{Base: stats, Disp: 4}, scale)
	sum, dot := v.zeros(2), v.zeros(2)
	v.along("sums", cols, func(l lanes, i int) {
		d, g := l.load(x), l.load(dy)
		VSUBPS(mean, d, d)
		VMULPS(scale, d, d)
		b, a := l.load(dbeta), l.load(dgamma)
		VADDPS(g, b, b)
		l.store(b, dbeta)
		VFMADD231PS(g, d, a)
		l.store(a, dgamma)
		VMULPS(l.load(gamma), g, g)
		VADDPS(g, sum[i%2], sum[i%2])
		VFMADD231PS(g, d, dot[i%2])
	})
	share, keep := v.broadcast("share"), v.broadcast("keep")
	s, t := v.total(sum), v.total(dot)
	VMULSS(share.AsX(), s.AsX(), s.AsX())
	VMULSS(share.AsX(), t.AsX(), t.AsX())
	s, t = v.spread(s), v.spread(t)
	v.along("write", cols, func(l lanes, _ int) {
		d, g := l.load(x), l.load(dy)
		VSUBPS(mean, d, d)
		VMULPS(scale, d, d)
		VMULPS(l.load(gamma), g, g)
		VSUBPS(s, g, g)
		VFNMADD231PS(t, d, g)
		VMULPS(scale, g, g)
		old := l.load(dx)
		VANDPS(keep, old, old)
		VADDPS(old, g, g)
		l.store(g, dx)
	})
	ADDQ(cols, x)
	ADDQ(cols, dy)
	ADDQ(cols, dx)
	ADDQ(U8(8), stats)
	x86.Loop(rows, "row")
	x86.Return()
}

// expSum emits exponentials and their sum.
func expSum(v isa) {
	x86.Begin("expSum"+v.suffix, "func("+layout.ExpSumParams+") float32",
		"expSum"+v.suffix+" is ExpSum's kernel.")
	n := x86.Arg("n")
	SHLQ(U8(2), n)
	y, x, less := x86.Arg("y"), x86.Arg("x"), v.broadcast("less")
	acc := v.zeros(2)
	v.along("row", n, func(l lanes, i int) {
		d := l.load(x)
		VSUBPS(less, d, d)
		e := l.expOf(d)
		l.store(e, y)
		l.only(e)
		VADDPS(e, acc[i%2], acc[i%2])
	})
	Store(v.total(acc).AsX(), ReturnIndex(0))
	x86.Return()
}
