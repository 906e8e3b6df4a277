package arm

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
)

// largest is the fold for the maximum, which NaN does not enter.
func largest(f *neon.File) {
	k := f.Func("largestNEON", "is the maximum of x.", "n int, x *float32", "float32")
	n, x := k.Arg("n"), k.Arg("x")
	k.Go("LSL $2, %v", n)
	acc := k.Vs(4)
	for _, v := range acc {
		k.LoadNumber(v, float32(math.Inf(-1)))
	}
	along(k, "", n, func(q quad, i int) {
		v, larger := q.load(x), q.V()
		if q.one {
			q.Op("dup", v.S4(), v.SLane(0))
		}
		q.do("fcmgt", larger, v, acc[i])
		q.bits("bit", acc[i], v, larger)
	})
	for _, i := range []int{1, 2, 3} {
		k.Op("fmax", acc[0].S4(), acc[0].S4(), acc[i].S4())
	}
	for range 2 {
		k.Op("fmaxp", acc[0].S4(), acc[0].S4(), acc[0].S4())
	}
	k.ReturnFloat(acc[0])
}

// horner sums the series of x with these coefficients, the highest first.
func (q quad) horner(x neon.V, c ...float32) neon.V {
	p := q.Number(c[0])
	next := q.V()
	for _, k := range c[1:] {
		q.LoadNumber(next, k)
		q.do("fmla", next, p, x)
		p, next = next, p
	}
	return p
}

// expOf returns exp(x) and changes x: armExp without the ends of the range, x being
// taken as at least -86 and at most 88.
func (q quad) expOf(x neon.V) neon.V {
	p, n := q.V(), q.V()
	q.Scope(func() {
		q.clamp(x, q.Number(-86), q.Number(88))
		q.do("fmul", n, x, q.Number(1/math.Ln2))
		q.do("frintn", n, n)
		const ln2hi = 0x1.62e4p-1
		q.do("fmls", x, n, q.Number(ln2hi))
		q.do("fmls", x, n, q.Number(math.Ln2-ln2hi))
		r := q.horner(x, 1./5040, 1./720, 1./120, 1./24, 1./6, 1./2, 1, 1)
		q.do("fcvtns", n, n)
		q.Op("shl", n.S4(), n.S4(), neon.Imm(23))
		q.do("add", p, r, n)
	})
	return p
}

// sigmoidOf returns 1 / (1 + exp(-x)) and changes x.
func (q quad) sigmoidOf(x neon.V) neon.V {
	q.do("fneg", x, x)
	e := q.expOf(x)
	one := q.Number(1)
	q.do("fadd", e, e, one)
	q.do("fdiv", e, one, e)
	return e
}

// normalOf returns the normal distribution function of x, and exp(-x*x/2), by way of
// the mass beyond |x|; tailOf has the formula.
func (q quad) normalOf(x neon.V) (phi, density neon.V) {
	a, t, h := q.V(), q.Number(1), q.Number(-0.5)
	one := q.Number(1)
	q.do("fabs", a, x)
	q.do("fmla", t, a, q.Number(0.3))
	q.do("fdiv", t, one, t)
	q.do("fmul", h, h, a)
	q.do("fmul", a, a, h)
	density = q.expOf(a)
	phi = q.horner(t, 0.03609003499150276, -0.15893866121768951, 0.20935480296611786, -0.05645780265331268,
		0.13003669679164886, 0.09946382790803909, 0.12082651257514954, 0.11962452530860901)
	q.do("fmul", phi, phi, t)
	q.do("fmul", phi, phi, density)
	q.do("fsub", t, one, phi)
	q.Zero(h)
	q.do("fcmgt", h, x, h)
	q.bits("bit", phi, t, h)
	return phi, density
}

// third returns x within +-1e10, whose third power is a float32.
func (q quad) third(x neon.V) neon.V {
	r := q.V()
	q.Copy(r, x)
	q.Scope(func() { q.clamp(r, q.Number(-1e10), q.Number(1e10)) })
	return r
}

// cubic returns x*(a + c*x*x).
func (q quad) cubic(x, a, c neon.V) neon.V {
	r, sq := q.V(), q.V()
	q.do("fmul", sq, x, x)
	q.Copy(r, a)
	q.do("fmla", r, sq, c)
	q.do("fmul", r, r, x)
	return r
}

// acts are the bodies of activations.
func acts() map[string]rowBody {
	return map[string]rowBody{
		"gate": func(q quad, m, _ pointers, s, _ regs) {
			x := q.load(m["x"])
			r := q.sigmoidOf(q.cubic(q.third(x), s["a"], s["b"]))
			q.do("fmul", r, r, x)
			q.store(r, m["y"])
		},
		"gateGrad": func(q quad, m, _ pointers, s, _ regs) {
			// s + x (a + 3 b x^2) s (1 - s), s the sigmoid
			x, three := q.third(q.load(m["x"])), q.Number(3)
			q.do("fmul", three, three, s["b"])
			d := q.cubic(x, s["a"], three)
			r := q.sigmoidOf(q.cubic(x, s["a"], s["b"]))
			q.do("fmls", d, d, r) // d - d s
			q.Copy(x, r)
			q.do("fmla", x, r, d)
			q.do("fmul", x, x, q.load(m["dy"]))
			q.store(x, m["dx"])
		},
		"gelu": func(q quad, m, _ pointers, _, _ regs) {
			x := q.load(m["x"])
			phi, _ := q.normalOf(x)
			q.do("fmul", phi, phi, x)
			q.store(phi, m["y"])
		},
		"geluGrad": func(q quad, m, _ pointers, _, _ regs) {
			x := q.load(m["x"])
			phi, density := q.normalOf(x)
			q.do("fmul", density, density, q.Number(float32(1/math.Sqrt(2*math.Pi))))
			q.do("fmla", phi, density, x)
			q.do("fmul", phi, phi, q.load(m["dy"]))
			q.store(phi, m["dx"])
		},
		"softmaxGrad": func(q quad, m, _ pointers, s, _ regs) {
			p, g := q.load(m["s"]), q.load(m["dp"])
			q.do("fsub", p, p, s["less"])
			e := q.expOf(p)
			q.store(e, m["s"])
			q.do("fsub", g, g, s["dot"])
			q.do("fmul", g, g, e)
			q.store(g, m["dp"])
		},
		"hardSwish": func(q quad, m, _ pointers, _, _ regs) {
			x, r, zero := q.load(m["x"]), q.Number(0.5), q.V()
			q.do("fmla", r, x, q.Number(1./6))
			q.Zero(zero)
			q.clamp(r, zero, q.Number(1))
			q.do("fmul", r, r, x)
			q.store(r, m["y"])
		},
		"hardSwishGrad": func(q quad, m, _ pointers, _, _ regs) {
			x, r, at := q.load(m["x"]), q.Number(0.5), q.Number(-3)
			q.do("fmla", r, x, q.Number(1./3))
			q.do("fcmge", at, at, x)
			q.bits("bic", r, r, at)
			q.LoadNumber(at, 3)
			q.do("fcmge", at, x, at)
			q.bits("bit", r, q.Number(1), at)
			q.do("fmul", r, r, q.load(m["dy"]))
			q.store(r, m["dx"])
		},
	}
}
