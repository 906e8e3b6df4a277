package rank

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/internal/compute/coded"
	"github.com/kindred-ml/kindred/internal/compute/cosine"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
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

var distanceNames = [...]string{"euclidean", "cosine", "dot"}

func (d Distance) String() string { return spell.Name("Distance", int(d), distanceNames[:]) }

// Check returns an error if d is not one of the distances.
func (d Distance) Check() error {
	if _, err := d.MarshalText(); err != nil {
		return fmt.Errorf("%v is none of %s", d, strings.Join(distanceNames[:], ", "))
	}
	return nil
}

// ParseDistance returns the distance with the given name: euclidean, cosine or
// dot.
func ParseDistance(name string) (Distance, error) {
	k, err := spell.Index("distance", name, distanceNames[:])
	return Distance(k), err
}

// MarshalText returns the distance's name.
func (d Distance) MarshalText() ([]byte, error) {
	return spell.Text("distance", int(d), distanceNames[:])
}

// UnmarshalText reads a name.
func (d *Distance) UnmarshalText(text []byte) error {
	return spell.Set("distance", d, text, distanceNames[:])
}

// From returns the distance for a Value of Neighbours, smaller for nearer items: the
// Euclidean distance, 1 - cosine, or minus the product.
func (d Distance) From(value float64) float64 {
	switch d {
	case Cosine:
		return 1 - value
	case Dot:
		return -value
	}
	return math.Sqrt(max(value, 0))
}

// scorer gives the nearness of query i and gallery item j as a float64: the
// larger, the nearer. Equal rows get equal scores to the bit. Rounding may tell equal
// cosines of other rows apart, so the order of scores within twice the slack is that of
// compare.
type scorer struct {
	dist       Distance
	q, g       *mat.Dense
	qInv, gInv []float64 // reciprocal norms, Cosine only
	slack      float64   // bounds the error of a score, Cosine only

	looks     atomic.Int64 // pairs of gallery rows that were compared one by one
	once      sync.Once
	direction []int32 // of each gallery row, once: the first row that is parallel to it
}

func newScorer(q, g *mat.Dense, d Distance) *scorer {
	s := &scorer{dist: d, q: q, g: g}
	if d == Cosine {
		s.slack = cosine.Slack(g.Cols)
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
		inv[i] = coded.InverseNorm(m.Row(i))
	}
	return inv
}

// Between returns a function that gives the distance of row i of q and row j of g in
// float64: the distance of rankings and neighbours, as Distance.From returns it. Equal
// arguments give equal bits on every machine, the Euclidean distance of equal rows is 0, and
// so is the cosine distance of parallel rows, which is never below 0. Cosine distances that
// are equal are so to at least 20 significant bits, rounded up. Several goroutines may call
// the function. It panics if the rows differ in length.
func Between(q, g *mat.Dense, d Distance) func(i, j int) float64 {
	if q.Cols != g.Cols {
		panic(fmt.Sprintf("rank: rows of %d and of %d dimensions", q.Cols, g.Cols))
	}
	s := newScorer(q, g, d)
	switch d {
	case Euclidean:
		return func(i, j int) float64 { return math.Sqrt(-s.score(i, j)) }
	case Cosine:
		slack := 2 * s.slack
		return func(i, j int) float64 {
			x, y := q.Row(i), g.Row(j)
			far := 1 - dot16.Dot(x, y)*s.qInv[i]*s.gInv[j]
			if leading(far-slack) == leading(far+slack) {
				return far
			}
			if far < slack && dot16.SquaredDistance(x, y) == 0 { // which is faster to tell
				return 0
			}
			return 1 - cosine.Of(x, y)
		}
	}
	return func(i, j int) float64 { return d.From(s.score(i, j)) }
}

// leading is the sign, the exponent and the first 20 significant bits.
func leading(v float64) uint64 { return math.Float64bits(v) >> (52 - 19) }
