package arm

import (
	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
)

// wino is a kernel of Winograd's transforms under construction.
type wino struct {
	*neon.Func
	src, dst, to neon.R
	to4          neon.R // four times to
	p, q         neon.R
}

// winograd emits the transforms, four channels at a time.
func winograd(f *neon.File) {
	winoFilter(f)
	winoInput(f)
	winoGradient(f)
	winoOutput(f)
}

func newArmWino(f *neon.File, name, doc, params string) *wino {
	k := &wino{Func: f.Func(name+"NEON", doc, params, "")}
	k.src, k.dst, k.p, k.q = k.Arg("src"), k.Arg("dst"), k.R(), k.R()
	return k
}

// scatter loads to, the distance of a transform's results.
func (k *wino) scatter() {
	k.to, k.to4 = k.Arg("to"), k.R()
	k.Go("LSL $2, %v, %v", k.to, k.to4)
}

// result returns a new register with an instruction's result.
func (k *wino) result(name string, from ...neon.V) neon.V {
	v := k.V()
	quad{Func: k.Func}.do(name, v, from...)
	return v
}

func (k *wino) load(p neon.Operand) neon.V {
	v := k.V()
	k.Op("ldr", v.Q(), p)
	return v
}

// store writes a value and goes on to another of the results.
func (k *wino) store(v neon.V, at, by neon.R) {
	k.Op("str", v.Q(), neon.At(at, 0))
	k.Go("ADD %v, %v", by, at)
}

// columns writes, for each of four columns, the four values that transform makes of it:
// value i of column j is result 4*i + j.
func (k *wino) columns(transform func(j int) []neon.V) {
	k.Go("MOVD %v, %v", k.dst, k.p)
	for j := range 4 {
		k.Scope(func() {
			k.Go("MOVD %v, %v", k.p, k.q)
			for _, v := range transform(j) {
				k.store(v, k.q, k.to4)
			}
		})
		k.Go("ADD %v, %v", k.to, k.p)
	}
}

// patches emits the loop over patches and their channels; more moves on between patches.
func (k *wino) patches(channels, more func(c neon.R)) {
	n, c, left := k.Arg("n"), k.Arg("c"), k.R()
	k.Label("patch")
	k.Go("MOVD %v, %v", c, left)
	k.Label("channels")
	k.Scope(func() { channels(c) })
	k.Go("ADD $16, %v", k.src)
	k.Go("ADD $16, %v", k.dst)
	k.Go("SUBS $16, %v", left)
	k.Go("BNE channels")
	more(c)
	k.Go("SUBS $1, %v", n)
	k.Go("BNE patch")
	k.Go("RET")
}

// winoFilter is winoFilter for n*4 filters.
func winoFilter(f *neon.File) {
	k := newArmWino(f, "winoFilter", "transforms filters.", layout.WinoFilterParams)
	n, tap, half := k.Arg("n"), k.Arg("tap"), k.Number(0.5)
	k.scatter()
	// expand makes (a, (a+b+c)/2, (a-b+c)/2, c).
	expand := func(a, b, c neon.V) []neon.V {
		p, m := k.V(), k.V()
		k.Scope(func() {
			e := k.result("fadd", a, c)
			for _, h := range []struct {
				op string
				to neon.V
			}{{"fadd", p}, {"fsub", m}} {
				k.Op(h.op, h.to.S4(), e.S4(), b.S4())
				k.Op("fmul", h.to.S4(), h.to.S4(), half.S4())
			}
		})
		return []neon.V{a, p, m, c}
	}
	k.Label("loop")
	k.Go("MOVD %v, %v", k.src, k.p)
	g := k.Vs(9)
	for _, x := range g {
		k.Op("ldr", x.Q(), neon.At(k.p, 0))
		k.Go("ADD %v, %v", tap, k.p)
	}
	var cols [3][]neon.V // cols[s][i]: row i of G g
	for s := range cols {
		cols[s] = expand(g[s], g[3+s], g[6+s])
	}
	k.Go("MOVD %v, %v", k.dst, k.q)
	for i := range 4 {
		k.Scope(func() {
			for _, x := range expand(cols[0][i], cols[1][i], cols[2][i]) {
				k.store(x, k.q, k.to)
			}
		})
	}
	k.Go("ADD $16, %v", k.src)
	k.Go("ADD $16, %v", k.dst)
	k.Go("SUBS $1, %v", n)
	k.Go("BNE loop")
	k.Go("RET")
}

func winoInput(f *neon.File) {
	k := newArmWino(f, "winoInput", "transforms patches of the input.", layout.WinoInputParams)
	row, pad, three := k.Arg("row"), k.Arg("pad"), k.R()
	k.scatter()
	combine := func(to []neon.V, d [4]neon.V) []neon.V {
		for i, h := range []struct {
			op   string
			a, b int
		}{{"fsub", 0, 2}, {"fadd", 1, 2}, {"fsub", 2, 1}, {"fsub", 1, 3}} {
			k.Op(h.op, to[i].S4(), d[h.a].S4(), d[h.b].S4())
		}
		return to
	}
	k.patches(func(c neon.R) {
		k.Go("ADD %v<<1, %v, %v", c, c, three)
		k.Go("MOVD %v, %v", k.src, k.p)
		var d [4][]neon.V // d[i][j]: row i of the patch transformed along the row
		for i := range d {
			d[i] = k.Vs(4)
			k.Scope(func() {
				k.Go("ADD %v, %v, %v", c, k.p, k.q)
				combine(d[i], [4]neon.V{k.load(neon.At(k.p, 0)), k.load(neon.Indexed(k.p, c)),
					k.load(neon.Indexed(k.q, c)), k.load(neon.Indexed(k.p, three))})
			})
			k.Go("ADD %v, %v", row, k.p)
		}
		k.columns(func(j int) []neon.V {
			return combine(k.Vs(4), [4]neon.V{d[0][j], d[1][j], d[2][j], d[3][j]})
		})
	}, func(c neon.R) {
		k.Go("ADD %v, %v", c, k.src)
		k.Go("ADD %v, %v", pad, k.dst)
	})
}

func winoGradient(f *neon.File) {
	k := newArmWino(f, "winoGradient", "transforms patches of the output's gradient.", layout.WinoInputParams)
	row, pad := k.Arg("row"), k.Arg("pad")
	k.scatter()
	expand := func(a, b neon.V) []neon.V {
		return []neon.V{a, k.result("fadd", a, b), k.result("fsub", a, b), k.result("fneg", b)}
	}
	k.patches(func(c neon.R) {
		k.Go("ADD %v, %v, %v", row, k.src, k.p)
		var lines [2][]neon.V // lines[i]: row i of the patch transformed along the row
		for i, base := range []neon.R{k.src, k.p} {
			lines[i] = expand(k.load(neon.At(base, 0)), k.load(neon.Indexed(base, c)))
		}
		k.columns(func(j int) []neon.V { return expand(lines[0][j], lines[1][j]) })
	}, func(c neon.R) {
		k.Go("ADD %v, %v", c, k.src)
		k.Go("ADD %v, %v", pad, k.dst)
	})
}

func winoOutput(f *neon.File) {
	k := newArmWino(f, "winoOutput", "transforms products to patches of the output.", layout.WinoOutputParams)
	from, row := k.Arg("from"), k.Arg("row")
	combine := func(to []neon.V, m [4]neon.V) {
		k.Scope(func() {
			a, b := k.result("fadd", m[0], m[1]), k.result("fsub", m[1], m[2])
			k.Op("fadd", to[0].S4(), a.S4(), m[2].S4())
			k.Op("fsub", to[1].S4(), b.S4(), m[3].S4())
		})
	}
	k.patches(func(c neon.R) {
		k.Go("MOVD %v, %v", k.src, k.p)
		var s [4][]neon.V
		for i := range s {
			s[i] = k.Vs(2)
			k.Scope(func() {
				var line [4]neon.V
				for j := range line {
					line[j] = k.load(neon.At(k.p, 0))
					k.Go("ADD %v, %v", from, k.p)
				}
				combine(s[i], line)
			})
		}
		k.Go("ADD %v, %v, %v", row, k.dst, k.q)
		for j := range 2 {
			y := k.Vs(2)
			combine(y, [4]neon.V{s[0][j], s[1][j], s[2][j], s[3][j]})
			for i, base := range []neon.R{k.dst, k.q} {
				k.Op("str", y[i].Q(), []neon.Operand{neon.At(base, 0), neon.Indexed(base, c)}[j])
			}
		}
	}, func(c neon.R) { k.Go("ADD %v, %v", c, k.dst) })
}
