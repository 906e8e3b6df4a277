package nearest

import (
	"math"
	"math/bits"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/mat"
)

// lists says for each block which queries look at it, nil if all look at all.
func (p *placed) lists(part int32, blocks int) [][]int {
	some := false
	for i := range p.spots {
		q := p.spots[i].query
		some = some || q.Within != nil && q.Within[part] != nil
	}
	if !some {
		return nil
	}
	out := make([][]int, blocks)
	for i := range p.spots {
		q := p.spots[i].query
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
	panels   panels
	low      []float32 // what each row grants
	ahead    []uint8   // codes of the next block that nobody has asked memory for
	rows     *mat.Dense
	dense    *mat.Dense
	u        []float64
}

func newTile(s *scan) *tile {
	t, _ := s.tiles.Get().(*tile)
	if t == nil {
		const most = max(dot8.RowPanel, dot16.RowPanel)
		t = &tile{
			products: make([]int32, most*Block),
			scores:   make([]float32, Block),
			mask:     make([]uint32, Block/16),
			low:      make([]float32, Block),
		}
	}
	t.scan, t.c = s, s.part.Codes
	return t
}

func (t *tile) free() {
	t.tiles.Put(t)
}

// blocks scores blocks lo..hi-1 for the queries that look at them: those of lists, all
// if that is nil.
func (t *tile) blocks(lo, hi int, lists [][]int) {
	for b := lo; b < hi; b++ {
		which := t.placed.all
		if lists != nil {
			which = lists[b]
		}
		if len(which) > 0 {
			t.ahead = nil
			if b+1 < hi && (lists == nil || len(lists[b+1]) > 0) {
				t.ahead = t.c.bytesOf(b + 1)
			}
			t.block(b, which)
		}
	}
}

// bytesOf are the 8-bit codes of a block, if there are any.
func (c *Codes) bytesOf(b int) []uint8 {
	depth := dot8.Depth(len(c.Center))
	return c.Bytes[min(b*Block*depth, len(c.Bytes)):min((b+1)*Block*depth, len(c.Bytes))]
}

// block scores one block for some of the queries.
func (t *tile) block(b int, which []int) {
	if !t.sound(b, which) {
		return
	}
	lo, hi := b*Block, min((b+1)*Block, t.c.Rows)
	width := Padded(hi - lo)
	p := t.placed
	cols := dot16.Columns{Scale: t.c.Scale[lo : lo+width], Half: t.c.Half[lo : lo+width], Lo: t.low[:width]}
	if p.kernel == floats {
		t.multiply(lo, hi)
		for _, i := range which {
			t.grant(lo, p.spots[i].reach)
			look := p.spots[i].look(p.spots[i].query.lowest())
			t.filterFloats(i, hi-lo, cols.Half, look)
			t.show(b, i)
		}
		return
	}
	packed := &p.panels
	if len(which) < len(p.spots) {
		packed = &t.panels
		packed.pack(p, which)
	}
	share := (len(t.ahead)/len(which) + 63) &^ 63
	for r := 0; r < len(which); r += p.kernel.rows() {
		end := min(r+p.kernel.rows(), len(which))
		products := t.products[:p.kernel.rows()*width]
		packed.strip(products, r, p.d, t.c, lo, width)
		t.grant(lo, p.spots[which[end-1]].reach) // the largest of the panel
		for k, i := range which[r:end] {
			s := &p.spots[i]
			row := dot16.Row{Scale: s.scale, Half: s.look(s.query.lowest()), Lo: float32(math.Inf(1))}
			dot16.Filter(t.scores[:width], t.mask[:width/16], products[k*width:(k+1)*width], row, &cols)
			// Memory brings the next block while this one is compared.
			n := min(share, len(t.ahead))
			dot8.Fetch(t.ahead[:n])
			t.ahead = t.ahead[n:]
			t.show(b, i)
		}
	}
}

// grant sets what rows from lo on may lack of the score that a query looks for.
func (t *tile) grant(lo int, reach float64) {
	f := -above(reach)
	low := t.low
	for j, s := range t.c.Slack[lo:min(lo+Block, len(t.c.Slack))] {
		low[j] = f * s
	}
}

// show scores the rows of a block that passed for query i.
func (t *tile) show(b, i int) {
	s := &t.placed.spots[i]
	q := s.query
	floor := math.Inf(-1)
	var look float32
	for w, m := range t.mask[:(min(Block, t.c.Rows-b*Block)+15)/16] {
		for m >>= 16; m != 0; m &= m - 1 {
			j := w*16 + bits.TrailingZeros32(m)
			row := b*Block + j
			if row >= t.c.Rows || !q.allows(t.at, row) {
				continue
			}
			if f := q.lowest(); f > floor { // than when the block was begun, maybe
				floor, look = f, s.look(f)
			}
			if t.scores[j]-look >= t.low[j] || math.IsInf(floor, -1) {
				t.score(q, row)
			}
		}
	}
}

// multiply computes the products of all queries with rows lo..hi-1 in float32.
func (t *tile) multiply(lo, hi int) {
	p := t.placed
	if t.rows == nil || t.rows.Cols != p.d {
		t.rows, t.u = mat.New(Block, p.d), make([]float64, p.d)
	}
	if t.dense == nil || t.dense.Rows < len(p.spots) {
		t.dense = mat.New(len(p.spots), Block)
	}
	for r := lo; r < hi; r++ {
		dst := t.rows.Row(r - lo)
		if t.c.Scale[r] == 0 { // what float32 may not hold
			clear(dst)
			continue
		}
		t.c.place(t.u, t.part.X[r*p.d:(r+1)*p.d])
		for j, v := range t.u {
			dst[j] = float32(v)
		}
	}
	c := &mat.Dense{Rows: len(p.spots), Cols: hi - lo, Stride: Block, Data: t.dense.Data}
	mat.Gemm(false, true, 1, p.floats, t.rows.RowRange(0, hi-lo), 0, c)
}

// filterFloats is dot16.Filter for the products of query i.
func (t *tile) filterFloats(i, n int, half []float32, look float32) {
	clear(t.mask)
	for j, v := range t.dense.Row(i)[:n] {
		s := v - half[j]
		t.scores[j] = s
		if s-look >= t.low[j] {
			t.mask[j/16] |= 1 << (16 + j%16)
		}
	}
}
