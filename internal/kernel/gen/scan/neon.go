package main

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
)

// armKernels are the kernels for arm64. They go through 16 values at a time, in four
// registers, and so take and leave what those of AVX-512 do.
func armKernels() *neon.File {
	f := neon.New("scan")
	armMaxBelow(f)
	armCompress(f, "between", "lo, hi float32", func(k *neon.Func, mask, x neon.V, lo, hi neon.V) {
		k.Op("fcmgt", mask.S4(), x.S4(), lo.S4())
		k.Op("fcmgt", x.S4(), hi.S4(), x.S4())
		k.Op("and", mask.B16(), mask.B16(), x.B16())
	})
	armCompress(f, "absAbove", "lo, abs float32", func(k *neon.Func, mask, x neon.V, lo, _ neon.V) {
		k.Op("fabs", x.S4(), x.S4())
		k.Op("fcmgt", mask.S4(), x.S4(), lo.S4())
	})
	armExpSum(f)
	armAbsMax(f)
	armAbsBelowSum(f)
	return f
}

// sixteen is a loop over 16 values at a time: body is called with a register of each
// four of them.
func sixteen(k *neon.Func, x, n neon.R, body func(i int, v neon.V)) {
	k.Label("loop")
	for i := range 4 {
		k.Scope(func() {
			v := k.V()
			k.Op("ldr", v.Q(), neon.Post(x, 16))
			body(i, v)
		})
	}
	k.Go("SUBS $16, %v", n)
	k.Go("BNE loop")
}

// store leaves 16 lanes behind a pointer.
func store(k *neon.Func, v []neon.V, pointer string) {
	p := k.Arg(pointer)
	for i, r := range v {
		k.Op("str", r.Q(), neon.At(p, 16*i))
	}
}

func armMaxBelow(f *neon.File) {
	k := f.Func("maxBelowNEON", "leaves in each of 16 lanes the greatest of every 16th value below limit and its "+
		"first index. n is a positive multiple of 16.",
		"x *float32, n int, limit float32, val *float32, idx *int32", "")
	x, n, limit := k.Arg("x"), k.Arg("n"), k.Broadcast("limit")
	best, at, now, step := k.Vs(4), k.Vs(4), make([]neon.V, 4), k.Word(16)
	for i := range uint32(4) {
		k.LoadNumber(best[i], float32(math.Inf(-1)))
		k.LoadWords(at[i], [4]uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32})
		now[i] = k.Words([4]uint32{4 * i, 4*i + 1, 4*i + 2, 4*i + 3})
	}
	sixteen(k, x, n, func(i int, v neon.V) {
		below, above := k.V(), k.V()
		k.Op("fcmgt", below.S4(), limit.S4(), v.S4())
		k.Op("fcmgt", above.S4(), v.S4(), best[i].S4())
		k.Op("and", above.B16(), above.B16(), below.B16())
		k.Op("bit", best[i].B16(), v.B16(), above.B16())
		k.Op("bit", at[i].B16(), now[i].B16(), above.B16())
		k.Op("add", now[i].S4(), now[i].S4(), step.S4())
	})
	store(k, best, "val")
	store(k, at, "idx")
	k.Go("RET")
}

// armCompress emits a kernel that lists indices. The masks of 16 values become four bits
// of a general register each, whose lowest is looked for until there are none.
func armCompress(f *neon.File, name, params string, test func(k *neon.Func, mask, x neon.V, lo, hi neon.V)) {
	k := f.Func(name+"NEON", "writes the indices that pass, ascending, and returns how many. n is a positive multiple "+
		"of 16.", "x *float32, n int, "+params+", idx *int32", "int")
	x, n, out := k.Arg("x"), k.Arg("n"), k.Arg("idx")
	lo, hi := k.Broadcast("lo"), k.V()
	if name == "between" {
		hi = k.Broadcast("hi")
	}
	first, at, bits, pos, four := k.R(), k.R(), k.R(), k.R(), k.R()
	k.Go("MOVD %v, %v", out, first)
	k.Go("MOVD ZR, %v", at)
	masks := k.Vs(4)
	k.Label("loop")
	for _, m := range masks {
		k.Scope(func() {
			v := k.V()
			k.Op("ldr", v.Q(), neon.Post(x, 16))
			test(k, m, v, lo, hi)
		})
	}
	k.Op("uzp1", masks[0].H8(), masks[0].H8(), masks[1].H8())
	k.Op("uzp1", masks[2].H8(), masks[2].H8(), masks[3].H8())
	k.Op("uzp1", masks[0].B16(), masks[0].B16(), masks[2].B16())
	k.Op("shrn", masks[0].B8(), masks[0].H8(), neon.Imm(4))
	k.Op("fmov", bits.X(), masks[0].D())
	k.Go("CBZ %v, next", bits)
	k.Label("found")
	k.Go("RBIT %v, %v", bits, pos)
	k.Go("CLZ %v, %v", pos, pos)
	k.Go("MOVD $15, %v", four)
	k.Go("LSL %v, %v", pos, four)
	k.Go("BIC %v, %v", four, bits)
	k.Go("ADD %v>>2, %v, %v", pos, at, pos)
	k.Go("MOVW.P %v, 4(%v)", pos, out)
	k.Go("CBNZ %v, found", bits)
	k.Label("next")
	k.Go("ADD $16, %v", at)
	k.Go("SUBS $16, %v", n)
	k.Go("BNE loop")
	k.Go("SUB %v, %v", first, out)
	k.Go("LSR $2, %v", out)
	k.Return(out)
}

func armExpSum(f *neon.File) {
	k := f.Func("expSumNEON", "sets dst to exp(a x + b) and adds 16 partial sums to sum. n is a positive multiple "+
		"of 16.", "dst, x *float32, n int, a, b float32, sum *float32", "")
	dst, x, n, a, b := k.Arg("dst"), k.Arg("x"), k.Arg("n"), k.Broadcast("a"), k.Broadcast("b")
	low, l2e, hi, lo, one := k.Number(lowest), k.Number(log2e), k.Number(ln2hi), k.Number(ln2lo), k.Number(1)
	var c []neon.V
	for _, p := range poly {
		c = append(c, k.Number(p))
	}
	total, p := k.Vs(4), k.Arg("sum")
	for i, v := range total {
		k.Op("ldr", v.Q(), neon.At(p, 16*i))
	}
	do := func(name string, d, n, m neon.V) { k.Op(name, d.S4(), n.S4(), m.S4()) }
	sixteen(k, x, n, func(i int, v neon.V) {
		t, m, keep, r, next := k.V(), k.V(), k.V(), k.V(), k.V()
		k.Copy(t, b)
		do("fmla", t, v, a)
		do("fcmge", keep, t, low)
		do("fmax", t, t, low)
		do("fmul", m, t, l2e)
		k.Op("frintn", m.S4(), m.S4())
		do("fmls", t, m, hi)
		do("fmls", t, m, lo)
		k.Copy(r, c[0])
		for _, q := range c[1:] {
			k.Copy(next, q)
			do("fmla", next, r, t)
			r, next = next, r
		}
		do("fadd", next, t, one)
		do("fmul", t, t, t)
		do("fmla", next, t, r)
		// As the exponents of ones: 2^m.
		k.Op("fcvtns", m.S4(), m.S4())
		k.Op("shl", m.S4(), m.S4(), neon.Imm(23))
		do("add", m, m, one)
		do("fmul", next, next, m)
		k.Op("and", next.B16(), next.B16(), keep.B16())
		k.Op("str", next.Q(), neon.Post(dst, 16))
		do("fadd", total[i], total[i], next)
	})
	store(k, total, "sum")
	k.Go("RET")
}

func armAbsMax(f *neon.File) {
	k := f.Func("absMaxNEON", "leaves in each of 16 lanes the greatest of every 16th absolute value. n is a positive "+
		"multiple of 16.", "x *float32, n int, val *float32", "")
	x, n, best := k.Arg("x"), k.Arg("n"), k.Vs(4)
	for _, v := range best {
		k.Zero(v)
	}
	sixteen(k, x, n, func(i int, v neon.V) {
		larger := k.V()
		k.Op("fabs", v.S4(), v.S4())
		k.Op("fcmgt", larger.S4(), v.S4(), best[i].S4())
		k.Op("bit", best[i].B16(), v.B16(), larger.B16())
	})
	store(k, best, "val")
	k.Go("RET")
}

func armAbsBelowSum(f *neon.File) {
	k := f.Func("absBelowSumNEON", "leaves in each of 16 lanes the sum of every 16th absolute value that does not "+
		"exceed most. n is a positive multiple of 16.", "x *float32, n int, most float32, sum *float32", "")
	x, n, most, total := k.Arg("x"), k.Arg("n"), k.Broadcast("most"), k.Vs(4)
	for _, v := range total {
		k.Zero(v)
	}
	sixteen(k, x, n, func(i int, v neon.V) {
		keep := k.V()
		k.Op("fabs", v.S4(), v.S4())
		k.Op("fcmge", keep.S4(), most.S4(), v.S4())
		k.Op("and", v.B16(), v.B16(), keep.B16())
		k.Op("fadd", total[i].S4(), total[i].S4(), v.S4())
	})
	store(k, total, "sum")
	k.Go("RET")
}
