package exact

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact/coded"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/internal/kernel/scan"
	"github.com/kindred-ml/kindred/mat"
)

// rowBlock is the number of rows assigned at a time: whole panels of every kind.
const rowBlock = coded.Block / 2

// Assigner finds the nearest centroid of every row: the k with the largest
// x.c_k - ||c_k||^2 / 2. Approximate scores leave the few that can be it; of these,
// distances in float32 leave fewer, and float64 distances decide. No row may be longer
// than 1.
type Assigner struct {
	x    *mat.Dense
	kind Kind
	rows *coded.Rows
	unit []float32 // length of a unit
	norm []float64 // length of each row
	loss []float64 // length of what coding took from it
}

// NewAssigner codes the rows of x.
func NewAssigner(x *mat.Dense) *Assigner {
	n := &Assigner{x: x, kind: coded.Suited(x.Cols), unit: make([]float32, x.Rows), norm: make([]float64, x.Rows),
		loss: make([]float64, x.Rows)}
	if n.kind == coded.Float32 {
		n.rows = coded.FloatRows(x)
	} else {
		n.rows = coded.NewRows(n.kind, (x.Rows+rowBlock-1)/rowBlock*rowBlock, x.Cols)
	}
	par.For(x.Rows, rowBlock, func(lo, hi int) {
		coder := coded.NewCoder(n.kind, x.Cols)
		for i := lo; i < hi; i++ {
			n.norm[i] = math.Sqrt(dot16.Dot(x.Row(i), x.Row(i)))
			if n.kind != coded.Float32 {
				c := coder.Float32(x.Row(i))
				n.unit[i], n.loss[i] = c.Unit, c.Loss
				n.rows.Put(i, &coder.Row)
			}
		}
	})
	return n
}

// table is the centroids made ready for products.
type table struct {
	c       *mat.Dense
	columns *coded.Columns
	cols    dot16.Columns  // padded to whole panels
	extents []coded.Extent // of each centroid
	most    coded.Extent   // of any
}

func (n *Assigner) table(c *mat.Dense) *table {
	padded := coded.Padded(c.Rows)
	t := &table{c: c, cols: dot16.Columns{Scale: make([]float32, padded), Half: make([]float32, padded)},
		extents: make([]coded.Extent, c.Rows)}
	if n.kind == coded.Float32 {
		t.columns = coded.FloatColumns(c)
	} else {
		t.columns = coded.NewColumns(n.kind, c.Rows, c.Cols)
	}
	coder := coded.NewCoder(n.kind, c.Cols)
	for k := range padded {
		if k >= c.Rows {
			t.cols.Half[k] = float32(math.Inf(1)) // padding scores -Inf
			continue
		}
		sq := dot16.Dot(c.Row(k), c.Row(k))
		e := coded.Extent{Norm: math.Sqrt(sq), Half: sq / 2}
		t.cols.Half[k] = float32(e.Half)
		if n.kind != coded.Float32 {
			code := coder.Float32(c.Row(k))
			t.cols.Scale[k], e.Loss = code.Unit, code.Loss
			t.columns.Put(k, &coder.Row)
		}
		t.extents[k] = e
		t.most.Include(e)
	}
	return t
}

// band bounds how far an approximate score of row i can be from the exact one: with a
// centroid within these bounds.
func (n *Assigner) band(i int, c coded.Extent) float64 {
	return n.kind.Band(n.x.Cols, coded.Extent{Norm: n.norm[i], Loss: n.loss[i]}, c)
}

// Assign writes the nearest row of c for every row of x, ties to the lowest, and
// tells whether any differs from what assigned held.
func (n *Assigner) Assign(ctx context.Context, assigned []int32, c *mat.Dense) (bool, error) {
	t := n.table(c)
	blocks := (n.x.Rows + rowBlock - 1) / rowBlock
	changed := make([]bool, blocks)
	err := par.ForContext(ctx, n.x.Rows, rowBlock, func(lo, hi int) {
		width, panel := len(t.cols.Half), n.kind.Panel()
		if n.kind == coded.Float32 && width >= 128 {
			panel *= 4 // larger products cost less, where they are most of the work
		}
		w := &work{
			scores: make([]float32, panel*width),
			tops:   make([]dot16.Top, panel),
			open:   make([]int32, 0, scan.Room(width)),
		}
		for p := lo; p < hi; p += panel {
			end := min(p+panel, hi)
			n.score(w, p, end, t)
			for i := p; i < end; i++ {
				at := n.settle(w, i, w.scores[(i-p)*width:(i-p+1)*width], &w.tops[i-p], t)
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

// work is what one goroutine needs to assign rows.
type work struct {
	tile   coded.Tile
	scores []float32   // of a panel of rows with all centroids
	tops   []dot16.Top // the best two of each row
	open   []int32     // centroids that may be a row's nearest
	far    []float32   // their squared distances in float32
}

// score fills in the approximate scores of rows p..end-1 with all centroids, and
// the best two of each. The centroids' coordinates stay in the processor's cache.
func (n *Assigner) score(w *work, p, end int, t *table) {
	width := len(t.cols.Half)
	for r := range w.tops {
		w.tops[r].Reset()
	}
	for j0 := 0; j0 < width; j0 += coded.Block {
		j1 := min(j0+coded.Block, width)
		w.tile.Begin(n.rows, p, end, t.columns, j0, min(j1, t.c.Rows))
		w.tile.Multiply(p)
		cols := dot16.Columns{Scale: t.cols.Scale[j0:j1], Half: t.cols.Half[j0:j1]}
		for i := p; i < end; i++ {
			r := i - p
			w.tile.Best(i, w.scores[r*width+j0:r*width+j1], n.unit[i], &cols, j0, &w.tops[r])
		}
	}
}

// settle returns the nearest centroid of row i.
func (n *Assigner) settle(w *work, i int, scores []float32, top *dot16.Top, t *table) int32 {
	first, at, second := top.Result()
	band := n.band(i, t.most) // of any centroid
	if float64(first)-float64(second) > 2*band {
		return at
	}
	// A score is half of what ||x||^2 exceeds the squared distance by. That of the first
	// is known better once it is measured, and what cannot reach it is out.
	row, square := n.x.Row(i), n.norm[i]*n.norm[i]
	err := dot8.Error(len(row))
	known := func(d float32) float64 { return (square-float64(d))/2 - err*float64(d) - 0x1p-40*square - 1e-30 }
	nearest := dot8.SquaredDistance(row, t.c.Row(int(at)))
	least := known(nearest)
	from := least - band
	w.open = scan.Between(scores[:t.c.Rows], float32(from-0x1p-22*math.Abs(from)-1e-37), math.MaxFloat32, w.open)
	w.far = w.far[:0]
	near := w.open[:0]
	for _, k := range w.open {
		if float64(scores[k])+n.band(i, t.extents[k]) < least {
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
