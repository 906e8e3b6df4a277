package nearest

import (
	"cmp"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
)

// queryPlace is the place of a query in the space of a part, with the error of rounding it.
type queryPlace struct {
	query *Query
	// The score of a row in the space is unit times the exact one, plus shift.
	unit, shift float64
	// The parts of the bound on the error of a score: exact is the share of computing in float64,
	// relative to the parts of a score and to length, the center's; reach is the factor of the row's slack
	// for the rest.
	exact, length, reach float64

	scale float32
	row   quantized.Row
}

// placedQueries is queries in the space of a part.
type placedQueries struct {
	places  []queryPlace // those of like reach together
	all     []int        // 0, 1, ...
	far     []*Query
	kind    quantized.Kind     // of products: the codes', or Float32
	rows    *quantized.Rows    // all spots
	columns *quantized.Columns // the part's codes
}

// placeQueries places queries. Those too far away from the part's rows for float32 are left
// out and listed.
func (c *Codes) placeQueries(queries []*Query) *placedQueries {
	d := len(c.Center)
	stored := quantized.StoredKind(d)
	p := &placedQueries{kind: stored, columns: quantized.StoredColumns(d, c.Bytes, c.Ints)}
	if !stored.IsFast() {
		p.kind = quantized.Float32
	}
	v, coder := make([]float64, d), quantized.NewCoder(p.kind, d)
	for _, q := range queries {
		s, norm := c.placeQuery(v, q)
		if !(norm <= farAway) {
			p.far = append(p.far, q)
			continue
		}
		var r quantized.Code
		if p.kind == quantized.Float32 {
			r = coder.Float64(v)
			r.Loss = quantized.FloatLoss(norm, d) // and of the rows that are to be placed
		} else {
			r = code(coder, v, norm)
		}
		s.scale, s.row, s.reach = r.Unit, coder.Clone(), stored.Reach(norm, r.Loss)
		p.places = append(p.places, s)
	}
	slices.SortStableFunc(p.places, func(a, b queryPlace) int { return cmp.Compare(a.reach, b.reach) })
	p.rows = quantized.NewRows(p.kind, len(p.places), d)
	for i := range p.places {
		p.all = append(p.all, i)
		p.rows.Put(i, &p.places[i].row)
	}
	return p
}

// placeQuery writes a query's place to v and returns its spot, as far as it does not depend on codes.
func (c *Codes) placeQuery(v []float64, q *Query) (s queryPlace, norm float64) {
	s = queryPlace{query: q, unit: 1, exact: 0x1p-50 * float64(len(v)+16)}
	if c.Distance == exact.Euclidean {
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
		if c.Distance == exact.Dot && q.inverse > 0 {
			s.unit = math.Ldexp(q.inverse, -c.Exp)
		}
		norm = math.Sqrt(square(v))
		s.length = math.Sqrt(square(c.Center))
	}
	return s, norm
}

// minScore returns the score that a row must reach in the space to count, before its
// own slack times the spot's reach is added.
func (s *queryPlace) minScore(floor float64) float32 {
	if math.IsInf(floor, -1) {
		return -math.MaxFloat32
	}
	lo := floor*s.unit + s.shift
	parts := math.Abs(floor*s.unit) + math.Abs(s.shift) + s.length
	return quantized.RoundDown(min(lo-roundings*math.Abs(lo)-s.exact*parts-1e-30, math.MaxFloat32))
}
