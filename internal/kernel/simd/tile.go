package simd

import "unsafe"

// Tile describes a column of matrix-product tiles, the unit that products and
// convolutions are cut into:
//
//	C[i][j] = act(Scale[j] * sum over k of A[i][k] B[k][j] + (Shift[j] + RowAdd[i]) + Add[i][j])
//
// for i < Rows and j < Cols, in tiles of TileRows rows and at most TileCols
// columns. Neither operand needs packing: the sum runs over Blocks of Outer runs
// of Inner steps, and element (i, k) of A is found at byte
//
//	A + AOff[i] + k*AStep
//
// while row k of B is TileCols (or, if Cols is at most half of it, TileCols/2)
// consecutive values at B + k*BStep. After each run they jump ARun and BRun
// further, after each block moreover ABlock and BBlock. Inner, Outer and Blocks
// are at least 1. The sum's order is that of k, the same for every i and j. All steps
// are in bytes.
//
// Rows of tiles follow each other: for each next tile A advances by ATile, the
// offset tables by AOffTile and COffTile bytes, C and Add by CTile. AOff and
// COff, and RowAdd where it is used, must hold a whole tile even where Rows ends
// within it, and offsets in AOff of rows past the end must point to readable
// memory.
//
// The kernels find the fields by their offsets, which a test compares. Those of amd64 keep
// in registers (internal/kernel/gen/simd/tile.go; neon_tile.go beside it has arm64's):
//
//	AX          the Tile
//	CX DX DI    A, C and Add of this row of tiles
//	BX R8       AOff and COff of it
//	SI          rows left
//	R9 R10      where the sum is in A and in B; after it R9 points into Scale,
//	            Shift, RowAdd and the lane masks of AVX2
//	R11 R14     runs left of the block, steps left of the run; the blocks left are
//	            in blocksLeft
//	R12 R13     AStep and Next
//	R15         offset of a row, from AOff or COff
//	K1 K2       which lanes of the first and second vector are columns (AVX-512)
//	vectors     the sums row by row, two each or one: 14 rows from Z0, 6 from Y0;
//	            behind them a row of B, a value of A in every lane (later one of
//	            RowAdd, or zeros), and Shift + RowAdd
//
// No other register is written, and none has to keep its value.
type Tile struct {
	A, B, C              unsafe.Pointer
	Add                  unsafe.Pointer // nil, or laid out as C; may be C
	AOff, COff           *int64         // of each row, in bytes
	AStep, BStep         int
	ARun, BRun           int
	Inner, Outer         int
	ATile, CTile         int
	AOffTile, COffTile   int
	Rows                 int
	Scale, Shift, RowAdd *float32 // nil, or one value a column (TileCols of them), or one a row
	ReLU                 int      // 1: act(v) = max(v, 0); 6: min(max(v, 0), 6)
	maskBits             uint64
	maskVec              *int32
	rowDone              int // bytes of RowAdd used so far
	Blocks               int
	ABlock, BBlock       int
	blocksLeft           int
	Cols                 int
	// Next is where in memory the kernels of amd64 ask for a line at each step of the
	// sum, NextStep bytes further each time: what later tiles need. It stays where
	// they stopped, which can be behind what was allocated: so it is no pointer. Both 0:
	// nothing is asked for.
	Next     uintptr
	NextStep int
}

// TileRows and TileCols are the size of the tile at the active level.
func TileRows() int { return [...]int{2, 6, 6, 14}[active] }

// TileCols is the number of columns of a full tile at the active level.
func TileCols() int { return [...]int{4, 16, 16, 32}[active] }

// The largest tile of any level, to size tables with.
const (
	MaxTileRows = 14
	MaxTileCols = 32
)

// Run computes the tiles. Nothing is done if Rows or Cols is 0.
func (t *Tile) Run() {
	if t.Rows <= 0 || t.Cols <= 0 {
		return
	}
	t.rowDone = 0
	if t.Next == 0 {
		t.Next = uintptr(t.C)
	}
	t.run()
}

func addOffset[T any](p *T, off int) *T { return (*T)(unsafe.Add(unsafe.Pointer(p), off)) }

func valueAt(p unsafe.Pointer, off int) *float32 { return (*float32)(unsafe.Add(p, off)) }

// runGeneric is what Run means, for tiles of two rows and four columns.
func (t *Tile) runGeneric() {
	a, c, add := t.A, t.C, t.Add
	aoff, coff, rowAdd := t.AOff, t.COff, t.RowAdd
	for rows := t.Rows; rows > 0; rows -= 2 {
		var sum [2][4]float32
		t.sumGeneric(unsafe.Add(a, *aoff), unsafe.Add(a, *addOffset(aoff, 8)), &sum)
		for i := range min(rows, 2) {
			off := int(*addOffset(coff, 8*i))
			for j := range t.Cols {
				v := sum[i][j]
				if t.Scale != nil {
					v *= *addOffset(t.Scale, 4*j)
				}
				var plus float32
				if t.Shift != nil {
					plus = *addOffset(t.Shift, 4*j)
				}
				if rowAdd != nil {
					plus += *addOffset(rowAdd, 4*i)
				}
				v += plus
				if add != nil {
					v += *valueAt(add, off+4*j)
				}
				if t.ReLU != 0 {
					v = max(v, 0)
				}
				if t.ReLU == 6 {
					v = min(v, 6)
				}
				*valueAt(c, off+4*j) = v
			}
		}
		if rows <= 2 {
			return
		}
		a, c = unsafe.Add(a, t.ATile), unsafe.Add(c, t.CTile)
		if add != nil {
			add = unsafe.Add(add, t.CTile)
		}
		if rowAdd != nil {
			rowAdd = addOffset(rowAdd, 8)
		}
		aoff, coff = addOffset(aoff, t.AOffTile), addOffset(coff, t.COffTile)
	}
}

func (t *Tile) sumGeneric(a0, a1 unsafe.Pointer, sum *[2][4]float32) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	b := t.B
	wide := t.Cols > 2
	for run := range t.Blocks * t.Outer {
		if run > 0 {
			oa, ob := t.Inner*t.AStep+t.ARun, t.Inner*t.BStep+t.BRun
			if run%t.Outer == 0 {
				oa, ob = oa+t.ABlock, ob+t.BBlock
			}
			a0, a1, b = unsafe.Add(a0, oa), unsafe.Add(a1, oa), unsafe.Add(b, ob)
		}
		for k := range t.Inner {
			oa, ob := k*t.AStep, k*t.BStep
			x0, x1 := *valueAt(a0, oa), *valueAt(a1, oa)
			b0, b1 := *valueAt(b, ob), *valueAt(b, ob+4)
			s00, s01 = s00+x0*b0, s01+x0*b1
			s10, s11 = s10+x1*b0, s11+x1*b1
			if wide {
				b2, b3 := *valueAt(b, ob+8), *valueAt(b, ob+12)
				s02, s03 = s02+x0*b2, s03+x0*b3
				s12, s13 = s12+x1*b2, s13+x1*b3
			}
		}
	}
	sum[0] = [4]float32{s00, s01, s02, s03}
	sum[1] = [4]float32{s10, s11, s12, s13}
}
