package exact

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/compute/cosine"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/matrix"
)

// Distance is what orders rows; package eval says by which formula.
type Distance int

// Distances.
const (
	Euclidean Distance = iota
	Cosine
	Dot
)

// scorer computes the nearness of query i and gallery item j as a float64: the
// larger, the nearer. Equal rows get equal scores to the bit. Rounding may separate equal
// cosines of other rows, so Compare decides the order of scores within twice the slack
// of each other.
type scorer struct {
	dist       Distance
	q, g       *matrix.Dense
	qInv, gInv []float64 // reciprocal norms, Cosine only
	slack      float64   // bounds the error of a score, Cosine only

	looks     atomic.Int64 // pairs of gallery rows that were compared one by one
	once      sync.Once
	direction []int32 // of each gallery row, once: the first row that is parallel to it
}

func newScorer(q, g *matrix.Dense, d Distance) *scorer {
	s := &scorer{dist: d, q: q, g: g}
	if d == Cosine {
		s.slack = cosine.ErrorBound(g.Cols)
		s.gInv = inverseNorms(g)
		s.qInv = s.gInv
		if q != g {
			s.qInv = inverseNorms(q)
		}
	}
	return s
}

func (s *scorer) score(i, j int) float64 {
	x, y := s.q.Row(i), s.g.Row(j)
	switch s.dist {
	case Euclidean:
		return -dot16.SquaredDistance(x, y)
	case Cosine:
		return dot16.Dot(x, y) * s.qInv[i] * s.gInv[j]
	}
	return dot16.Dot(x, y)
}

// Normalized returns a copy of x with every row scaled to length 1; rows of
// zeros are left unchanged.
func Normalized(x *matrix.Dense) *matrix.Dense {
	inv := inverseNorms(x)
	out := matrix.New(x.Rows, x.Cols)
	for i, f := range inv {
		dst := out.Row(i)
		for j, v := range x.Row(i) {
			dst[j] = float32(float64(v) * f)
		}
	}
	return out
}

func inverseNorms(m *matrix.Dense) []float64 {
	inv := make([]float64, m.Rows)
	for i := range inv {
		inv[i] = quantized.InverseNorm(m.Row(i))
	}
	return inv
}

// Between is eval.DistanceFunc for rows of one length.
func Between(q, g *matrix.Dense, d Distance) func(i, j int) float64 {
	s := newScorer(q, g, d)
	switch d {
	case Euclidean:
		return func(i, j int) float64 { return math.Sqrt(-s.score(i, j)) }
	case Cosine:
		slack := 2 * s.slack
		return func(i, j int) float64 {
			x, y := q.Row(i), g.Row(j)
			far := 1 - dot16.Dot(x, y)*s.qInv[i]*s.gInv[j]
			if leadingBits(far-slack) == leadingBits(far+slack) {
				return far
			}
			if far < slack && dot16.SquaredDistance(x, y) == 0 { // which is faster to tell
				return 0
			}
			return 1 - cosine.Similarity(x, y)
		}
	}
	return func(i, j int) float64 { return -s.score(i, j) }
}

// leadingBits is the sign, the exponent and the first 20 significant bits.
func leadingBits(v float64) uint64 { return math.Float64bits(v) >> (52 - 19) }

// Finite looks for NaN and infinities in x. It returns how many rows have one, and the place of the
// first.
func Finite(x *matrix.Dense) (bad, row, col int) {
	for i := range x.Rows {
		if dot8.SquaredDistance(x.Row(i), x.Row(i)) == 0 {
			continue // no v - v but 0
		}
		for j, v := range x.Row(i) {
			if v-v != 0 {
				if bad == 0 {
					row, col = i, j
				}
				bad++
				break
			}
		}
	}
	return bad, row, col
}
