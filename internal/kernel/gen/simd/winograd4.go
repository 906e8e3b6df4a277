package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// The transforms of Winograd's F(4x4, 3x3) at the points 0, ±a, ±b and infinity, for
// AVX-512. Between the transforms of rows and of columns the values lie in tmp.

const (
	wino4A = 5. / 8
	wino4B = 3. / 2

	wino4FilterParams = "n, tap, to int, src, dst, tmp *float32"
	wino4InputParams  = "n, c, row, pad, to int, src, dst, tmp *float32"
	wino4OutputParams = "n, c, from, row int, src, dst, tmp *float32"
)

// numbers4 holds constants in registers.
type numbers4 struct {
	v isa
	m map[float64]reg.VecVirtual
}

func (n *numbers4) constant(x float64) reg.VecVirtual {
	if n.m == nil {
		n.m = map[float64]reg.VecVirtual{}
	}
	r, ok := n.m[x]
	if !ok {
		r = n.v.vec()
		n.m[x] = r
		n.v.fill(r, float32(x))
	}
	return r
}

// prepare has constants in registers before a loop.
func (n *numbers4) prepare(xs ...float64) {
	for _, x := range xs {
		n.constant(x)
	}
}

// timesPlus is x times the constant k, plus y.
func (n *numbers4) timesPlus(x reg.VecVirtual, k float64, y reg.VecVirtual) reg.VecVirtual {
	r := n.v.vec()
	VMOVAPS(y, r)
	VFMADD231PS(n.constant(k), x, r)
	return r
}

func (n *numbers4) times(x reg.VecVirtual, k float64) reg.VecVirtual {
	r := n.v.vec()
	VMULPS(n.constant(k), x, r)
	return r
}

// input makes B' d of six values.
func (n *numbers4) input(d vecs) vecs {
	const a, b = wino4A, wino4B
	ea, eb := n.timesPlus(d[2], -b*b, d[4]), n.timesPlus(d[2], -a*a, d[4])
	oa, ob := n.timesPlus(d[1], -b*b, d[3]), n.timesPlus(d[1], -a*a, d[3])
	first := n.timesPlus(d[0], a*a*b*b, n.timesPlus(d[2], -a*a-b*b, d[4]))
	last := n.timesPlus(d[1], a*a*b*b, n.timesPlus(d[3], -a*a-b*b, d[5]))
	return vecs{first, n.timesPlus(oa, a, ea), n.timesPlus(oa, -a, ea), n.timesPlus(ob, b, eb),
		n.timesPlus(ob, -b, eb), last}
}

// output makes A' m of six values.
func (n *numbers4) output(m vecs) vecs {
	const a, b = wino4A, wino4B
	v := n.v
	pa, ma, pb, mb := plus(v, m[1], m[2]), sub(v, m[1], m[2]), plus(v, m[3], m[4]), sub(v, m[3], m[4])
	return vecs{
		plus(v, plus(v, m[0], pa), pb),
		n.timesPlus(mb, b, n.times(ma, a)),
		n.timesPlus(pb, b*b, n.times(pa, a*a)),
		n.timesPlus(mb, b*b*b, n.timesPlus(ma, a*a*a, m[5])),
	}
}

// filter makes G g of three values.
func (n *numbers4) filter(g vecs) vecs {
	const a, b = wino4A, wino4B
	pair := func(a, b float64) (reg.VecVirtual, reg.VecVirtual) {
		scale, square, odd := wino4Pair(a, b)
		even := n.timesPlus(g[2], square, n.times(g[0], scale))
		return n.timesPlus(g[1], odd, even), n.timesPlus(g[1], -odd, even)
	}
	pa, ma := pair(a, b)
	pb, mb := pair(b, a)
	return vecs{n.times(g[0], 1/(a*a*b*b)), pa, ma, pb, mb, g[2]}
}

var (
	wino4InputNumbers = []float64{-wino4B * wino4B, -wino4A * wino4A, wino4A * wino4A * wino4B * wino4B,
		-wino4A*wino4A - wino4B*wino4B, wino4A, -wino4A, wino4B, -wino4B}
	wino4OutputNumbers = []float64{wino4A, wino4B, wino4A * wino4A, wino4B * wino4B, wino4A * wino4A * wino4A,
		wino4B * wino4B * wino4B}
)

// wino4Pair returns the factors of filter at the points ±a, the others being ±b.
func wino4Pair(a, b float64) (scale, square, odd float64) {
	scale = 1 / (2 * a * a * (a*a - b*b))
	return scale, scale * a * a, scale * a
}

func wino4FilterNumbers() []float64 {
	numbers := []float64{1 / (wino4A * wino4A * wino4B * wino4B)}
	for _, p := range [][2]float64{{wino4A, wino4B}, {wino4B, wino4A}} {
		scale, square, odd := wino4Pair(p[0], p[1])
		numbers = append(numbers, scale, square, odd, -odd)
	}
	return numbers
}

// load4 reads count vectors step bytes apart, and moves p behind them.
func load4(v isa, p reg.GPVirtual, step reg.Register, count int) (d vecs) {
	for range count {
		x := v.vec()
		VMOVUPS(Mem{Base: p}, x)
		ADDQ(step, p)
		d = append(d, x)
	}
	return d
}

// between4 is where value j of line i lies in tmp.
func between4(v isa, tmp reg.Register, i, j, width int) Mem {
	return Mem{Base: tmp, Disp: (i*width + j) * v.bytes()}
}

// column4 reads column j of the lines in tmp.
func column4(v isa, tmp reg.Register, lines, j, width int) (d vecs) {
	for i := range lines {
		x := v.vec()
		VMOVUPS(between4(v, tmp, i, j, width), x)
		d = append(d, x)
	}
	return d
}

// wino4Filter is G g G' of n*16 filters side by side: taps are tap bytes apart, the 36
// results to bytes.
func wino4Filter(v isa) {
	x86.Begin("wino4Filter"+v.suffix, "func("+wino4FilterParams+")",
		"wino4Filter"+v.suffix+" transforms filters.")
	n, tap, to := x86.Arg("n"), x86.Arg("tap"), x86.Arg("to")
	src, dst, tmp := x86.Arg("src"), x86.Arg("dst"), x86.Arg("tmp")
	k := &numbers4{v: v}
	k.prepare(wino4FilterNumbers()...)
	Label("loop")
	p := GP64()
	MOVQ(src, p)
	for i := range 3 {
		for j, x := range k.filter(load4(v, p, tap, 3)) {
			VMOVUPS(x, between4(v, tmp, i, j, 6))
		}
	}
	for j := range 6 {
		q := GP64()
		LEAQ(Mem{Base: dst}, q)
		for range j {
			ADDQ(to, q)
		}
		six := GP64()
		LEAQ(Mem{Base: to, Index: to, Scale: 2}, six)
		ADDQ(six, six)
		for _, x := range k.filter(column4(v, tmp, 3, j, 6)) {
			VMOVUPS(x, Mem{Base: q})
			ADDQ(six, q)
		}
	}
	ADDQ(U8(v.bytes()), src)
	ADDQ(U8(v.bytes()), dst)
	x86.Loop(n, "loop")
	x86.Return()
}

// wino4Input is B' d B of n patches of 6 x 6 pixels, four apart; rows of pixels are row
// bytes apart, the 36 results to bytes; pad bytes are left out after each patch's
// channels.
func wino4Input(v isa) {
	x86.Begin("wino4Input"+v.suffix, "func("+wino4InputParams+")",
		"wino4Input"+v.suffix+" transforms patches of the input.")
	c, row, to := x86.Arg("c"), x86.Arg("row"), x86.Arg("to")
	src, dst, tmp, left := x86.Arg("src"), x86.Arg("dst"), x86.Arg("tmp"), GP64()
	k := &numbers4{v: v}
	k.prepare(wino4InputNumbers...)
	six := GP64()
	LEAQ(Mem{Base: to, Index: to, Scale: 2}, six)
	ADDQ(six, six)
	Label("patch")
	MOVQ(c, left)
	Label("channels")
	line := GP64()
	MOVQ(src, line)
	for i := range 6 {
		p := GP64()
		MOVQ(line, p)
		for j, x := range k.input(load4(v, p, c, 6)) {
			VMOVUPS(x, between4(v, tmp, i, j, 6))
		}
		ADDQ(row, line)
	}
	first := GP64()
	MOVQ(dst, first)
	for j := range 6 {
		q := GP64()
		MOVQ(first, q)
		for _, x := range k.input(column4(v, tmp, 6, j, 6)) {
			VMOVUPS(x, Mem{Base: q})
			ADDQ(six, q)
		}
		ADDQ(to, first)
	}
	ADDQ(U8(v.bytes()), src)
	ADDQ(U8(v.bytes()), dst)
	SUBQ(U8(v.bytes()), left)
	JNE(LabelRef("channels"))
	three := GP64()
	LEAQ(Mem{Base: c, Index: c, Scale: 2}, three)
	ADDQ(three, src)
	ADDQ(x86.Arg("pad"), dst)
	n := x86.Arg("n")
	DECQ(n)
	Store(n, Param("n"))
	JNE(LabelRef("patch"))
	x86.Return()
}

// wino4Output is A' m A of n patches: the 36 values are from bytes apart, the four rows
// of results row bytes.
func wino4Output(v isa) {
	x86.Begin("wino4Output"+v.suffix, "func("+wino4OutputParams+")",
		"wino4Output"+v.suffix+" transforms products to patches of the output.")
	c, from, row := x86.Arg("c"), x86.Arg("from"), x86.Arg("row")
	src, dst, tmp, left := x86.Arg("src"), x86.Arg("dst"), x86.Arg("tmp"), GP64()
	k := &numbers4{v: v}
	k.prepare(wino4OutputNumbers...)
	Label("patch")
	MOVQ(c, left)
	Label("channels")
	p := GP64()
	MOVQ(src, p)
	for i := range 6 {
		for j, x := range k.output(load4(v, p, from, 6)) {
			VMOVUPS(x, between4(v, tmp, i, j, 4))
		}
	}
	first := GP64()
	MOVQ(dst, first)
	for j := range 4 {
		q := GP64()
		MOVQ(first, q)
		for _, x := range k.output(column4(v, tmp, 6, j, 4)) {
			VMOVUPS(x, Mem{Base: q})
			ADDQ(row, q)
		}
		ADDQ(c, first)
	}
	ADDQ(U8(v.bytes()), src)
	ADDQ(U8(v.bytes()), dst)
	SUBQ(U8(v.bytes()), left)
	JNE(LabelRef("channels"))
	three := GP64()
	LEAQ(Mem{Base: c, Index: c, Scale: 2}, three)
	ADDQ(three, dst)
	n := x86.Arg("n")
	DECQ(n)
	Store(n, Param("n"))
	JNE(LabelRef("patch"))
	x86.Return()
}
