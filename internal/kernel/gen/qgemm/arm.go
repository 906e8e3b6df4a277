package main

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
)

// armKernels writes the kernels for arm64. SDOT multiplies signed bytes. The bytes of A are
// therefore lowered by 128, and sums begin with 128 times the sums of the weights: as 32
// bits wrap around, they end as the same integers.
func armKernels() *neon.File {
	f := neon.New("qgemm")
	armLift(f)
	armSums(f)
	armStore(f)
	armDepthwise(f, 16)
	armDepthwise(f, 8)
	armRows(f)
	armLargest(f)
	return f
}

// fields loads fields of what t points to into new registers.
func fields(k *neon.Func, t neon.R, offs ...int) []neon.R {
	to := make([]neon.R, len(offs))
	for i, off := range offs {
		to[i] = k.R()
		k.Go("MOVD %d(%v), %v", off, t, to[i])
	}
	return to
}

// lowering returns a register that takes 128 from each byte, or adds it, by EOR.
func lowering(k *neon.Func) neon.V {
	v := k.V()
	k.Op("movi", v.B16(), neon.Imm(128))
	return v
}

// liftRow is the row of a tile's sums that has what they begin with.
const liftRow = blockRows

// armLift emits 128 times the sums of the weights.
func armLift(f *neon.File) {
	k := f.Func("liftSDOT", "computes what the sums of the tile begin with.", "t *byte", "")
	t := k.Arg("t")
	l := fields(k, t, tVectors, tSum, tB, tRuns, tQuads)
	vectors, to, first, steps := l[0], l[1], l[2], l[3]
	k.Go("MUL %v, %v, %v", l[4], steps, steps)
	k.Go("ADD $%d, %v", liftRow*4*16*maxVectors, to)
	stride, b, left := k.R(), k.R(), k.R()
	k.Go("LSL $6, %v, %v", vectors, stride)
	sums, w, minus := k.Vs(4), k.Vs(4), lowering(k) // -128 as a signed byte
	k.Label("vector")
	for _, s := range sums {
		k.Zero(s)
	}
	k.Go("MOVD %v, %v", first, b)
	k.Go("MOVD %v, %v", steps, left)
	k.Label("quad")
	for j := 0; j < 4; j += 2 {
		k.Op("ldp", w[j].Q(), w[j+1].Q(), neon.At(b, 16*j))
	}
	k.Go("ADD %v, %v", stride, b)
	for j, s := range sums {
		k.Op("sdot", s.S4(), w[j].B16(), minus.B16())
	}
	k.Loop(left, "quad")
	for _, s := range sums {
		k.Op("neg", s.S4(), s.S4())
	}
	k.Store(to, sums...)
	k.Go("ADD $64, %v", first)
	k.Loop(vectors, "vector")
	k.Go("RET")
}

// armSums emits the sums of one block, six rows by 16 columns at a time, 16 bytes of each row
// and then, four by four, those left of a run.
func armSums(f *neon.File) {
	k := f.Func("sumsSDOT", "computes the sums of the first block of rows.", "t *byte", "")
	t := k.Arg("t")
	l := fields(k, t, tAOff, tA, tVectors, tSum, tB)
	first, a, vectors, to, panel := l[0], l[1], l[2], l[3], l[4]
	row := fields(k, first, 0, 8, 16, 24, 32, 40)
	for _, r := range row {
		k.Go("ADD %v, %v", a, r)
	}
	stride, b, koff, runs, at, left := k.R(), k.R(), k.R(), k.R(), k.R(), k.R()
	k.Go("LSL $6, %v, %v", vectors, stride)
	sums, bytes, w, raised := k.Vs(4*blockRows), k.Vs(blockRows), k.V(), lowering(k)
	quads := func(count int) {
		for i, x := range bytes {
			load := x.Q()
			if count == 1 {
				load = x.S()
			}
			k.Op("ldr", load, neon.Indexed(row[i], at))
			k.Op("eor", x.B16(), x.B16(), raised.B16())
		}
		for quad := range count {
			for j := range 4 {
				k.Op("ldr", w.Q(), neon.At(b, 16*j))
				for i, x := range bytes {
					k.Op("sdot", sums[4*i+j].S4(), w.B16(), x.B4Lane(quad))
				}
			}
			k.Go("ADD %v, %v", stride, b)
		}
		k.Go("ADD $%d, %v", 4*count, at)
		k.Go("SUB $%d, %v", count, left)
	}
	k.Label("vector")
	for j := range 4 {
		k.Op("ldr", sums[j].Q(), neon.At(to, liftRow*4*16*maxVectors+16*j))
	}
	for i := 4; i < len(sums); i++ {
		k.Copy(sums[i], sums[i%4])
	}
	k.Go("MOVD %v, %v", panel, b)
	k.Go("MOVD %d(%v), %v", tKOff, t, koff)
	k.Go("MOVD %d(%v), %v", tRuns, t, runs)
	k.Label("run")
	k.Go("MOVD.P 8(%v), %v", koff, at)
	k.Go("MOVD %d(%v), %v", tQuads, t, left)
	k.Go("CMP $4, %v", left)
	k.Go("BLT rest")
	k.Label("four")
	quads(4)
	k.Go("CMP $4, %v", left)
	k.Go("BGE four")
	k.Label("rest")
	k.Go("CBZ %v, done", left)
	k.Label("one")
	quads(1)
	k.Go("CBNZ %v, one", left)
	k.Label("done")
	k.Loop(runs, "run")
	for i := range blockRows {
		for j := 0; j < 4; j++ {
			k.Op("str", sums[4*i+j].Q(), neon.At(to, 4*16*maxVectors*i+16*j))
		}
	}
	k.Go("ADD $64, %v", to)
	k.Go("ADD $64, %v", panel)
	k.Loop(vectors, "vector")
	k.Go("RET")
}

// numbers loads values from where p points into all lanes of new registers, and moves p on.
func numbers(k *neon.Func, p neon.R, count int) []neon.V {
	v := k.Vs(count)
	for _, x := range v {
		k.Op("ld1r", x.S4(), neon.At(p, 0))
		k.Go("ADD $4, %v", p)
	}
	return v
}

// laneOp emits an operation on the lanes of registers, d[i] = x[i] op y[i]; a slice of one
// stands for the same register every time.
func laneOp(k *neon.Func, op string, d, x, y []neon.V) {
	for i := range d {
		k.Op(op, d[i].S4(), x[i].S4(), y[i%len(y)].S4())
	}
}

// convert makes floats of integers in place.
func convert(k *neon.Func, v []neon.V) {
	for _, x := range v {
		k.Op("scvtf", x.S4(), x.S4())
	}
}

// clamp keeps v within bounds, NaN and the sign of zero: FMAX does neither.
func clamp(k *neon.Func, v []neon.V, lo, hi, room neon.V) {
	for _, x := range v {
		k.Op("fcmgt", room.S4(), lo.S4(), x.S4())
		k.Op("bit", x.B16(), lo.B16(), room.B16())
		k.Op("fcmgt", room.S4(), x.S4(), hi.S4())
		k.Op("bit", x.B16(), hi.B16(), room.B16())
	}
}

// pack rounds eight values for each pair of registers and leaves their bytes in the first. NaN
// becomes 0.
func pack(k *neon.Func, v []neon.V) neon.V {
	for i, x := range v {
		k.Op("fcvtns", x.S4(), x.S4())
		if i%2 == 0 {
			k.Op("sqxtun", x.H4(), x.S4())
		} else {
			k.Op("sqxtun2", v[i-1].H8(), x.S4())
		}
	}
	k.Op("uqxtn", v[0].B8(), v[0].H8())
	if len(v) == 4 {
		k.Op("uqxtn2", v[0].B16(), v[2].H8())
	}
	return v[0]
}

// widen makes eight integers of the bytes in v[0].
func widen(k *neon.Func, v []neon.V) {
	k.Op("ushll", v[0].H8(), v[0].B8(), neon.Imm(0))
	k.Op("ushll2", v[1].S4(), v[0].H8(), neon.Imm(0))
	k.Op("ushll", v[0].S4(), v[0].H4(), neon.Imm(0))
}

// armStore emits the way of a block's sums to C, eight columns at a time.
func armStore(f *neon.File) {
	k := f.Func("storeNEON", "stores whole eights of columns of the sums of the first block of rows.", "t *byte", "")
	t := k.Arg("t")
	l := fields(k, t, tSum, tCOff, tC, tAdd, tAddKind, tFloatC, tScale, tShift, tCols)
	sums, coff, c, add, kind, float, scale, shift, columns := l[0], l[1], l[2], l[3], l[4], l[5], l[6], l[7], l[8]
	rows, to, at, left, sum, scaling, shifting := k.R(), k.R(), k.R(), k.R(), k.R(), k.R(), k.R()
	k.Go("LSR $3, %v", columns)
	k.Go("ADD $%d, %v, %v", tLo, t, at)
	b := numbers(k, at, 3)
	lo, hi, factor := b[0], b[1], b[2:]
	v, x, room := k.Vs(2), k.Vs(2), k.V()
	k.Go("MOVD $%d, %v", blockRows, rows)
	k.Label("row")
	k.Go("MOVD.P 8(%v), %v", coff, to)
	k.Go("TBNZ $63, %v, next", to)
	k.Go("CBZ %v, next", columns)
	k.Go("MOVD %v, %v", columns, left)
	k.Go("MOVD %v, %v", sums, sum)
	k.Go("MOVD %v, %v", scale, scaling)
	k.Go("MOVD %v, %v", shift, shifting)
	k.Label("eight")
	k.Load(sum, v...)
	convert(k, v)
	k.Load(scaling, x...)
	laneOp(k, "fmul", v, v, x)
	k.Load(shifting, x...)
	laneOp(k, "fadd", v, v, x)
	k.Go("CBZ %v, added", kind)
	k.Go("TBNZ $0, %v, bytes", kind)
	k.Go("ADD %v<<2, %v, %v", to, add, at)
	k.Load(at, x...)
	k.Go("B scaled")
	k.Label("bytes")
	k.Op("ldr", x[0].D(), neon.Indexed(add, to))
	widen(k, x)
	convert(k, x)
	k.Label("scaled")
	laneOp(k, "fmul", x, x, factor)
	laneOp(k, "fadd", v, v, x)
	k.Label("added")
	clamp(k, v, lo, hi, room)
	k.Go("CBNZ %v, float", float)
	k.Op("str", pack(k, v).D(), neon.Indexed(c, to))
	k.Go("B stored")
	k.Label("float")
	k.Go("ADD %v<<2, %v, %v", to, c, at)
	k.Store(at, v...)
	k.Label("stored")
	k.Go("ADD $8, %v", to)
	k.Loop(left, "eight")
	k.Label("next")
	k.Go("ADD $%d, %v", 4*16*maxVectors, sums)
	k.Loop(rows, "row")
	k.Go("RET")
}

// armDepthwise emits a depthwise kernel for 16 channels, or for the 8 that a block of 64 has
// from a multiple of 8 on. It reads the filters as narrow does.
func armDepthwise(f *neon.File, channels int) {
	name := fmt.Sprintf("depthwise%dSDOT", channels)
	k := f.Func(name, fmt.Sprintf("computes %d channels of a row of positions.", channels), "d *byte", "")
	d := k.Arg("d")
	l := fields(k, d, dX, dY, dW, dScale, dShift, dLift, dN, dXStep, dYStep)
	x, y, weights, scale, shift, lift, n, xStep, yStep := l[0], l[1], l[2], l[3], l[4], l[5], l[6], l[7], l[8]
	w, off, groups, at := k.R(), k.R(), k.R(), k.R()
	count := channels / 4
	load := func(p neon.R) []neon.V {
		v := k.Vs(count)
		for i, r := range v {
			k.Op("ldr", r.Q(), neon.At(p, 64*i))
		}
		return v
	}
	scales, shifts, lifts := load(scale), load(shift), load(lift)
	k.Go("ADD $%d, %v, %v", dLo, d, at)
	b := numbers(k, at, 2)
	sums, taps, raised, filter := k.Vs(count), k.Vs(4), lowering(k), k.V()
	room := k.Vs(4)[:count]
	k.Label("position")
	for i, s := range sums {
		k.Copy(s, lifts[i])
	}
	k.Go("MOVD %v, %v", weights, w)
	k.Go("MOVD %d(%v), %v", dOff, d, off)
	k.Go("MOVD %d(%v), %v", dGroups, d, groups)
	k.Label("group")
	for _, v := range taps {
		k.Go("MOVD.P 8(%v), %v", off, at)
		to := v.Q()
		if channels == 8 {
			to = v.D()
		}
		k.Op("ldr", to, neon.Indexed(x, at))
		k.Op("eor", v.B16(), v.B16(), raised.B16())
	}
	for i, v := range interleave(k, taps, room) {
		k.Op("ldr", filter.Q(), neon.At(w, 64*i))
		k.Op("sdot", sums[i].S4(), v.B16(), filter.B16())
	}
	k.Go("ADD $256, %v", w)
	k.Loop(groups, "group")
	convert(k, sums)
	laneOp(k, "fmul", sums, sums, scales)
	laneOp(k, "fadd", sums, sums, shifts)
	clamp(k, sums, b[0], b[1], filter)
	if v := pack(k, sums); channels == 8 {
		k.Op("str", v.D(), neon.At(y, 0))
	} else {
		k.Op("str", v.Q(), neon.At(y, 0))
	}
	k.Go("ADD %v, %v", xStep, x)
	k.Go("ADD %v, %v", yStep, y)
	k.Loop(n, "position")
	k.Go("RET")
}

// interleave returns the products of each channel, four by four, of four taps, in as many
// registers as room has.
func interleave(k *neon.Func, taps, room []neon.V) []neon.V {
	if len(room) == 2 {
		k.Op("zip1", taps[0].B16(), taps[0].B16(), taps[1].B16())
		k.Op("zip1", taps[2].B16(), taps[2].B16(), taps[3].B16())
		k.Op("zip1", room[0].H8(), taps[0].H8(), taps[2].H8())
		k.Op("zip2", room[1].H8(), taps[0].H8(), taps[2].H8())
		return room
	}
	for i := range 2 {
		k.Op("zip1", room[2*i].B16(), taps[2*i].B16(), taps[2*i+1].B16())
		k.Op("zip2", room[2*i+1].B16(), taps[2*i].B16(), taps[2*i+1].B16())
	}
	for i := range 2 {
		k.Op("zip1", taps[2*i].H8(), room[i].H8(), room[2+i].H8())
		k.Op("zip2", taps[2*i+1].H8(), room[i].H8(), room[2+i].H8())
	}
	return taps
}

// armRows emits the loops over rows, for whole blocks of eight values.
func armRows(f *neon.File) {
	k := f.Func("quantizeNEON", "turns 8*blocks values into bytes.",
		"dst *byte, src *float32, blocks int, scale, shift float32", "")
	dst, src, n := k.Arg("dst"), k.Arg("src"), k.Arg("blocks")
	scale, shift, lo, hi := []neon.V{k.Broadcast("scale")}, []neon.V{k.Broadcast("shift")}, k.V(), k.Number(255)
	k.Zero(lo)
	v, room := k.Vs(2), k.V()
	k.Label("loop")
	k.Load(src, v...)
	laneOp(k, "fmul", v, v, scale)
	laneOp(k, "fadd", v, v, shift)
	clamp(k, v, lo, hi, room)
	k.Op("str", pack(k, v).D(), neon.Post(dst, 8))
	k.Loop(n, "loop")
	k.Go("RET")

	k = f.Func("dequantizeNEON", "turns 8*blocks bytes into values.",
		"dst *float32, src *byte, blocks int, zero int32, scale float32", "")
	dst, src, n = k.Arg("dst"), k.Arg("src"), k.Arg("blocks")
	zero := []neon.V{k.V()}
	k.Op("dup", zero[0].S4(), k.Arg("zero").W())
	scale = []neon.V{k.Broadcast("scale")}
	v = k.Vs(2)
	k.Label("loop")
	k.Op("ldr", v[0].D(), neon.Post(src, 8))
	widen(k, v)
	laneOp(k, "sub", v, v, zero)
	convert(k, v)
	laneOp(k, "fmul", v, v, scale)
	k.Store(dst, v...)
	k.Loop(n, "loop")
	k.Go("RET")

	k = f.Func("columnSumsNEON", "sums 8*blocks columns of rows that lie stride bytes apart.",
		"dst *int32, src *byte, rows, stride, blocks int", "")
	dst, src, n = k.Arg("dst"), k.Arg("src"), k.Arg("blocks")
	rows, stride, row, left := k.Arg("rows"), k.Arg("stride"), k.R(), k.R()
	v, x := k.Vs(2), k.V()
	k.Label("loop")
	for _, s := range v {
		k.Zero(s)
	}
	k.Go("MOVD %v, %v", src, row)
	k.Go("MOVD %v, %v", rows, left)
	k.Label("row")
	k.Op("ldr", x.D(), neon.At(row, 0))
	k.Op("ushll", x.H8(), x.B8(), neon.Imm(0))
	k.Op("uaddw", v[0].S4(), v[0].S4(), x.H4())
	k.Op("uaddw2", v[1].S4(), v[1].S4(), x.H8())
	k.Go("ADD %v, %v", stride, row)
	k.Loop(left, "row")
	k.Store(dst, v...)
	k.Go("ADD $8, %v", src)
	k.Loop(n, "loop")
	k.Go("RET")
}
