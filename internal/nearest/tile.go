package nearest

import (
	"math"
	"math/bits"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/mat"
)

// placed is queries in the space of a part.
type placed struct {
	queries    []*Query
	all        []int // 0, 1, ...
	far        []*Query
	d          int
	ints       [][]int16 // a row each, nil where floats are used
	panels     []int16   // the same, packed
	floats     *mat.Dense
	scale      []float32
	half       []float64
	norm, loss []float64
}

// farAway is the length in a space beyond which float32 loses a query.
const farAway = 1 << 20

// placeAll places queries. Those too far away from the part's rows are left out and
// listed.
func (c *Codes) placeAll(queries []*Query) *placed {
	d := len(c.Mean)
	p := &placed{d: d}
	u := make([]float64, d)
	fast := dot16.Fast()
	rows := make([]float32, 0, len(queries)*d)
	for _, q := range queries {
		norm, half := c.place(u, q.X)
		if !(norm <= farAway) {
			p.far = append(p.far, q)
			continue
		}
		p.all = append(p.all, len(p.queries))
		p.queries, p.norm, p.half = append(p.queries, q), append(p.norm, norm), append(p.half, half)
		if fast {
			ints := make([]int16, d)
			unit, loss := dot16.Quantize(ints, u)
			p.ints, p.scale, p.loss = append(p.ints, ints), append(p.scale, float32(unit)), append(p.loss, loss)
			continue
		}
		loss := 0.0
		for _, v := range u {
			rows = append(rows, float32(v))
			e := v - float64(float32(v))
			loss += e * e
		}
		p.scale, p.loss = append(p.scale, 1), append(p.loss, math.Sqrt(loss))
	}
	n := len(p.queries)
	if fast {
		p.panels = pack(nil, p.ints, p.all, d)
	} else {
		p.floats = mat.Of(n, d, rows)
	}
	return p
}

// pack packs some of the rows into panels.
func pack(dst []int16, rows [][]int16, which []int, d int) []int16 {
	need := dot16.PackedLen(len(which), d, dot16.RowPanel)
	if cap(dst) < need {
		dst = make([]int16, need)
	}
	dst = dst[:need]
	for r, i := range which {
		dot16.Pack(dst, dot16.RowPanel, r, rows[i])
	}
	return dst
}

// lists says for each block which queries look at it, nil if all look at all.
func (p *placed) lists(part int32, blocks int) [][]int {
	some := false
	for _, q := range p.queries {
		some = some || q.Within != nil && q.Within[part] != nil
	}
	if !some {
		return nil
	}
	out := make([][]int, blocks)
	for i, q := range p.queries {
		if q.Within == nil || q.Within[part] == nil {
			for b := range out {
				out[b] = append(out[b], i)
			}
			continue
		}
		last := -1
		for _, r := range q.Within[part] {
			for b := max(r.Lo/Block, last+1); b*Block < r.Hi; b++ {
				out[b] = append(out[b], i)
				last = b
			}
		}
	}
	return out
}

// tile scores blocks of rows.
type tile struct {
	*scan
	c        *Codes
	products []int32
	scores   []float32
	mask     []uint32
	panels   []int16
	low      []float32 // of the columns, which look for nothing
	rows     *mat.Dense
	dense    *mat.Dense
	u        []float64
}

func newTile(s *scan) *tile {
	t, _ := s.tiles.Get().(*tile)
	if t == nil {
		t = &tile{
			products: make([]int32, dot16.RowPanel*Block),
			scores:   make([]float32, dot16.RowPanel*Block),
			mask:     make([]uint32, Block/16),
			low:      make([]float32, Block),
		}
		for j := range t.low {
			t.low[j] = float32(math.Inf(1))
		}
	}
	t.scan, t.c = s, s.part.Codes
	return t
}

func (t *tile) free() {
	t.tiles.Put(t)
}

// block scores one block for some of the queries.
func (t *tile) block(b int, which []int) {
	lo, hi := b*Block, min((b+1)*Block, t.c.Rows)
	width := Padded(hi - lo)
	p := t.placed
	cols := dot16.Columns{Scale: t.c.Scale[lo : lo+width], Half: t.c.Half[lo : lo+width], Lo: t.low[:width]}
	if p.floats != nil {
		t.multiply(lo, hi)
		for _, i := range which {
			t.filterFloats(b, i, hi-lo, cols.Half)
			t.show(b, i, t.scores[:width], t.mask[:width/16])
		}
		return
	}
	panels := p.panels
	if len(which) < len(p.queries) {
		t.panels = pack(t.panels, p.ints, which, p.d)
		panels = t.panels
	}
	pairs := dot16.Pairs(p.d)
	const panel = dot16.RowPanel
	y := t.c.Ints[lo*2*pairs : (lo+width)*2*pairs]
	for r := 0; r < len(which); r += panel {
		products := t.products[:panel*width]
		dot16.Strip(products, panels[r*2*pairs:(r+panel)*2*pairs], y, pairs)
		for k, i := range which[r:min(r+panel, len(which))] {
			row := dot16.Row{Scale: p.scale[i], Lo: t.threshold(b, i)}
			dot16.Filter(t.scores[:width], t.mask[:width/16], products[k*width:(k+1)*width], row, &cols)
			t.show(b, i, t.scores[:width], t.mask[:width/16])
		}
	}
}

// band bounds how far an approximate score of query i with a row of block b can be
// from the exact one.
func (t *tile) band(b, i int) float64 {
	p, e := t.placed, t.c.Extents[b]
	norm, loss := p.norm[i], p.loss[i]
	if p.floats != nil {
		e.Loss = 0x1p-24*e.Norm + 1e-40*math.Sqrt(float64(p.d)) // rounding to float32, the smallest numbers too
	}
	band := loss*e.Norm + (norm+loss)*e.Loss
	// Rounding of the scaled product, of the halves and of the differences.
	band += 0x1p-21 * (norm*e.Norm + p.half[i] + e.Half)
	if p.floats != nil {
		// Summation of the float32 product in any order.
		band += 0x1p-23 * float64(p.d+8) * norm * e.Norm
	}
	return band + 1e-30 // products of rows that are tiny beside the longest
}

// threshold is what a score has to reach, before the query's half is taken off.
func (t *tile) threshold(b, i int) float32 {
	p := t.placed
	return below(p.queries[i].lowest()*t.c.unit() - t.band(b, i) + p.half[i])
}

// below returns a float32 that is at most x, and finite: what fills up a panel
// scores -Inf and must not reach it.
func below(x float64) float32 {
	x = min(max(x, -math.MaxFloat32), math.MaxFloat32)
	f := float32(x)
	if float64(f) > x {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// show shows query i the rows of a block that passed.
func (t *tile) show(b, i int, scores []float32, mask []uint32) {
	p := t.placed
	q := p.queries[i]
	band, unit := -1.0, t.c.unit()
	for w, m := range mask {
		for m &= 1<<16 - 1; m != 0; m &= m - 1 {
			j := w*16 + bits.TrailingZeros32(m)
			row := b*Block + j
			if row >= t.c.Rows || !q.allows(t.at, row) {
				continue
			}
			if band < 0 {
				band = t.band(b, i)
			}
			v := float64(scores[j]) - p.half[i]
			q.take(candidate{(v - band) / unit, (v + band) / unit, t.at, int32(row)})
		}
	}
}

// multiply computes the products of all queries with rows lo..hi-1 in float32.
func (t *tile) multiply(lo, hi int) {
	p := t.placed
	if t.rows == nil || t.rows.Cols != p.d {
		t.rows, t.u = mat.New(Block, p.d), make([]float64, p.d)
	}
	if t.dense == nil || t.dense.Rows < len(p.queries) {
		t.dense = mat.New(len(p.queries), Block)
	}
	for r := lo; r < hi; r++ {
		t.c.place(t.u, t.part.X[r*p.d:(r+1)*p.d])
		for j, v := range t.u {
			t.rows.Row(r - lo)[j] = float32(v)
		}
	}
	c := &mat.Dense{Rows: len(p.queries), Cols: hi - lo, Stride: Block, Data: t.dense.Data}
	mat.Gemm(false, true, 1, p.floats, t.rows.RowRange(0, hi-lo), 0, c)
}

// filterFloats is dot16.Filter for the products of query i.
func (t *tile) filterFloats(b, i, n int, half []float32) {
	clear(t.mask)
	lo := t.threshold(b, i)
	for j, v := range t.dense.Row(i)[:n] {
		s := v - half[j]
		t.scores[j] = s
		if s >= lo {
			t.mask[j/16] |= 1 << (j % 16)
		}
	}
}
