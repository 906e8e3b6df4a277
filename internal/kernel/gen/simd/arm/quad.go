package arm

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
)

// quad is lanes for arm64: a place in a kernel's loop, four values or one of the last
// three. A register that one value is loaded to has zeros in its other lanes.
type quad struct {
	*neon.Func
	one     bool
	indexed bool
	index   neon.R // bytes, if indexed
	disp    int
}

// regs are vector registers, and pointers general ones, by the operands' names.
type (
	regs     = map[string]neon.V
	pointers = map[string]neon.R
)

func (q quad) operand(p neon.R) neon.Operand {
	if q.indexed {
		return neon.Indexed(p, q.index)
	}
	return neon.At(p, q.disp)
}

// part is as much of a register as is in memory.
func (q quad) part(v neon.V) neon.Operand {
	if q.one {
		return v.S()
	}
	return v.Q()
}

// bytes is how far the next place is.
func (q quad) bytes() int {
	if q.one {
		return 4
	}
	return 16
}

func (q quad) load(p neon.R) neon.V {
	v := q.V()
	q.Op("ldr", q.part(v), q.operand(p))
	return v
}

func (q quad) store(v neon.V, p neon.R) { q.Op("str", q.part(v), q.operand(p)) }

// only clears the lanes that are not in play.
func (q quad) only(v neon.V) {
	if q.one {
		q.Op("fmov", v.S(), v.S())
	}
}

// do is an instruction on floats in four lanes.
func (q quad) do(name string, d neon.V, from ...neon.V) {
	o := []neon.Operand{d.S4()}
	for _, v := range from {
		o = append(o, v.S4())
	}
	q.Op(name, o...)
}

// bits is an instruction on whole registers.
func (q quad) bits(name string, d, n, m neon.V) { q.Op(name, d.B16(), n.B16(), m.B16()) }

// clamp is simd.Bounds' apply for bounds that loadBounds has seen to: NaN values stay.
func (q quad) clamp(v, lo, hi neon.V) {
	q.do("fmax", v, v, lo)
	q.do("fmin", v, v, hi)
}

// loadBounds replaces bounds that are NaN, which do nothing, by infinities.
func loadBounds(k *neon.Func, lo, hi neon.V) {
	k.Scope(func() {
		is := k.V()
		for _, b := range []struct {
			v     neon.V
			other float64
		}{{lo, math.Inf(-1)}, {hi, math.Inf(1)}} {
			k.Op("fcmeq", is.S4(), b.v.S4(), b.v.S4())
			k.Op("bif", b.v.B16(), k.Number(float32(b.other)).B16(), is.B16())
		}
	})
}

// unlessFlat clears the lanes of v where y is at or beyond a bound. NaN bounds are none.
func (q quad) unlessFlat(v, y, lo, hi neon.V) {
	q.Scope(func() {
		flat := q.V()
		q.do("fcmge", flat, lo, y)
		q.bits("bic", v, v, flat)
		q.do("fcmge", flat, y, hi)
		q.bits("bic", v, v, flat)
	})
}

// along emits a loop over a row of n bytes, four registers at a time, then one, then
// value by value. body's i numbers an accumulator.
func along(k *neon.Func, label string, n neon.R, body func(q quad, i int)) {
	k.Scope(func() {
		j, rest := k.R(), k.R()
		q := quad{Func: k, indexed: true, index: j}
		k.Go("MOVD ZR, %v", j)
		k.Go("SUBS $64, %v, %v", n, rest)
		k.Go("BLT %swidest", label)
		k.Label(label + "wide")
		for i := range 4 {
			k.Scope(func() { body(q, i) })
			k.Go("ADD $16, %v", j)
		}
		k.Go("SUBS $64, %v", rest)
		k.Go("BGE %swide", label)
		k.Label(label + "widest")
		k.Go("ADD $64, %v", rest)
		rows(q, label, rest, func(q quad) { body(q, 0) }, func(q quad) { body(q, 1) })
	})
}

// rows emits the loop over what is left of a row, rest bytes: a register at a time, then
// a value.
func rows(q quad, label string, rest neon.R, four, one func(q quad)) {
	q.Go("SUBS $16, %v", rest)
	q.Go("BLT %sfew", label)
	q.Label(label + "four")
	q.Scope(func() { four(q) })
	q.Go("ADD $16, %v", q.index)
	q.Go("SUBS $16, %v", rest)
	q.Go("BGE %sfour", label)
	q.Label(label + "few")
	q.Go("ADDS $16, %v", rest)
	q.Go("BEQ %send", label)
	q.one = true
	q.Label(label + "one")
	q.Scope(func() { one(q) })
	q.Go("ADD $4, %v", q.index)
	q.Go("SUBS $4, %v", rest)
	q.Go("BNE %sone", label)
	q.Label(label + "end")
}

// total adds up all lanes of the accumulators, in a fixed order, into every lane of the
// first.
func total(k *neon.Func, acc []neon.V) neon.V {
	for n := len(acc) / 2; n > 0; n /= 2 {
		for i := range n {
			k.Op("fadd", acc[i].S4(), acc[i].S4(), acc[i+n].S4())
		}
	}
	for range 2 {
		k.Op("faddp", acc[0].S4(), acc[0].S4(), acc[0].S4())
	}
	return acc[0]
}

// zeros returns n registers of zeros.
func zeros(k *neon.Func, n int) []neon.V {
	v := k.Vs(n)
	for _, r := range v {
		k.Zero(r)
	}
	return v
}
