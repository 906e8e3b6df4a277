package cluster

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/internal/kernel/scan"
	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/mat"
)

// rowBlock is the number of rows assigned at a time: whole panels of either kind.
const rowBlock = dot8.RowPanel * dot16.RowPanel / 2

// colBlock is the number of centroids multiplied at a time: whole panels, whose
// coordinates stay in the processor's cache.
const colBlock = 14 * dot16.ColPanel

// nearest finds the nearest centroid of every row: the k with the largest
// x.c_k - ||c_k||^2 / 2. Approximate scores leave the few that can be it; of these,
// distances in float32 leave fewer, and float64 distances decide. No row may be longer
// than 1.
type nearest struct {
	x     *mat.Dense
	panel int       // rows multiplied at a time
	bytes []int8    // panels of the rows in 8 bits, or nil
	bias  []int32   // of these
	ints  []int16   // panels of the rows in 16 bits, or nil
	unit  []float32 // length of a unit
	norm  []float64 // length of each row
	loss  []float64 // length of what rounding took from it
	zeros []float32 // what rows are placed about: they have been shifted before
}

func newNearest(x *mat.Dense) *nearest {
	n := &nearest{x: x, panel: dot16.RowPanel, norm: make([]float64, x.Rows), loss: make([]float64, x.Rows),
		zeros: make([]float32, x.Cols)}
	switch padded := (x.Rows + rowBlock - 1) / rowBlock * rowBlock; {
	case dot8.Worth(x.Cols):
		n.panel = dot8.RowPanel
		n.bytes, n.bias = make([]int8, dot8.PackedLen(padded, x.Cols, dot8.RowPanel)), make([]int32, padded)
	case dot16.Fast():
		n.ints = make([]int16, dot16.PackedLen(x.Rows, x.Cols, dot16.RowPanel))
	}
	n.unit = make([]float32, x.Rows)
	par.For(x.Rows, rowBlock, func(lo, hi int) {
		r := newRounder(x.Cols)
		for i := lo; i < hi; i++ {
			n.norm[i] = math.Sqrt(dot16.Dot(x.Row(i), x.Row(i)))
			switch {
			case n.bytes != nil:
				c := r.bits8(x.Row(i), n.zeros)
				n.unit[i], n.loss[i], n.bias[i] = c.Unit, c.Loss, dot8.Bias(c.Sum)
				dot8.PackRow(n.bytes, i, r.q8)
			case n.ints != nil:
				n.unit[i], n.loss[i] = r.bits16(x.Row(i))
				dot16.Pack(n.ints, dot16.RowPanel, i, r.q16)
			}
		}
	})
	return n
}

// rounder rounds rows, one at a time.
type rounder struct {
	u   []float64
	w   []float32
	q16 []int16
	q8  []int8
}

func newRounder(d int) *rounder {
	return &rounder{make([]float64, d), make([]float32, d), make([]int16, d), make([]int8, dot8.Depth(d))}
}

func (r *rounder) bits8(row, zeros []float32) dot8.Code {
	return dot8.Quantize(r.q8, r.w, dot8.Place(r.w, row, zeros, 1), 0)
}

func (r *rounder) bits16(row []float32) (unit float32, loss float64) {
	for j, v := range row {
		r.u[j] = float64(v)
	}
	length, loss := dot16.Quantize(r.q16, r.u)
	return float32(length), loss
}

// table is the centroids made ready for products.
type table struct {
	c          *mat.Dense
	bytes      []uint8
	ints       []int16
	cols       dot16.Columns // padded to whole panels
	norm, loss []float64     // of each centroid, as of the rows
	longest    int           // the centroid of the largest norm
	coarsest   int           // and of the largest loss
}

func (n *nearest) table(c *mat.Dense) *table {
	padded := (c.Rows + dot16.ColPanel - 1) / dot16.ColPanel * dot16.ColPanel
	t := &table{c: c, cols: dot16.Columns{Scale: make([]float32, padded), Half: make([]float32, padded)},
		norm: make([]float64, c.Rows), loss: make([]float64, c.Rows)}
	switch {
	case n.bytes != nil:
		t.bytes = make([]uint8, dot8.PackedLen(c.Rows, c.Cols, dot8.ColPanel))
	case n.ints != nil:
		t.ints = make([]int16, dot16.PackedLen(c.Rows, c.Cols, dot16.ColPanel))
	}
	r := newRounder(c.Cols)
	for k := range padded {
		if k >= c.Rows {
			t.cols.Half[k] = float32(math.Inf(1)) // padding scores -Inf
			continue
		}
		sq := dot16.Dot(c.Row(k), c.Row(k))
		t.norm[k] = math.Sqrt(sq)
		t.cols.Half[k] = float32(sq / 2)
		switch {
		case n.bytes != nil:
			code := r.bits8(c.Row(k), n.zeros)
			t.cols.Scale[k], t.loss[k] = code.Unit, code.Loss
			dot8.PackColumn(t.bytes, k, r.q8)
		case n.ints != nil:
			unit, loss := r.bits16(c.Row(k))
			t.cols.Scale[k], t.loss[k] = unit, loss
			dot16.Pack(t.ints, dot16.ColPanel, k, r.q16)
		}
		if t.norm[k] > t.norm[t.longest] {
			t.longest = k
		}
		if t.loss[k] > t.loss[t.coarsest] {
			t.coarsest = k
		}
	}
	return t
}

// band bounds how far an approximate score of row i can be from the exact one: with a
// centroid of the given norm and loss, or less.
func (n *nearest) band(i int, norm, loss float64) float64 {
	b := n.loss[i]*norm + (n.norm[i]+n.loss[i])*loss + 0x1p-21*(n.norm[i]*norm+norm*norm/2)
	if n.bytes == nil && n.ints == nil {
		b += 0x1p-23 * float64(n.x.Cols+8) * n.norm[i] * norm
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
		w := &work{
			scores:   make([]float32, n.panel*width),
			products: make([]int32, n.panel*min(colBlock, width)),
			tops:     make([]dot16.Top, n.panel),
			open:     make([]int32, 0, scan.Room(width)),
		}
		for p := lo; p < hi; p += n.panel {
			end := min(p+n.panel, hi)
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
	scores   []float32 // of a panel of rows with all centroids
	products []int32
	tops     []dot16.Top // the best two of each row
	open     []int32     // centroids that may be a row's nearest
	far      []float32   // their squared distances in float32
}

// score fills in the approximate scores of rows p..end-1 with all centroids, and
// the best two of each.
func (n *nearest) score(w *work, p, end int, t *table) {
	width := len(t.cols.Half)
	for r := range w.tops {
		w.tops[r].Reset()
	}
	if n.bytes == nil && n.ints == nil {
		k := t.c.Rows
		s := &mat.Dense{Rows: end - p, Cols: k, Stride: width, Data: w.scores}
		mat.Gemm(false, true, 1, n.x.RowRange(p, end), t.c, 0, s)
		for r := range end - p {
			row := s.Row(r)
			for j := range row {
				row[j] -= t.cols.Half[j]
				w.tops[r].Take(row[j], int32(j))
			}
		}
		return
	}
	for j0 := 0; j0 < width; j0 += colBlock {
		j1 := min(j0+colBlock, width)
		strip := w.products[:n.panel*(j1-j0)]
		n.strip(strip, p, j0, j1, t)
		cols := dot16.Columns{Scale: t.cols.Scale[j0:j1], Half: t.cols.Half[j0:j1]}
		for r := range end - p {
			dot16.Best(w.scores[r*width+j0:r*width+j1], strip[r*(j1-j0):(r+1)*(j1-j0)], n.unit[p+r], &cols, int32(j0),
				&w.tops[r])
		}
	}
}

// strip multiplies the panel of rows from p on with centroids j0..j1-1.
func (n *nearest) strip(products []int32, p, j0, j1 int, t *table) {
	if n.bytes != nil {
		depth := dot8.Depth(n.x.Cols)
		dot8.Strip(products, n.bytes[p*depth:(p+n.panel)*depth], n.bias[p:p+n.panel], t.bytes[j0*depth:j1*depth], depth)
		return
	}
	pairs := dot16.Pairs(n.x.Cols)
	dot16.Strip(products, n.ints[p*2*pairs:(p+n.panel)*2*pairs], t.ints[j0*2*pairs:j1*2*pairs], pairs)
}

// settle returns the nearest centroid of row i.
func (n *nearest) settle(w *work, i int, scores []float32, top *dot16.Top, t *table) int32 {
	first, at, second := top.Result()
	band := n.band(i, t.norm[t.longest], t.loss[t.coarsest]) // of any centroid
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
		if float64(scores[k])+n.band(i, t.norm[k], t.loss[k]) < least {
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
