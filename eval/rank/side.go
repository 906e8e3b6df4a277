package rank

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/mat"
)

// block is the number of rows on each side of a tile of scores: whole panels of
// either kind.
const block = 448

// precision is how the rows of a side are kept.
type precision int

// Precisions. Integers are for machines that multiply them fast.
const (
	automatic precision = iota // what suits the machine and the rows
	float32s
	int16s
	int8s
)

// panel is the number of rows that are multiplied at a time.
func (p precision) panel() int {
	if p == int8s {
		return dot8.RowPanel
	}
	return dot16.RowPanel
}

// side is a range of rows made ready for tiles, as the rows or as the columns of these.
type side struct {
	lo, n  int
	kept   precision
	ints   []int16    // panels of int16s
	bytes  []int8     // panels of int8s, of rows
	raised []uint8    // panels of int8s, of columns
	bias   []int32    // of the rows of int8s
	floats *mat.Dense // n x d of float32s
	scale  []float32  // length of a unit, 1 for floats; padded to whole blocks
	half   []float32  // padded
	norm   []float64  // length of the row
	loss   []float64  // length of what rounding took from it
	blocks []extent
}

// extent holds the largest values of a block of rows.
type extent struct{ norm, loss, half float64 }

// sideBytes is the storage of one row of a side.
func sideBytes(d int, kept precision) int {
	switch kept {
	case int8s:
		return dot8.Depth(d) + 28
	case int16s:
		return (d+1)*2 + 24
	}
	return (d+1)*4 + 24
}

// pack makes rows lo..hi-1 of m a side, of columns or of rows.
func (s *space) pack(m *mat.Dense, inv []float64, lo, hi int, columns bool, kept precision) *side {
	n, d := hi-lo, m.Cols
	padded := (n + block - 1) / block * block
	sd := &side{
		lo: lo, n: n, kept: kept,
		scale: make([]float32, padded), half: make([]float32, padded),
		norm: make([]float64, n), loss: make([]float64, n),
		blocks: make([]extent, padded/block),
	}
	panel := dot16.RowPanel
	switch {
	case kept == float32s:
		sd.floats = mat.New(n, d)
	case kept == int8s && columns:
		sd.raised = make([]uint8, dot8.PackedLen(padded, d, dot8.ColPanel))
	case kept == int8s:
		sd.bytes, sd.bias = make([]int8, dot8.PackedLen(padded, d, dot8.RowPanel)), make([]int32, padded)
	case columns:
		panel = dot16.ColPanel
		fallthrough
	default:
		sd.ints = make([]int16, dot16.PackedLen(padded, d, panel))
	}
	// A block is whole panels, so blocks do not share storage.
	par.For(n, block, func(a, b int) {
		w := rowWork{u: make([]float64, d)}
		e := &sd.blocks[a/block]
		for r := a; r < b; r++ {
			var half float64
			if kept == int8s {
				half = sd.quantize(&w, s, m, inv, r)
			} else {
				half = sd.place(&w, s, m, inv, r, panel)
			}
			sd.half[r] = float32(half)
			e.norm = max(e.norm, sd.norm[r])
			e.loss = max(e.loss, sd.loss[r])
			e.half = max(e.half, math.Abs(half))
		}
	})
	for r := n; r < padded; r++ {
		sd.half[r] = float32(math.Inf(1)) // padding scores -Inf
	}
	return sd
}

// rowWork is what one goroutine needs to pack rows.
type rowWork struct {
	u   []float64
	q16 []int16
	w   []float32
	q8  []int8
}

// place packs row r as float32 or in 16 bits, and returns its half.
func (sd *side) place(w *rowWork, s *space, m *mat.Dense, inv []float64, r, panel int) (half float64) {
	s.place(w.u, m, inv, sd.lo+r)
	var sum, dot float64
	for j, v := range w.u {
		sum += v * v
		dot += v * float64(s.m[j])
	}
	sd.norm[r] = math.Sqrt(sum)
	if sd.kept == int16s {
		if w.q16 == nil {
			w.q16 = make([]int16, len(w.u))
		}
		unit, loss := dot16.Quantize(w.q16, w.u)
		dot16.Pack(sd.ints, panel, r, w.q16)
		sd.scale[r], sd.loss[r] = float32(unit), loss
	} else {
		sd.scale[r], sd.loss[r] = 1, round(sd.floats.Row(r), w.u)
	}
	return s.half(sum, dot)
}

// quantize packs row r in 8 bits and returns its half. What float32 lost of the row's
// place, and of the half, is in its loss.
func (sd *side) quantize(w *rowWork, s *space, m *mat.Dense, inv []float64, r int) (half float64) {
	d := len(w.u)
	if w.w == nil {
		w.w, w.q8 = make([]float32, d), make([]int8, dot8.Depth(d))
	}
	p := dot8.Place(w.w, m.Row(sd.lo+r), s.m, float32(s.factor(inv, sd.lo+r)))
	c := dot8.Quantize(w.q8, w.w, p, s.length)
	sd.norm[r], sd.loss[r], sd.scale[r] = c.Norm, c.Loss, c.Unit
	if sd.raised != nil {
		dot8.PackColumn(sd.raised, r, w.q8)
	} else {
		dot8.PackRow(sd.bytes, r, w.q8)
		sd.bias[r] = dot8.Bias(c.Sum)
	}
	half = s.half(p.Square, p.Dot)
	if math.IsInf(c.Loss, 1) {
		return 0 // the band is infinite too
	}
	return half
}

// round stores u as float32 and returns the length of what that lost.
func round(dst []float32, u []float64) float64 {
	var loss float64
	for i, v := range u {
		dst[i] = float32(v)
		e := v - float64(dst[i])
		loss += e * e
	}
	return math.Sqrt(loss)
}

// band bounds how far the approximate score of row r with any row of a block of
// the other side can be from the exact one.
func (sd *side) band(r int, other extent, s *space) float64 {
	norm, loss, half := sd.norm[r], sd.loss[r], math.Abs(float64(sd.half[r]))
	b := loss*other.norm + (norm+loss)*other.loss
	// Rounding of the scaled product, of the halves and of the differences.
	b += 0x1p-21 * (norm*other.norm + half + other.half)
	switch sd.kept {
	case float32s:
		// Summation of the float32 product in any order.
		b += 0x1p-23 * float64(sd.floats.Cols+8) * norm * other.norm
	case int8s:
		// Halves are sums in float32 of what has been placed in float32.
		reach := norm + other.norm + s.length
		b += (dot8.Error(len(s.m)) + 0x1p-18) * reach * reach
	}
	if b-b != 0 {
		return math.MaxFloat64 / 4 // a row that 8 bits cannot hold
	}
	return b + 1e-30 // products of rows that are tiny beside the longest
}

func (sd *side) blockRange(b int) (lo, hi int) {
	return b * block, min((b+1)*block, sd.n)
}
