package exact

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/internal/kernel/scan"
	"github.com/kindred-ml/kindred/matrix"
)

// rowBlock is the number of rows assigned at a time: whole panels of every kind.
const rowBlock = quantized.Block / 2

// Assigner finds the nearest centroid of every row: the k with the largest
// x.c_k - ||c_k||^2 / 2. Approximate scores leave the few that can be it; of these,
// distances in float32 leave fewer, and float64 distances decide. No row may be longer
// than 1.
type Assigner struct {
	x    *matrix.Dense
	rows *side
}

// NewAssigner codes the rows of x.
func NewAssigner(x *matrix.Dense) *Assigner {
	return &Assigner{x, newPlacedSide(quantized.KindFor(x.Cols), x, false)}
}

// newPlacedSide is a side of rows that are placed already. Columns have the half of their square as half.
func newPlacedSide(kind Kind, x *matrix.Dense, columns bool) *side {
	sd := newSide(kind, x.Rows, x.Cols, columns, x)
	sd.fill(func(c *quantized.Coder, r int) (code quantized.Code, norm, half float64) {
		square := dot16.Dot(x.Row(r), x.Row(r))
		if columns {
			half = square / 2
		}
		code = quantized.Code{Unit: 1}
		if !sd.borrowed {
			code = c.Float32(x.Row(r))
		}
		return code, math.Sqrt(square), half
	})
	return sd
}

// table is the centroids made ready for products.
type table struct {
	*side
	c    *matrix.Dense
	most quantized.Extent // of any
}

// Assign writes the nearest row of c for every row of x, ties to the lowest, and
// tells whether any differs from what assigned held.
func (n *Assigner) Assign(ctx context.Context, assigned []int32, c *matrix.Dense) (bool, error) {
	t := &table{newPlacedSide(n.rows.kept, c, true), c, quantized.Extent{}}
	for _, e := range t.blocks {
		t.most.Include(e)
	}
	blocks := (n.x.Rows + rowBlock - 1) / rowBlock
	changed := make([]bool, blocks)
	err := par.ForContext(ctx, n.x.Rows, rowBlock, func(lo, hi int) {
		width, panel := quantized.Padded(c.Rows), n.rows.kept.Panel()
		if n.rows.kept == quantized.Float32 && width >= 128 {
			panel *= 4 // larger products cost less, where they are most of the work
		}
		w := &assignScratch{
			scores: make([]float32, panel*width),
			tops:   make([]dot16.Top, panel),
			open:   make([]int32, 0, scan.ListCap(width)),
		}
		for p := lo; p < hi; p += panel {
			end := min(p+panel, hi)
			n.score(w, p, end, t)
			for i := p; i < end; i++ {
				at := n.assignExactly(w, i, w.scores[(i-p)*width:(i-p+1)*width], &w.tops[i-p], t)
				if assigned[i] != at {
					assigned[i] = at
					changed[lo/rowBlock] = true
				}
			}
		}
	})
	if err != nil {
		return false, err
	}
	return slices.Contains(changed, true), nil
}

// assignScratch is what one goroutine needs to assign rows.
type assignScratch struct {
	tile   quantized.Tile
	scores []float32   // of a panel of rows with all centroids
	tops   []dot16.Top // the best two of each row
	open   []int32     // centroids that may be a row's nearest
	far    []float32   // their squared distances in float32
}

// score fills in the approximate scores of rows p..end-1 with all centroids, and
// the best two of each. The centroids' coordinates stay in the processor's cache.
func (n *Assigner) score(w *assignScratch, p, end int, t *table) {
	width := quantized.Padded(t.n)
	for r := range w.tops {
		w.tops[r].Reset()
	}
	for j0 := 0; j0 < width; j0 += quantized.Block {
		j1 := min(j0+quantized.Block, width)
		w.tile.Begin(n.rows.rows, p, end, t.cols, j0, min(j1, t.n))
		w.tile.Multiply(p)
		cols := dot16.Columns{Scale: t.scale[j0:j1], Half: t.half[j0:j1]}
		for i := p; i < end; i++ {
			r := i - p
			w.tile.Best(i, w.scores[r*width+j0:r*width+j1], n.rows.scale[i], &cols, j0, &w.tops[r])
		}
	}
}

// assignExactly returns the nearest centroid of row i.
func (n *Assigner) assignExactly(w *assignScratch, i int, scores []float32, top *dot16.Top, t *table) int32 {
	first, at, second := top.Result()
	// How far an approximate score can be from the exact one.
	kind, own := t.kept, n.rows.extents[i]
	band := kind.Band(t.d, own, t.most) // of any centroid
	if float64(first)-float64(second) > 2*band {
		return at
	}
	// A score is half of what ||x||^2 exceeds the squared distance by. That of the first
	// is known better once it is measured, and what cannot reach it is out.
	row, square := n.x.Row(i), own.Norm*own.Norm
	err := dot8.Error(len(row))
	known := func(d float32) float64 { return (square-float64(d))/2 - err*float64(d) - 0x1p-40*square - 1e-30 }
	nearest := dot8.SquaredDistance(row, t.c.Row(int(at)))
	least := known(nearest)
	from := least - band
	w.open = scan.Between(scores[:t.n], float32(from-0x1p-22*math.Abs(from)-1e-37), math.MaxFloat32, w.open)
	w.far = w.far[:0]
	near := w.open[:0]
	for _, k := range w.open {
		if float64(scores[k])+kind.Band(t.d, own, t.extents[k]) < least {
			continue
		}
		d := dot8.SquaredDistance(row, t.c.Row(int(k)))
		near, w.far = append(near, k), append(w.far, d)
		if d < nearest {
			nearest, least = d, known(d)
		}
	}
	// Of those that float32 cannot tell from the nearest, float64 finds it.
	reach := float64(nearest)*(1+3*err) + 4e-30
	best, count := math.Inf(1), 0
	for c, d := range w.far {
		if float64(d) <= reach {
			at = near[c]
			count++
		}
	}
	if count == 1 {
		return at
	}
	for c, d := range w.far {
		if float64(d) > reach {
			continue
		}
		if d := dot16.SquaredDistance(row, t.c.Row(int(near[c]))); d < best {
			best, at = d, near[c]
		}
	}
	return at
}
