package rank

import (
	"math"

	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/mat"
)

// space is where approximate scores live. A row x becomes u with
//
//	Euclidean: u = (x - mean of the gallery) / 2^e, half = ||u||^2 / 2
//	Cosine:    u = x / ||x||,                       half = 0
//	Dot:       u = x / 2^e,                         half = 0
//
// and the score of a pair is u.v - half_u - half_v: for Euclidean that is
// -||x-y||^2 / 2^(2e+1). The shift by the mean spares the product cancellation;
// 2^e brings the longest row to a length of at most 1, so that float32 neither
// overflows nor, for rows of like length, underflows. Exact scores are brought
// here by a power of two, which changes no comparison.
type space struct {
	*scorer
	mean []float64
	inv  float64 // 2^-e
	unit float64 // factor of exact scores
}

func newSpace(s *scorer) *space {
	sp := &space{scorer: s, mean: make([]float64, s.g.Cols), inv: 1, unit: 1}
	if s.dist == Euclidean {
		sp.mean = columnMeans(s.g)
	}
	if s.dist == Cosine {
		return sp
	}
	longest := sp.longest(s.g)
	if s.q != s.g {
		longest = max(longest, sp.longest(s.q))
	}
	if longest > 0 {
		_, e := math.Frexp(math.Sqrt(longest))
		sp.inv = math.Ldexp(1, -e)
	}
	sp.unit = sp.inv * sp.inv
	if s.dist == Euclidean {
		sp.unit /= 2
	}
	return sp
}

// exact is the float64 score of a pair in this space.
func (s *space) exact(i, j int) float64 { return s.score(i, j) * s.unit }

// place writes u of a row of m; inv holds the reciprocal norms for Cosine.
func (s *space) place(u []float64, m *mat.Dense, inv []float64, i int) {
	f := s.inv
	if s.dist == Cosine {
		f = inv[i]
	}
	for j, v := range m.Row(i) {
		u[j] = (float64(v) - s.mean[j]) * f
	}
}

// longest returns the largest squared length of a row after the shift.
func (s *space) longest(m *mat.Dense) float64 {
	const grain = 256
	part := make([]float64, (m.Rows+grain-1)/grain)
	par.For(m.Rows, grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var sum float64
			for j, v := range m.Row(i) {
				d := float64(v) - s.mean[j]
				sum += d * d
			}
			part[lo/grain] = max(part[lo/grain], sum)
		}
	})
	var l float64
	for _, v := range part {
		l = max(l, v)
	}
	return l
}

func columnMeans(m *mat.Dense) []float64 {
	const grain = 1024
	parts := make([][]float64, (m.Rows+grain-1)/grain)
	par.For(m.Rows, grain, func(lo, hi int) {
		sum := make([]float64, m.Cols)
		for i := lo; i < hi; i++ {
			for j, v := range m.Row(i) {
				sum[j] += float64(v)
			}
		}
		parts[lo/grain] = sum
	})
	mean := make([]float64, m.Cols)
	for _, p := range parts {
		for j, v := range p {
			mean[j] += v
		}
	}
	for j := range mean {
		mean[j] /= float64(m.Rows)
	}
	return mean
}
