package qgemm

import (
	"fmt"
	"math"
	"unsafe"
)

const (
	// BlockRows and BlockCols are the rows and columns that a block of a tile has at most.
	BlockRows = 6
	BlockCols = 64
	// MaxDepth is the largest number of products whose sum fits 32 bits.
	MaxDepth = math.MaxInt32 / (255 * 127)
)

// What Tile.Add is.
const (
	AddNone = iota
	AddBytes
	AddFloats
)

// Tile describes a product of bytes by signed bytes, of at most 64 columns:
//
//	C[i][j] = clamp(Scale[j] * sum over k of A[i][k] B[k][j] + Shift[j] + AddScale * Add[i][j])
//
// for i < Rows and j < Cols. Each of the operations after the sum is rounded to float32;
// a C of bytes is rounded to the nearest integer then, halves to even, and NaN to 0.
//
// A row of A consists of Runs runs of 4 Quads bytes; run r of row i begins at byte
//
//	A + AOff[i] + KOff[r]
//
// so that rows may overlap, as the positions of an image do under a filter. B holds
// for each quad of a row its Columns(Cols) columns of 4 bytes: [run][quad][column][4].
// Scale and Shift have Columns(Cols) values. C, bytes or float32, and Add are found at
// COff[i] values from their start; a negative offset drops the row. AOff and COff have
// Padded(Rows) entries, whose last ones must be readable rows that are dropped.
type Tile struct {
	A, B, C, Add     unsafe.Pointer
	AOff, COff, KOff *int64 // of A and each run in bytes, of C in values
	Scale, Shift     *float32
	Runs, Quads      int
	blocks, vectors  int
	mask             uint64
	AddKind          int
	FloatC           bool
	_                [7]byte
	sum              *int32
	Lo, Hi           float32 // infinite: no bound; of bytes within 0 and 255
	AddScale         float32
	_                [4]byte
	Rows, Cols       int
}

// Padded is a number of rows filled up to whole blocks.
func Padded(rows int) int { return (rows + BlockRows - 1) / BlockRows * BlockRows }

// Columns is a number of columns filled up to whole vectors.
func Columns(cols int) int { return (cols + 15) / 16 * 16 }

// Run computes the tile. Nothing is done if Rows or Cols is 0.
func (t *Tile) Run() {
	if t.Rows <= 0 || t.Cols <= 0 {
		return
	}
	if t.Runs < 1 || t.Quads < 1 || t.Cols > BlockCols || 4*t.Runs*t.Quads > MaxDepth+3*t.Runs {
		panic(fmt.Sprintf("qgemm: tile of %d columns, %d runs of %d quads", t.Cols, t.Runs, t.Quads))
	}
	if !t.FloatC && !(t.Lo >= 0 && t.Hi <= 255) {
		panic(fmt.Sprintf("qgemm: bytes from %g to %g", t.Lo, t.Hi))
	}
	t.blocks, t.vectors = (t.Rows+BlockRows-1)/BlockRows, (t.Cols+15)/16
	t.mask = 0xffff >> ((16 - t.Cols%16) % 16)
	if level := Active(); level == VNNI {
		t.whole()
	} else {
		t.runBlocks(level)
	}
}

func addOffset[T any](p *T, off int) *T { return (*T)(unsafe.Add(unsafe.Pointer(p), off)) }

// runBlocks computes the tile block by block, the sums apart from what follows them.
func (t *Tile) runBlocks(level Level) {
	var room [(BlockRows + 1) * BlockCols]int32 // the last row is what sums begin with, if a level needs that
	b := *t
	b.sum = &room[0]
	stored := 0 // columns that a vector unit stores
	if level > Generic {
		stored = t.Cols &^ 7
		b.prepare()
	}
	for block := range t.blocks {
		b.AOff, b.COff = addOffset(t.AOff, 8*BlockRows*block), addOffset(t.COff, 8*BlockRows*block)
		if level == Generic {
			b.sumsGeneric()
		} else {
			b.blockSums(level)
			b.storeEights()
		}
		if stored == t.Cols {
			continue
		}
		for i := range BlockRows {
			if to := *addOffset(b.COff, 8*i); to >= 0 {
				b.storeGeneric(room[BlockCols*i:][:t.Cols], stored, int(to))
			}
		}
	}
}

// sumsGeneric sets the sums of the first block.
func (t *Tile) sumsGeneric() {
	wide := 4 * Columns(t.Cols)
	for i := range BlockRows {
		sum := unsafe.Slice(addOffset(t.sum, 4*BlockCols*i), BlockCols)[:t.Cols]
		clear(sum)
		row := unsafe.Add(t.A, *addOffset(t.AOff, 8*i))
		b := unsafe.Slice((*int8)(t.B), t.Runs*t.Quads*wide)
		for r := range t.Runs {
			a := unsafe.Slice((*uint8)(unsafe.Add(row, *addOffset(t.KOff, 8*r))), 4*t.Quads)
			for ; len(a) > 0; a, b = a[4:], b[wide:] {
				a0, a1, a2, a3 := int32(a[0]), int32(a[1]), int32(a[2]), int32(a[3])
				if a0|a1|a2|a3 == 0 {
					continue
				}
				for j := range sum {
					w := b[4*j : 4*j+4 : 4*j+4]
					sum[j] += a0*int32(w[0]) + a1*int32(w[1]) + a2*int32(w[2]) + a3*int32(w[3])
				}
			}
		}
	}
}

// storeGeneric stores a row of sums from the first column on.
func (t *Tile) storeGeneric(sums []int32, first, to int) {
	scale, shift := unsafe.Slice(t.Scale, len(sums)), unsafe.Slice(t.Shift, len(sums))
	for j := first; j < len(sums); j++ {
		v := float32(float32(sums[j])*scale[j]) + shift[j]
		switch t.AddKind {
		case AddBytes:
			v += float32(float32(*(*uint8)(unsafe.Add(t.Add, to+j))) * t.AddScale)
		case AddFloats:
			v += float32(*(*float32)(unsafe.Add(t.Add, 4*(to+j))) * t.AddScale)
		}
		v = clamp(v, t.Lo, t.Hi)
		if t.FloatC {
			*(*float32)(unsafe.Add(t.C, 4*(to+j))) = v
			continue
		}
		*(*uint8)(unsafe.Add(t.C, to+j)) = toByte(v)
	}
}

// clamp keeps NaN, and the sign of zero.
func clamp(v, lo, hi float32) float32 {
	if v < lo {
		v = lo
	}
	if v > hi {
		v = hi
	}
	return v
}

// toByte rounds a value of 0..255; NaN becomes 0.
func toByte(v float32) uint8 {
	if v != v {
		return 0
	}
	return uint8(math.RoundToEven(float64(v)))
}
