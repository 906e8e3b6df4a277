package arm

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
)

// depth is depthRow for arm64.
type depth struct {
	quad
	label         string
	tapsW, stride int
	d, c, j       neon.R // Depthwise; bytes of a pixel; of them, where the channels at work begin
	tmp           neon.R
}

// depthwise emits the kernels of depthwise convolution.
func depthwise(f *neon.File) {
	for _, s := range layout.DepthShapes {
		channelLoop(f, fmt.Sprintf("depthwise%dby%dNEON", s[0], s[1]),
			"is Depthwise's kernel for filters of that width and step.", func(k *depth) {
				k.tapsW, k.stride = s[0], s[1]
				k.positions()
			})
	}
	for _, s := range [][2]int{{3, 3}, {5, 1}, {7, 1}} {
		channelLoop(f, fmt.Sprintf("depthwiseWeights%dNEON", s[0]),
			"is Depthwise's kernel back to the weights for filters of that width.", func(k *depth) {
				k.tapsW = s[0]
				k.weights(s[1])
			})
	}
	channelLoop(f, "depthwiseNEON", "is Depthwise's kernel.", (*depth).anyForward)
	channelLoop(f, "depthwiseWeightsNEON", "is Depthwise's kernel.", (*depth).anyWeights)
}

// channelLoop emits a kernel of Depthwise that goes through the channels, four or one
// at a time.
func channelLoop(f *neon.File, name, doc string, body func(k *depth)) {
	a := f.Func(name, doc, "d *byte", "")
	k := &depth{quad: quad{Func: a}, d: a.Arg("d"), c: a.R(), j: a.R(), tmp: a.R()}
	rest := a.R()
	k.field(layout.DepthC, k.c)
	a.Go("MOVD ZR, %v", k.j)
	a.Go("MOVD %v, %v", k.c, rest)
	for _, one := range []bool{false, true} {
		k.one, k.label = one, map[bool]string{false: "four", true: "one"}[one]
		a.Label(k.label)
		a.Go("CMP $%d, %v", k.bytes(), rest)
		a.Go("BLT %send", k.label)
		a.Scope(func() { body(k) })
		a.Go("ADD $%d, %v", k.bytes(), k.j)
		a.Go("SUB $%d, %v", k.bytes(), rest)
		a.Go("B %s", k.label)
		a.Label(k.label + "end")
	}
	a.Go("RET")
}

func (k *depth) field(off int, r neon.R) { k.Go("MOVD %d(%v), %v", off, k.d, r) }

// get returns a field.
func (k *depth) get(off int) neon.R {
	r := k.R()
	k.field(off, r)
	return r
}

// pointer returns a field, moved to the channels at work.
func (k *depth) pointer(off int) neon.R {
	r := k.get(off)
	k.Go("ADD %v, %v", k.j, r)
	return r
}

// move adds a field to a register.
func (k *depth) move(r neon.R, off int) {
	k.field(off, k.tmp)
	k.Go("ADD %v, %v", k.tmp, r)
}

// positions goes along the row, in groups and then one by one.
func (k *depth) positions() {
	x, y, n := k.pointer(layout.DepthX), k.pointer(layout.DepthY), k.get(layout.DepthN)
	for _, g := range []struct {
		label string
		n     int
	}{{"g", layout.DepthGroup}, {"s", 1}} {
		label := k.label + g.label
		k.Label(label)
		k.Go("CMP $%d, %v", g.n, n)
		k.Go("BLT %send", label)
		k.Scope(func() { k.sums(label, x, y, g.n) })
		k.Go("SUB $%d, %v", g.n, n)
		k.Go("B %s", label)
		k.Label(label + "end")
	}
}

// sums computes some positions, in the order of the taps, and moves x and y past them.
func (k *depth) sums(label string, x, y neon.R, n int) {
	acc := zeros(k.Func, n)
	row, w, r := k.R(), k.pointer(layout.DepthW), k.get(layout.DepthTaps)
	k.Go("MOVD %v, %v", x, row)
	k.Label(label + "row")
	k.Scope(func() {
		weights := make([]neon.V, k.tapsW)
		for t := range weights {
			weights[t] = k.load(w)
			k.Go("ADD %v, %v", k.c, w)
		}
		px, v := k.R(), k.V()
		k.Go("MOVD %v, %v", row, px)
		for col := range (n-1)*k.stride + k.tapsW {
			loaded := false
			for i := range n {
				if t := col - i*k.stride; t >= 0 && t < k.tapsW {
					if !loaded {
						k.Op("ldr", k.part(v), k.operand(px))
						loaded = true
					}
					k.do("fmla", acc[i], v, weights[t])
				}
			}
			k.Go("ADD %v, %v", k.c, px)
		}
	})
	k.move(row, layout.DepthXRow)
	k.Go("SUBS $1, %v", r)
	k.Go("BNE %srow", label)
	k.finish(label, acc)
	for i := range n {
		k.store(acc[i], y)
		k.move(y, layout.DepthYStep)
		k.move(x, layout.DepthXStep)
	}
}

// finish applies scale, shift and bounds, if there is a scale.
func (k *depth) finish(label string, acc []neon.V) {
	p := k.get(layout.DepthScale)
	k.Go("CBZ %v, %splain", p, label)
	k.Go("ADD %v, %v", k.j, p)
	scale, shift, lo, hi, sum := k.load(p), k.load(k.pointer(layout.DepthShift)), k.V(), k.V(), k.V()
	for _, b := range []struct {
		v   neon.V
		off int
	}{{lo, layout.DepthLo}, {hi, layout.DepthHi}} {
		k.Op("ldr", b.v.S(), neon.At(k.d, b.off))
		k.Op("dup", b.v.S4(), b.v.SLane(0))
	}
	loadBounds(k.Func, lo, hi)
	for _, a := range acc {
		k.Copy(sum, shift)
		k.do("fmla", sum, a, scale)
		k.clamp(sum, lo, hi)
		k.Copy(a, sum)
	}
	k.Label(label + "plain")
}

// weights handles so many rows of taps at a time.
func (k *depth) weights(rows int) {
	first, w, r := k.pointer(layout.DepthX), k.pointer(layout.DepthW), k.get(layout.DepthTaps)
	k.Label(k.label + "row")
	acc := make([]neon.V, rows*k.tapsW)
	to := k.R()
	k.Go("MOVD %v, %v", w, to)
	for t := range acc {
		acc[t] = k.load(to)
		k.Go("ADD %v, %v", k.c, to)
	}
	x, y, n, line, px := k.R(), k.pointer(layout.DepthY), k.get(layout.DepthN), k.R(), k.R()
	k.Go("MOVD %v, %v", first, x)
	k.Label(k.label + "position")
	k.Scope(func() {
		dy := k.load(y)
		k.Go("MOVD %v, %v", x, line)
		for i := range rows {
			k.Go("MOVD %v, %v", line, px)
			for t := range k.tapsW {
				k.do("fmla", acc[i*k.tapsW+t], k.load(px), dy)
				if t+1 < k.tapsW {
					k.Go("ADD %v, %v", k.c, px)
				}
			}
			if i+1 < rows {
				k.move(line, layout.DepthXRow)
			}
		}
	})
	k.move(x, layout.DepthXStep)
	k.move(y, layout.DepthYStep)
	k.Go("SUBS $1, %v", n)
	k.Go("BNE %sposition", k.label)
	for t := range acc {
		k.store(acc[t], w)
		k.Go("ADD %v, %v", k.c, w)
	}
	for range rows {
		k.move(first, layout.DepthXRow)
	}
	k.Go("SUBS $%d, %v", rows, r)
	k.Go("BNE %srow", k.label)
}

// anyForward goes through the positions for filters of any width.
func (k *depth) anyForward() {
	x, y, n, row, w, r, px, t := k.pointer(layout.DepthX), k.pointer(layout.DepthY), k.get(layout.DepthN), k.R(), k.R(),
		k.R(), k.R(), k.R()
	acc, v, weight := k.V(), k.V(), k.V()
	k.Label(k.label + "position")
	k.Zero(acc)
	k.field(layout.DepthW, w)
	k.Go("ADD %v, %v", k.j, w)
	k.field(layout.DepthTaps, r)
	k.Go("MOVD %v, %v", x, row)
	k.Label(k.label + "row")
	k.field(layout.DepthTapsW, t)
	k.Go("MOVD %v, %v", row, px)
	k.Label(k.label + "tap")
	k.Op("ldr", k.part(v), k.operand(px))
	k.Op("ldr", k.part(weight), k.operand(w))
	k.do("fmla", acc, v, weight)
	k.Go("ADD %v, %v", k.c, px)
	k.Go("ADD %v, %v", k.c, w)
	k.Go("SUBS $1, %v", t)
	k.Go("BNE %stap", k.label)
	k.move(row, layout.DepthXRow)
	k.Go("SUBS $1, %v", r)
	k.Go("BNE %srow", k.label)
	k.store(acc, y)
	k.move(x, layout.DepthXStep)
	k.move(y, layout.DepthYStep)
	k.Go("SUBS $1, %v", n)
	k.Go("BNE %sposition", k.label)
}

// anyWeights adds to each tap's weights the products of its positions.
func (k *depth) anyWeights() {
	row, w, r, tap, t, x, y, n := k.pointer(layout.DepthX), k.pointer(layout.DepthW), k.get(layout.DepthTaps), k.R(),
		k.R(), k.R(), k.R(), k.R()
	k.Label(k.label + "row")
	k.field(layout.DepthTapsW, t)
	k.Go("MOVD %v, %v", row, tap)
	k.Label(k.label + "tap")
	acc := k.load(w)
	k.field(layout.DepthY, y)
	k.Go("ADD %v, %v", k.j, y)
	k.field(layout.DepthN, n)
	k.Go("MOVD %v, %v", tap, x)
	k.Label(k.label + "position")
	k.Scope(func() { k.do("fmla", acc, k.load(x), k.load(y)) })
	k.move(x, layout.DepthXStep)
	k.move(y, layout.DepthYStep)
	k.Go("SUBS $1, %v", n)
	k.Go("BNE %sposition", k.label)
	k.store(acc, w)
	k.Go("ADD %v, %v", k.c, tap)
	k.Go("ADD %v, %v", k.c, w)
	k.Go("SUBS $1, %v", t)
	k.Go("BNE %stap", k.label)
	k.move(row, layout.DepthXRow)
	k.Go("SUBS $1, %v", r)
	k.Go("BNE %srow", k.label)
}
