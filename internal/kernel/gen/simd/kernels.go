package main

import (
	"maps"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

type regs = map[string]reg.Register

// rowBody emits what a kernel over rows does at a place: with matrices, vectors, scalars and sums.
type rowBody func(l lanes, m, v, s, sum regs)

// rowBodies are the bodies of layout.Rows.
func rowBodies() map[string]rowBody {
	bodies := linearBodies()
	maps.Copy(bodies, actBodies())
	return bodies
}

// linearBodies are those without activations. Long: it is a table.
func linearBodies() map[string]rowBody {
	bounded := func(value func(l lanes, m, v regs) reg.VecVirtual) rowBody {
		return func(l lanes, m, v, s, _ regs) {
			r := value(l, m, v)
			l.clamp(r, s["lo"], s["hi"])
			l.store(r, m["y"])
		}
	}
	affine := func(l lanes, m, v regs) reg.VecVirtual {
		r := l.load(v["b"])
		fma(l, m["x"], l.load(v["a"]), r)
		return r
	}
	add := func(l lanes, p reg.Register, r reg.VecVirtual) reg.VecVirtual {
		VADDPS(l.load(p), r, r)
		return r
	}
	return map[string]rowBody{
		"scaleShift":    bounded(affine),
		"scaleShiftAdd": bounded(func(l lanes, m, v regs) reg.VecVirtual { return add(l, m["z"], affine(l, m, v)) }),
		"shift":         bounded(func(l lanes, m, v regs) reg.VecVirtual { return add(l, m["x"], l.load(v["b"])) }),
		"clamp":         bounded(func(l lanes, m, _ regs) reg.VecVirtual { return l.load(m["x"]) }),
		"addClamp":      bounded(func(l lanes, m, _ regs) reg.VecVirtual { return add(l, m["z"], l.load(m["x"])) }),
		"larger": func(l lanes, m, v, s, _ regs) {
			// Of zeros, and where one is NaN, the instruction takes its second source.
			x, z, r := l.load(m["x"]), l.load(m["z"]), l.vec()
			VMAXPS(x, z, r)
			VMAXPS(z, x, x)
			VORPS(x, r, r)
			l.store(r, m["y"])
		},
		"mask": func(l lanes, m, v, s, _ regs) {
			r := l.load(m["dy"])
			l.unlessFlat(r, l.load(m["y"]), s["lo"], s["hi"])
			l.store(r, m["dy"])
		},
		"normGrad": func(l lanes, m, v, s, _ regs) {
			x, r := l.load(m["x"]), l.load(v["r"])
			d := l.vec()
			VSUBPS(l.load(v["c"]), x, d)
			VFMADD231PS(l.load(v["q"]), d, r)
			fma(l, m["dy"], l.load(v["p"]), r)
			l.unlessFlat(r, x, s["lo"], s["hi"])
			l.store(r, m["dx"])
		},
		"columnSums": func(l lanes, m, v, s, sum regs) {
			VADDPS(l.load(m["x"]), sum["sum"], sum["sum"])
		},
		"columnMoments": func(l lanes, m, v, s, sum regs) {
			d := l.load(m["x"])
			VSUBPS(l.load(v["c"]), d, d)
			VADDPS(d, sum["sum"], sum["sum"])
			VFMADD231PS(d, d, sum["sq"])
		},
		"normSums": func(l lanes, m, v, s, sum regs) {
			g := l.load(m["dy"])
			l.unlessFlat(g, l.load(m["y"]), s["lo"], s["hi"])
			l.store(g, m["dy"])
			addDot(l, g, m, v, sum)
		},
		"normSumsLinear": func(l lanes, m, v, s, sum regs) {
			addDot(l, l.load(m["dy"]), m, v, sum)
		},
		"normGradOf": func(l lanes, m, v, s, _ regs) {
			x, z, r := l.load(m["x"]), l.load(v["b"]), l.load(v["r"])
			VFMADD231PS(x, l.load(v["a"]), z)
			g := l.load(m["dy"])
			l.unlessFlat(g, z, s["lo"], s["hi"])
			VSUBPS(l.load(v["c"]), x, x)
			VFMADD231PS(l.load(v["q"]), x, r)
			VFMADD231PS(g, l.load(v["p"]), r)
			l.store(r, m["dx"])
		},
		"normSumsOf": func(l lanes, m, v, s, sum regs) {
			x, z := l.load(m["x"]), l.load(v["b"])
			VFMADD231PS(x, l.load(v["a"]), z)
			g := l.load(m["dy"])
			l.unlessFlat(g, z, s["lo"], s["hi"])
			VSUBPS(l.load(v["c"]), x, x)
			VADDPS(g, sum["sum"], sum["sum"])
			VFMADD231PS(x, g, sum["dot"])
		},
		"axpy": func(l lanes, m, v, s, _ regs) {
			r := l.load(m["y"])
			VFMADD231PS(l.load(m["x"]), s["a"], r)
			l.store(r, m["y"])
		},
		"scale": func(l lanes, m, v, s, _ regs) {
			r := l.load(m["x"])
			VMULPS(s["a"], r, r)
			l.store(r, m["y"])
		},
		"adam": func(l lanes, m, v, s, _ regs) {
			p, g := l.load(m["w"]), l.load(m["grad"])
			VFMADD231PS(s["decay"], p, g)
			mean, d := l.load(m["mean"]), l.vec()
			VSUBPS(mean, g, d)
			VFMADD231PS(s["b1"], d, mean)
			l.store(mean, m["mean"])
			VMULPS(g, g, g)
			sq := l.load(m["sq"])
			VSUBPS(sq, g, g)
			VFMADD231PS(s["b2"], g, sq)
			l.store(sq, m["sq"])
			VSQRTPS(sq, sq)
			VFMADD213PS(s["eps"], s["root"], sq)
			VMULPS(s["step"], mean, mean)
			VDIVPS(sq, mean, mean)
			VMULPS(s["shrink"], p, p)
			VSUBPS(mean, p, p)
			l.store(p, m["w"])
		},
	}
}

// fma adds the product of a matrix operand and a to r.
func fma(l lanes, p, a, r reg.Register) { VFMADD231PS(l.load(p), a, r) }

func addDot(l lanes, g reg.Register, m, v, sum regs) {
	d := l.load(m["x"])
	VSUBPS(l.load(v["c"]), d, d)
	VADDPS(g, sum["sum"], sum["sum"])
	VFMADD231PS(d, g, sum["dot"])
}

// fold is a reduction of one or two vectors to a scalar: four accumulators, then
// their combination, lanes and all, in a fixed order.
func fold(v isa, name, doc string, two bool, start float32, combine func(x, acc Op),
	step func(x, y, acc reg.Register)) {
	sig := "func(n int, x *float32) float32"
	if two {
		sig = "func(n int, x, y *float32) float32"
	}
	x86.Begin(name+v.suffix, sig, name+v.suffix+" "+doc)
	n, x := x86.Arg("n"), x86.Arg("x")
	var y reg.Register
	if two {
		y = x86.Arg("y")
	}
	j := GP64()
	XORQ(j, j)
	acc := make([]reg.VecVirtual, 4)
	for i := range acc {
		acc[i] = v.vec()
		v.fill(acc[i], start)
	}
	at := func(l lanes, acc reg.VecVirtual) {
		a := l.loadOr(x, start)
		b := reg.Register(a)
		if two {
			b = l.load(y)
		}
		step(a, b, acc)
	}
	SHLQ(U8(2), n)
	wide := 4 * v.bytes()
	Label("wide")
	CMPQ(n, U32(wide))
	JLT(LabelRef("narrow"))
	for i := range acc {
		at(lanes{isa: v, index: j, disp: i * v.bytes()}, acc[i])
	}
	ADDQ(U32(wide), j)
	SUBQ(U32(wide), n)
	JMP(LabelRef("wide"))
	Label("narrow")
	CMPQ(n, U8(v.bytes()))
	JLT(LabelRef("tail"))
	at(lanes{isa: v, index: j}, acc[0])
	ADDQ(U8(v.bytes()), j)
	SUBQ(U8(v.bytes()), n)
	JMP(LabelRef("narrow"))
	Label("tail")
	TESTQ(n, n)
	JEQ(LabelRef("fold"))
	SHRQ(U8(2), n)
	at(lanes{isa: v, index: j, masked: true, k: v.partial(n)}, acc[1])
	Label("fold")
	combine(acc[1], acc[0])
	combine(acc[3], acc[2])
	combine(acc[2], acc[0])
	sum, low := acc[0].AsY(), acc[0].AsX()
	if v.wide() {
		hi := YMM()
		VEXTRACTF32X8(U8(1), acc[0], hi)
		combine(hi, sum)
	}
	hi := XMM()
	VEXTRACTF128(U8(1), sum, hi)
	combine(hi, low)
	t := XMM()
	VMOVHLPS(low, low, t)
	combine(t, low)
	VMOVSHDUP(low, t)
	combine(t, low)
	Store(low, ReturnIndex(0))
	x86.Return()
}

// foldNames lists the reductions to a scalar, and whether they take two vectors.
var foldNames = []struct {
	name string
	two  bool
}{{"dot", true}, {"largest", false}}

func folds(v isa) {
	add := func(x, acc Op) { VADDPS(x, acc, acc) }
	fold(v, "dot", "is the sum of x*y.", true, 0, add, func(x, y, acc reg.Register) { VFMADD231PS(x, y, acc) })
	// The first source operand is returned if one is NaN: the maximum so far.
	fold(v, "largest", "is the maximum of x.", false, float32(math.Inf(-1)), func(x, acc Op) { VMAXPS(acc, x, acc) },
		func(x, _, acc reg.Register) { VMAXPS(acc, x, acc) })
}
