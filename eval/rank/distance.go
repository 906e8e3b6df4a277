package rank

import (
	"fmt"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/mat"
)

// Distance is what orders the gallery for a query.
type Distance int

const (
	// Euclidean orders by ||x - y||, smallest first.
	Euclidean Distance = iota
	// Cosine orders by x.y / (||x|| ||y||), largest first. A row of zeros has
	// cosine 0 with everything.
	Cosine
	// Dot orders by x.y, largest first.
	Dot
)

var distanceNames = []string{"euclidean", "cosine", "dot"}

func (d Distance) String() string {
	if d < 0 || int(d) >= len(distanceNames) {
		return fmt.Sprintf("Distance(%d)", int(d))
	}
	return distanceNames[d]
}

// ParseDistance reads the name of a distance.
func ParseDistance(s string) (Distance, error) {
	for i, n := range distanceNames {
		if s == n {
			return Distance(i), nil
		}
	}
	return 0, fmt.Errorf("unknown distance %q: want %s", s, strings.Join(distanceNames, ", "))
}

// scorer gives the nearness of query i and gallery item j as a float64: the
// larger, the nearer. Equal rows get equal scores to the bit.
type scorer struct {
	dist       Distance
	q, g       *mat.Dense
	qInv, gInv []float64 // reciprocal norms, Cosine only
}

func newScorer(q, g *mat.Dense, d Distance) *scorer {
	s := &scorer{dist: d, q: q, g: g}
	if d == Cosine {
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
		return -squaredDistance(x, y)
	case Cosine:
		return dot(x, y) * s.qInv[i] * s.gInv[j]
	}
	return dot(x, y)
}

// Normalized returns a copy of x with every row scaled to length 1; rows of zeros
// stay.
func Normalized(x *mat.Dense) *mat.Dense {
	inv := inverseNorms(x)
	out := mat.New(x.Rows, x.Cols)
	for i, f := range inv {
		dst := out.Row(i)
		for j, v := range x.Row(i) {
			dst[j] = float32(float64(v) * f)
		}
	}
	return out
}

func inverseNorms(m *mat.Dense) []float64 {
	inv := make([]float64, m.Rows)
	for i := range inv {
		if n := dot(m.Row(i), m.Row(i)); n > 0 {
			inv[i] = 1 / math.Sqrt(n)
		}
	}
	return inv
}

func squaredDistance(x, y []float32) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	for len(x) >= 4 {
		a, b := float64(x[0])-float64(y[0]), float64(x[1])-float64(y[1])
		c, d := float64(x[2])-float64(y[2]), float64(x[3])-float64(y[3])
		s0 += a * a
		s1 += b * b
		s2 += c * c
		s3 += d * d
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		a := float64(v) - float64(y[i])
		s0 += a * a
	}
	return (s0 + s1) + (s2 + s3)
}

func dot(x, y []float32) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	for len(x) >= 4 {
		s0 += float64(x[0]) * float64(y[0])
		s1 += float64(x[1]) * float64(y[1])
		s2 += float64(x[2]) * float64(y[2])
		s3 += float64(x[3]) * float64(y[3])
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += float64(v) * float64(y[i])
	}
	return (s0 + s1) + (s2 + s3)
}
