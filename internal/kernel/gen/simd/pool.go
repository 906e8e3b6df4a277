package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// poolKernel is a kernel over the 2 x 2 windows of two rows of pixels: for each
// of n windows it goes through the channels, a register at a time; the caller
// sees to channels that do not fill one.
type poolKernel struct {
	layout.Kernel
	body func(p *window)
}

// window is one register's worth of a 2 x 2 window.
type window struct {
	lanes
	x       [4]Mem // first row left, right, second row left, right
	idx     Mem
	m, v, s regs
	sum     regs
}

func (k poolKernel) emit(v isa) {
	words := strings.Fields
	params, _ := k.PoolParams()
	x86.Begin(k.Name+v.suffix, "func("+params+")", k.Name+v.suffix+" "+k.Doc)
	c, j := x86.Arg("c"), GP64()
	SHLQ(U8(2), c)
	w := &window{m: regs{}, v: regs{}, s: regs{}, sum: regs{}}
	for _, name := range words(k.Scalars) {
		w.s[name] = v.broadcast(name)
	}
	for _, name := range words(k.Mats) {
		w.m[name] = x86.Arg(name)
	}
	if k.Sums != "" {
		k.reduces(v, w, c, j)
		x86.Return()
		return
	}
	n, x0, x1, idx := x86.Arg("n"), x86.Arg("x0"), x86.Arg("x1"), x86.Arg("idx")
	for _, name := range words(k.Vecs) {
		w.v[name] = x86.Arg(name)
	}
	Label("window")
	XORQ(j, j)
	right0, right1 := GP64(), GP64()
	LEAQ(Mem{Base: x0, Index: c, Scale: 1}, right0)
	LEAQ(Mem{Base: x1, Index: c, Scale: 1}, right1)
	Label("channels")
	w.lanes = lanes{isa: v, index: j}
	for i, p := range []reg.Register{x0, right0, x1, right1} {
		w.x[i] = w.mem(p)
	}
	w.idx = Mem{Base: idx}
	k.body(w)
	ADDQ(U8(v.lanes), idx)
	ADDQ(U8(v.bytes()), j)
	CMPQ(j, c)
	JLT(LabelRef("channels"))
	LEAQ(Mem{Base: x0, Index: c, Scale: 2}, x0)
	LEAQ(Mem{Base: x1, Index: c, Scale: 2}, x1)
	for _, name := range words(k.Mats) {
		ADDQ(c, w.m[name])
	}
	x86.Loop(n, "window")
	x86.Return()
}

// reduces goes through the windows for one register of channels at a time, and
// adds to the sums.
func (k poolKernel) reduces(v isa, w *window, c, j reg.Register) {
	words := strings.Fields
	XORQ(j, j)
	Label("channels")
	here := func(name string) Mem {
		return Mem{Base: x86.Arg(name), Index: j, Scale: 1}
	}
	for _, name := range words(k.Sums) {
		w.sum[name] = v.vec()
		VMOVUPS(here(name), w.sum[name])
	}
	for _, name := range words(k.Vecs) {
		w.s[name] = v.vec()
		VMOVUPS(here(name), w.s[name])
	}
	p0, p1, idx, left, off := GP64(), GP64(), GP64(), GP64(), GP64()
	LEAQ(here("x0"), p0)
	LEAQ(here("x1"), p1)
	Load(Param("n"), left)
	MOVQ(j, off)
	Label("window")
	Load(Param("idx"), idx)
	byteOff := GP64()
	MOVQ(off, byteOff)
	SHRQ(U8(2), byteOff)
	w.lanes = lanes{isa: v, index: off}
	w.x = [4]Mem{{Base: p0}, {Base: p0, Index: c, Scale: 1}, {Base: p1}, {Base: p1, Index: c, Scale: 1}}
	w.idx = Mem{Base: idx, Index: byteOff, Scale: 1}
	k.body(w)
	ADDQ(c, off)
	LEAQ(Mem{Base: p0, Index: c, Scale: 2}, p0)
	LEAQ(Mem{Base: p1, Index: c, Scale: 2}, p1)
	x86.Loop(left, "window")
	for _, name := range words(k.Sums) {
		VMOVUPS(w.sum[name], here(name))
	}
	ADDQ(U8(v.bytes()), j)
	CMPQ(j, c)
	JLT(LabelRef("channels"))
}

// loadPixel loads an operand of the window's four pixels.
func (w *window) loadPixel(i int) reg.VecVirtual {
	r := w.vec()
	VMOVUPS(w.x[i], r)
	return r
}

// constant returns a register with i in every lane, as an integer.
func (v isa) constant(i int) reg.VecVirtual {
	g, x, r := GP32(), XMM(), v.vec()
	MOVL(U32(i), g)
	VMOVD(g, x)
	VPBROADCASTD(x, r)
	return r
}

// largest leaves the maximum of the values in the first and the number of the
// first that has it in the result; NaN is larger than numbers.
func (w *window) largest(vals [4]reg.VecVirtual) (best, where reg.VecVirtual) {
	best, where = vals[0], w.constant(0)
	for i := 1; i < 4; i++ {
		w.take(vals[i], w.constant(i), best, where)
	}
	return best, where
}

// take replaces the best value, and its number by n, where a is larger or NaN.
func (w *window) take(a, n, best, where reg.VecVirtual) {
	if w.wide() {
		k, nan := K(), K()
		VCMPPS(U8(cmpGreater), best, a, k)
		VCMPPS(U8(cmpUnordered), a, a, nan)
		KORW(k, nan, k)
		VMOVAPS(a, k, best)
		VMOVDQA32(n, k, where)
		return
	}
	k, nan := YMM(), YMM()
	VCMPPS(U8(cmpGreater), best, a, k)
	VCMPPS(U8(cmpUnordered), a, a, nan)
	VORPS(k, nan, k)
	VBLENDVPS(k, a, best, best)
	VBLENDVPS(k, n, where, where)
}

// storeIndex writes a register of small integers as bytes.
func (w *window) storeIndex(where reg.VecVirtual) {
	if w.wide() {
		VPMOVDB(where, w.idx)
		return
	}
	hi, lo := XMM(), where.AsX()
	VEXTRACTI128(U8(1), where, hi)
	VPACKUSDW(hi, lo, lo)
	VPACKUSWB(lo, lo, lo)
	VMOVQ(lo, w.idx)
}

// loadIndex reads bytes as a register of integers.
func (w *window) loadIndex() reg.VecVirtual {
	r := w.vec()
	VPMOVZXBD(w.idx, r)
	return r
}

// indexMask returns the mask of lanes whose index is i.
func (w *window) indexMask(where reg.Register, i int) reg.Register {
	n := w.constant(i)
	if w.wide() {
		k := K()
		VPCMPEQD(n, where, k)
		return k
	}
	VPCMPEQD(n, where, n)
	return n
}

// where returns r in the lanes of the mask and 0 elsewhere.
func (v isa) where(mask, r reg.Register) reg.VecVirtual {
	out := v.vec()
	if v.wide() {
		VMOVAPS_Z(r, mask, out)
	} else {
		VANDPS(mask, r, out)
	}
	return out
}

func (w *window) maskedGradient() reg.VecVirtual {
	g := w.load(w.m["dy"])
	w.unlessFlat(g, w.load(w.m["y"]), w.s["lo"], w.s["hi"])
	return g
}

// poolBodies are the bodies of layout.Pools.
func poolBodies() map[string]func(w *window) {
	return map[string]func(w *window){
		"maxPool": func(w *window) {
			best, where := w.largest([4]reg.VecVirtual{w.loadPixel(0), w.loadPixel(1), w.loadPixel(2), w.loadPixel(3)})
			w.store(best, w.m["y"])
			w.storeIndex(where)
		},
		"maxPoolGrad": func(w *window) {
			g, where := w.load(w.m["dy"]), w.loadIndex()
			for i := range 4 {
				VMOVUPS(w.where(w.indexMask(where, i), g), w.x[i])
			}
		},
		"normMaxPool": func(w *window) {
			a, b := w.load(w.v["a"]), w.load(w.v["b"])
			var vals [4]reg.VecVirtual
			for i := range vals {
				vals[i] = w.loadPixel(i)
				VFMADD213PS(b, a, vals[i])
			}
			best, where := w.largest(vals)
			w.clamp(best, w.s["lo"], w.s["hi"])
			w.store(best, w.m["y"])
			w.storeIndex(where)
		},
		"normMaxPoolSums": func(w *window) {
			g, where := w.maskedGradient(), w.loadIndex()
			x := w.vec()
			w.zero(x)
			for i := range 4 {
				k := w.indexMask(where, i)
				if w.wide() {
					VMOVUPS(w.x[i], k, x)
				} else {
					VBLENDVPS(k, w.x[i], x, x)
				}
			}
			VSUBPS(w.s["mean"], x, x)
			VADDPS(g, w.sum["sum"], w.sum["sum"])
			VFMADD231PS(x, g, w.sum["dot"])
		},
		"normMaxPoolGrad": func(w *window) {
			g, where := w.maskedGradient(), w.loadIndex()
			VMULPS(w.load(w.v["p"]), g, g)
			q, r, c := w.load(w.v["q"]), w.load(w.v["r"]), w.load(w.v["mean"])
			for i := range 4 {
				x, d := w.loadPixel(i), w.vec()
				VSUBPS(c, x, d)
				VFMADD213PS(r, q, d)
				VADDPS(w.where(w.indexMask(where, i), g), d, d)
				w.unlessFlat(d, x, w.s["inLo"], w.s["inHi"])
				VMOVUPS(d, w.x[i])
			}
		},
	}
}
