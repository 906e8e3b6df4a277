package simd

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func normals(rnd *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rnd.NormFloat64())
	}
	return v
}

// TestTile compares the kernel with its definition in float64: gathered rows in
// random places, several runs, every number of columns, partial tiles, each part
// of the epilogue; and checks that nothing outside C's rows and columns changes.
func TestTile(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, family := range []Family{Common, Sapphire} {
			defer ForceFamily(family)()
			rnd := rand.New(rand.NewPCG(1, 1))
			for cols := 1; cols <= TileCols(); cols++ {
				tr := TileRows()
				for _, rows := range []int{1, 4, 5, 8, tr - 1, tr, tr + 5, tr + 9, 2*tr + 1, 3 * tr} {
					for mode := range 32 {
						testTile(t, rnd, rows, cols, 1+rnd.IntN(9), 1+rnd.IntN(3), 1+rnd.IntN(2), mode)
					}
				}
			}
		}
	})
}

// testTile compares a column of tiles with its definition.
//
// Long: the operands' odd layout is what it is about.
func testTile(t *testing.T, rnd *rand.Rand, rows, cols, inner, outer, blocks, mode int) {
	t.Helper()
	tr, tc := TileRows(), TileCols()
	padded := (rows + tr - 1) / tr * tr
	const guard = 7777
	ldc := cols + 3
	step := 1 + rnd.IntN(2) // between A's values; a kernel may read those that follow each other together
	a := normals(rnd, 400)
	b := normals(rnd, blocks*(outer*(inner*tc+5)+2)+tc)
	c, add := make([]float32, rows*ldc+8), normals(rnd, rows*ldc+8)
	for i := range c {
		c[i] = guard
	}
	scale, shift, rowAdd := normals(rnd, tc), normals(rnd, tc), normals(rnd, padded)
	aoff, coff := make([]int64, padded), make([]int64, padded)
	perm := rnd.Perm(rows)
	for i := range aoff {
		aoff[i] = int64(4 * rnd.IntN(100))
		if i < rows {
			coff[i] = int64(4 * (4 + perm[i]*ldc))
		}
	}
	tl := Tile{
		A: unsafe.Pointer(&a[0]), B: unsafe.Pointer(&b[0]), C: unsafe.Pointer(&c[0]),
		AOff: &aoff[0], COff: &coff[0], AStep: 4 * step, BStep: 4 * tc, ARun: 12, BRun: 20,
		Inner: inner, Outer: outer, Blocks: blocks, ABlock: 28, BBlock: 8, AOffTile: 8 * tr, COffTile: 8 * tr,
		Rows: rows, Cols: cols,
	}
	if mode&1 != 0 {
		tl.Scale = &scale[0]
	}
	if mode&2 != 0 {
		tl.Shift = &shift[0]
	}
	if mode&4 != 0 {
		tl.RowAdd = &rowAdd[0]
	}
	if mode&8 != 0 {
		tl.Add = unsafe.Pointer(&add[0])
	}
	if mode&16 != 0 {
		if tl.ReLU = 1; inner > 2 {
			tl.ReLU = 6
		}
	}
	for range 2 { // twice, as a Tile may be run again
		tl.Run()
	}
	for i := range rows {
		for j := range cols {
			var sum, size float64
			for o := range outer * blocks {
				for k := range inner {
					x, y := a[int(aoff[i])/4+o*(step*inner+3)+o/outer*7+step*k], b[o*(inner*tc+5)+o/outer*2+k*tc+j]
					p := float64(x) * float64(y)
					sum, size = sum+p, size+math.Abs(p)
				}
			}
			want := sum
			if mode&1 != 0 {
				want *= float64(scale[j])
				size *= math.Abs(float64(scale[j]))
			}
			if mode&2 != 0 {
				want += float64(shift[j])
			}
			if mode&4 != 0 {
				want += float64(rowAdd[i])
			}
			at := int(coff[i])/4 + j
			if mode&8 != 0 {
				want += float64(add[at])
			}
			if mode&16 != 0 {
				want = max(want, 0)
				if tl.ReLU == 6 {
					want = min(want, 6)
				}
			}
			if got := float64(c[at]); math.Abs(got-want) > 1e-6*(size+4) {
				t.Fatalf("rows %d cols %d inner %d outer %d mode %d: C[%d][%d] = %g, want %g",
					rows, cols, inner, outer, mode, i, j, got, want)
			}
			c[at] = guard
		}
	}
	for i, v := range c {
		if v != guard {
			t.Fatalf("rows %d cols %d mode %d: wrote %g outside C, at %d", rows, cols, mode, v, i)
		}
	}
}

// A NaN in the product survives the rectifier.
func TestTileKeepsNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		nan := float32(math.NaN())
		a, b, c := []float32{nan}, make([]float32, MaxTileCols), make([]float32, 1)
		off := make([]int64, MaxTileRows)
		tl := Tile{A: unsafe.Pointer(&a[0]), B: unsafe.Pointer(&b[0]), C: unsafe.Pointer(&c[0]),
			AOff: &off[0], COff: &off[0], Inner: 1, Outer: 1, Blocks: 1, Rows: 1, Cols: 1, ReLU: 1}
		tl.Run()
		if c[0] == c[0] {
			t.Errorf("max(NaN, 0) = %g", c[0])
		}
	})
}

// The generator addresses Tile's fields by number.
func TestTileLayout(t *testing.T) {
	var x Tile
	for i, off := range []uintptr{
		unsafe.Offsetof(x.A), unsafe.Offsetof(x.B), unsafe.Offsetof(x.C), unsafe.Offsetof(x.Add),
		unsafe.Offsetof(x.AOff), unsafe.Offsetof(x.COff), unsafe.Offsetof(x.AStep), unsafe.Offsetof(x.BStep),
		unsafe.Offsetof(x.ARun), unsafe.Offsetof(x.BRun), unsafe.Offsetof(x.Inner), unsafe.Offsetof(x.Outer),
		unsafe.Offsetof(x.ATile), unsafe.Offsetof(x.CTile), unsafe.Offsetof(x.AOffTile), unsafe.Offsetof(x.COffTile),
		unsafe.Offsetof(x.Rows), unsafe.Offsetof(x.Scale), unsafe.Offsetof(x.Shift), unsafe.Offsetof(x.RowAdd),
		unsafe.Offsetof(x.ReLU), unsafe.Offsetof(x.maskBits), unsafe.Offsetof(x.maskVec), unsafe.Offsetof(x.rowDone),
		unsafe.Offsetof(x.Blocks), unsafe.Offsetof(x.ABlock), unsafe.Offsetof(x.BBlock), unsafe.Offsetof(x.blocksLeft),
		unsafe.Offsetof(x.Cols), unsafe.Offsetof(x.Next), unsafe.Offsetof(x.NextStep),
	} {
		if off != uintptr(8*i) {
			t.Errorf("field %d is at byte %d", i, off)
		}
	}
}
