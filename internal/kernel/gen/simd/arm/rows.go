package arm

import (
	"strings"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
)

// rowBody emits what a kernel over rows does at a place: with matrices, vectors, scalars and sums.
type rowBody func(q quad, m, v pointers, s, sum regs)

// rowKernel is a kernel over rows that follow each other.
type rowKernel struct {
	layout.Kernel
	body rowBody
}

// clamps are the kernels that apply bounds; the others only compare with them.
var clamps = map[string]bool{"scaleShift": true, "scaleShiftAdd": true, "shift": true, "clamp": true,
	"addClamp": true, "normMaxPool": true}

func (k rowKernel) emit(f *neon.File) {
	words := strings.Fields
	params := strings.Join(k.Sizes(), ", ") + " int"
	for _, p := range k.Pointers() {
		params += ", " + p + " *float32"
	}
	for _, s := range words(k.Scalars) {
		params += ", " + s + " float32"
	}
	a := f.Func(k.Name+"NEON", k.Doc, params, "")
	rows, cols := a.Arg("rows"), a.Arg("cols")
	a.Go("LSL $2, %v", cols)
	m, v, s := pointers{}, pointers{}, regs{}
	for _, n := range words(k.Mats) {
		m[n] = a.Arg(n)
	}
	for _, n := range words(k.Vecs) {
		v[n] = a.Arg(n)
	}
	for _, n := range words(k.Scalars) {
		s[n] = a.Broadcast(n)
	}
	if clamps[k.Name] {
		loadBounds(a, s["lo"], s["hi"])
	}
	if k.Sums == "" {
		k.maps(a, rows, cols, m, v, s)
	} else {
		k.reduces(a, cols, m, v, s)
	}
	a.Go("RET")
}

// maps goes row by row.
func (k rowKernel) maps(a *neon.Func, left, cols neon.R, m, v pointers, s regs) {
	j, rest := a.R(), a.R()
	a.Label("row")
	a.Go("MOVD ZR, %v", j)
	a.Go("MOVD %v, %v", cols, rest)
	at := func(q quad) { k.body(q, m, v, s, nil) }
	rows(quad{Func: a, indexed: true, index: j}, "", rest, at, at)
	for _, n := range strings.Fields(k.Mats) {
		a.Go("ADD %v, %v", cols, m[n])
	}
	a.Go("SUBS $1, %v", left)
	a.Go("BNE row")
}

// reduces goes down a block of columns at a time: four registers wide, then one,
// then one value.
func (k rowKernel) reduces(a *neon.Func, rest neon.R, m, v pointers, s regs) {
	stride, j := a.Arg("stride"), a.R()
	a.Go("LSL $2, %v", stride)
	a.Go("MOVD ZR, %v", j)
	block := func(label string, n int, one bool) {
		at := func(names string, from pointers) pointers {
			p := pointers{}
			for _, name := range strings.Fields(names) {
				p[name] = a.R()
				a.Go("ADD %v, %v, %v", j, from[name], p[name])
			}
			return p
		}
		sums := make([]regs, n)
		for i := range sums {
			sums[i] = regs{}
			for _, name := range strings.Fields(k.Sums) {
				sums[i][name] = zeros(a, 1)[0]
			}
		}
		p, c, left := at(k.Mats, m), at(k.Vecs, v), a.Arg("rows")
		a.Label(label + "row")
		for i := range n {
			a.Scope(func() { k.body(quad{Func: a, one: one, disp: 16 * i}, p, c, s, sums[i]) })
		}
		for _, name := range strings.Fields(k.Mats) {
			a.Go("ADD %v, %v", stride, p[name])
		}
		a.Go("SUBS $1, %v", left)
		a.Go("BNE %srow", label)
		for _, name := range strings.Fields(k.Sums) {
			to := left
			a.LoadArg(name, to)
			a.Go("ADD %v, %v", j, to)
			for i := range n {
				quad{Func: a, one: one, disp: 16 * i}.store(sums[i][name], to)
			}
		}
	}
	for _, b := range []struct {
		label string
		n     int
		one   bool
		bytes int
	}{{"wide", 4, false, 64}, {"narrow", 1, false, 16}, {"tail", 1, true, 4}} {
		a.Label(b.label)
		a.Go("CMP $%d, %v", b.bytes, rest)
		a.Go("BLT %send", b.label)
		a.Scope(func() { block(b.label, b.n, b.one) })
		a.Go("ADD $%d, %v", b.bytes, j)
		a.Go("SUB $%d, %v", b.bytes, rest)
		a.Go("B %s", b.label)
		a.Label(b.label + "end")
	}
}

// linearBodies are linearKernels' bodies. Long: it is a table.
func linearBodies() map[string]rowBody {
	affine := func(q quad, m, v pointers) neon.V {
		r := q.load(v["b"])
		q.do("fmla", r, q.load(m["x"]), q.load(v["a"]))
		return r
	}
	sum2 := func(q quad, p, r neon.R) neon.V {
		x := q.load(p)
		q.do("fadd", x, x, q.load(r))
		return x
	}
	bounded := func(value func(q quad, m, v pointers) neon.V) rowBody {
		return func(q quad, m, v pointers, s, _ regs) {
			r := value(q, m, v)
			q.clamp(r, s["lo"], s["hi"])
			q.store(r, m["y"])
		}
	}
	addDot := func(q quad, g neon.V, x, c neon.R, sum regs) {
		d := q.load(x)
		q.do("fsub", d, d, q.load(c))
		q.do("fadd", sum["sum"], sum["sum"], g)
		q.do("fmla", sum["dot"], g, d)
	}
	// gradientOf is dy, 0 where a*x + b is at a bound.
	gradientOf := func(q quad, m, v pointers, s regs) neon.V {
		z, g := affine(q, m, v), q.load(m["dy"])
		q.unlessFlat(g, z, s["lo"], s["hi"])
		return g
	}
	// normed is p*g + q*(x - c) + r.
	normed := func(q quad, g, x neon.V, v pointers) neon.V {
		d, r := q.V(), q.load(v["r"])
		q.do("fsub", d, x, q.load(v["c"]))
		q.do("fmla", r, d, q.load(v["q"]))
		q.do("fmla", r, g, q.load(v["p"]))
		return r
	}
	return map[string]rowBody{
		"scaleShift": bounded(affine),
		"scaleShiftAdd": bounded(func(q quad, m, v pointers) neon.V {
			r := affine(q, m, v)
			q.do("fadd", r, r, q.load(m["z"]))
			return r
		}),
		"shift":    bounded(func(q quad, m, v pointers) neon.V { return sum2(q, m["x"], v["b"]) }),
		"clamp":    bounded(func(q quad, m, _ pointers) neon.V { return q.load(m["x"]) }),
		"addClamp": bounded(func(q quad, m, _ pointers) neon.V { return sum2(q, m["x"], m["z"]) }),
		"larger": func(q quad, m, _ pointers, _, _ regs) {
			x := q.load(m["x"])
			q.do("fmax", x, x, q.load(m["z"]))
			q.store(x, m["y"])
		},
		"mask": func(q quad, m, _ pointers, s, _ regs) {
			r := q.load(m["dy"])
			q.unlessFlat(r, q.load(m["y"]), s["lo"], s["hi"])
			q.store(r, m["dy"])
		},
		"normGrad": func(q quad, m, v pointers, s, _ regs) {
			x := q.load(m["x"])
			r := normed(q, q.load(m["dy"]), x, v)
			q.unlessFlat(r, x, s["lo"], s["hi"])
			q.store(r, m["dx"])
		},
		"columnSums": func(q quad, m, _ pointers, _, sum regs) {
			q.do("fadd", sum["sum"], sum["sum"], q.load(m["x"]))
		},
		"columnMoments": func(q quad, m, v pointers, _, sum regs) {
			d := q.load(m["x"])
			q.do("fsub", d, d, q.load(v["c"]))
			q.do("fadd", sum["sum"], sum["sum"], d)
			q.do("fmla", sum["sq"], d, d)
		},
		"normSums": func(q quad, m, v pointers, s, sum regs) {
			g := q.load(m["dy"])
			q.unlessFlat(g, q.load(m["y"]), s["lo"], s["hi"])
			q.store(g, m["dy"])
			addDot(q, g, m["x"], v["c"], sum)
		},
		"normSumsLinear": func(q quad, m, v pointers, _, sum regs) {
			addDot(q, q.load(m["dy"]), m["x"], v["c"], sum)
		},
		"normGradOf": func(q quad, m, v pointers, s, _ regs) {
			q.store(normed(q, gradientOf(q, m, v, s), q.load(m["x"]), v), m["dx"])
		},
		"normSumsOf": func(q quad, m, v pointers, s, sum regs) {
			addDot(q, gradientOf(q, m, v, s), m["x"], v["c"], sum)
		},
		"axpy": func(q quad, m, _ pointers, s, _ regs) {
			r := q.load(m["y"])
			q.do("fmla", r, q.load(m["x"]), s["a"])
			q.store(r, m["y"])
		},
		"scale": func(q quad, m, _ pointers, s, _ regs) {
			r := q.load(m["x"])
			q.do("fmul", r, r, s["a"])
			q.store(r, m["y"])
		},
		"adam": adam,
	}
}

func adam(q quad, m, _ pointers, s, _ regs) {
	p, g := q.load(m["w"]), q.load(m["grad"])
	q.do("fmla", g, p, s["decay"])
	mean, d := q.load(m["mean"]), q.V()
	q.do("fsub", d, g, mean)
	q.do("fmla", mean, d, s["b1"])
	q.store(mean, m["mean"])
	q.do("fmul", g, g, g)
	sq := q.load(m["sq"])
	q.do("fsub", g, g, sq)
	q.do("fmla", sq, g, s["b2"])
	q.store(sq, m["sq"])
	q.do("fsqrt", sq, sq)
	root := q.V()
	q.Copy(root, s["eps"])
	q.do("fmla", root, sq, s["root"])
	q.do("fmul", mean, mean, s["step"])
	q.do("fdiv", mean, mean, root)
	q.do("fmul", p, p, s["shrink"])
	q.do("fsub", p, p, mean)
	q.store(p, m["w"])
}

// folds are folds: four accumulators, then their combination in a fixed order.
func folds(f *neon.File) {
	emitDot(f)
	largest(f)
}

func emitDot(f *neon.File) {
	k := f.Func("dotNEON", "is the sum of x*y.", "n int, x, y *float32", "float32")
	n, x, y := k.Arg("n"), k.Arg("x"), k.Arg("y")
	k.Go("LSL $2, %v", n)
	acc := zeros(k, 4)
	along(k, "", n, func(q quad, i int) { q.do("fmla", acc[i], q.load(x), q.load(y)) })
	k.ReturnFloat(total(k, acc))
}
