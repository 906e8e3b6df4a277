package arm

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
)

// tileRows is how many rows the tile has on arm64.
const tileRows = 6

// tile is tileKernel for arm64: 6 rows of 2 or 4 registers. A's values are not
// spread over lanes, as a multiply-add can take one from a lane: where those of a row
// follow each other, four are loaded at once and serve four steps.
type tile struct {
	*neon.Func
	vecs                      int
	acc                       [][]neon.V // the sums
	a                         []neon.V   // of A a value or four of each row; free after the sum
	b                         []neon.V   // half a row of B; free after the sum
	tile, atA, atC, atAdd     neon.R     // the Tile; A, C and Add of this row of tiles
	aOff, cOff, rows          neon.R     // AOff and COff of it; rows left
	sumA, sumB                neon.R     // where the sum is
	blocks, runs, steps       neon.R     // what is left of it
	aStep, bStep              neon.R
	off                       []neon.R // AOff of each row
	rowAdd, p, q, cols, clamp neon.R
}

func emitTile(f *neon.File, vecs int) {
	name := fmt.Sprintf("tile%dNEON", vecs)
	k := &tile{Func: f.Func(name, fmt.Sprintf("computes tiles of %d x %d.", tileRows, 4*vecs), "t *byte", ""),
		vecs: vecs}
	k.Frame(16*tileRows*vecs + 8) // the sums, for columns that do not fill registers
	k.begin()
	k.Label("tile")
	k.product()
	k.scale()
	k.shift()
	k.store()
	k.Label("done")
	k.Go("SUBS $%d, %v", tileRows, k.rows)
	k.Go("BLE end")
	k.advance(k.atA, layout.TileATile)
	k.advance(k.atC, layout.TileCTile)
	k.Go("CBZ %v, next", k.atAdd)
	k.advance(k.atAdd, layout.TileCTile)
	k.Label("next")
	k.advance(k.aOff, layout.TileAOffTile)
	k.advance(k.cOff, layout.TileCOffTile)
	k.Go("B tile")
	k.Label("end")
	k.Go("RET")
}

// field loads a field of the Tile.
func (k *tile) field(off int, r neon.R) { k.Go("MOVD %d(%v), %v", off, k.tile, r) }

// advance adds a field to a register.
func (k *tile) advance(r neon.R, off int) {
	k.field(off, k.p)
	k.Go("ADD %v, %v", k.p, r)
}

func (k *tile) begin() {
	k.tile = k.Arg("t")
	for _, r := range []*neon.R{&k.atA, &k.atC, &k.atAdd, &k.aOff, &k.cOff, &k.rows, &k.sumA, &k.sumB, &k.blocks,
		&k.runs, &k.steps, &k.aStep, &k.bStep, &k.rowAdd, &k.p} {
		*r = k.R()
	}
	for range tileRows {
		k.off = append(k.off, k.R())
		k.acc = append(k.acc, k.Vs(k.vecs))
	}
	k.a, k.b = k.Vs(tileRows), k.Vs(2)
	// Once the sum is taken, the registers it was walked with.
	k.q, k.cols, k.clamp = k.off[0], k.off[1], k.off[3]
	for _, l := range []struct {
		off int
		to  neon.R
	}{{layout.TileA, k.atA}, {layout.TileC, k.atC}, {layout.TileAOff, k.aOff}, {layout.TileRows, k.rows},
		{layout.TileAdd, k.atAdd}, {layout.TileCOff, k.cOff},
		{layout.TileAStep, k.aStep}, {layout.TileBStep, k.bStep}, {layout.TileRowAdd, k.rowAdd}} {
		k.field(l.off, l.to)
	}
}

// product sums A's rows times B over all blocks.
func (k *tile) product() {
	for _, row := range k.acc {
		for _, v := range row {
			k.Zero(v)
		}
	}
	for i, r := range k.off {
		k.Go("MOVD %d(%v), %v", 8*i, k.aOff, r)
	}
	k.Go("MOVD %v, %v", k.atA, k.sumA)
	k.field(layout.TileB, k.sumB)
	k.field(layout.TileBlocks, k.blocks)
	k.Label("block")
	k.field(layout.TileOuter, k.runs)
	k.Label("outer")
	k.field(layout.TileInner, k.steps)
	k.Go("CMP $4, %v", k.aStep)
	k.Go("BNE single")
	k.Go("SUBS $4, %v", k.steps)
	k.Go("BLT rest")
	k.Label("quad")
	for i, a := range k.a {
		k.Op("ldr", a.Q(), neon.Indexed(k.sumA, k.off[i]))
	}
	for step := range 4 {
		k.step(step)
	}
	k.Go("ADD $16, %v", k.sumA)
	k.Go("SUBS $4, %v", k.steps)
	k.Go("BGE quad")
	k.Label("rest")
	k.Go("ADDS $4, %v", k.steps)
	k.Go("BEQ run")
	k.Label("single")
	for i, a := range k.a {
		k.Op("ldr", a.S(), neon.Indexed(k.sumA, k.off[i]))
	}
	k.step(0)
	k.Go("ADD %v, %v", k.aStep, k.sumA)
	k.Go("SUBS $1, %v", k.steps)
	k.Go("BNE single")
	k.Label("run")
	k.advance(k.sumA, layout.TileARun)
	k.advance(k.sumB, layout.TileBRun)
	k.Go("SUBS $1, %v", k.runs)
	k.Go("BNE outer")
	k.advance(k.sumA, layout.TileABlock)
	k.advance(k.sumB, layout.TileBBlock)
	k.Go("SUBS $1, %v", k.blocks)
	k.Go("BNE block")
}

// step adds one row of B times the values of A in that lane.
func (k *tile) step(lane int) {
	for j := 0; j < k.vecs; j += 2 {
		k.Op("ldp", k.b[0].Q(), k.b[1].Q(), neon.At(k.sumB, 16*j))
		for i, row := range k.acc {
			for h, b := range k.b {
				k.Op("fmla", row[j+h].S4(), b.S4(), k.a[i].SLane(lane))
			}
		}
	}
	k.Go("ADD %v, %v", k.bStep, k.sumB)
}

// scale multiplies columns.
func (k *tile) scale() {
	k.field(layout.TileScale, k.p)
	k.Go("CBZ %v, unscaled", k.p)
	for j := range k.vecs {
		k.Op("ldr", k.b[0].Q(), neon.At(k.p, 16*j))
		for _, row := range k.acc {
			k.Op("fmul", row[j].S4(), row[j].S4(), k.b[0].S4())
		}
	}
	k.Label("unscaled")
}

// shift adds the terms of columns and rows. They are added up first, so that equal
// norms make the result symmetric.
func (k *tile) shift() {
	shift, row, sum := k.a[:k.vecs], k.b[0], k.b[1]
	for _, v := range shift {
		k.Zero(v)
	}
	k.field(layout.TileShift, k.p)
	k.Go("CBZ %v, unshifted", k.p)
	for j, v := range shift {
		k.Op("ldr", v.Q(), neon.At(k.p, 16*j))
	}
	k.Label("unshifted")
	k.Go("CBNZ %v, rowterm", k.rowAdd)
	for _, acc := range k.acc {
		for j, v := range acc {
			k.Op("fadd", v.S4(), v.S4(), shift[j].S4())
		}
	}
	k.Go("B added")
	k.Label("rowterm")
	for _, acc := range k.acc {
		k.Op("ld1r", row.S4(), neon.At(k.rowAdd, 0))
		k.Go("ADD $4, %v", k.rowAdd)
		for j, v := range acc {
			k.Op("fadd", sum.S4(), shift[j].S4(), row.S4())
			k.Op("fadd", v.S4(), v.S4(), sum.S4())
		}
	}
	k.Label("added")
}

// store adds what is added element by element, applies the rectifier and stores.
func (k *tile) store() {
	zero, six := k.a[4], k.a[5]
	k.Zero(zero)
	k.LoadNumber(six, 6)
	k.field(layout.TileReLU, k.clamp)
	k.Go("MOVD %d(%v), %v", layout.TileCols, k.tile, k.cols)
	k.Go("CMP $%d, %v", 4*k.vecs, k.cols)
	k.Go("BNE partial")
	for i, acc := range k.acc {
		k.Go("CMP $%d, %v", i, k.rows)
		k.Go("BLE done")
		k.Go("MOVD %d(%v), %v", 8*i, k.cOff, k.p)
		k.Go("CBZ %v, noadd%d", k.atAdd, i)
		k.Go("ADD %v, %v, %v", k.atAdd, k.p, k.q)
		for j, v := range acc {
			k.Op("ldr", k.b[0].Q(), neon.At(k.q, 16*j))
			k.Op("fadd", v.S4(), v.S4(), k.b[0].S4())
		}
		k.Label(fmt.Sprintf("noadd%d", i))
		k.rectify(fmt.Sprintf("linear%d", i), acc, zero, six)
		k.Go("ADD %v, %v", k.atC, k.p)
		for j := 0; j < k.vecs; j += 2 {
			k.Op("stp", acc[j].Q(), acc[j+1].Q(), neon.At(k.p, 16*j))
		}
	}
	k.Go("B done")
	k.Label("partial")
	k.partial(zero, six)
}

// rectify applies the rectifier. NaN stays.
func (k *tile) rectify(skip string, vs []neon.V, zero, six neon.V) {
	k.Go("CBZ %v, %s", k.clamp, skip)
	for _, v := range vs {
		k.Op("fmax", v.S4(), v.S4(), zero.S4())
	}
	k.Go("CMP $6, %v", k.clamp)
	k.Go("BNE %s", skip)
	for _, v := range vs {
		k.Op("fmin", v.S4(), v.S4(), six.S4())
	}
	k.Label(skip)
}

// partial stores columns that do not fill the registers, by way of the stack: four at a
// time, then one.
func (k *tile) partial(zero, six neon.V) {
	row, left, n, to, from := k.off[2], k.off[4], k.off[5], k.sumA, k.sumB
	for i, acc := range k.acc {
		for j, v := range acc {
			k.Op("str", v.Q(), neon.At(neon.Stack, 16+16*(i*k.vecs+j)))
		}
	}
	k.Go("ADD $16, RSP, %v", row)
	k.Go("MOVD $%d, %v", tileRows, n)
	k.Go("CMP %v, %v", n, k.rows)
	k.Go("CSEL LT, %v, %v, %v", k.rows, n, n)
	k.Go("MOVD %v, %v", k.cOff, k.steps)
	k.Label("partrow")
	k.Go("MOVD.P 8(%v), %v", k.steps, k.p)
	k.Go("ADD %v, %v, %v", k.atC, k.p, to)
	k.Go("ADD %v, %v, %v", k.atAdd, k.p, k.q)
	k.Go("MOVD %v, %v", row, from)
	k.Go("MOVD %v, %v", k.cols, left)
	group := func(label, other string, n int, part func(neon.V) neon.Operand) {
		v, add := k.a[0], k.a[1]
		k.Label(label)
		k.Go("SUBS $%d, %v", n, left)
		k.Go("BLT %s", other)
		k.Op("ldr", part(v), neon.Post(from, 4*n))
		k.Go("CBZ %v, %snoadd", k.atAdd, label)
		k.Op("ldr", part(add), neon.Post(k.q, 4*n))
		k.Op("fadd", v.S4(), v.S4(), add.S4())
		k.Label(label + "noadd")
		k.rectify(label+"linear", []neon.V{v}, zero, six)
		k.Op("str", part(v), neon.Post(to, 4*n))
		k.Go("B %s", label)
	}
	group("four", "few", 4, neon.V.Q)
	k.Label("few")
	k.Go("ADD $4, %v", left)
	group("one", "rowdone", 1, neon.V.S)
	k.Label("rowdone")
	k.Go("ADD $%d, %v", 16*k.vecs, row)
	k.Go("SUBS $1, %v", n)
	k.Go("BNE partrow")
}

// peak emits a loop of independent multiply-adds on registers only.
func peak(f *neon.File) {
	k := f.Func("peakNEON", "runs n rounds of 24 independent vector multiply-adds.", "n int", "")
	n, acc, x := k.Arg("n"), k.Vs(24), k.V()
	for _, v := range append(acc, x) {
		k.Zero(v)
	}
	k.Label("loop")
	for _, v := range acc {
		k.Op("fmla", v.S4(), x.S4(), x.SLane(0))
	}
	k.Go("SUBS $1, %v", n)
	k.Go("BNE loop")
	k.Go("RET")
}
