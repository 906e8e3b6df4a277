package exact

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact/coded"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/mat"
)

// Block is the number of rows on each side of a tile of scores.
const Block = coded.Block

const block = Block

// Kind is how rows are coded.
type Kind = coded.Kind

// Automatic is to be what suits the machine and the rows.
const Automatic Kind = 0

// side is a range of rows made ready for tiles, as the rows or as the columns of these.
type side struct {
	lo, n  int
	kept   Kind
	d      int
	rows   *coded.Rows // one of these
	cols   *coded.Columns
	scale  []float32 // length of a unit, 1 for floats; padded to whole blocks
	half   []float32 // padded
	norm   []float64 // length of the row
	loss   []float64 // length of what rounding took from it
	blocks []coded.Extent
}

// sideBytes is the storage of one row of a side.
func sideBytes(d int, kept Kind) int { return kept.RowBytes(d) + 28 }

// CheckWidth refuses vectors that are so long that a tile of them, a block of rows and one of columns,
// needs more than the limit on memory.
func CheckWidth(d int) error {
	return budget.Check(fmt.Sprintf("comparing vectors of %d numbers", d), budget.Product(2*block, int64(d), 4))
}

// pack makes rows lo..hi-1 of m a side, of columns or of rows.
func (s *Space) pack(m *mat.Dense, inv []float64, lo, hi int, columns bool, kept Kind) *side {
	return s.packOrdered(m, inv, nil, lo, hi, columns, kept)
}

// packOrdered is pack for rows order[lo] to order[hi-1], if order is not nil.
func (s *Space) packOrdered(m *mat.Dense, inv []float64, order []int32, lo, hi int, columns bool,
	kept Kind) *side {
	n, d := hi-lo, m.Cols
	padded := (n + block - 1) / block * block
	sd := &side{
		lo: lo, n: n, kept: kept, d: d,
		scale: make([]float32, padded), half: make([]float32, padded),
		norm: make([]float64, n), loss: make([]float64, n),
		blocks: make([]coded.Extent, padded/block),
	}
	if columns {
		sd.cols = coded.NewColumns(kept, padded, d)
	} else {
		sd.rows = coded.NewRows(kept, padded, d)
	}
	// A block is whole panels, so blocks do not share storage.
	par.For(n, block, func(a, b int) {
		coder := coded.NewCoder(kept, d)
		e := &sd.blocks[a/block]
		for r := a; r < b; r++ {
			from := lo + r
			if order != nil {
				from = int(order[from])
			}
			half := sd.place(coder, s, m.Row(from), s.factor(inv, from), r)
			sd.half[r] = float32(half)
			e.Include(coded.Extent{Norm: sd.norm[r], Loss: sd.loss[r], Half: math.Abs(half)})
		}
	})
	for r := n; r < padded; r++ {
		sd.half[r] = float32(math.Inf(1)) // padding scores -Inf
	}
	return sd
}

// place packs x as row r and returns its half. What float32 lost of the half of 8 bits is
// in the band.
func (sd *side) place(coder *coded.Coder, s *Space, x []float32, factor float64, r int) (half float64) {
	c, p := coder.Shifted(x, s.m, factor, s.length)
	sd.norm[r], sd.loss[r], sd.scale[r] = p.Norm, c.Loss, c.Unit
	if sd.cols != nil {
		sd.cols.Put(r, &coder.Row)
	} else {
		sd.rows.Put(r, &coder.Row)
	}
	half = s.half(p.Square, p.Dot)
	if math.IsInf(c.Loss, 1) {
		return 0 // the band is infinite too
	}
	return half
}

// band bounds how far the approximate score of row r with any row of a block of
// the other side can be from the exact one.
func (sd *side) band(r int, other coded.Extent, s *Space) float64 {
	row := coded.Extent{Norm: sd.norm[r], Loss: sd.loss[r], Half: math.Abs(float64(sd.half[r]))}
	b := sd.kept.Band(sd.d, row, other) + 2*s.slack
	if sd.kept == coded.Bits8 {
		// Halves are sums in float32 of what has been placed in float32.
		reach := row.Norm + other.Norm + s.length
		b += (dot8.Error(len(s.m)) + 0x1p-18) * reach * reach
	}
	if b-b != 0 {
		return math.MaxFloat64 / 4 // a row that 8 bits cannot hold
	}
	return b
}

func (sd *side) blockRange(b int) (lo, hi int) {
	return b * block, min((b+1)*block, sd.n)
}
