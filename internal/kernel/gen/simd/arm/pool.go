package arm

import (
	"strings"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
)

// window is window for arm64: four channels of a 2 x 2 window.
type window struct {
	quad
	x    [4]neon.Operand // first row left, right, second row left, right
	idx  neon.R
	m, v pointers
	s    regs
	sum  regs
}

// poolKernel is a kernel over windows.
type poolKernel struct {
	layout.Kernel
	body func(w *window)
}

// emit goes through the windows, and through the channels of each.
func (k poolKernel) emit(f *neon.File) {
	words := strings.Fields
	params, _ := k.PoolParams()
	a := f.Func(k.Name+"NEON", k.Doc, params, "")
	w := &window{m: pointers{}, v: pointers{}, s: regs{}, sum: regs{}}
	n, c, j := a.Arg("n"), a.Arg("c"), a.R()
	a.Go("LSL $2, %v", c)
	for _, name := range words(k.Scalars) {
		w.s[name] = a.Broadcast(name)
	}
	if clamps[k.Name] {
		loadBounds(a, w.s["lo"], w.s["hi"])
	}
	for _, name := range words(k.Mats) {
		w.m[name] = a.Arg(name)
	}
	if k.Sums != "" {
		k.reduces(a, w, n, c, j)
		a.Go("RET")
		return
	}
	x0, x1, idx, right0, right1 := a.Arg("x0"), a.Arg("x1"), a.Arg("idx"), a.R(), a.R()
	for _, name := range words(k.Vecs) {
		w.v[name] = a.Arg(name)
	}
	w.quad, w.idx = quad{Func: a, indexed: true, index: j}, idx
	for i, p := range []neon.R{x0, right0, x1, right1} {
		w.x[i] = w.operand(p)
	}
	a.Label("window")
	a.Go("MOVD ZR, %v", j)
	a.Go("ADD %v, %v, %v", c, x0, right0)
	a.Go("ADD %v, %v, %v", c, x1, right1)
	a.Label("channels")
	a.Scope(func() { k.body(w) })
	a.Go("ADD $4, %v", idx)
	a.Go("ADD $16, %v", j)
	a.Go("CMP %v, %v", c, j)
	a.Go("BLT channels")
	a.Go("ADD %v, %v, %v", c, right0, x0)
	a.Go("ADD %v, %v, %v", c, right1, x1)
	for _, name := range words(k.Mats) {
		a.Go("ADD %v, %v", c, w.m[name])
	}
	a.Go("SUBS $1, %v", n)
	a.Go("BNE window")
	a.Go("RET")
}

// reduces goes through the windows for four channels at a time, and adds to the sums.
func (k poolKernel) reduces(a *neon.Func, w *window, n, c, j neon.R) {
	words := strings.Fields
	p, left, off := [4]neon.R{a.R(), a.R(), a.R(), a.R()}, a.R(), a.R()
	w.idx = a.R()
	a.Go("MOVD ZR, %v", j)
	a.Label("channels")
	here := func(name string, to neon.R) {
		a.LoadArg(name, to)
		a.Go("ADD %v, %v", j, to)
	}
	a.Scope(func() {
		for _, name := range words(k.Sums + " " + k.Vecs) {
			v := a.V()
			here(name, left)
			a.Op("ldr", v.Q(), neon.At(left, 0))
			if strings.Contains(k.Sums, name) {
				w.sum[name] = v
			} else {
				w.s[name] = v
			}
		}
		here("x0", p[0])
		here("x1", p[2])
		a.LoadArg("idx", w.idx)
		a.Go("ADD %v>>2, %v", j, w.idx)
		a.Go("MOVD %v, %v", n, left)
		a.Go("MOVD %v, %v", j, off)
		w.quad = quad{Func: a, indexed: true, index: off}
		for i, r := range p {
			w.x[i] = neon.At(r, 0)
		}
		a.Label("window")
		a.Go("ADD %v, %v, %v", c, p[0], p[1])
		a.Go("ADD %v, %v, %v", c, p[2], p[3])
		a.Scope(func() { k.body(w) })
		a.Go("ADD %v, %v", c, off)
		a.Go("ADD %v>>2, %v", c, w.idx)
		a.Go("ADD %v, %v, %v", c, p[1], p[0])
		a.Go("ADD %v, %v, %v", c, p[3], p[2])
		a.Go("SUBS $1, %v", left)
		a.Go("BNE window")
		for _, name := range words(k.Sums) {
			here(name, left)
			a.Op("str", w.sum[name].Q(), neon.At(left, 0))
		}
	})
	a.Go("ADD $16, %v", j)
	a.Go("CMP %v, %v", c, j)
	a.Go("BLT channels")
}

// pixel loads an operand of the window's four pixels.
func (w *window) pixel(i int) neon.V {
	v := w.V()
	w.Op("ldr", v.Q(), w.x[i])
	return v
}

// largest leaves the maximum of the values in the first and the number of the first
// that has it in the result; NaN is larger than numbers.
func (w *window) largest(vals [4]neon.V) (best, where neon.V) {
	best, where = vals[0], w.V()
	w.Zero(where)
	for i := 1; i < 4; i++ {
		w.Scope(func() { w.take(vals[i], w.small(i), best, where) })
	}
	return best, where
}

// small returns a register with a small integer in every lane.
func (w *window) small(i int) neon.V {
	v := w.V()
	w.Op("movi", v.S4(), neon.Imm(i))
	return v
}

// take replaces the best value, and its number by n, where v is larger or NaN.
func (w *window) take(v, n, best, where neon.V) {
	w.Scope(func() {
		larger, number := w.V(), w.V()
		w.do("fcmgt", larger, v, best)
		w.do("fcmeq", number, v, v)
		w.bits("orn", larger, larger, number)
		w.bits("bit", best, v, larger)
		w.bits("bit", where, n, larger)
	})
}

// storeIndex writes small integers as bytes, and changes them.
func (w *window) storeIndex(where neon.V) {
	w.Op("xtn", where.H4(), where.S4())
	w.Op("xtn", where.B8(), where.H8())
	w.Op("str", where.S(), neon.At(w.idx, 0))
}

func (w *window) loadIndex() neon.V {
	v := w.V()
	w.Op("ldr", v.S(), neon.At(w.idx, 0))
	w.Op("ushll", v.H8(), v.B8(), neon.Imm(0))
	w.Op("ushll", v.S4(), v.H4(), neon.Imm(0))
	return v
}

// indexMask returns the mask of lanes whose index is i.
func (w *window) indexMask(where neon.V, i int) neon.V {
	v := w.small(i)
	w.do("cmeq", v, where, v)
	return v
}

func (w *window) maskedGradient() neon.V {
	g := w.load(w.m["dy"])
	w.unlessFlat(g, w.load(w.m["y"]), w.s["lo"], w.s["hi"])
	return g
}

// poolBodies are poolKernels' bodies.
func poolBodies() map[string]func(w *window) {
	return map[string]func(w *window){
		"maxPool": func(w *window) {
			best, where := w.largest([4]neon.V{w.pixel(0), w.pixel(1), w.pixel(2), w.pixel(3)})
			w.store(best, w.m["y"])
			w.storeIndex(where)
		},
		"maxPoolGrad": func(w *window) {
			g, where := w.load(w.m["dy"]), w.loadIndex()
			for i := range 4 {
				v := w.indexMask(where, i)
				w.bits("and", v, v, g)
				w.Op("str", v.Q(), w.x[i])
			}
		},
		"normMaxPool": func(w *window) {
			a, b := w.load(w.v["a"]), w.load(w.v["b"])
			var vals [4]neon.V
			for i := range vals {
				vals[i] = w.V()
				w.Copy(vals[i], b)
				w.do("fmla", vals[i], w.pixel(i), a)
			}
			best, where := w.largest(vals)
			w.clamp(best, w.s["lo"], w.s["hi"])
			w.store(best, w.m["y"])
			w.storeIndex(where)
		},
		"normMaxPoolSums": func(w *window) {
			g, where, x := w.maskedGradient(), w.loadIndex(), w.pixel(0)
			for i := 1; i < 4; i++ {
				w.bits("bit", x, w.pixel(i), w.indexMask(where, i))
			}
			w.do("fsub", x, x, w.s["mean"])
			w.do("fadd", w.sum["sum"], w.sum["sum"], g)
			w.do("fmla", w.sum["dot"], g, x)
		},
		"normMaxPoolGrad": func(w *window) {
			g, where := w.maskedGradient(), w.loadIndex()
			w.do("fmul", g, g, w.load(w.v["p"]))
			q, r, c := w.load(w.v["q"]), w.load(w.v["r"]), w.load(w.v["mean"])
			for i := range 4 {
				w.Scope(func() {
					x, off, d, to := w.pixel(i), w.V(), w.V(), w.indexMask(where, i)
					w.do("fsub", off, x, c)
					w.Copy(d, r)
					w.do("fmla", d, off, q)
					w.bits("and", to, to, g)
					w.do("fadd", d, d, to)
					w.unlessFlat(d, x, w.s["inLo"], w.s["inHi"])
					w.Op("str", d.Q(), w.x[i])
				})
			}
		},
	}
}

// maxTap is maxTap.
func maxTap(f *neon.File) {
	k := f.Func("maxTapNEON", "is MaxTap's kernel.", layout.MaxTapParams, "")
	n, c, step, x, y, idx := k.Arg("n"), k.Arg("c"), k.Arg("step"), k.Arg("x"), k.Arg("y"), k.Arg("idx")
	j, tap := k.R(), k.V()
	k.LoadArg("tap", j)
	k.Op("dup", tap.S4(), j.W())
	k.Go("LSL $2, %v", c)
	k.Go("LSL $2, %v", step)
	w := &window{quad: quad{Func: k, indexed: true, index: j}, idx: idx}
	k.Label("pixel")
	k.Go("MOVD ZR, %v", j)
	k.Label("channels")
	v, best, where := w.load(x), w.load(y), w.loadIndex()
	w.take(v, tap, best, where)
	w.store(best, y)
	w.storeIndex(where)
	k.Go("ADD $4, %v", idx)
	k.Go("ADD $16, %v", j)
	k.Go("CMP %v, %v", c, j)
	k.Go("BLT channels")
	k.Go("ADD %v, %v", step, x)
	k.Go("ADD %v, %v", c, y)
	k.Go("SUBS $1, %v", n)
	k.Go("BNE pixel")
	k.Go("RET")
}
