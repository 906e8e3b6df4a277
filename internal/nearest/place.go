package nearest

import (
	"cmp"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/mat"
)

// spot is where a query is in the space of a part, and what rounding took of it.
type spot struct {
	query *Query
	// The score of a row in the space is unit times the exact one, plus shift.
	unit, shift float64
	// What the error of a score can be: exact is the share that computing in float64 has,
	// of the parts of a score and of length, the center's; reach is what the row's slack is
	// to be multiplied by for the rest.
	exact, length, reach float64

	scale float32
	bias  int32
	bytes []int8 // one of these, as the part's codes and the machine have it
	ints  []int16
	float []float32
}

// placed is queries in the space of a part.
type placed struct {
	spots  []spot // those of like reach together
	all    []int  // 0, 1, ...
	far    []*Query
	d      int
	kernel kernel
	panels panels // all of them
	floats *mat.Dense
}

// kernel is how products are made.
type kernel int

const (
	floats kernel = iota
	ints
	bytes
)

// kernel is the one for the part's codes.
func (c *Codes) kernel() kernel {
	switch {
	case c.Bytes != nil && dot8.Fast():
		return bytes
	case c.Ints != nil && dot16.Fast():
		return ints
	}
	return floats
}

// rows is the number of queries in a panel.
func (k kernel) rows() int {
	if k == bytes {
		return dot8.RowPanel
	}
	return dot16.RowPanel
}

// placeAll places queries. Those too far away from the part's rows for float32 are left
// out and listed.
func (c *Codes) placeAll(queries []*Query) *placed {
	d := len(c.Center)
	p := &placed{d: d, kernel: c.kernel()}
	v, round := make([]float64, d), newRounder(d)
	for _, q := range queries {
		s, norm := c.spot(v, q)
		if !(norm <= farAway) {
			p.far = append(p.far, q)
			continue
		}
		loss := norm * (0x1p-23*float64(d+8) + 0x1p-22) // of floats, and of their sum in any order
		if p.kernel == floats {
			s.scale, s.float = 1, make([]float32, d)
			for j := range v {
				s.float[j] = float32(v[j])
			}
		} else {
			r := round.row(v, norm)
			s.scale, s.bias, loss = float32(r.unit), dot8.Bias(r.sum), r.loss
			s.bytes, s.ints = slices.Clone(round.bytes), slices.Clone(round.ints)
		}
		// loss ||u|| + (norm + loss) loss_u and the product's roundings, of which a row's
		// slack bounds both lengths.
		s.reach = ((loss+roundings*(norm+loss))/share(d)+norm+loss)*(1+roundings) + 1e-30
		p.spots = append(p.spots, s)
	}
	slices.SortStableFunc(p.spots, func(a, b spot) int { return cmp.Compare(a.reach, b.reach) })
	for i := range p.spots {
		p.all = append(p.all, i)
	}
	if p.kernel == floats {
		p.floats = mat.New(len(p.spots), d)
		for i := range p.spots {
			copy(p.floats.Row(i), p.spots[i].float)
		}
	} else {
		p.panels.pack(p, p.all)
	}
	return p
}

// spot writes a query's place to v and returns what is known of it without its codes.
func (c *Codes) spot(v []float64, q *Query) (s spot, norm float64) {
	s = spot{query: q, unit: 1, exact: 0x1p-50 * float64(len(v)+16)}
	if c.Distance == rank.Euclidean {
		f := math.Ldexp(1, -c.Exp)
		for j, x := range q.X {
			v[j] = (float64(x) - c.Center[j]) * f
		}
		s.unit, s.shift = f*f/2, square(v)/2
		norm = math.Sqrt(2 * s.shift)
	} else {
		for j, x := range q.X {
			v[j] = float64(x) * q.inverse
			s.shift -= v[j] * c.Center[j]
		}
		if c.Distance == rank.Dot && q.inverse > 0 {
			s.unit = math.Ldexp(q.inverse, -c.Exp)
		}
		norm = math.Sqrt(square(v))
		s.length = math.Sqrt(square(c.Center))
	}
	return s, norm
}

// look is the score that a row has to reach in the space so that it counts, before its
// own slack times the spot's reach is granted.
func (s *spot) look(floor float64) float32 {
	if math.IsInf(floor, -1) {
		return -math.MaxFloat32
	}
	lo := floor*s.unit + s.shift
	parts := math.Abs(floor*s.unit) + math.Abs(s.shift) + s.length
	return below(lo - roundings*math.Abs(lo) - s.exact*parts - 1e-30)
}

// panels are queries packed for a kernel.
type panels struct {
	bytes []int8
	bias  []int32
	ints  []int16
}

// pack packs some of the queries.
func (t *panels) pack(p *placed, which []int) {
	switch p.kernel {
	case bytes:
		n := dot8.PackedLen(len(which), p.d, dot8.RowPanel)
		t.bytes = slices.Grow(t.bytes[:0], n)[:n]
		t.bias = slices.Grow(t.bias[:0], len(which)+dot8.RowPanel)[:len(which)+dot8.RowPanel]
		for r, i := range which {
			dot8.PackRow(t.bytes, r, p.spots[i].bytes)
			t.bias[r] = p.spots[i].bias
		}
	case ints:
		n := dot16.PackedLen(len(which), p.d, dot16.RowPanel)
		t.ints = slices.Grow(t.ints[:0], n)[:n]
		for r, i := range which {
			dot16.Pack(t.ints, dot16.RowPanel, r, p.spots[i].ints)
		}
	}
}

// strip multiplies the queries of the panel that begins with the r-th with some rows.
func (t *panels) strip(products []int32, r, d int, c *Codes, lo, width int) {
	if c.Bytes != nil {
		depth := dot8.Depth(d)
		dot8.Strip(products, t.bytes[r*depth:(r+dot8.RowPanel)*depth], t.bias[r:r+dot8.RowPanel],
			c.Bytes[lo*depth:(lo+width)*depth], depth)
		return
	}
	pairs := dot16.Pairs(d)
	dot16.Strip(products, t.ints[r*2*pairs:(r+dot16.RowPanel)*2*pairs], c.Ints[lo*2*pairs:(lo+width)*2*pairs], pairs)
}
