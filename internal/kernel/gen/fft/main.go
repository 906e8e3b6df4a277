// Command fft writes the assembly of internal/kernel/fft. Run it by `make gen`.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

func main() {
	ConstraintExpr("!noasm")
	for _, l := range []level{{"AVX512", 64}, {"AVX2", 32}} {
		for _, radix := range []int{2, 3, 4, 5} {
			l.pass(radix)
		}
	}
	Generate()
}

// level is an instruction set and its bytes of a register.
type level struct {
	name  string
	bytes int
}

func (l level) register() reg.VecVirtual {
	if l.bytes == 64 {
		return ZMM()
	}
	return YMM()
}

// constant is a register filled with pairs of numbers.
func (l level) constant(re, im float64) reg.VecVirtual {
	name := fmt.Sprintf("pair%x%x", math.Float64bits(re), math.Float64bits(im))
	m, ok := pairs[name]
	if !ok {
		m = GLOBL(name, 8|16) // RODATA|NOPTR
		DATA(0, F64(re))
		DATA(8, F64(im))
		pairs[name] = m
	}
	return l.pair(m)
}

var pairs = map[string]Mem{}

func (l level) pair(m Mem) reg.VecVirtual {
	r := l.register()
	if l.bytes == 64 {
		VBROADCASTF64X2(m, r)
	} else {
		VBROADCASTF128(m, r)
	}
	return r
}

// The operations below return registers of their own. None fuses a product and a sum, so bits are those of plain Go.

func (l level) add(x, y reg.VecVirtual) reg.VecVirtual {
	z := l.register()
	VADDPD(y, x, z)
	return z
}

func (l level) sub(x, y reg.VecVirtual) reg.VecVirtual {
	z := l.register()
	VSUBPD(y, x, z)
	return z
}

func (l level) mul(x, y reg.VecVirtual) reg.VecVirtual {
	z := l.register()
	VMULPD(y, x, z)
	return z
}

func (l level) swap(x reg.VecVirtual) reg.VecVirtual {
	z := l.register()
	if l.bytes == 64 {
		VPERMILPD(U8(0x55), x, z)
	} else {
		VPERMILPD(U8(5), x, z)
	}
	return z
}

// turn is x times -i: sign has the sign of the imaginary parts set.
func (l level) turn(x, sign reg.VecVirtual) reg.VecVirtual {
	z := l.swap(x)
	VXORPD(sign, z, z)
	return z
}

// pass emits the butterflies of a radix for vectors of numbers with the same factors.
func (l level) pass(radix int) {
	name := fmt.Sprintf("pass%d%s", radix, l.name)
	x86.Begin(name, "func(dst, src *complex128, dstStep, srcStep int, factors *float64, vectors int)",
		fmt.Sprintf("%s is pass of radix %d, for %d numbers in each of the vectors. Steps are in bytes.", name, radix,
			l.bytes/16))
	dst, src, dstStep, srcStep := x86.Arg("dst"), x86.Arg("src"), x86.Arg("dstStep"), x86.Arg("srcStep")
	factors, n := x86.Arg("factors"), x86.Arg("vectors")
	from, to := []reg.GPVirtual{src.(reg.GPVirtual)}, []reg.GPVirtual{dst.(reg.GPVirtual)}
	for k := 1; k < radix; k++ {
		f, t := GP64(), GP64()
		LEAQ(Mem{Base: from[k-1], Index: srcStep, Scale: 1}, f)
		LEAQ(Mem{Base: to[k-1], Index: dstStep, Scale: 1}, t)
		from, to = append(from, f), append(to, t)
	}
	at := func(base reg.Register, off reg.Register) Mem { return Mem{Base: base, Index: off, Scale: 1} }
	off := GP64()
	XORQ(off, off)
	Label("loop")
	x := make([]reg.VecVirtual, radix)
	for k := range x {
		x[k] = l.register()
		VMOVUPD(at(from[k], off), x[k])
	}
	for k, y := range l.butterfly(x) {
		if k > 0 { // y re + swapped y (-im, im)
			re, im := l.register(), l.pair(Mem{Base: factors, Disp: 24*(k-1) + 8})
			VBROADCASTSD(Mem{Base: factors, Disp: 24 * (k - 1)}, re)
			y = l.add(l.mul(y, re), l.mul(l.swap(y), im))
		}
		VMOVUPD(y, at(to[k], off))
	}
	ADDQ(U8(l.bytes), off)
	x86.Loop(n, "loop")
	x86.Return()
}

// butterfly emits the transform of a few numbers.
func (l level) butterfly(x []reg.VecVirtual) []reg.VecVirtual {
	if len(x) == 2 {
		return []reg.VecVirtual{l.add(x[0], x[1]), l.sub(x[0], x[1])}
	}
	sign := l.constant(0, math.Copysign(0, -1))
	switch len(x) {
	case 3:
		t, d := l.add(x[1], x[2]), l.sub(x[1], x[2])
		m := l.sub(x[0], l.mul(t, l.constant(0.5, 0.5)))
		n := l.mul(l.turn(d, sign), l.constant(sin60, sin60))
		return []reg.VecVirtual{l.add(x[0], t), l.add(m, n), l.sub(m, n)}
	case 4:
		a, b := l.add(x[0], x[2]), l.sub(x[0], x[2])
		c, d := l.add(x[1], x[3]), l.turn(l.sub(x[1], x[3]), sign)
		return []reg.VecVirtual{l.add(a, c), l.add(b, d), l.sub(a, c), l.sub(b, d)}
	}
	c1, c2 := l.constant(cos72, cos72), l.constant(cos144, cos144)
	s1, s2 := l.constant(sin72, sin72), l.constant(sin144, sin144)
	t1, t2, t3, t4 := l.add(x[1], x[4]), l.add(x[2], x[3]), l.sub(x[1], x[4]), l.sub(x[2], x[3])
	m1 := l.add(l.add(x[0], l.mul(t1, c1)), l.mul(t2, c2))
	m2 := l.add(l.add(x[0], l.mul(t1, c2)), l.mul(t2, c1))
	n1 := l.turn(l.add(l.mul(t3, s1), l.mul(t4, s2)), sign)
	n2 := l.turn(l.sub(l.mul(t3, s2), l.mul(t4, s1)), sign)
	return []reg.VecVirtual{l.add(l.add(x[0], t1), t2), l.add(m1, n1), l.add(m2, n2), l.sub(m2, n2), l.sub(m1, n1)}
}

// The sines and cosines of internal/kernel/fft.
const (
	sin60  = 0.8660254037844386
	cos72  = 0.30901699437494745
	sin72  = 0.9510565162951535
	cos144 = -0.8090169943749475
	sin144 = 0.5877852522924731
)
