package rank

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/mat"
)

// block is the number of rows on each side of a tile of scores: whole panels of
// either kind.
const block = 448

// side is a range of rows made ready for tiles: as 16-bit integers where the
// machine multiplies those fast, else as float32.
type side struct {
	lo, n  int
	ints   []int16    // panels, or nil
	floats *mat.Dense // n x d, or nil
	scale  []float32  // length of a unit, 1 for floats; padded to whole blocks
	half   []float32  // padded
	norm   []float64  // length of the row
	loss   []float64  // length of what rounding took from it
	blocks []extent
}

// extent holds the largest values of a block of rows.
type extent struct{ norm, loss, half float64 }

// sideBytes is the storage of one row of a side.
func sideBytes(d int, ints bool) int {
	perValue := 4
	if ints {
		perValue = 2
	}
	return (d+1)*perValue + 24
}

// pack makes rows lo..hi-1 of m a side. panel is the size of its panels if it is
// kept as integers.
func (s *space) pack(m *mat.Dense, inv []float64, lo, hi, panel int, ints bool) *side {
	n, d := hi-lo, m.Cols
	padded := (n + block - 1) / block * block
	sd := &side{
		lo: lo, n: n,
		scale: make([]float32, padded), half: make([]float32, padded),
		norm: make([]float64, n), loss: make([]float64, n),
		blocks: make([]extent, padded/block),
	}
	if ints {
		sd.ints = make([]int16, dot16.PackedLen(padded, d, panel))
	} else {
		sd.floats = mat.New(n, d)
	}
	// A block is whole panels, so blocks do not share storage.
	par.For(n, block, func(a, b int) {
		u, q := make([]float64, d), make([]int16, d)
		var e extent
		for r := a; r < b; r++ {
			s.place(u, m, inv, lo+r)
			var sum float64
			for _, v := range u {
				sum += v * v
			}
			sd.norm[r] = math.Sqrt(sum)
			half := 0.0
			if s.dist == Euclidean {
				half = sum / 2
			}
			sd.half[r] = float32(half)
			if ints {
				unit, loss := dot16.Quantize(q, u)
				dot16.Pack(sd.ints, panel, r, q)
				sd.scale[r], sd.loss[r] = float32(unit), loss
			} else {
				sd.scale[r], sd.loss[r] = 1, round(sd.floats.Row(r), u)
			}
			e.norm = max(e.norm, sd.norm[r])
			e.loss = max(e.loss, sd.loss[r])
			e.half = max(e.half, half)
		}
		sd.blocks[a/block] = e
	})
	for r := n; r < padded; r++ {
		sd.half[r] = float32(math.Inf(1)) // padding scores -Inf
	}
	return sd
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
func (sd *side) band(r int, other extent) float64 {
	norm, loss := sd.norm[r], sd.loss[r]
	b := loss*other.norm + (norm+loss)*other.loss
	// Rounding of the scaled product, of the halves and of the differences.
	b += 0x1p-21 * (norm*other.norm + float64(sd.half[r]) + other.half)
	if sd.floats != nil {
		// Summation of the float32 product in any order.
		b += 0x1p-23 * float64(sd.floats.Cols+8) * norm * other.norm
	}
	return b + 1e-30 // products of rows that are tiny beside the longest
}

func (sd *side) blockRange(b int) (lo, hi int) {
	return b * block, min((b+1)*block, sd.n)
}
