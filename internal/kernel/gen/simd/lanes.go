package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// Predicates of VCMPPS; "not" ones hold for NaN.
const (
	cmpUnordered  = 0x03
	cmpNotLess    = 0x15 // not <
	cmpNotAtMost  = 0x16 // not <=
	cmpNotAtLeast = 0x19 // not >=
	cmpAtLeast    = 0x1D
	cmpGreater    = 0x1E
)

// lanes is a place in a kernel's loop: the width at hand, whether only some
// lanes are in play, and the offset from each operand's pointer.
type lanes struct {
	isa
	masked bool
	k      reg.Register // opmask or lane mask, if masked
	index  reg.Register // bytes
	disp   int
}

func (l lanes) mem(p reg.Register) Mem {
	if l.index == nil {
		return Mem{Base: p, Disp: l.disp}
	}
	return Mem{Base: p, Index: l.index, Scale: 1, Disp: l.disp}
}

func (l lanes) load(p reg.Register) reg.VecVirtual {
	r := l.vec()
	switch {
	case !l.masked:
		VMOVUPS(l.mem(p), r)
	case l.wide():
		VMOVUPS_Z(l.mem(p), l.k, r)
	default:
		VMASKMOVPS(l.mem(p), l.k, r)
	}
	return r
}

// loadOr is load with a value for the lanes that are not in play.
func (l lanes) loadOr(p reg.Register, other float32) reg.VecVirtual {
	r := l.load(p)
	if !l.masked || other == 0 {
		return r
	}
	o := l.vec()
	l.fill(o, other)
	if l.wide() {
		VMOVAPS(r, l.k, o)
	} else {
		VBLENDVPS(l.k, r, o, o)
	}
	return o
}

// fill sets every lane.
func (v isa) fill(r reg.VecVirtual, value float32) {
	if value == 0 {
		v.zero(r)
		return
	}
	g, x := GP32(), XMM()
	MOVL(U32(math.Float32bits(value)), g)
	VMOVD(g, x)
	VPBROADCASTD(x, r)
}

func (l lanes) store(r, p reg.Register) {
	switch {
	case !l.masked:
		VMOVUPS(r, l.mem(p))
	case l.wide():
		VMOVUPS(r, l.k, l.mem(p))
	default:
		VMASKMOVPS(r, l.k, l.mem(p))
	}
}

// partial makes the mask of the first n lanes.
func (v isa) partial(n reg.GPVirtual) reg.Register {
	if v.wide() {
		ones, k := GP64(), K()
		MOVQ(I32(-1), ones)
		BZHIQ(n, ones, ones)
		KMOVW(ones.As32(), k)
		return k
	}
	m, x := YMM(), XMM()
	VMOVD(n.As32(), x)
	VPBROADCASTD(x, m)
	VPCMPGTD(iota8(), m, m)
	return m
}

var iotaData Mem

// iota8 is the constant 0, 1, ..., 7.
func iota8() Mem {
	if iotaData.Symbol.Name == "" {
		iotaData = GLOBL("lanes8", 8|16) // RODATA|NOPTR
		for i := range 8 {
			DATA(4*i, U32(i))
		}
	}
	return iotaData
}

// compare returns the mask of lanes where a and b meet the predicate.
func (v isa) compare(predicate int, a, b reg.Register) reg.Register {
	if v.wide() {
		k := K()
		VCMPPS(U8(predicate), b, a, k)
		return k
	}
	m := YMM()
	VCMPPS(U8(predicate), b, a, m)
	return m
}

// keep clears the lanes of r outside the mask.
func (v isa) keep(mask, r reg.Register) {
	if v.wide() {
		VMOVAPS_Z(r, mask, r)
	} else {
		VANDPS(mask, r, r)
	}
}

// clamp is simd.Bounds' apply: NaN bounds do nothing, NaN values stay.
func (v isa) clamp(r, lo, hi reg.Register) {
	VMAXPS(r, lo, r)
	VMINPS(r, hi, r)
}

// unlessFlat clears the lanes of r where y is at or beyond a bound.
func (v isa) unlessFlat(r, y, lo, hi reg.Register) {
	v.keep(v.compare(cmpNotAtMost, y, lo), r)
	v.keep(v.compare(cmpNotAtLeast, y, hi), r)
}

func (v isa) broadcast(name string) reg.VecVirtual {
	return x86.Broadcast(name, v.vec())
}
