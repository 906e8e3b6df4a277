package arm

import (
	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
)

// layerNorm is layerNorm.
func layerNorm(f *neon.File) {
	k := f.Func("layerNormNEON", "is LayerNorm's kernel.", layout.LayerNormParams, "")
	rows, cols, y, x := k.Arg("rows"), k.Arg("cols"), k.Arg("y"), k.Arg("x")
	gamma, beta, stats := k.Arg("gamma"), k.Arg("beta"), k.Arg("stats")
	k.Go("LSL $2, %v", cols)
	share, eps, mean, scale := k.Broadcast("share"), k.Broadcast("eps"), k.V(), k.V()
	f4 := quad{Func: k}
	k.Label("row")
	k.Scope(func() {
		acc := zeros(k, 4)
		along(k, "sum", cols, func(q quad, i int) { q.do("fadd", acc[i], acc[i], q.load(x)) })
		f4.do("fmul", mean, total(k, acc), share)
	})
	k.Op("str", mean.S(), neon.At(stats, 0))
	k.Scope(func() {
		acc := zeros(k, 4)
		along(k, "squares", cols, func(q quad, i int) {
			d := q.load(x)
			q.do("fsub", d, d, mean)
			q.only(d)
			q.do("fmla", acc[i], d, d)
		})
		variance := total(k, acc)
		f4.do("fmul", variance, variance, share)
		f4.do("fadd", variance, variance, eps)
		f4.do("fsqrt", variance, variance)
		f4.do("fdiv", scale, k.Number(1), variance)
	})
	k.Op("str", scale.S(), neon.At(stats, 4))
	along(k, "write", cols, func(q quad, _ int) {
		d := q.load(x)
		q.do("fsub", d, d, mean)
		q.do("fmul", d, d, scale)
		q.do("fmul", d, d, q.load(gamma))
		q.do("fadd", d, d, q.load(beta))
		q.store(d, y)
	})
	k.Go("ADD %v, %v", cols, x)
	k.Go("ADD %v, %v", cols, y)
	k.Go("ADD $8, %v", stats)
	k.Go("SUBS $1, %v", rows)
	k.Go("BNE row")
	k.Go("RET")
}

// layerNormGrad is layerNormGrad.
func layerNormGrad(f *neon.File) {
	k := f.Func("layerNormGradNEON", "is LayerNormGrad's kernel.", layout.LayerNormGradParams, "")
	rows, cols, dx, dy, x := k.Arg("rows"), k.Arg("cols"), k.Arg("dx"), k.Arg("dy"), k.Arg("x")
	gamma, stats, dgamma, dbeta := k.Arg("gamma"), k.Arg("stats"), k.Arg("dgamma"), k.Arg("dbeta")
	k.Go("LSL $2, %v", cols)
	share, keep, mean, scale, s, t := k.Broadcast("share"), k.Broadcast("keep"), k.V(), k.V(), k.V(), k.V()
	at := k.R()
	f4 := quad{Func: k}
	k.Label("row")
	k.Op("ld1r", mean.S4(), neon.At(stats, 0))
	k.Go("ADD $4, %v, %v", stats, at)
	k.Op("ld1r", scale.S4(), neon.At(at, 0))
	unit := func(q quad) (d, g neon.V) {
		d, g = q.load(x), q.load(dy)
		q.do("fsub", d, d, mean)
		q.do("fmul", d, d, scale)
		return d, g
	}
	k.Scope(func() {
		sum, dot := zeros(k, 2), zeros(k, 2)
		along(k, "sums", cols, func(q quad, i int) {
			d, g := unit(q)
			b, a := q.load(dbeta), q.load(dgamma)
			q.do("fadd", b, b, g)
			q.store(b, dbeta)
			q.do("fmla", a, g, d)
			q.store(a, dgamma)
			q.do("fmul", g, g, q.load(gamma))
			q.do("fadd", sum[i%2], sum[i%2], g)
			q.do("fmla", dot[i%2], g, d)
		})
		f4.do("fmul", s, total(k, sum), share)
		f4.do("fmul", t, total(k, dot), share)
	})
	along(k, "write", cols, func(q quad, _ int) {
		d, g := unit(q)
		q.do("fmul", g, g, q.load(gamma))
		q.do("fsub", g, g, s)
		q.do("fmls", g, d, t)
		q.do("fmul", g, g, scale)
		old := q.load(dx)
		q.bits("and", old, old, keep)
		q.do("fadd", g, g, old)
		q.store(g, dx)
	})
	for _, p := range []neon.R{x, dy, dx} {
		k.Go("ADD %v, %v", cols, p)
	}
	k.Go("ADD $8, %v", stats)
	k.Go("SUBS $1, %v", rows)
	k.Go("BNE row")
	k.Go("RET")
}

// expSum is expSum.
func expSum(f *neon.File) {
	k := f.Func("expSumNEON", "is ExpSum's kernel.", layout.ExpSumParams, "float32")
	n, y, x, less := k.Arg("n"), k.Arg("y"), k.Arg("x"), k.Broadcast("less")
	k.Go("LSL $2, %v", n)
	acc := zeros(k, 2)
	along(k, "", n, func(q quad, i int) {
		d := q.load(x)
		q.do("fsub", d, d, less)
		e := q.expOf(d)
		q.store(e, y)
		q.only(e)
		q.do("fadd", acc[i%2], acc[i%2], e)
	})
	k.ReturnFloat(total(k, acc))
}
