package exact

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/matrix"
)

// Block is the number of rows on each side of a tile of scores.
const Block = quantized.Block

const block = Block

// Kind is how rows are coded.
type Kind = quantized.Kind

// KindAuto is to be what suits the machine and the rows.
const KindAuto Kind = 0

// side is a range of rows made ready for tiles, as the rows or as the columns of these.
type side struct {
	lo, n int
	kept  Kind
	d     int
	rows  *quantized.Rows // one of these
	cols  *quantized.Columns
	// borrowed: the rows are the caller's.
	borrowed bool
	scale    []float32          // length of a unit, 1 for floats; padded to whole panels
	half     []float32          // padded
	extents  []quantized.Extent // of each row
	blocks   []quantized.Extent // of each block
}

// sideBytes is the storage of one row of a side.
func sideBytes(d int, kept Kind) int { return kept.RowBytes(d) + 36 }

// CheckWidth refuses vectors that are so long that a tile of them, a block of rows and one of columns,
// needs more than the limit on memory.
func CheckWidth(d int) error {
	return budget.Check(fmt.Sprintf("comparing vectors of %d numbers", d), budget.Product(2*block, int64(d), 4))
}

// newSide makes room for n rows of d coordinates. Those of the kind Float32 are the rows of floats,
// if that is not nil.
func newSide(kept Kind, n, d int, columns bool, floats *matrix.Dense) *side {
	padded := quantized.Padded(n)
	sd := &side{
		n: n, kept: kept, d: d,
		scale: make([]float32, padded), half: make([]float32, padded),
		extents: make([]quantized.Extent, n), blocks: make([]quantized.Extent, (n+block-1)/block),
	}
	sd.borrowed = kept == quantized.Float32 && floats != nil
	switch {
	case sd.borrowed && columns:
		sd.cols = quantized.FloatColumns(floats)
	case sd.borrowed:
		sd.rows = quantized.FloatRows(floats)
	case columns:
		sd.cols = quantized.NewColumns(kept, n, d)
	default:
		sd.rows = quantized.NewRows(kept, n, d)
	}
	for r := n; r < padded; r++ {
		sd.half[r] = float32(math.Inf(1)) // padding scores -Inf
	}
	return sd
}

// fill codes all rows by place, which leaves row r in the coder, and tells its length and half.
func (sd *side) fill(place func(c *quantized.Coder, r int) (code quantized.Code, norm, half float64)) {
	// A block is whole panels, so blocks do not share storage.
	par.For(sd.n, block, func(a, b int) {
		coder := quantized.NewCoder(sd.kept, sd.d)
		var most quantized.Extent
		for r := a; r < b; r++ {
			c, norm, half := place(coder, r)
			e := quantized.Extent{Norm: norm, Loss: c.Loss, Half: math.Abs(half)}
			sd.scale[r], sd.half[r], sd.extents[r] = c.Unit, float32(half), e
			switch {
			case sd.borrowed:
			case sd.cols != nil:
				sd.cols.Put(r, &coder.Row)
			default:
				sd.rows.Put(r, &coder.Row)
			}
			most.Include(e)
		}
		sd.blocks[a/block] = most
	})
}

// querySide makes queries lo..hi-1 rows of tiles.
func (s *Space) querySide(lo, hi int, kept Kind) *side {
	return s.pack(s.q, s.qInv, nil, lo, hi, false, kept)
}

// itemSide makes gallery rows lo..hi-1 columns of tiles, or rows order[lo] to order[hi-1].
func (s *Space) itemSide(order []int32, lo, hi int, kept Kind) *side {
	return s.pack(s.g, s.gInv, order, lo, hi, true, kept)
}

// pack codes rows. What float32 lost of the half of 8 bits is in the band.
func (s *Space) pack(m *matrix.Dense, inv []float64, order []int32, lo, hi int, columns bool, kept Kind) *side {
	sd := newSide(kept, hi-lo, m.Cols, columns, nil)
	sd.lo = lo
	sd.fill(func(c *quantized.Coder, r int) (quantized.Code, float64, float64) {
		from := lo + r
		if order != nil {
			from = int(order[from])
		}
		code, p := c.Shifted(m.Row(from), s.m, s.factor(inv, from), s.length)
		if math.IsInf(code.Loss, 1) {
			return code, p.Norm, 0 // the band is infinite too
		}
		return code, p.Norm, s.half(p.Square, p.Dot)
	})
	return sd
}

// band bounds how far the approximate score of row r with any row of a block of
// the other side can be from the exact one.
func (sd *side) band(r int, other quantized.Extent, s *Space) float64 {
	row := sd.extents[r]
	b := sd.kept.Band(sd.d, row, other) + 2*s.slack
	if sd.kept == quantized.Bits8 {
		// Halves are sums in float32 of what has been placed in float32.
		reach := row.Norm + other.Norm + s.length
		b += (dot8.Error(len(s.m)) + 0x1p-18) * reach * reach
	}
	if b-b != 0 {
		return math.MaxFloat64 / 4 // a row that 8 bits cannot hold
	}
	return b
}

func (sd *side) blockRange(b int) (lo, hi int) { return b * block, min((b+1)*block, sd.n) }
