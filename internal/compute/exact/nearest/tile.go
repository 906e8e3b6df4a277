package nearest

import (
	"math"
	"math/bits"

	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/matrix"
)

// queriesByBlock says for each block which queries look at it, nil if all look at all.
func (p *placedQueries) queriesByBlock(part int32, blocks int) [][]int {
	some := false
	for i := range p.places {
		q := p.places[i].query
		some = some || q.Within != nil && q.Within[part] != nil
	}
	if !some {
		return nil
	}
	out := make([][]int, blocks)
	for i := range p.places {
		q := p.places[i].query
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
	products quantized.Tile
	scores   []float32
	mask     []uint32
	some     *quantized.Rows    // queries that look at a block, if not all do
	low      []float32          // the slack of each row
	placing  *matrix.Dense      // the rows of a block, for Float32
	floats   *quantized.Columns // the same
	u        []float64
}

func newTile(s *scan) *tile {
	t, _ := s.tiles.Get().(*tile)
	if t == nil {
		t = &tile{
			scores: make([]float32, Block),
			mask:   make([]uint32, Block/16),
			some:   quantized.NewRows(s.placed.kind, 0, s.d),
			low:    make([]float32, Block),
		}
	}
	t.scan, t.c = s, s.part.Codes
	return t
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
			t.block(b, which, b+1 < hi && (lists == nil || len(lists[b+1]) > 0))
		}
	}
}

// block scores one block for some of the queries. If next says that the next block will
// be scored too, it is prefetched while this one is compared.
func (t *tile) block(b int, which []int, next bool) {
	if !t.isIntact(b, which) {
		return
	}
	lo, hi := b*Block, min((b+1)*Block, t.c.Rows)
	width := Padded(hi - lo)
	p := t.placed
	rows, columns, first := p.rows, p.columns, lo
	if len(which) < len(p.places) {
		rows = t.some
		rows.Resize(len(which))
		for r, i := range which {
			rows.Put(r, &p.places[i].row)
		}
	}
	if p.kind == quantized.Float32 {
		t.place(lo, hi)
		columns, first = t.floats, 0
	}
	cols := dot16.Columns{Scale: t.c.Scale[lo : lo+width], Half: t.c.Half[lo : lo+width], Lo: t.low[:width]}
	t.products.Begin(rows, 0, len(which), columns, first, first+hi-lo)
	for r := 0; r < len(which); r += p.kind.Panel() {
		end := min(r+p.kind.Panel(), len(which))
		t.products.Multiply(r)
		t.setSlack(lo, p.places[which[end-1]].reach) // the largest of the panel
		for k := r; k < end; k++ {
			s := &p.places[which[k]]
			row := dot16.Row{Scale: s.scale, Half: s.minScore(s.query.scoreFloor()), Lo: float32(math.Inf(1))}
			t.products.Filter(k, t.scores[:width], t.mask[:width/16], row, &cols)
			if next {
				columns.Prefetch(lo+Block, lo+2*Block, k, len(which))
			}
			t.show(b, which[k])
		}
	}
}

// setSlack sets by how much rows from lo on may miss the score that a query looks for.
func (t *tile) setSlack(lo int, reach float64) {
	f := -quantized.RoundUp(reach)
	low := t.low
	for j, s := range t.c.Slack[lo:min(lo+Block, len(t.c.Slack))] {
		low[j] = f * s
	}
}

// show scores the rows of a block that passed for query i.
func (t *tile) show(b, i int) {
	s := &t.placed.places[i]
	q := s.query
	floor := math.Inf(-1)
	var look float32
	for w, m := range t.mask[:(min(Block, t.c.Rows-b*Block)+15)/16] {
		for m >>= 16; m != 0; m &= m - 1 {
			j := w*16 + bits.TrailingZeros32(m)
			row := b*Block + j
			if !q.allows(t.at, row) { // padding of the last panel is never allowed
				continue
			}
			if f := q.scoreFloor(); f > floor { // it may have risen since the block was begun
				floor, look = f, s.minScore(f)
			}
			if t.scores[j]-look >= t.low[j] || math.IsInf(floor, -1) {
				t.score(q, row)
			}
		}
	}
}

// place places rows lo..hi-1 in float32.
func (t *tile) place(lo, hi int) {
	if t.placing == nil {
		t.placing, t.u = matrix.New(Block, t.d), make([]float64, t.d)
		t.floats = quantized.FloatColumns(t.placing)
	}
	for r := lo; r < hi; r++ {
		dst := t.placing.Row(r - lo)
		if t.c.Scale[r] == 0 { // float32 cannot hold the row
			clear(dst)
			continue
		}
		t.c.place(t.u, t.part.X[r*t.d:(r+1)*t.d])
		for j, v := range t.u {
			dst[j] = float32(v)
		}
	}
}
