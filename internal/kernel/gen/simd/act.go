package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// numbers holds the constants in read-only data that kernels of both widths
// broadcast from; constants in registers would not leave AVX2 enough of them.
var numbers = map[uint32]Mem{}

// number returns a register with f in every lane.
func (v isa) number(f float32) reg.VecVirtual {
	r := v.vec()
	VBROADCASTSS(numberData(f), r)
	return r
}

// numberData is where a constant lies.
func numberData(f float32) Mem {
	bits := math.Float32bits(f)
	m, ok := numbers[bits]
	if !ok {
		m = GLOBL(fmt.Sprintf("f32_%08x", bits), 8|16) // RODATA|NOPTR
		DATA(0, U32(bits))
		numbers[bits] = m
	}
	return m
}

// expOf returns exp(x) and changes x: expBody without the ends of the range, x
// being taken as at least -86 and at most 88.
func (v isa) expOf(x reg.VecVirtual) reg.VecVirtual {
	v.clamp(x, v.number(-86), v.number(88))
	n, p := v.vec(), v.vec()
	VMULPS(v.number(1/math.Ln2), x, n)
	if v.wide() {
		VRNDSCALEPS(U8(0), n, n)
	} else {
		VROUNDPS(U8(0), n, n)
	}
	const ln2hi = 0x1.62e4p-1
	VFNMADD231PS(v.number(ln2hi), n, x)
	VFNMADD231PS(v.number(math.Ln2-ln2hi), n, x)
	VMOVAPS(v.number(1./5040), p)
	for _, c := range []float32{1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1, 1} {
		VFMADD213PS(v.number(c), x, p)
	}
	if v.wide() {
		VSCALEFPS(n, p, p)
		return p
	}
	VCVTPS2DQ(n, n)
	VPSLLD(U8(23), n, n)
	VPADDD(n, p, p)
	return p
}

// sigmoidOf returns 1 / (1 + exp(-x)) and changes x.
func (v isa) sigmoidOf(x reg.VecVirtual) reg.VecVirtual {
	r := v.vec()
	v.zero(r)
	VSUBPS(x, r, x)
	one := v.number(1)
	e := v.expOf(x)
	VADDPS(one, e, e)
	VDIVPS(e, one, r)
	return r
}

// tailOf returns, for |x|, the normal distribution's mass beyond it and
// exp(-x*x/2). The mass is that exponential times a polynomial of t = 1 / (1 +
// 0.3 |x|), fitted to a relative error of 1.2e-7 up to 13.2.
func (v isa) tailOf(x reg.Register) (mass, density reg.VecVirtual) {
	a, t, one := v.vec(), v.vec(), v.number(1)
	v.magnitude(x, a)
	VMOVAPS(one, t)
	VFMADD231PS(v.number(0.3), a, t)
	VDIVPS(t, one, t)
	VMULPS(v.number(-0.5), a, one)
	VMULPS(a, one, a)
	density = v.expOf(a)
	mass = v.vec()
	c := []float32{0.03609003499150276, -0.15893866121768951, 0.20935480296611786, -0.05645780265331268,
		0.13003669679164886, 0.09946382790803909, 0.12082651257514954, 0.11962452530860901}
	VMOVAPS(v.number(c[0]), mass)
	for _, k := range c[1:] {
		VFMADD213PS(v.number(k), t, mass)
	}
	VMULPS(t, mass, mass)
	VMULPS(density, mass, mass)
	return mass, density
}

// magnitude sets a to |x|.
func (v isa) magnitude(x, a reg.Register) {
	bits := v.constant(1<<31 - 1)
	if v.wide() {
		VPANDD(bits, x, a)
	} else {
		VPAND(bits, x, a)
	}
}

// normalOf returns the normal distribution function of x, and exp(-x*x/2).
func (v isa) normalOf(x reg.Register) (phi, density reg.VecVirtual) {
	phi, density = v.tailOf(x)
	other, zero := v.vec(), v.vec()
	VSUBPS(phi, v.number(1), other)
	v.zero(zero)
	k := v.compare(cmpGreater, x, zero)
	if v.wide() {
		VMOVAPS(other, k, phi)
	} else {
		VBLENDVPS(k, other, phi, phi)
	}
	return phi, density
}

// bounded returns x within +-1e10, whose third power is a float32.
func (v isa) bounded(x reg.Register) reg.VecVirtual {
	r := v.vec()
	VMOVAPS(x, r)
	v.clamp(r, v.number(-1e10), v.number(1e10))
	return r
}

// cubic returns x*(a + c*x*x).
func (v isa) cubic(x, a, c reg.Register) reg.VecVirtual {
	r, sq := v.vec(), v.vec()
	VMULPS(x, x, sq)
	VMOVAPS(a, r)
	VFMADD231PS(c, sq, r)
	VMULPS(x, r, r)
	return r
}

// actBodies are those of the activations that are not piecewise linear, and of their way
// back: from the gradient of the result, in dx, to that of x.
func actBodies() map[string]rowBody {
	return map[string]rowBody{
		"gate": func(l lanes, m, _, s, _ regs) {
			x := l.load(m["x"])
			r := l.sigmoidOf(l.cubic(l.bounded(x), s["a"], s["b"]))
			VMULPS(x, r, r)
			l.store(r, m["y"])
		},
		"gateGrad": func(l lanes, m, _, s, _ regs) {
			// s + x (a + 3 b x^2) s (1 - s), s the sigmoid
			x, three := l.bounded(l.load(m["x"])), l.number(3)
			VMULPS(s["b"], three, three)
			d := l.cubic(x, s["a"], three)
			r := l.sigmoidOf(l.cubic(x, s["a"], s["b"]))
			VFNMADD213PS(d, r, d) // d - s d
			VFMADD213PS(r, r, d)  // s + s (d - s d)
			VMULPS(l.load(m["dy"]), d, d)
			l.store(d, m["dx"])
		},
		"gelu": func(l lanes, m, _, _, _ regs) {
			x := l.load(m["x"])
			phi, _ := l.normalOf(x)
			VMULPS(x, phi, phi)
			l.store(phi, m["y"])
		},
		"geluGrad": func(l lanes, m, _, _, _ regs) {
			x := l.load(m["x"])
			phi, density := l.normalOf(x)
			VMULPS(l.number(float32(1/math.Sqrt(2*math.Pi))), density, density)
			VFMADD231PS(x, density, phi)
			VMULPS(l.load(m["dy"]), phi, phi)
			l.store(phi, m["dx"])
		},
		"softmaxGrad": func(l lanes, m, _, s, _ regs) {
			p, g := l.load(m["s"]), l.load(m["dp"])
			VSUBPS(s["less"], p, p)
			e := l.expOf(p)
			l.store(e, m["s"])
			VSUBPS(s["dot"], g, g)
			VMULPS(e, g, g)
			l.store(g, m["dp"])
		},
		"hardSwish": func(l lanes, m, _, _, _ regs) {
			x, r := l.load(m["x"]), l.number(0.5)
			VFMADD231PS(l.number(1./6), x, r)
			zero := l.vec()
			l.zero(zero)
			l.clamp(r, zero, l.number(1))
			VMULPS(x, r, r)
			l.store(r, m["y"])
		},
		"hardSwishGrad": func(l lanes, m, _, _, _ regs) {
			x, r := l.load(m["x"]), l.number(0.5)
			VFMADD231PS(l.number(1./3), x, r)
			l.keep(l.compare(cmpNotAtMost, x, l.number(-3)), r)
			one, k := l.number(1), l.compare(cmpAtLeast, x, l.number(3))
			if l.wide() {
				VMOVAPS(one, k, r)
			} else {
				VBLENDVPS(k, one, r, r)
			}
			VMULPS(l.load(m["dy"]), r, r)
			l.store(r, m["dx"])
		},
	}
}
