package cluster

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/mat"
)

// rowBlock is the number of rows assigned at a time: whole panels.
const rowBlock = 16 * dot16.RowPanel

// colBlock is the number of centroids multiplied at a time: whole panels, whose
// coordinates stay in the processor's cache.
const colBlock = 14 * dot16.ColPanel

// nearest finds the nearest centroid of every row: the k with the largest
// x.c_k - ||c_k||^2 / 2. Approximate scores leave the few that can be it; if that
// is more than one, float64 distances decide. No row may be longer than 1.
type nearest struct {
	x    *mat.Dense
	ints []int16   // panels of the rows, or nil
	unit []float32 // length of a unit
	norm []float64 // length of each row
	loss []float64 // length of what rounding took from it
}

func newNearest(x *mat.Dense) *nearest {
	n := &nearest{x: x, norm: make([]float64, x.Rows), loss: make([]float64, x.Rows)}
	for i := range n.norm {
		n.norm[i] = math.Sqrt(dot16.Dot(x.Row(i), x.Row(i)))
	}
	if !dot16.Fast() {
		return n
	}
	n.unit = make([]float32, x.Rows)
	n.ints = make([]int16, dot16.PackedLen(x.Rows, x.Cols, dot16.RowPanel))
	par.For(x.Rows, rowBlock, func(lo, hi int) {
		u, q := make([]float64, x.Cols), make([]int16, x.Cols)
		for i := lo; i < hi; i++ {
			widen(u, x.Row(i))
			unit, loss := dot16.Quantize(q, u)
			n.unit[i], n.loss[i] = float32(unit), loss
			dot16.Pack(n.ints, dot16.RowPanel, i, q)
		}
	})
	return n
}

func widen(u []float64, row []float32) {
	for j, v := range row {
		u[j] = float64(v)
	}
}

// table is the centroids made ready for products.
type table struct {
	c          *mat.Dense
	ints       []int16
	cols       dot16.Columns // padded to whole panels
	norm, loss float64       // largest of any centroid
}

func (n *nearest) table(c *mat.Dense) *table {
	padded := (c.Rows + dot16.ColPanel - 1) / dot16.ColPanel * dot16.ColPanel
	t := &table{c: c, cols: dot16.Columns{Scale: make([]float32, padded), Half: make([]float32, padded)}}
	if n.ints != nil {
		t.ints = make([]int16, dot16.PackedLen(c.Rows, c.Cols, dot16.ColPanel))
	}
	u, q := make([]float64, c.Cols), make([]int16, c.Cols)
	for k := range padded {
		if k >= c.Rows {
			t.cols.Half[k] = float32(math.Inf(1)) // padding scores -Inf
			continue
		}
		sq := dot16.Dot(c.Row(k), c.Row(k))
		t.norm = max(t.norm, math.Sqrt(sq))
		t.cols.Half[k] = float32(sq / 2)
		if n.ints != nil {
			widen(u, c.Row(k))
			unit, loss := dot16.Quantize(q, u)
			t.cols.Scale[k] = float32(unit)
			t.loss = max(t.loss, loss)
			dot16.Pack(t.ints, dot16.ColPanel, k, q)
		}
	}
	return t
}

// band bounds how far an approximate score of row i can be from the exact one.
func (n *nearest) band(i int, t *table) float64 {
	b := n.loss[i]*t.norm + (n.norm[i]+n.loss[i])*t.loss + 0x1p-21*(n.norm[i]*t.norm+t.norm*t.norm/2)
	if n.ints == nil {
		b += 0x1p-23 * float64(n.x.Cols+8) * n.norm[i] * t.norm
	}
	return b + 1e-30
}

// assign writes the nearest row of c for every row of x, ties to the lowest, and
// tells whether any differs from what assigned held.
func (n *nearest) assign(ctx context.Context, assigned []int32, c *mat.Dense) (bool, error) {
	t := n.table(c)
	blocks := (n.x.Rows + rowBlock - 1) / rowBlock
	changed := make([]bool, blocks)
	err := par.ForContext(ctx, n.x.Rows, rowBlock, func(lo, hi int) {
		width := len(t.cols.Half)
		scores := make([]float32, dot16.RowPanel*width)
		products := make([]int32, dot16.RowPanel*min(colBlock, width))
		for p := lo; p < hi; p += dot16.RowPanel {
			end := min(p+dot16.RowPanel, hi)
			tops := n.score(scores, products, p, end, t)
			for i := p; i < end; i++ {
				at := n.settle(i, scores[(i-p)*width:(i-p+1)*width], &tops[i-p], t)
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

// score fills in the approximate scores of rows p..end-1 with all centroids, and
// the best two of each.
func (n *nearest) score(scores []float32, products []int32, p, end int, t *table) (tops [dot16.RowPanel]dot16.Top) {
	width := len(t.cols.Half)
	for r := range tops {
		tops[r].Reset()
	}
	if n.ints == nil {
		k := t.c.Rows
		s := &mat.Dense{Rows: end - p, Cols: k, Stride: width, Data: scores}
		mat.Gemm(false, true, 1, n.x.RowRange(p, end), t.c, 0, s)
		for r := range end - p {
			row := s.Row(r)
			for j := range row {
				row[j] -= t.cols.Half[j]
				tops[r].Take(row[j], int32(j))
			}
		}
		return tops
	}
	pairs := dot16.Pairs(n.x.Cols)
	a := n.ints[p*2*pairs : (p+dot16.RowPanel)*2*pairs]
	for j0 := 0; j0 < width; j0 += colBlock {
		j1 := min(j0+colBlock, width)
		w := j1 - j0
		strip := products[:dot16.RowPanel*w]
		dot16.Strip(strip, a, t.ints[j0*2*pairs:j1*2*pairs], pairs)
		cols := dot16.Columns{Scale: t.cols.Scale[j0:j1], Half: t.cols.Half[j0:j1]}
		for r := range end - p {
			dot16.Best(scores[r*width+j0:r*width+j1], strip[r*w:(r+1)*w], n.unit[p+r], &cols, int32(j0), &tops[r])
		}
	}
	return tops
}

// settle returns the nearest centroid of row i.
func (n *nearest) settle(i int, scores []float32, top *dot16.Top, t *table) int32 {
	first, at, second := top.Result()
	margin := 2 * n.band(i, t)
	if float64(first)-float64(second) > margin {
		return at
	}
	best := math.Inf(1)
	for k, v := range scores[:t.c.Rows] {
		if float64(first)-float64(v) > margin {
			continue
		}
		if d := dot16.SquaredDistance(n.x.Row(i), t.c.Row(k)); d < best {
			best, at = d, int32(k)
		}
	}
	return at
}
