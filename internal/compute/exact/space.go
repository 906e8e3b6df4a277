package exact

import (
	"math"

	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/matrix"
)

// Space is where approximate scores live. A row x becomes u with
//
//	Euclidean: u = x / 2^e - m,   half = ||u||^2 / 2
//	Cosine:    u = x / ||x|| - m, half = -u.m - ||m||^2 / 2
//	Dot:       u = x / 2^e - m,   half = -u.m - ||m||^2 / 2
//
// where m is the mean of the gallery's rows, scaled likewise, and the score of a pair is
// u.v - half_u - half_v: for Euclidean that is -||x-y||^2 / 2^(2e+1). The shift by the
// mean spares the product cancellation, and the integers what all rows have in common;
// 2^e brings the longest row to a length of at most 1, so that float32 neither overflows
// nor, for rows of like length, underflows. Exact scores are brought here by a power of
// two, which changes no comparison.
type Space struct {
	*scorer
	m      []float32
	length float64 // of m
	inv    float64 // 2^-e
	unit   float64 // factor of exact scores
}

// NewSpace returns the space of queries and a gallery.
func NewSpace(q, g *matrix.Dense, d Distance) *Space {
	s := newScorer(q, g, d)
	sp := &Space{scorer: s, m: make([]float32, s.g.Cols), inv: 1, unit: 1}
	mean := quantized.Mean(s.g, s.gInv)
	if s.dist != Cosine {
		most := quantized.Farthest(s.g, mean)
		if s.q != s.g {
			most = max(most, quantized.Farthest(s.q, mean))
		}
		if most > 0 {
			_, e := math.Frexp(most)
			sp.inv = math.Ldexp(1, -e)
		}
		sp.unit = sp.inv * sp.inv
		if s.dist == Euclidean {
			sp.unit /= 2
		}
	}
	var sum float64
	for j, v := range mean {
		sp.m[j] = float32(v * sp.inv)
		sum += float64(sp.m[j]) * float64(sp.m[j])
	}
	sp.length = math.Sqrt(sum)
	return sp
}

// exact is the float64 score of a pair in this space.
func (s *Space) exact(i, j int) float64 { return s.score(i, j) * s.unit }

// Item is gallery row j with its exact score for query i.
func (s *Space) Item(i int, j int32) Item { return Item{Score: s.exact(i, int(j)), Row: j} }

// factor is what row i of a set is multiplied by; inv holds the reciprocal norms for
// Cosine.
func (s *Space) factor(inv []float64, i int) float64 {
	if s.dist == Cosine {
		return inv[i]
	}
	return s.inv
}

// half is what a row takes off its scores, from the square of its u and the product of
// u with m.
func (s *Space) half(square, dot float64) float64 {
	if s.dist == Euclidean {
		return square / 2
	}
	return -dot - s.length*s.length/2
}
