package main

import "github.com/kindred-ml/kindred/internal/kernel/gen/neon"

// armKernels writes the kernels for arm64.
func armKernels() *neon.File {
	f := neon.New("dot16")
	armStrip(f)
	armFilter(f)
	armBest(f)
	armExact(f, "squaredDistanceVector", "sums the squares of 16*blocks differences.",
		func(k *neon.Func, x, y, sum neon.V) {
			k.Op("fsub", x.D2(), x.D2(), y.D2())
			k.Op("fmul", x.D2(), x.D2(), x.D2())
			k.Op("fadd", sum.D2(), sum.D2(), x.D2())
		})
	armExact(f, "dotVector", "sums 16*blocks products.", func(k *neon.Func, x, y, sum neon.V) {
		k.Op("fmla", sum.D2(), x.D2(), y.D2()) // rounded once: the product of 24-bit factors is exact
	})
	armAccumulate(f)
	return f
}

// armStrip emits the product of one panel of 14 rows with any number of panels of 32
// columns, eight columns at a time: 28 registers accumulate, two hold the first and the
// second coordinates of eight columns, two the pairs of eight rows.
func armStrip(f *neon.File) {
	const rows = 14
	k := f.Func("stripVector", "computes a strip of 14 rows by 32*panels columns of dot products.",
		"c *int32, a, b *int16, pairs, panels int", "")
	c, a, b, pairs, panels := k.Arg("c"), k.Arg("a"), k.Arg("b"), k.Arg("pairs"), k.Arg("panels")
	row, step, groups, pa, pb, n, pc := k.R(), k.R(), k.R(), k.R(), k.R(), k.R(), k.R()
	rowPairs, coords, sums := k.Vs(2), k.Vs(2), k.Vs(2*rows) // lanes of 16 bits only of the first 16 registers
	k.Go("LSL $7, %v, %v", panels, row)
	k.Go("MOVD $128, %v", step)
	k.Label("panel")
	k.Go("MOVD $4, %v", groups)
	k.Label("group")
	for _, s := range sums {
		k.Zero(s)
	}
	k.Go("MOVD %v, %v", a, pa)
	k.Go("MOVD %v, %v", b, pb)
	k.Go("MOVD %v, %v", pairs, n)
	k.Label("pair")
	k.Go("VLD2.P (%v)(%v), [V%d.H8, V%d.H8]", pb, step, coords[0], coords[1])
	for i := 0; i < rows; i += 4 {
		v, end := rowPairs[i/4%2], min(i+4, rows)
		if end-i == 4 {
			k.Op("ldr", v.Q(), neon.Post(pa, 16))
		} else {
			k.Op("ldr", v.D(), neon.Post(pa, 8))
		}
		for j, x := range coords {
			for r := i; r < end; r++ {
				k.Op("smlal", sums[2*r].S4(), x.H4(), v.HLane(2*(r-i)+j))
				k.Op("smlal2", sums[2*r+1].S4(), x.H8(), v.HLane(2*(r-i)+j))
			}
		}
	}
	k.Loop(n, "pair")
	k.Go("MOVD %v, %v", c, pc)
	for r := range rows {
		k.Op("stp", sums[2*r].Q(), sums[2*r+1].Q(), neon.At(pc, 0))
		if r+1 < rows {
			k.Go("ADD %v, %v", row, pc)
		}
	}
	k.Go("ADD $32, %v", c)
	k.Go("ADD $32, %v", b)
	k.Loop(groups, "group")
	k.Go("SUB $96, %v, %v", pb, b) // the last group's end, three groups in, is 96 bytes beyond the panel's
	k.Loop(panels, "panel")
	k.Go("RET")
}

// scores is what filter and best begin with: the addresses of a row's products and of
// what scores them.
type scores struct {
	v, c, scale, half neon.R
	row               neon.V // the row's scale
}

func newScores(k *neon.Func) scores {
	return scores{k.Arg("v"), k.Arg("c"), k.Arg("scale"), k.Arg("half"), k.Broadcast("rowScale")}
}

// block emits the scores of 16 columns, which it stores and returns, with eight registers
// that are free then.
func (s scores) block(k *neon.Func) (x, free []neon.V) {
	p, scale, half := k.Vs(4), k.Vs(4), k.Vs(4)
	k.Load(s.c, p...)
	k.Load(s.scale, scale...)
	k.Load(s.half, half...)
	for i := range p {
		k.Op("scvtf", p[i].S4(), p[i].S4())
	}
	for i := range p {
		k.Op("fmul", p[i].S4(), p[i].S4(), scale[i].S4())
	}
	for i := range p {
		k.Op("fmls", half[i].S4(), p[i].S4(), s.row.S4())
	}
	for i := range p {
		k.Op("fneg", half[i].S4(), half[i].S4())
	}
	k.Store(s.v, half...)
	return half, append(p, scale...)
}

// armFilter emits the comparison of one row of scores with its own threshold and with those
// of the columns.
func armFilter(f *neon.File) {
	k := f.Func("filterVector", "scores and compares 16*blocks columns of one row.",
		"v *float32, c *int32, scale, half, colLo *float32, rowScale, rowHalf, rowLo float32, mask *uint32, blocks int",
		"")
	s := newScores(k)
	colLo, mask, n := k.Arg("colLo"), k.Arg("mask"), k.Arg("blocks")
	rowHalf, rowLo := k.Broadcast("rowHalf"), k.Broadcast("rowLo")
	bits := k.Words([4]uint32{0x08040201, 0x80402010, 0x08040201, 0x80402010})
	k.Label("block")
	x, masks := s.block(k)
	for i := range x {
		k.Op("fcmge", masks[i].S4(), x[i].S4(), rowLo.S4())
	}
	lo := k.Vs(4)
	k.Load(colLo, lo...)
	for i := range x {
		k.Op("fsub", x[i].S4(), x[i].S4(), rowHalf.S4())
	}
	for i := range x {
		k.Op("fcmge", masks[4+i].S4(), x[i].S4(), lo[i].S4())
	}
	// A byte of each lane, then one bit of each byte.
	for i := 0; i < 8; i += 2 {
		k.Op("uzp1", masks[i].H8(), masks[i].H8(), masks[i+1].H8())
	}
	for i := 0; i < 8; i += 4 {
		k.Op("uzp1", masks[i].B16(), masks[i].B16(), masks[i+2].B16())
		k.Op("and", masks[i].B16(), masks[i].B16(), bits.B16())
	}
	m := masks[0]
	k.Op("addp", m.B16(), m.B16(), masks[4].B16())
	k.Op("addp", m.B16(), m.B16(), m.B16())
	k.Op("addp", m.B16(), m.B16(), m.B16())
	k.Op("str", m.S(), neon.Post(mask, 4))
	k.Loop(n, "block")
	k.Go("RET")
}

// armBest emits the scoring of one row and the running best two scores of each lane.
func armBest(f *neon.File) {
	k := f.Func("bestVector", "scores 16*blocks columns of one row and updates its best two.",
		"v *float32, c *int32, scale, half *float32, rowScale float32, base int32, top *byte, blocks int", "")
	s := newScores(k)
	base, top, n := k.Arg("base"), k.Arg("top"), k.Arg("blocks")
	first, at, second, index := k.Vs(4), k.Vs(4), k.Vs(4), k.Vs(4)
	sixteen := k.Word(16)
	for i, v := range index {
		at := uint32(4 * i)
		k.LoadWords(v, [4]uint32{at, at + 1, at + 2, at + 3})
	}
	k.Op("dup", first[0].S4(), base.W())
	for _, v := range index {
		k.Op("add", v.S4(), v.S4(), first[0].S4())
	}
	from := k.R()
	k.Go("MOVD %v, %v", top, from)
	for _, v := range [][]neon.V{first, at, second} {
		k.Load(from, v...)
	}
	k.Label("block")
	x, free := s.block(k)
	greater, less := free[:4], free[4:]
	for i := range x {
		k.Op("fcmgt", greater[i].S4(), x[i].S4(), first[i].S4())
	}
	for i := range x {
		k.Op("fmin", less[i].S4(), x[i].S4(), first[i].S4())
	}
	for i := range x {
		k.Op("fmax", second[i].S4(), second[i].S4(), less[i].S4())
	}
	for i := range x {
		k.Op("bit", first[i].B16(), x[i].B16(), greater[i].B16())
		k.Op("bit", at[i].B16(), index[i].B16(), greater[i].B16())
	}
	for i := range x {
		k.Op("add", index[i].S4(), index[i].S4(), sixteen.S4())
	}
	k.Loop(n, "block")
	for _, v := range [][]neon.V{first, at, second} {
		k.Store(top, v...)
	}
	k.Go("RET")
}

// lengthen emits the conversion of float32 lanes to twice as many registers of float64.
func lengthen(k *neon.Func, d, s []neon.V) {
	for i, v := range s {
		k.Op("fcvtl", d[2*i].D2(), v.S2())
		k.Op("fcvtl2", d[2*i+1].D2(), v.S4())
	}
}

// armExact emits a sum over 16*blocks pairs of float32 in 16 lanes of float64.
func armExact(f *neon.File, name, doc string, add func(k *neon.Func, x, y, sum neon.V)) {
	k := f.Func(name, doc, "x, y *float32, blocks int, sum *[16]float64", "")
	x, y, n, to := k.Arg("x"), k.Arg("y"), k.Arg("blocks"), k.Arg("sum")
	sums, singles, u, v := k.Vs(8), k.Vs(4), k.Vs(8), k.Vs(8)
	for _, s := range sums {
		k.Zero(s)
	}
	k.Label("block")
	k.Load(x, singles...)
	lengthen(k, u, singles)
	k.Load(y, singles...)
	lengthen(k, v, singles)
	for i, s := range sums {
		add(k, u[i], v[i], s)
	}
	k.Loop(n, "block")
	k.Store(to, sums...)
	k.Go("RET")
}

// armAccumulate emits the sum of float32 values onto float64 ones.
func armAccumulate(f *neon.File) {
	k := f.Func("accumulateVector", "adds 16*blocks values of x to those of sum.",
		"sum *float64, x *float32, blocks int", "")
	from, x, n, to := k.Arg("sum"), k.Arg("x"), k.Arg("blocks"), k.R()
	singles, v, sums := k.Vs(4), k.Vs(8), k.Vs(8)
	k.Go("MOVD %v, %v", from, to)
	k.Label("block")
	k.Load(x, singles...)
	lengthen(k, v, singles)
	k.Load(from, sums...)
	for i, s := range sums {
		k.Op("fadd", s.D2(), s.D2(), v[i].D2())
	}
	k.Store(to, sums...)
	k.Loop(n, "block")
	k.Go("RET")
}
