package main

import "github.com/kindred-ml/kindred/internal/kernel/gen/neon"

// armKernels writes the kernels for arm64.
func armKernels() *neon.File {
	f := neon.New("dot8")
	armStripDot(f)
	armStripMatrix(f)
	armPlace(f)
	armQuantize(f)
	armSquaredDistance(f)
	return f
}

const stripParams = "c *int32, a *int8, bias *int32, b *uint8, steps, panels int"

// armStrip walks over panels of 32 columns, eight of them at a time, and for these over the
// 32 rows, eight at a time. What computes a block of eight by eight finds it here.
type armStrip struct {
	rows, cols neon.R // a step's first bytes: rows lie 64 bytes apart, groups of four coordinates of columns 128
	bias       neon.R // of the eight rows
	to, stride neon.R // where the block goes, bytes from one row of it to the next
}

// loops emits them. begin prepares the sums of a block, step adds the products of 64
// coordinates and moves cols behind them, end stores the sums and moves to by eight rows.
func loops(k *neon.Func, s armStrip, begin, step, end func()) {
	c, a, bias, b := k.Arg("c"), k.Arg("a"), k.Arg("bias"), k.Arg("b")
	steps, panels, groups, eights, next, left := k.Arg("steps"), k.Arg("panels"), k.R(), k.R(), k.R(), k.R()
	k.Go("LSL $7, %v, %v", panels, s.stride)
	k.Label("panel")
	k.Go("MOVD $4, %v", groups)
	k.Label("columns")
	k.Go("MOVD %v, %v", c, s.to)
	k.Go("MOVD %v, %v", a, next)
	k.Go("MOVD %v, %v", bias, s.bias)
	k.Go("MOVD $4, %v", eights)
	k.Label("rows")
	k.Go("MOVD %v, %v", next, s.rows)
	k.Go("MOVD %v, %v", b, s.cols)
	k.Go("MOVD %v, %v", steps, left)
	begin()
	k.Label("step")
	step()
	k.Go("ADD $1024, %v", s.rows)
	k.Loop(left, "step")
	end()
	k.Go("ADD $32, %v", s.bias)
	// The second eight rows of a tile lie behind the first, the next tile behind all steps
	// of this one.
	k.Go("ADD $512, %v", next)
	k.Go("SUB $1, %v", eights)
	k.Go("CMP $2, %v", eights)
	k.Go("BNE same")
	k.Go("ADD %v<<10, %v, %v", steps, a, next)
	k.Label("same")
	k.Go("CBNZ %v, rows", eights)
	k.Go("ADD $32, %v", c)
	k.Go("ADD $32, %v", b)
	k.Loop(groups, "columns")
	k.Go("SUB $96, %v, %v", s.cols, b) // the last group began 96 bytes into the panel
	k.Loop(panels, "panel")
	k.Go("RET")
}

func newStrip(k *neon.Func) armStrip { return armStrip{k.R(), k.R(), k.R(), k.R(), k.R()} }

// armStripDot emits the product by SDOT, four columns by one row of four coordinates. It
// lowers columns by 128 again, so that biases are not needed.
func armStripDot(f *neon.File) {
	k := f.Func("stripDot", "computes a strip of 32 rows by 32*panels columns of dot products with SDOT.", stripParams,
		"")
	s := newStrip(k)
	sums, rows, cols, raised := k.Vs(16), k.Vs(8), k.Vs(4), k.V()
	k.Op("movi", raised.B16(), neon.Imm(128))
	loops(k, s, func() {
		for _, v := range sums {
			k.Zero(v)
		}
	}, func() {
		for sixteen := range 4 {
			for i, r := range rows {
				k.Op("ldr", r.Q(), neon.At(s.rows, 64*i+16*sixteen))
			}
			for quad := range 4 {
				c := cols[quad%2*2:][:2]
				k.Op("ldp", c[0].Q(), c[1].Q(), neon.At(s.cols, 0))
				k.Go("ADD $128, %v", s.cols)
				for _, v := range c {
					k.Op("eor", v.B16(), v.B16(), raised.B16())
				}
				for i, r := range rows {
					for j, v := range c {
						k.Op("sdot", sums[2*i+j].S4(), v.B16(), r.B4Lane(quad))
					}
				}
			}
		}
	}, func() {
		for i := range rows {
			k.Op("stp", sums[2*i].Q(), sums[2*i+1].Q(), neon.At(s.to, 0))
			k.Go("ADD %v, %v", s.stride, s.to)
		}
	})
}

// armStripMatrix emits the same by USMMLA, two columns by two rows of eight coordinates,
// whose four sums lie column by column.
func armStripMatrix(f *neon.File) {
	k := f.Func("stripMatrix", "computes the same with USMMLA.", stripParams, "")
	s := newStrip(k)
	sums, low, high, cols := k.Vs(16), k.Vs(4), k.Vs(4), k.Vs(4)
	loaded, at := k.Vs(4), k.R()
	sum := func(row, col int) neon.V { return sums[4*row+col] } // counted in pairs
	loops(k, s, func() {
		for r := range 4 {
			k.Go("ADD $%d, %v, %v", 8*r, s.bias, at)
			k.Op("ld1r", sum(r, 0).D2(), neon.At(at, 0))
			for c := 1; c < 4; c++ {
				k.Copy(sum(r, c), sum(r, 0))
			}
		}
	}, func() {
		for sixteen := range 4 {
			for r := range 4 {
				x, y := loaded[0], loaded[1]
				k.Op("ldr", x.Q(), neon.At(s.rows, 128*r+16*sixteen))
				k.Op("ldr", y.Q(), neon.At(s.rows, 128*r+64+16*sixteen))
				k.Op("zip1", low[r].D2(), x.D2(), y.D2())
				k.Op("zip2", high[r].D2(), x.D2(), y.D2())
			}
			for _, rows := range [][]neon.V{low, high} {
				for i := 0; i < 4; i += 2 { // two groups of four coordinates of eight columns
					k.Op("ldp", loaded[i].Q(), loaded[i+1].Q(), neon.At(s.cols, 0))
					k.Go("ADD $128, %v", s.cols)
				}
				for i := range 2 {
					k.Op("zip1", cols[2*i].S4(), loaded[i].S4(), loaded[2+i].S4())
					k.Op("zip2", cols[2*i+1].S4(), loaded[i].S4(), loaded[2+i].S4())
				}
				for r, x := range rows {
					for c, y := range cols {
						k.Op("usmmla", sum(r, c).S4(), y.B16(), x.B16())
					}
				}
			}
		}
	}, func() {
		for r := range 4 {
			for _, take := range []string{"uzp1", "uzp2"} { // the first row of the two, the second
				for i := range 2 {
					k.Op(take, cols[i].S4(), sum(r, 2*i).S4(), sum(r, 2*i+1).S4())
				}
				k.Op("stp", cols[0].Q(), cols[1].Q(), neon.At(s.to, 0))
				k.Go("ADD %v, %v", s.stride, s.to)
			}
		}
	})
}

// zeros returns n cleared registers.
func zeros(k *neon.Func, n int) []neon.V {
	v := k.Vs(n)
	for _, z := range v {
		k.Zero(z)
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

// armPlace emits w = x*f - m with its sums.
func armPlace(f *neon.File) {
	k := f.Func("placeNEON",
		"writes 16*blocks values w = x*f - m, and the sums of w*w and of w*m and the largest |w| by lane.",
		"w, x, m *float32, f float32, blocks int, sums *[48]float32", "")
	w, x, m, n, to := k.Arg("w"), k.Arg("x"), k.Arg("m"), k.Arg("blocks"), k.Arg("sums")
	factor := []neon.V{k.Broadcast("f")}
	square, dot, largest := zeros(k, 4), zeros(k, 4), zeros(k, 4)
	v, point, p := k.Vs(4), k.Vs(4), k.Vs(4)
	k.Label("block")
	k.Load(x, v...)
	k.Load(m, point...)
	laneOp(k, "fmul", v, v, factor)
	laneOp(k, "fsub", v, v, point)
	k.Store(w, v...)
	laneOp(k, "fmul", p, v, v)
	laneOp(k, "fadd", square, square, p)
	laneOp(k, "fmul", p, v, point)
	laneOp(k, "fadd", dot, dot, p)
	for _, r := range v {
		k.Op("fabs", r.S4(), r.S4())
	}
	laneOp(k, "fmax", largest, largest, v)
	k.Loop(n, "block")
	for _, s := range [][]neon.V{square, dot, largest} {
		k.Store(to, s...)
	}
	k.Go("RET")
}

// armQuantize emits q = round(w*s) with the sum of what that loses.
func armQuantize(f *neon.File) {
	k := f.Func("quantizeNEON",
		"writes 16*blocks values q = round(w*s), and the sums of (w - unit*q)^2 and of q by lane.",
		"q *int8, w *float32, s, unit float32, blocks int, lost *[16]float32, sum *[16]int32", "")
	q, w, n, lost, sum := k.Arg("q"), k.Arg("w"), k.Arg("blocks"), k.Arg("lost"), k.Arg("sum")
	s, unit := []neon.V{k.Broadcast("s")}, []neon.V{k.Broadcast("unit")}
	loss, total := zeros(k, 4), zeros(k, 4)
	v, r, half := k.Vs(4), k.Vs(4), k.Vs(2)
	k.Label("block")
	k.Load(w, v...)
	laneOp(k, "fmul", r, v, s)
	for _, x := range r {
		k.Op("fcvtns", x.S4(), x.S4())
	}
	laneOp(k, "add", total, total, r)
	for i, h := range half {
		k.Op("uzp1", h.H8(), r[2*i].H8(), r[2*i+1].H8())
	}
	k.Op("uzp1", half[0].B16(), half[0].B16(), half[1].B16())
	k.Op("str", half[0].Q(), neon.Post(q, 16))
	for _, x := range r {
		k.Op("scvtf", x.S4(), x.S4())
	}
	laneOp(k, "fmul", r, r, unit)
	laneOp(k, "fsub", v, v, r)
	laneOp(k, "fmul", v, v, v)
	laneOp(k, "fadd", loss, loss, v)
	k.Loop(n, "block")
	k.Store(lost, loss...)
	k.Store(sum, total...)
	k.Go("RET")
}

// armSquaredDistance emits a sum of squared differences in float32.
func armSquaredDistance(f *neon.File) {
	k := f.Func("squaredDistanceNEON", "sums the squares of 32*blocks differences.",
		"x, y *float32, blocks int", "float32")
	x, y, n := k.Arg("x"), k.Arg("y"), k.Arg("blocks")
	sums, u, v := zeros(k, 8), k.Vs(8), k.Vs(8)
	k.Label("block")
	k.Load(x, u...)
	k.Load(y, v...)
	laneOp(k, "fsub", u, u, v)
	laneOp(k, "fmla", sums, u, u)
	k.Loop(n, "block")
	for half := 4; half > 0; half /= 2 {
		laneOp(k, "fadd", sums[:half], sums[:half], sums[half:])
	}
	for range 2 {
		laneOp(k, "faddp", sums[:1], sums, sums)
	}
	k.ReturnFloat(sums[0])
}
